// Counts the guards of work under way, by thread, so that beginning and ending one costs two plain
// stores and no fence. Private to the router.
//
// Each thread has a block of counters, four bytes a partition, that it alone writes: begun less
// ended. A guard may end on another thread than it began on, so one counter may be below zero; the
// sum over all threads is how many are under way, modulo 2^32. The strand opens a partition when it
// leads and closes it when it stops.
//
// The argument. One store and one load on either side, each side's store before its load:
//
//   begin():  [B1] counter += 1     light fence     [B2] is the partition still open as before?
//   strand:   [S1] close it         heavy fence     [S2] sum the counters
//
// Not both may miss the other's store: then a guard would begin that the strand does not wait for.
// A pair of seq_cst fences forbids that (C++20, [atomics.order]); here the reader's is free and the
// strand pays for both: light is a compiler barrier, heavy is membarrier(PRIVATE_EXPEDITED), after
// which every running thread of the process has executed a full barrier at some point P between
// the call and its return; one that does not run executes one as it is switched in (the kernel's
// promise; P1202 asks the same of asymmetric fences). If B1 comes before P in its thread, S2 sees
// it. If not, B2 comes after P, which comes after S1, and sees that. A begin() that sees the
// closing takes its count back as if a guard had ended, and answers no.
//
//   end():    [E1] counter -= 1     light fence     [E2] is the partition open as when it began?
//
// is the same pair: the strand's sum sees E1, or E2 sees the closing and tells the strand to sum
// again. It cannot sum up to zero too early: after the heavy fence every guard that ever will be
// is in the counters, so reading them one by one misses no begin, and at worst some ends.
// (The moment's count of a begin() that fails is added and taken back on one thread, in one
// counter, so a reading of it sees 0 or +1.)
//
// Everything done under a guard happens before the strand learns that it ended: all stores to
// counters release, the sum acquires. A thread that ends leaves its block, with its counts, to the
// next one (release and acquire of `taken`).
//
// A ticket is the number of an opening, the column of counters it uses, and whether it is open; no
// ticket is used twice. The epoch stands in one of two places, by the ticket's lowest bit of
// number: it is overwritten only after the next ticket was published, and a reader that reads the
// new text (acquire of a release) therefore sees the new ticket in B2, too, and begins again.
//
// Guards that outlive their barrier are abandoned: the partition takes another column, from a small
// reserve, and the old one is used again when the last of them is gone. Should the reserve be used
// up, the partition keeps its column, and the next barrier waits for the old guards, too, at most
// until its own deadline.
//
// Its owners: the Router's reader, every thread that has a block here, and, when the reader is
// gone before the guards are, the gate itself, until the last one ends. A thread without a block
// counts in a shared one, by read-modify-write, and keeps the gate alive meanwhile.
//
// ThreadSanitizer knows neither membarrier nor fences: there counters are changed by seq_cst
// read-modify-writes, tickets are written and read by seq_cst, which needs no fence.
//
// Threads: begin(), and all that a Work calls: any. The rest: the strand.
// Units: LocalTime.   Errors: none.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <neliroute/work.h>
#include <stop_token>
#include <vector>

#include "neli_core/lease_vector.h"

namespace neliroute {

/// Keeps begin() and a closing partition from missing each other.
enum class WorkFences {
  expedited,  ///< membarrier: the strand pays for both
  full,       ///< a kernel without membarrier: each side pays for its own
  none,       ///< broken: for the test that shows why fences are needed
};

class WorkGate : public std::enable_shared_from_this<WorkGate> {
 public:
  /// `ended`: called on any thread when take_ended() has something to report, never after retire().
  /// `fences`: by default the best that the kernel has.
  [[nodiscard]] static std::shared_ptr<WorkGate> make(
      std::shared_ptr<const LeaseVector> leases, std::function<void()> ended,
      WorkFences fences = best_fences());
  WorkGate(const WorkGate&) = delete;
  WorkGate& operator=(const WorkGate&) = delete;
  ~WorkGate();

  /// Registers this process with membarrier, if the kernel has it.
  [[nodiscard]] static WorkFences best_fences() noexcept;

  // Any thread.
  /// Lock-free and without allocation, except for a thread's first call.
  [[nodiscard]] Work begin(Partition partition, LocalTime now);

  // The strand.
  /// From now on work may begin under this epoch; work under way goes on, if it was open.
  void open(Partition partition, const Epoch& epoch);
  void close(Partition partition);
  /// After one or more close(), before the first under_way() of these.
  void settle();
  /// Of a closed partition: how many guards its barrier waits for.
  [[nodiscard]] std::uint32_t under_way(Partition partition) const;
  /// Of a closed partition. Callbacks of tokens run in it.
  void request_stop(Partition partition);
  /// Of a closed partition: its guards are not waited for any more.
  void abandon(Partition partition);
  /// Partitions whose under_way() may have become 0 since the last call.
  [[nodiscard]] std::vector<Partition> take_ended();
  /// Closes everything, and requests all work to stop.
  void close_all();
  /// The strand is gone. Idempotent.
  void retire();

