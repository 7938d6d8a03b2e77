#include "voter/client_session.h"

#include <neliroute/clock.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "voter/answers.h"

namespace neliroute {

using quorum::Index;
using quorum::ToClient;

ClientSession::ClientSession(const boost::asio::any_io_executor& executor,
                             std::shared_ptr<Channel> channel, ServedLog& log,
                             quorum::Welcome welcome)
    : executor_(executor),
      channel_(std::move(channel)),
      log_(log),
      welcome_(std::move(welcome)),
      patience_(std::max(4 * welcome_.election, milliseconds{2'000})),
      readable_(executor),
      writable_(executor) {}

Awaitable<std::string> ClientSession::serve() {
  const auto self = shared_from_this();
  term_ = log_.voter().term();
  const bool told = co_await channel_->write(quorum::encode(ToClient(welcome_)), patience_);
  if (told && welcome_.leads) {
    said_ = boot_now();
    log_.add(*this);
    run_apart(executor_, [self] { return self->write_all(); });
    co_await read_all();
    end();
  }
  co_return trouble_.empty() ? channel_->trouble() : trouble_;
}

void ClientSession::end() {
  if (std::exchange(over_, true)) return;
  log_.remove(*this);
  log_.waiting_bytes() -= std::exchange(appending_bytes_, 0);
  channel_->close();
  readable_.cancel();
  writable_.cancel();
}

/// Most changes are nothing to most clients.
void ClientSession::on_change() {
  if (reading_waits_ && !is_full()) readable_.cancel();
  if (writing_waits_ && has_news()) writable_.cancel();
}

Awaitable<> ClientSession::wait(boost::asio::steady_timer& timer, microseconds at_most) {
  timer.expires_after(at_most);
  co_await await_timer(timer);
}

// --- What it says --------------------------------------------------------------------------------

bool ClientSession::is_full() const {
  return asked_.size() >= kAsksMax || appending_.size() >= kAppendsMax ||
         appending_bytes_ >= kAppendBytesMax || log_.waiting_bytes() >= kWaitingBytesMax;
}

Awaitable<> ClientSession::read_all() {
  while (!over_) {
    if (is_full()) {
      reading_waits_ = true;
      co_await wait(readable_, patience_);
      reading_waits_ = false;
      continue;
    }
    const auto bytes = co_await channel_->read();
    if (over_ || !bytes) co_return;
    auto message = quorum::decode_to_voter(*bytes);
    if (!message || !take(*std::move(message))) {
      trouble_ = "it sent an invalid message";
      co_return;
    }
  }
}

bool ClientSession::take(quorum::ToVoter message) {
  if (auto* ask = std::get_if<quorum::Ask>(&message)) {
    asked_.push_back(Asked{*ask, boot_now()});
    log_.ask_round();
  } else if (auto* append = std::get_if<quorum::AppendRecord>(&message)) {
    const std::size_t bytes = append->record.size();
    appending_.push_back(Appending{append->number, bytes, quorum::kNothing});
    appending_bytes_ += bytes;
    log_.waiting_bytes() += bytes;
    log_.propose(shared_from_this(), term_, std::move(append->record));
  } else if (const auto* follow = std::get_if<quorum::Follow>(&message); follow && !next_) {
    next_ = follow->next;
    writable_.cancel();
  } else {
    return false;
  }
  return true;
}

void ClientSession::on_proposed(Index index) {
  if (proposed_ < appending_.size()) appending_[proposed_++].index = index;
}

// --- What it is told -----------------------------------------------------------------------------

Awaitable<> ClientSession::write_all() {
  const auto self = shared_from_this();
  // An election timeout without a word means that this voter is to be doubted.
  const microseconds pause = welcome_.election / 5;
  while (!over_ && !resigned_) {
    const LocalTime now = boot_now();
    const auto message = next(now);
    if (over_) break;
    if (!message) {
      writing_waits_ = true;
      co_await wait(writable_, std::max(said_ + pause - now, pause / 8));
      writing_waits_ = false;
      continue;
    }
    said_ = now;
    const bool told = co_await channel_->write(quorum::encode(*message), patience_);
    readable_.cancel();
    if (!told) break;
  }
  end();
}

bool ClientSession::has_appended() const {
  return proposed_ > 0 && appending_.front().index < log_.voter().committed();
}

bool ClientSession::has_news() const {
  return !log_.leads_in(term_) || has_appended() || has_entries() || has_answer();
}

bool ClientSession::has_entries() const { return next_ && *next_ < log_.voter().committed(); }

bool ClientSession::has_answer() const {
  return !asked_.empty() && log_.voter().confirmed_since(asked_.front().at);
}

std::optional<ToClient> ClientSession::next(LocalTime now) {
  const quorum::Voter& voter = log_.voter();
  if (!log_.leads_in(term_)) {
    resigned_ = true;
    return quorum::Resigned{};
  }
  const bool others_first = std::exchange(told_appended_, false) && (has_answer() || has_entries());
  if (has_appended() && !others_first) {
    told_appended_ = true;
    const Appending appended = appending_.front();
    appending_.pop_front();
    --proposed_;
    appending_bytes_ -= appended.bytes;
    log_.waiting_bytes() -= appended.bytes;
    return quorum::Appended{appended.number, appended.index};
  }
  if (!asked_.empty()) {
    if (const auto end = voter.confirmed_since(asked_.front().at)) {
      const quorum::Ask ask = asked_.front().ask;
      asked_.pop_front();
      return answer_to(ask, *voter.durable().log, voter.entries(), *end);
    }
  }
  if (auto entries = next_committed()) return entries;
  if (!over_ && now >= said_ + welcome_.election / 5 && log_.is_lively(now)) {
    return quorum::Entries{next_.value_or(0), {}};
  }
  return std::nullopt;
}

/// What is committed can be told at any time: nobody replaces it.
std::optional<ToClient> ClientSession::next_committed() {
  const quorum::Voter& voter = log_.voter();
  if (!next_) return std::nullopt;
  if (*next_ < voter.entries().first()) {
    trouble_ = "it follows from " + std::to_string(*next_) + ", and the log begins at " +
               std::to_string(voter.entries().first());
    end();
    return std::nullopt;
  }
  // A new leader does not know yet how far that reaches.
  if (*next_ >= voter.committed()) return std::nullopt;
  quorum::Entries entries{
      *next_, chunk(voter.entries(), *next_, voter.committed(), quorum::kChunkEntries)};
  *next_ += static_cast<Index>(entries.entries.size());
  return entries;
}

}  // namespace neliroute
