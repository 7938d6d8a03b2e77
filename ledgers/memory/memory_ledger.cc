#include "ledgers/memory/memory_ledger.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <neliroute/clock.h>
#include <utility>

namespace neliroute {

MemoryLedger::MemoryLedger(boost::asio::any_io_executor strand,
                           std::shared_ptr<MemoryStore> store, MemoryLedgerOptions options)
    : strand_(strand),
      timer_(std::move(strand)),
      store_(std::move(store)),
      options_(options),
      tails_(store_->log_count()) {}

MemoryLedger::~MemoryLedger() {
  if (watching_ != 0) store_->unwatch(watching_);
}

void MemoryLedger::start(EventSink events, NoticeSink notices) {
  events_ = std::move(events);
  notices_ = std::move(notices);
  for (Tail& tail : tails_) tail.wanted = true;
  watching_ = store_->watch([this, token = std::weak_ptr(alive_)] {
    boost::asio::post(strand_, [this, token] {
      if (!token.expired()) serve();
    });
  });
  serve_soon();
}

void MemoryLedger::on_refused(std::function<void(const Error&)> handler) {
  refused_ = std::move(handler);
}

void MemoryLedger::write(Write write) {
  writes_.push_back({std::move(write), later(boot_now(), options_.lease / 2)});
  serve_soon();
}

void MemoryLedger::restart_tail(Log log) {
  tails_.at(log.value()) = Tail{.wanted = true};
  serve_soon();
}

void MemoryLedger::reread(const RereadRequest& request) {
  rereads_.push_back(request);
  serve_soon();
}

// Never from inside a call: an event may be what it was called for.
void MemoryLedger::serve_soon() {
  if (std::exchange(serve_posted_, true)) return;
  boost::asio::post(strand_, [this, token = std::weak_ptr(alive_)] {
    if (token.expired()) return;
    serve_posted_ = false;
    serve();
  });
}

void MemoryLedger::serve() {
  serve_writes();
  if (closed_) {
    if (writes_.empty()) end();
    return;
  }
  for (std::uint32_t log = 0; log < tails_.size(); ++log) serve_tail(Log{log});
  serve_rereads();
  arm();
}

void MemoryLedger::serve_writes() {
  while (!writes_.empty()) {
    const Write& write = writes_.front().write;
    const std::uint64_t seq = write.seq;
    if (const auto position = store_->append(write.log, write.value)) {
      writes_.pop_front();
      ever_stored_ = true;
      refusal_told_ = false;
      emit(WriteAcknowledged{seq, *position});
    } else if (store_->health() == MemoryStore::Health::refusing) {
      writes_.pop_front();
      const Error why{Errc::ledger_refused, "the store refuses what this process writes"};
      if (!std::exchange(refusal_told_, true)) {
        if (notices_) notices_({Severity::error, why.message()});
        if (!ever_stored_ && refused_) refused_(why);
      }
      emit(WriteFailed{seq});
    } else {
      return fail_overdue();
    }
  }
}

void MemoryLedger::fail_overdue() {
  while (!writes_.empty() && writes_.front().due <= boot_now()) {
    const std::uint64_t seq = writes_.front().write.seq;
    writes_.pop_front();
    emit(WriteFailed{seq});
  }
}

void MemoryLedger::serve_tail(Log log) {
  const Tail tail = tails_[log.value()];
  if (!tail.wanted) return;
  const auto answer = store_->read(log, tail.running ? tail.next : 0);
  if (!answer) return;
  if (!tail.running) {
    start_tail(log, *answer);
    return serve_soon();
  }
  if (answer->made != tail.made) return lose_tail(log, GapReason::replaced);
  for (std::size_t i = tail.cuts; i < answer->cuts.size(); ++i) {
    if (answer->cuts[i] < tail.next) return lose_tail(log, GapReason::truncated);
  }
  if (answer->low > tail.next) return lose_tail(log, GapReason::out_of_range);
  tails_[log.value()].cuts = answer->cuts.size();
  const auto is_same = [&] { return tails_[log.value()].running; };
  for (const MemoryStore::Stored& stored : answer->records) {
    if (!is_same()) return;  // an event restarted it
    tails_[log.value()].next = stored.position + 1;
    const Decoded value = decode_record(*stored.value);
    emit(Received{log, stored.position, stored.stamped, true, &value});
  }
  if (!is_same() || answer->end == tail.next) return;
  tails_[log.value()].next = answer->end;
  emit(LogPosition{log, answer->end});
}

void MemoryLedger::start_tail(Log log, const MemoryStore::Answer& answer) {
  Tail& tail = tails_[log.value()];
  tail.running = true;
  tail.made = answer.made;
  tail.cuts = answer.cuts.size();
  tail.next = options_.watcher ? answer.end : answer.low;
  const Below below = tail.next == 0     ? Below::nothing
                      : options_.watcher ? Below::older
                                         : Below::expired;
  emit(TailStarted{log, tail.next, answer.end, below});
  // Another one, if the event restarted it.
  const Tail& started = tails_[log.value()];
  if (started.running && started.next == answer.end) emit(LogPosition{log, answer.end});
}

void MemoryLedger::lose_tail(Log log, GapReason reason) {
  tails_[log.value()] = Tail{};
  emit(GapFound{log, reason});
}

void MemoryLedger::serve_rereads() {
  for (std::size_t left = rereads_.size(); left > 0 && !rereads_.empty(); --left) {
    const RereadRequest request = rereads_.front();
    const auto answer = store_->read(request.log, std::max<std::int64_t>(request.offset, 0));
    if (!answer) return;
    rereads_.pop_front();
    Reread found{request.log, request.question, request.offset, std::nullopt};
    const bool there = request.offset >= 0 && !answer->records.empty() &&
                       answer->records.front().position == request.offset;
    if (there) {
      const MemoryStore::Stored& stored = answer->records.front();
      found.found = identity_of(decode_record(*stored.value), stored.stamped);
    }
    emit(found);
  }
}

void MemoryLedger::arm() {
  LocalTime due = close_by_;
  if (!writes_.empty()) due = std::min(due, writes_.front().due);
  if (due == kNever) return;
  timer_.expires_after(std::max(due - boot_now(), microseconds{0}));
  timer_.async_wait([this, token = std::weak_ptr(alive_)](const boost::system::error_code& error) {
    if (error || token.expired()) return;
    if (closed_ && boot_now() >= close_by_) return end();
    serve();
    if (!token.expired() && closed_) arm();
  });
}

void MemoryLedger::close(LocalTime deadline, std::function<void()> done) {
  events_ = nullptr;
  notices_ = nullptr;
  refused_ = nullptr;
  closed_ = std::move(done);
  close_by_ = deadline;
  arm();
  serve_soon();
}

void MemoryLedger::end() {
  timer_.cancel();
  writes_.clear();
  // It may destroy this object.
  if (const auto done = std::exchange(closed_, nullptr)) done();
}

void MemoryLedger::emit(const Event& event) {
  if (events_) events_(event, boot_now());
}

}  // namespace neliroute
