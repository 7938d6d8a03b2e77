#include "ledgers/quorum/quorum_link.h"

#include <algorithm>
#include <chrono>
#include <neliroute/clock.h>
#include <utility>
#include <variant>

namespace neliroute {
namespace {

/// Of a voter that knows the leader, or is the leader, none needs longer.
constexpr milliseconds kGreetingLeast{200};
constexpr milliseconds kGreetingMost{2'000};
/// An election takes longer than that, so it is no reason to alarm anybody.
constexpr milliseconds kQuietLeast{1'000};

}  // namespace

QuorumLink::QuorumLink(boost::asio::any_io_executor strand, std::shared_ptr<QuorumVoters> voters,
                       Log log, milliseconds patience)
    : strand_(std::move(strand)),
      voters_(std::move(voters)),
      log_(log),
      patience_(std::max(patience, kGreetingLeast)),
      finder_(voters_, log, std::min(patience_, kGreetingMost)),
      pause_(strand_),
      silent_(strand_),
      lost_(boot_now()) {}

void QuorumLink::start() {
  lost_ = boot_now();
  run_apart(strand_, [self = shared_from_this()] { return self->run(); });
}

void QuorumLink::close() {
  if (std::exchange(closed_, true)) return;
  pause_.cancel();
  silent_.cancel();
  finder_.close();
  const auto session = std::exchange(session_, nullptr);
  if (session) {
    session->channel->close();
    lose(*session);
  }
}

void QuorumLink::tell(std::function<void()> Handlers::*what) {
  for (std::size_t one = 0; one < handlers_.size() && !closed_; ++one) {
    const auto told = handlers_[one].*what;
    if (told) told();
  }
}

Awaitable<> QuorumLink::run() {
  while (!closed_) {
    const std::shared_ptr<Channel> channel = co_await finder_.find();
    if (closed_) co_return;
    if (channel) co_await serve(channel);
    if (closed_) co_return;
    note_unreachable();
    // Which is how often a leader says that it leads.
    const milliseconds quarter = finder_.welcome().election / 4;
    co_await pause(pause_, std::clamp(quarter, milliseconds{20}, milliseconds{250}));
  }
}

void QuorumLink::note_unreachable() {
  const LocalTime now = boot_now();
  const std::string troubles = finder_.troubles();
  if (troubles.empty() || now < later(lost_, std::max(patience_, kQuietLeast))) return;
  voters_->reports().report("log " + std::to_string(log_.value()), 0, Severity::error,
                            "log " + std::to_string(log_.value()) +
                                " has no leader that answers (" + troubles + "); trying again",
                            now);
}

Awaitable<> QuorumLink::serve(std::shared_ptr<Channel> channel) {
  const auto session = std::make_shared<Session>();
  session->number = ++sessions_;
  session->channel = channel;
  session_ = session;
  tell(&Handlers::opened);
  watch();
  for (bool well = true; well && !closed_;) {
    const std::optional<std::string> text = co_await channel->read();
    if (closed_) co_return;
    if (text && session_ == session) {
      well = take(*session, *text);
    } else {
      well = false;
    }
  }
  if (closed_) co_return;
  channel->close();
  if (session_ == session) session_.reset();
  silent_.cancel();
  if (session->trusted) lost_ = boot_now();
  if (!session->end.empty()) ++voters_->statistics().unanswered;
  lose(*session);
  tell(&Handlers::lost);
}

// Whoever waits for an answer learns that there is none.
void QuorumLink::lose(Session& session) {
  const auto asked = std::exchange(session.asked, {});
  for (const auto& [_, question] : asked) question->answered.cancel();
}

bool QuorumLink::take(Session& session, const std::string& text) {
  auto said = quorum::decode_to_client(text);
  if (!said) return false;
  session.heard = voters_->statistics().heard_at = boot_now();
  if (std::holds_alternative<quorum::Resigned>(*said) ||
      std::holds_alternative<quorum::Refused>(*said)) {
    return false;
  }
  if (auto* answer = std::get_if<quorum::Answer>(&*said)) {
    take_answer(session, std::move(*answer));
    return true;
  }
  for (std::size_t one = 0; one < handlers_.size() && !closed_; ++one) {
    if (handlers_[one].heard) handlers_[one].heard(*said);
  }
  return true;
}

void QuorumLink::take_answer(Session& session, quorum::Answer answer) {
  const auto found = session.asked.find(answer.number);
  if (found == session.asked.end()) return;
  const auto question = found->second;
  session.asked.erase(found);
  voters_->statistics().note_answer(question->asked, false, boot_now());
  question->answer = std::move(answer);
  question->answered.cancel();
}

void QuorumLink::say(const quorum::ToVoter& message) {
  if (!session_) return;
  session_->unsaid.push_back(encode(message));
  if (std::exchange(session_->saying, true)) return;
  run_apart(strand_, [self = shared_from_this(), session = session_] {
    return self->say_all(session);
  });
}

Awaitable<> QuorumLink::say_all(std::shared_ptr<Session> session) {
  const std::shared_ptr<Channel> channel = session->channel;
  while (!session->unsaid.empty()) {
    std::string message = std::move(session->unsaid.front());
    session->unsaid.pop_front();
    const bool said = co_await channel->write(std::move(message), patience_);
    if (!said) break;
  }
  // Where it is over, its read ends, too.
  session->saying = false;
}

Awaitable<std::optional<quorum::Answer>> QuorumLink::ask(quorum::Ask question) {
  const std::shared_ptr<Session> session = session_;
  if (!session) co_return std::nullopt;
  question.number = ++questions_;
  const auto asked = std::make_shared<Question>(strand_);
  session->asked[question.number] = asked;
  ++voters_->statistics().requests;
  say(quorum::ToVoter(question));
  co_await pause(asked->answered, patience_);
  session->asked.erase(question.number);
  if (!asked->answer && !closed_ && session_ == session && session->end.empty()) {
    leave("no answer within " + std::to_string(patience_.count()) + " ms");
  }
  co_return std::move(asked->answer);
}

void QuorumLink::follow(quorum::Index next) {
  if (!session_) return;
  session_->followed = true;
  session_->heard = boot_now();
  say(quorum::ToVoter(quorum::Follow{next}));
  watch();
}

void QuorumLink::append(std::uint64_t number, const std::string& record) {
  ++voters_->statistics().requests;
  say(quorum::ToVoter(quorum::AppendRecord{number, record}));
}

void QuorumLink::trust() {
  if (!session_) return;
  session_->trusted = true;
  voters_->reports().recovered("log " + std::to_string(log_.value()),
                               finder_.leader() + " leads log " + std::to_string(log_.value()),
                               boot_now());
  if (session_) tell(&Handlers::trusted);
}

void QuorumLink::drop() {
  if (session_) session_->channel->close();
}

void QuorumLink::leave(const std::string& why) {
  if (!session_ || !session_->end.empty()) return;
  session_->end = why;
  finder_.leave(why);
  session_->channel->close();
}

milliseconds QuorumLink::silence_most() const {
  constexpr milliseconds kLeast{100};
  constexpr milliseconds kMost{60'000};
  return std::clamp(3 * std::min(finder_.welcome().election, kMost), kLeast, kMost);
}

void QuorumLink::watch() {
  if (!session_ || !session_->followed) return;
  const LocalTime due = later(session_->heard, silence_most());
  silent_.expires_after(std::max(due - boot_now(), microseconds{0}));
  silent_.async_wait([weak = weak_from_this(), number = session_->number](
                         const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (error || !self || self->channel() != number) return;
    const LocalTime heard = self->session_->heard;
    if (boot_now() < later(heard, self->silence_most())) return self->watch();
    self->leave("silent for " + std::to_string(self->silence_most().count()) + " ms");
  });
}

}  // namespace neliroute