 private:
  friend class Work;
  static constexpr std::uint64_t kOpen = 1;
  static constexpr unsigned kColumnBits = 18;
  static constexpr unsigned kNumberShift = 1 + kColumnBits;
  static constexpr std::uint32_t kReserveMax = 1024;

  struct alignas(64) Entry {
    std::atomic<std::uint64_t> ticket{0};
    struct {
      std::atomic<std::int64_t> incarnation{0};
      std::atomic<std::int64_t> offset{-1};
    } epochs[2];
  };
  using Counter = std::atomic<std::uint32_t>;
  /// In cache lines of their own.
  struct FreeCounters {
    void operator()(Counter* counters) const noexcept;
  };
  using Counters = std::unique_ptr<Counter[], FreeCounters>;
  [[nodiscard]] static Counters make_counters(std::uint32_t columns);
  /// One thread's counters; the first block's are those of all threads that have none.
  struct Block {
    explicit Block(std::uint32_t columns) : counters(make_counters(columns)) {}
    const Counters counters;  ///< by column
    std::atomic<bool> taken{true};
    Block* next = nullptr;
  };
  /// The source of the tokens of a column's guards.
  struct Stops {
    std::stop_source source{std::nostopstate};
    std::uint64_t through = 0;  ///< tickets up to here were asked to stop
  };
  struct ThreadCache;
  struct Last {
    const WorkGate* gate;
    Counter* counters;
  };
  static constinit thread_local Last last_;
  static constinit thread_local bool thread_ends_;

  WorkGate(std::shared_ptr<const LeaseVector> leases, std::function<void()> ended,
           WorkFences fences);

  static std::uint32_t column_of(std::uint64_t ticket) noexcept {
    return static_cast<std::uint32_t>(ticket >> 1) & ((1U << kColumnBits) - 1);
  }
  [[nodiscard]] Entry& entry(Partition p) const noexcept { return entries_[p.value()]; }
  template <bool kShared>
  static void count(Counter& counter, std::uint32_t more) noexcept;
  template <bool kShared>
  [[nodiscard]] Work begin_in(Counter* counters, Partition partition, LocalTime now);
  template <bool kShared>
  [[nodiscard]] Work begin_again(Counter* counters, Partition partition, LocalTime now,
                                 std::uint64_t ticket);
  template <bool kShared>
  void finish_in(Counter* counters, Partition partition, std::uint64_t ticket) noexcept;
  void light_fence() const noexcept;
  void heavy_fence() const noexcept;
  [[nodiscard]] Counter* own_counters();
  [[nodiscard]] Counter* take_counters();
  [[nodiscard]] std::uint32_t sum(std::uint32_t column) const noexcept;
  [[nodiscard]] Work begin_anew(Partition partition, LocalTime now);
  void finish(Partition partition, std::uint64_t ticket) noexcept;
  void finish_elsewhere(Partition partition, std::uint64_t ticket) noexcept;
  void tell_ended(std::uint32_t column) noexcept;
  [[nodiscard]] bool asked_to_stop(Partition partition, std::uint64_t ticket);
  [[nodiscard]] std::stop_token stop_token(std::uint64_t ticket);
  void use_again(std::uint32_t column);

  const std::shared_ptr<const LeaseVector> leases_;
  const std::unique_ptr<Entry[]> entries_;
  const WorkFences fences_;
  const std::uint32_t columns_;
  const std::function<void()> ended_;
  Block shared_;
  std::atomic<Block*> blocks_{&shared_};
  /// By column: a guard was reported as ended, and the strand has not looked since.
  const std::unique_ptr<std::atomic<bool>[]> told_;

  // The strand's.
  std::uint64_t number_ = 0;
  std::vector<std::uint32_t> column_;     ///< by partition
  std::vector<Partition> partition_;      ///< by column
  std::vector<bool> abandoned_;           ///< by column
  std::vector<std::uint32_t> reserve_;    ///< columns that nobody uses

  std::mutex mutex_;
  // Under the mutex.
  std::vector<std::uint32_t> ended_columns_;
  std::vector<Stops> stops_;  ///< by column
  bool retired_ = false;
  std::uint32_t busy_columns_ = 0;  ///< when retired
  std::vector<bool> busy_;          ///< by column, when retired
  std::shared_ptr<WorkGate> self_;  ///< when retired, until the last guard ends
  std::atomic<bool> over_{false};   ///< retired, for threads that clean up
};

}  // namespace neliroute
