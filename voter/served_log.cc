#include "voter/served_log.h"

#include <neliroute/clock.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "voter/answers.h"

namespace neliroute {
namespace {

using quorum::Index;
using quorum::Message;
using quorum::Ready;

/// Of other voters' messages that wait for the disk. What is above is dropped, as the network may.
constexpr std::size_t kPeerBytesMax = std::size_t{16} << 20;

bool needs_disk(const Ready& ready) {
  return ready.vote_changed || ready.start_changed || ready.entries_changed.has_value();
}

bool is_empty(const Ready& ready) {
  return !needs_disk(ready) && ready.at_once.empty() && ready.once_stored.empty();
}

std::string in_ms(microseconds time) {
  return std::to_string(std::chrono::duration_cast<milliseconds>(time).count()) + " ms";
}

/// As this machine's clock has it.
BrokerTime broker_now() {
  return BrokerTime(std::chrono::duration_cast<milliseconds>(wall_now().time_since_epoch()));
}

}  // namespace

ServedLog::ServedLog(const boost::asio::any_io_executor& executor, SideThreads& disks,
                     std::shared_ptr<VoterNotices> notices, Options options, Handlers handlers,
                     std::shared_ptr<FilePort> files, OpenedDisk opened)
    : disks_(disks),
      notices_(std::move(notices)),
      options_(std::move(options)),
      handlers_(std::move(handlers)),
      statistics_(options_.statistics->logs.at(options_.number)),
      kept_(std::make_shared<Kept>(Kept{
          std::move(files), std::move(opened.disk),
          quorum::Voter(options_.voter, std::move(opened.durable), boot_now())})),
      timer_(executor),
      executor_(executor) {
  statistics_.disk_bytes = kept_->disk.bytes();
  publish(boot_now());
}

void ServedLog::close() {
  over_ = true;
  *alive_ = false;
  timer_.cancel();
  inputs_.clear();
  statistics_.leads = statistics_.is_led = false;
}

void ServedLog::take(Message message, std::size_t bytes) {
  if (over_ || peer_bytes_ + bytes > kPeerBytesMax) return;
  peer_bytes_ += bytes;
  inputs_.emplace_back(FromPeer{std::move(message), bytes});
  work_soon();
}

void ServedLog::propose(const std::shared_ptr<LogClient>& client, quorum::Term term,
                        std::string record) {
  if (over_) return;
  inputs_.emplace_back(Proposal{client, term, std::move(record)});
  work_soon();
}

void ServedLog::ask_round() {
  if (over_) return;
  inputs_.emplace_back(Round{});
  work_soon();
}

/// When all that has come is taken from the sockets, too.
void ServedLog::work_soon() {
  if (over_ || storing_ || std::exchange(working_soon_, true)) return;
  boost::asio::post(executor_, [this, alive = alive_] {
    if (!*alive) return;
    working_soon_ = false;
    work();
  });
}

void ServedLog::work() {
  if (over_ || storing_) return;
  const LocalTime now = boot_now();
  take_inputs(now);
  if (kept_->voter.deadline() <= now) kept_->voter.tick(now);
  drop_old(now);
  carry_out(now);
  tell_leader(now);
  tell_voters();
  publish(now);
  arm(now);
  if (!inputs_.empty() && !kept_->voter.hands_over()) work_soon();
  for (LogClient* client : clients_) client->on_change();
}

void ServedLog::take_inputs(LocalTime now) {
  quorum::Voter& voter = kept_->voter;
  const BrokerTime wall = broker_now();
  std::deque<Input> waiting;
  for (Input& input : std::exchange(inputs_, {})) {
    if (auto* peer = std::get_if<FromPeer>(&input)) {
      voter.step(peer->message, now);
    } else if (auto* proposal = std::get_if<Proposal>(&input)) {
      const auto client = proposal->client.lock();
      if (!client || !leads_in(proposal->term)) continue;
      if (voter.hands_over()) {
        waiting.push_back(std::move(input));
        continue;
      }
      if (is_full(now)) {
        client->on_proposed(quorum::kNothing);
        continue;
      }
      tell_clock(wall, now);
      const auto index = voter.propose(std::move(proposal->record), wall);
      if (index) client->on_proposed(*index);
    } else {
      voter.ask_round();
    }
  }
  peer_bytes_ = 0;
  inputs_ = std::move(waiting);
}

/// Records are kept for a fixed time, so only this stops a client that writes without end from
/// taking all memory.
bool ServedLog::is_full(LocalTime now) {
  if (kept_->voter.entries().bytes() < options_.bytes_max) return false;
  notices_->say_seldom(shown() + " full", Severity::error,
                       shown() + " is full: the records that it keeps take " +
                           std::to_string(options_.bytes_max >> 20) +
                           " MiB of memory, and no more are stored until old ones are dropped. "
                           "Find who writes so many, or give all voters a shorter `voter.kept`",
                       now);
  return true;
}

/// Stamps do not fall, so they stand still until this machine's clock has caught up.
void ServedLog::tell_clock(BrokerTime wall, LocalTime now) {
  const auto ahead = kept_->voter.entries().last_stamp() - wall;
  if (ahead < std::chrono::seconds(1)) return;
  notices_->say_seldom(shown() + " clock", Severity::error,
                       shown() + ": its newest record is " + in_ms(ahead) +
                           " ahead of this machine's clock, so nobody takes over from the dead "
                           "for as long; look at the clocks of all voters",
                       now);
}

/// Until there is nothing more to do, or something to store.
void ServedLog::carry_out(LocalTime now) {
  for (;;) {
    Ready ready = kept_->voter.take_ready(now);
    tell(ready, now);
    send(ready.at_once);
    if (needs_disk(ready)) return store(std::move(ready), now);
    const bool idle = is_empty(ready);
    send(ready.once_stored);
    kept_->voter.stored(now);
    if (idle) return;
  }
}

void ServedLog::store(Ready ready, LocalTime now) {
  storing_ = true;
  storing_since_ = now;
  SideThreads::Job job = [this, kept = kept_,
                          shared = std::make_shared<const Ready>(
                              std::move(ready))]() -> SideThreads::Then {
    const auto stored = kept->disk.store(*shared, kept->voter.durable());
    return [this, shared, stored] { on_stored(*shared, stored); };
  };
  if (disks_.run(job)) return;
  // The system has no thread left.
  boost::asio::post(executor_, [alive = alive_, then = job()] {
    if (*alive) then();
  });
}

void ServedLog::on_stored(const Ready& ready, const Result<void>& stored) {
  if (over_) return;
  storing_ = false;
  if (!stored) {
    close();
    return handlers_.failed(stored.error());
  }
  const LocalTime now = boot_now();
  options_.statistics->stores.note(now - storing_since_);
  statistics_.disk_bytes = kept_->disk.bytes();
  if (const auto took = now - storing_since_; took > options_.voter.election) {
    notices_->say_seldom(
        shown() + " disk", Severity::warning,
        "storing in `" + options_.folder + "` took " + in_ms(took) +
            ", longer than the election timeout, " + in_ms(options_.voter.election) +
            ": this costs a leader its lead. Give the voter a faster disk, or all of them a "
            "longer timeout",
        now);
  }
  send(ready.once_stored);
  kept_->voter.stored(now);
  work();
}

void ServedLog::send(const std::vector<Message>& messages) {
  for (const Message& message : messages) handlers_.send(message);
}

/// What was committed so long ago, by this voter's own time since it started: no clock that is
/// wrong drops anything, or keeps it.
void ServedLog::drop_old(LocalTime now) {
  const Index end = kept_->voter.committed();
  if (marks_.empty() || now >= later(marks_.back().at, mark_each())) marks_.push_back({now, end});
  while (marks_.size() > 1 && now >= later(marks_.front().at, options_.kept)) {
    const Index first = std::min(marks_.front().committed, end - 1);
    if (first > kept_->voter.entries().first()) kept_->voter.drop(first);
    marks_.pop_front();
  }
}

milliseconds ServedLog::mark_each() const {
  return std::clamp(options_.kept / 10, milliseconds{100}, milliseconds{60'000});
}

void ServedLog::tell(const Ready& ready, LocalTime now) {
  for (const std::string& address : ready.strangers) {
    notices_->say_seldom(shown() + " stranger " + address, Severity::error,
                         shown() + ": " + address +
                             " has another log. If its folder is of another quorum, remove that",
                         now);
  }
  for (const std::string& address : ready.others_told) {
    notices_->say_seldom(shown() + " told " + address, Severity::warning,
                         shown() + ": " + address +
                             " was told of other voters; give all the same addresses",
                         now);
  }
  for (const std::string& address : ready.contradictions) {
    notices_->say_seldom(shown() + " contradiction " + address, Severity::error,
                         shown() + ": its leader, " + address +
                             ", would replace what was committed, which is refused: a majority "
                             "of the voters lost their disks, or have old ones. Restore them, or "
                             "begin anew with empty folders for all",
                         now);
  }
}

void ServedLog::tell_leader(LocalTime now) {
  const quorum::Voter& voter = kept_->voter;
  const std::string* leader = voter.leader();
  if (leader == nullptr) {
    if (!leaderless_since_) leaderless_since_ = now;
    const auto since = now - *leaderless_since_;
    if (since > std::max<microseconds>(10 * options_.voter.election, std::chrono::seconds(5))) {
      notices_->say_seldom(shown() + " leaderless", Severity::warning,
                           shown() + " has had no leader for " + in_ms(since) +
                               (voter.durable().log
                                    ? ": a majority of the voters must run and reach each other"
                                    : ": it begins once all voters run, each told of the same"),
                           now);
    }
    return;
  }
  leaderless_since_.reset();
  if (*leader == told_leader_ && voter.term() == told_term_) return;
  told_leader_ = *leader;
  told_term_ = voter.term();
  ++statistics_.leaders;
  notices_->say(Severity::info, shown() + " is led by " +
                                    (leads() ? "this voter" : told_leader_) + ", in term " +
                                    std::to_string(told_term_));
}

/// An operator who replaces voters, or their disks, waits for it.
void ServedLog::tell_voters() {
  const quorum::Voter& voter = kept_->voter;
  const auto at = voter.entries().configured_at();
  if (!voter.durable().log || (at && *at >= voter.committed())) return;
  std::string voters;
  for (const quorum::Member& member : voter.entries().configuration().members) {
    voters += (voters.empty() ? "" : ", ") + member.address;
  }
  if (voter.entries().configuration().find(voter.durable().self) == nullptr) {
    voters += "; this voter does not count";
  }
  if (voters == told_voters_) return;
  told_voters_ = voters;
  notices_->say(Severity::info, shown() + " is kept by " + voters);
}

void ServedLog::publish(LocalTime now) {
  const quorum::Voter& voter = kept_->voter;
  const quorum::EntryLog& entries = voter.entries();
  statistics_.leads = leads() && is_lively(now);
  statistics_.is_led = voter.leader() != nullptr;
  statistics_.counts = voter.durable().log.has_value() &&
                       entries.configuration().find(voter.durable().self) != nullptr;
  statistics_.term = voter.term();
  statistics_.committed = voter.committed();
  statistics_.first = entries.first();
  statistics_.end = entries.end();
  statistics_.overdue = voter.overdue(now);
  statistics_.clock_ahead =
      std::max<microseconds>(entries.last_stamp() - broker_now(), microseconds{0});
  options_.statistics->worked_at = now;
}

void ServedLog::arm(LocalTime now) {
  // While it stores, only to say that this takes long.
  static constexpr milliseconds kHangs{10'000};
  const LocalTime at = storing_ ? later(now, kHangs) : kept_->voter.deadline();
  timer_.expires_after(std::max(at - now, microseconds{0}));
  timer_.async_wait([this, alive = alive_](const boost::system::error_code& error) {
    if (error || !*alive) return;
    if (!storing_) return work_soon();
    const LocalTime then = boot_now();
    publish(then);
    if (then - storing_since_ < kHangs) return;  // it expired before this began to be stored
    notices_->say_seldom(shown() + " hangs", Severity::error,
                         "storing in `" + options_.folder + "` has taken " +
                             in_ms(then - storing_since_) + " so far; look at that disk",
                         then);
    arm(then);
  });
}

}  // namespace neliroute
