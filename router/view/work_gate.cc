#include "router/view/work_gate.h"

#include <linux/membarrier.h>
#include <neliroute/detail/assert.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <list>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#if defined(__SANITIZE_THREAD__)
#define NELIROUTE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NELIROUTE_TSAN 1
#endif
#endif

namespace neliroute {
namespace {

#ifdef NELIROUTE_TSAN
constexpr bool kTsan = true;
#else
constexpr bool kTsan = false;
#endif
// The memory order for tickets; on x86 only the write differs.
constexpr auto kWrite = kTsan ? std::memory_order_seq_cst : std::memory_order_release;
constexpr auto kRead = kTsan ? std::memory_order_seq_cst : std::memory_order_acquire;

bool membarrier(int command) noexcept {
  return ::syscall(__NR_membarrier, command, 0, 0) == 0;
}

}  // namespace

// The blocks of this thread, one for every gate that it used.
struct WorkGate::ThreadCache {
  struct Kept {
    Kept(std::shared_ptr<WorkGate> of, Block* taken) : gate(std::move(of)), block(taken) {}
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;
    ~Kept() { block->taken.store(false, std::memory_order_release); }
    std::shared_ptr<WorkGate> gate;  ///< freed after the block was given back
    Block* block;
  };
  std::list<Kept> kept;
  // Other objects of a thread that ends may still hold guards.
  ~ThreadCache() {
    thread_ends_ = true;
    last_ = {nullptr, nullptr};
  }
  static ThreadCache& mine() {
    static thread_local ThreadCache cache;
    return cache;
  }
};

// Accessed without a call of the loader, for which all registers would be saved. A plugin takes
// these 16 bytes of the thousand or so that are reserved for libraries loaded late.
[[gnu::tls_model("initial-exec")]]
constinit thread_local WorkGate::Last WorkGate::last_{nullptr, nullptr};
constinit thread_local bool WorkGate::thread_ends_ = false;

WorkFences WorkGate::best_fences() noexcept {
  static const bool has = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
  return has ? WorkFences::expedited : WorkFences::full;
}

std::shared_ptr<WorkGate> WorkGate::make(std::shared_ptr<const LeaseVector> leases,
                                         std::function<void()> ended, WorkFences fences) {
  return std::shared_ptr<WorkGate>(new WorkGate(std::move(leases), std::move(ended), fences));
}

WorkGate::WorkGate(std::shared_ptr<const LeaseVector> leases, std::function<void()> ended,
                   WorkFences fences)
    : leases_(std::move(leases)),
      entries_(std::make_unique<Entry[]>(leases_->size())),
      fences_(fences),
      columns_(leases_->size() + std::clamp(leases_->size(), 16U, kReserveMax)),
      ended_(std::move(ended)),
      shared_(columns_),
      told_(std::make_unique<std::atomic<bool>[]>(columns_)),
      abandoned_(columns_, false),
      stops_(columns_) {
  static_assert(kPartitionCountMax + kReserveMax <= 1U << kColumnBits);
  for (std::uint32_t c = 0; c < columns_; ++c) {
    partition_.push_back(Partition{c});
    if (c < leases_->size()) {
      column_.push_back(c);
    } else {
      reserve_.push_back(c);
    }
  }
}

WorkGate::Counters WorkGate::make_counters(std::uint32_t columns) {
  constexpr std::size_t kLine = 64;
  const std::size_t bytes = (columns * sizeof(Counter) + kLine - 1) / kLine * kLine;
  auto* const counters = static_cast<Counter*>(::operator new(bytes, std::align_val_t{kLine}));
  std::uninitialized_value_construct_n(counters, columns);
  return Counters(counters);
}

void WorkGate::FreeCounters::operator()(Counter* counters) const noexcept {
  static_assert(std::is_trivially_destructible_v<Counter>);
  ::operator delete(counters, std::align_val_t{64});
}

WorkGate::~WorkGate() {
  for (Block* block = blocks_.load(std::memory_order_acquire); block != &shared_;) {
    Block* const next = block->next;
    delete block;
    block = next;
  }
}

[[gnu::always_inline]] inline void WorkGate::light_fence() const noexcept {
#ifndef NELIROUTE_TSAN
  if (fences_ == WorkFences::full) [[unlikely]] {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  } else {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
#endif
}

void WorkGate::heavy_fence() const noexcept {
  if (fences_ == WorkFences::expedited) {
    const bool done = membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    NELIROUTE_ASSERT(done, "membarrier worked when the router was opened, and is refused now");
  }
#ifndef NELIROUTE_TSAN
  if (fences_ == WorkFences::full) std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

template <bool kShared>
inline void WorkGate::count(Counter& counter, std::uint32_t more) noexcept {
  if constexpr (kTsan || kShared) {
    counter.fetch_add(more, std::memory_order_seq_cst);
  } else {
    counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_release);
  }
}

// This thread's, if it ever began work at this gate.
WorkGate::Counter* WorkGate::own_counters() {
  if (last_.gate == this) [[likely]] return last_.counters;
  if (thread_ends_) return nullptr;
  for (const ThreadCache::Kept& kept : ThreadCache::mine().kept) {
    if (kept.gate.get() != this) continue;
    last_ = {this, kept.block->counters.get()};
    return last_.counters;
  }
  return nullptr;
}

WorkGate::Counter* WorkGate::take_counters() {
  if (Counter* const own = own_counters()) return own;
  if (thread_ends_) return nullptr;
  auto& kept = ThreadCache::mine().kept;
  last_ = {nullptr, nullptr};
  std::erase_if(kept, [](const ThreadCache::Kept& one) {
    return one.gate->over_.load(std::memory_order_relaxed);
  });
  Block* taken = nullptr;
  for (Block* b = blocks_.load(std::memory_order_acquire); b != &shared_ && !taken; b = b->next) {
    bool free = false;
    // Acquires what the last thread counted, which this one counts on from.
    if (!b->taken.load(std::memory_order_relaxed)) free = !b->taken.exchange(true);
    if (free) taken = b;
  }
  if (taken == nullptr) {
    auto made = std::make_unique<Block>(columns_);
    made->next = blocks_.load(std::memory_order_relaxed);
    while (!blocks_.compare_exchange_weak(made->next, made.get(), std::memory_order_release,
                                          std::memory_order_relaxed)) {
    }
    taken = made.release();
  }
  kept.emplace_back(shared_from_this(), taken);
  last_ = {this, taken->counters.get()};
  return last_.counters;
}

Work WorkGate::begin(Partition partition, LocalTime now) {
  if (last_.gate == this) [[likely]] return begin_in<false>(last_.counters, partition, now);
  return begin_anew(partition, now);
}

// This thread's first call, or its first after one on another gate.
[[gnu::noinline]] Work WorkGate::begin_anew(Partition partition, LocalTime now) {
  if (Counter* const own = take_counters()) return begin_in<false>(own, partition, now);
  return begin_in<true>(shared_.counters.get(), partition, now);
}

template <bool kShared>
[[gnu::always_inline]] inline Work WorkGate::begin_in(Counter* counters, Partition partition,
                                                      LocalTime now) {
  const Entry& at = entry(partition);
  const std::uint64_t ticket = at.ticket.load(kRead);
  if ((ticket & kOpen) == 0 || !leases_->leads(partition, now)) return {};
  count<kShared>(counters[column_of(ticket)], 1);  // B1
  light_fence();
  const auto& epoch = at.epochs[ticket >> kNumberShift & 1];
  const std::int64_t incarnation = epoch.incarnation.load(std::memory_order_acquire);
  const std::int64_t offset = epoch.offset.load(std::memory_order_acquire);
  if (at.ticket.load(kRead) != ticket) [[unlikely]] {  // B2
    return begin_again<kShared>(counters, partition, now, ticket);
  }
  return {this, ticket, partition, Epoch{incarnation, offset}};
}

// The partition closed meanwhile, or has another epoch. Each such call costs the strand a change.
template <bool kShared>
[[gnu::noinline]] Work WorkGate::begin_again(Counter* counters, Partition partition, LocalTime now,
                                             std::uint64_t ticket) {
  finish_in<kShared>(counters, partition, ticket);
  return begin(partition, now);
}

template <bool kShared>
inline void WorkGate::finish_in(Counter* counters, Partition partition,
                                std::uint64_t ticket) noexcept {
  count<kShared>(counters[column_of(ticket)], ~0U);  // E1
  light_fence();
  if (entry(partition).ticket.load(kRead) != ticket) [[unlikely]] {  // E2
    tell_ended(column_of(ticket));
  }
}

void WorkGate::finish(Partition partition, std::uint64_t ticket) noexcept {
  if (last_.gate == this) [[likely]] return finish_in<false>(last_.counters, partition, ticket);
  finish_elsewhere(partition, ticket);
}

[[gnu::noinline]] void WorkGate::finish_elsewhere(Partition partition,
                                                  std::uint64_t ticket) noexcept {
  if (Counter* const own = own_counters()) return finish_in<false>(own, partition, ticket);
  // Once it is counted nothing else might keep this alive.
  const auto keep = shared_from_this();
  finish_in<true>(shared_.counters.get(), partition, ticket);
}

// Only if a barrier waits, or the epoch changed meanwhile.
[[gnu::noinline]] void WorkGate::tell_ended(std::uint32_t column) noexcept {
  // An earlier report that was not read yet will be read after this one ended.
  if (told_[column].exchange(true, std::memory_order_acq_rel)) return;
  bool first = false;
  std::shared_ptr<WorkGate> last;
  {
    const std::lock_guard lock(mutex_);
    if (!retired_) {
      first = ended_columns_.empty();
      ended_columns_.push_back(column);
    } else {
      told_[column].exchange(false, std::memory_order_acq_rel);
      if (busy_[column] && sum(column) == 0) {
        busy_[column] = false;
        if (--busy_columns_ == 0) last = std::move(self_);
      }
    }
  }
  if (first) ended_();
}

std::uint32_t WorkGate::sum(std::uint32_t column) const noexcept {
  std::uint32_t all = shared_.counters[column].load(kRead);
  for (const Block* b = blocks_.load(std::memory_order_acquire); b != &shared_; b = b->next) {
    all += b->counters[column].load(kRead);
  }
  return all;
}

void WorkGate::open(Partition partition, const Epoch& epoch) {
  Entry& at = entry(partition);
  // Of the other parity than this partition's last, whose epoch readers may still be reading.
  const std::uint64_t last = at.ticket.load(std::memory_order_relaxed) >> kNumberShift;
  number_ += (number_ - last) % 2 == 0 ? 1 : 2;
  auto& epochs = at.epochs[number_ & 1];
  epochs.incarnation.store(epoch.incarnation, std::memory_order_release);
  epochs.offset.store(epoch.offset, std::memory_order_release);
  const std::uint64_t column = column_[partition.value()];
  at.ticket.store(number_ << kNumberShift | column << 1 | kOpen, kWrite);
}

void WorkGate::close(Partition partition) {
  Entry& at = entry(partition);
  at.ticket.store(at.ticket.load(std::memory_order_relaxed) & ~kOpen, kWrite);  // S1
}

void WorkGate::settle() { heavy_fence(); }

std::uint32_t WorkGate::under_way(Partition partition) const {
  return sum(column_[partition.value()]);  // S2
}

void WorkGate::request_stop(Partition partition) {
  const std::uint64_t ticket = entry(partition).ticket.load(std::memory_order_relaxed);
  if (ticket == 0) return;  // it was never open
  std::stop_source source{std::nostopstate};
  {
    const std::lock_guard lock(mutex_);
    Stops& stops = stops_[column_of(ticket)];
    stops.through = ticket | kOpen;
    std::swap(source, stops.source);
  }
  source.request_stop();  // not under the lock: callbacks may call anything here
}

bool WorkGate::asked_to_stop(Partition partition, std::uint64_t ticket) {
  if (entry(partition).ticket.load(kRead) == ticket) return false;
  const std::lock_guard lock(mutex_);
  return ticket <= stops_[column_of(ticket)].through;
}

std::stop_token WorkGate::stop_token(std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  Stops& stops = stops_[column_of(ticket)];
  if (ticket <= stops.through) {
    std::stop_source stopped;
    stopped.request_stop();
    return stopped.get_token();
  }
  if (!stops.source.stop_possible()) stops.source = std::stop_source();
  return stops.source.get_token();
}

void WorkGate::abandon(Partition partition) {
  std::uint32_t& column = column_[partition.value()];
  if (reserve_.empty()) return;
  abandoned_[column] = true;
  column = reserve_.back();
  reserve_.pop_back();
  partition_[column] = partition;
}

void WorkGate::use_again(std::uint32_t column) {
  abandoned_[column] = false;
  reserve_.push_back(column);
}

std::vector<Partition> WorkGate::take_ended() {
  std::vector<std::uint32_t> columns;
  {
    const std::lock_guard lock(mutex_);
    columns.swap(ended_columns_);
  }
  std::vector<Partition> partitions;
  for (const std::uint32_t column : columns) {
    // Before the sums: a thread that ends work from now on reports again.
    told_[column].exchange(false, std::memory_order_acq_rel);
    if (!abandoned_[column]) {
      partitions.push_back(partition_[column]);
    } else if (sum(column) == 0) {
      use_again(column);
    }
  }
  return partitions;
}

void WorkGate::close_all() {
  std::vector<Partition> closed;
  for (std::uint32_t p = 0; p < leases_->size(); ++p) {
    if ((entry(Partition{p}).ticket.load(std::memory_order_relaxed) & kOpen) == 0) continue;
    close(Partition{p});
    closed.push_back(Partition{p});
  }
  if (closed.empty()) return;
  settle();
  for (const Partition partition : closed) request_stop(partition);
}

void WorkGate::retire() {
  close_all();
  const std::lock_guard lock(mutex_);
  if (std::exchange(retired_, true)) return;
  busy_.resize(columns_, false);
  for (std::uint32_t column = 0; column < columns_; ++column) {
    told_[column].exchange(false, std::memory_order_acq_rel);
    busy_[column] = sum(column) != 0;
    if (busy_[column]) ++busy_columns_;
  }
  if (busy_columns_ > 0) self_ = shared_from_this();
  over_.store(true, std::memory_order_relaxed);
}

void Work::finish() noexcept { std::exchange(gate_, nullptr)->finish(partition_, ticket_); }

bool Work::asked_to_stop() const { return gate_->asked_to_stop(partition_, ticket_); }

std::stop_token Work::stop_token() const {
  return gate_ ? gate_->stop_token(ticket_) : std::stop_token();
}

}  // namespace neliroute
