#include "ledgers/quorum/quorum_reader.h"

#include <algorithm>
#include <chrono>
#include <neliroute/clock.h>
#include <string>
#include <utility>
#include <variant>

#include "ledgers/parts/history_horizon.h"

namespace neliroute {
namespace {

constexpr std::uint32_t kNewestRead = 64;  ///< of which one is likely to state a lease

bool has_record(const quorum::Entry& entry) {
  return std::holds_alternative<std::string>(entry.what);
}

quorum::Index end_of(const quorum::Answer& answer) {
  return answer.index + static_cast<quorum::Index>(answer.entries.size());
}

}  // namespace

QuorumReader::QuorumReader(const boost::asio::any_io_executor& strand, QuorumLinks links,
                           QuorumReaderOptions options)
    : strand_(strand), options_(options) {
  std::uint32_t log = 0;
  for (auto& link : links) tails_.emplace_back(Log{log++}, std::move(link), strand);
}

void QuorumReader::start(Happened happened) {
  happened_ = std::move(happened);
  for (Tail& tail : tails_) {
    QuorumLink::Handlers handlers;
    // The links are its own, and it must not be theirs.
    const auto weak = weak_from_this();
    handlers.opened = [weak, &tail] {
      const auto self = weak.lock();
      if (!self) return;
      const std::uint64_t channel = tail.link->channel();
      run_apart(self->strand_, [self, &tail, channel] { return self->tend(tail, channel); });
    };
    handlers.lost = [weak, &tail] {
      if (const auto self = weak.lock()) tail.wake.cancel();
    };
    handlers.heard = [weak, &tail](quorum::ToClient& said) {
      const auto self = weak.lock();
      if (auto* entries = std::get_if<quorum::Entries>(&said); self && entries != nullptr) {
        self->take(tail, *entries);
      }
    };
    tail.link->add(std::move(handlers));
    tail.link->start();
  }
}

void QuorumReader::restart(Log log) {
  Tail& tail = tails_.at(log.value());
  ++tail.turn;
  tail.wanted = true;
  tail.running = false;
  if (tail.link->is_followed()) tail.link->drop();  // a channel is followed once
  tail.wake.cancel();
}

void QuorumReader::reread(const RereadRequest& request) {
  Tail& tail = tails_.at(request.log.value());
  tail.reread = request;
  tail.wake.cancel();
}

void QuorumReader::close() {
  happened_ = nullptr;
  for (Tail& tail : tails_) tail.wake.cancel();
}

void QuorumReader::emit(const Event& event) {
  const Happened happened = happened_;  // which may close this
  if (happened) happened(event);
}

void QuorumReader::lose(Tail& tail, GapReason reason) {
  ++tail.turn;
  tail.wanted = tail.running = false;
  if (tail.link->is_followed()) tail.link->drop();
  emit(GapFound{tail.log, reason});
}

Awaitable<> QuorumReader::tend(Tail& tail, std::uint64_t channel) {
  if (tail.link->channel() == channel && tail.running) co_await check(tail);
  while (tail.link->channel() == channel) {
    const bool begins = tail.wanted && !tail.running && !tail.link->is_followed();
    if (begins && happened_) {
      co_await begin(tail);
    } else if (tail.reread && happened_) {
      co_await answer(tail);
    } else {
      constexpr milliseconds kIdle{3'600'000};
      co_await pause(tail.wake, kIdle);
    }
  }
}

// Whoever lost entries that were committed leads all the same, if a majority of disks was lost.
std::optional<GapReason> QuorumReader::gap(const Tail& tail, const quorum::Answer& answer) const {
  if (answer.log != tail.id) return GapReason::replaced;
  if (answer.end < tail.next) return GapReason::truncated;
  if (tail.last && answer.index == tail.next - 1) {
    const bool same = !answer.entries.empty() && answer.entries.front() == *tail.last;
    if (!same) return GapReason::truncated;
  }
  if (tail.last && answer.index == tail.next && answer.term_before != tail.last->term) {
    return GapReason::truncated;
  }
  if (answer.first > tail.next) return GapReason::out_of_range;
  return std::nullopt;
}

Awaitable<> QuorumReader::check(Tail& tail) {
  const std::uint64_t turn = tail.turn;
  quorum::Ask question;
  question.index = tail.last ? tail.next - 1 : tail.next;
  question.entries = tail.last ? 1 : 0;
  const auto answer = co_await tail.link->ask(std::move(question));
  if (!answer || turn != tail.turn) co_return;
  if (const auto reason = gap(tail, *answer)) {
    lose(tail, *reason);
  } else {
    follow(tail);
  }
}

void QuorumReader::follow(Tail& tail) {
  if (happened_) tail.link->follow(tail.next);
  tail.link->trust();
}

// All up to the end, in several answers if there are large ones.
Awaitable<std::optional<quorum::Answer>> QuorumReader::newest(Tail& tail) {
  quorum::Ask question;
  question.entries = kNewestRead;
  auto all = co_await tail.link->ask(std::move(question));
  while (all && end_of(*all) < all->end) {
    quorum::Ask next;
    next.index = end_of(*all);
    next.entries = kNewestRead;
    auto more = co_await tail.link->ask(std::move(next));
    if (!more) co_return std::nullopt;
    if (more->index != end_of(*all) || more->entries.empty()) {
      tail.link->leave("its answers do not fit together");
      co_return std::nullopt;
    }
    all->entries.insert(all->entries.end(), std::make_move_iterator(more->entries.begin()),
                        std::make_move_iterator(more->entries.end()));
  }
  co_return all;
}

// The horizon of docs/protocol.md rule 6: nobody may still lead by an older record.
BrokerTime QuorumReader::old_enough(const quorum::Answer& newest) const {
  HistoryHorizon horizon;
  for (auto one = newest.entries.rbegin(); one != newest.entries.rend(); ++one) {
    if (horizon.is_known()) break;
    if (!has_record(*one)) continue;
    horizon.note(decode_record(std::get<std::string>(one->what)), one->stamped, options_.lease);
  }
  return horizon.at() - options_.clock_error;
}

Awaitable<> QuorumReader::begin(Tail& tail) {
  const std::uint64_t turn = tail.turn;
  const auto seen = co_await newest(tail);
  if (!seen || turn != tail.turn) co_return;
  const bool no_record = seen->index == 0 && std::none_of(seen->entries.begin(),
                                                          seen->entries.end(), has_record);
  if (no_record || options_.watcher) {
    tail.last.reset();
    if (!seen->entries.empty()) tail.last = seen->entries.back();
    start_tail(tail, *seen, seen->end, no_record ? Below::nothing : Below::older);
    co_return;
  }
  // What is stamped just above it.
  const BrokerTime above = old_enough(*seen) + milliseconds{1};
  quorum::Ask question;
  constexpr BrokerTime kLast{milliseconds{quorum::kNumberEnd - 1}};
  question.since = std::clamp(above, BrokerTime{}, kLast);
  const auto found = co_await tail.link->ask(std::move(question));
  if (!found || turn != tail.turn) co_return;
  const bool old = found->index > found->first;
  const quorum::Index start = old ? found->index - 1 : found->first;
  tail.last.reset();
  start_tail(tail, *found, start,
             start == 0 ? Below::nothing : old ? Below::older : Below::expired);
}

void QuorumReader::start_tail(Tail& tail, const quorum::Answer& answer, quorum::Index start,
                              Below below) {
  const std::uint64_t turn = tail.turn;
  tail.id = answer.log;
  tail.next = start;
  tail.end = answer.end;
  tail.running = true;
  tail.at_end = false;
  emit(TailStarted{tail.log, start, answer.end, below});
  if (turn == tail.turn) say_end(tail);
  if (turn == tail.turn) follow(tail);
}

void QuorumReader::say_end(Tail& tail) {
  if (tail.next < tail.end || std::exchange(tail.at_end, true)) return;
  emit(LogPosition{tail.log, tail.next});
}

void QuorumReader::take(Tail& tail, quorum::Entries& entries) {
  if (!tail.running || !happened_ || !tail.link->is_followed()) return;
  const std::uint64_t turn = tail.turn;
  if (entries.index > tail.next) return lose(tail, GapReason::out_of_range);
  quorum::Index index = entries.index;
  for (quorum::Entry& entry : entries.entries) {
    if (index++ < tail.next) continue;
    deliver(tail, std::move(entry));
    if (turn != tail.turn || !happened_) return;
  }
  say_end(tail);
}

void QuorumReader::deliver(Tail& tail, quorum::Entry entry) {
  const std::int64_t position = tail.next++;
  tail.last = std::move(entry);
  const auto* const record = std::get_if<std::string>(&tail.last->what);
  if (record == nullptr) return;
  const BrokerTime stamped = tail.last->stamped;
  const Decoded decoded = decode_record(*record);
  emit(Received{tail.log, position, stamped, true, &decoded});
}

Awaitable<> QuorumReader::answer(Tail& tail) {
  const RereadRequest request = *tail.reread;
  const std::uint64_t turn = tail.turn;
  quorum::Ask question;
  question.index = request.offset >= 0 ? request.offset : quorum::kNothing;
  question.entries = request.offset >= 0 ? 1 : 0;
  const auto seen = co_await tail.link->ask(std::move(question));
  if (!seen || turn != tail.turn) co_return;
  if (tail.reread && tail.reread->question == request.question) tail.reread.reset();
  if (tail.running && seen->log != tail.id) co_return lose(tail, GapReason::replaced);
  Reread found{tail.log, request.question, request.offset, std::nullopt};
  if (seen->index == request.offset && !seen->entries.empty() &&
      has_record(seen->entries.front())) {
    const quorum::Entry& entry = seen->entries.front();
    found.found = identity_of(decode_record(std::get<std::string>(entry.what)), entry.stamped);
  }
  emit(found);
}

}  // namespace neliroute
