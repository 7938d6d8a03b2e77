#include "ledgers/quorum/leader_finder.h"

#include <algorithm>
#include <chrono>
#include <neliroute/clock.h>
#include <utility>
#include <variant>

#include "net/dial.h"

namespace neliroute {
namespace {

milliseconds time_left(LocalTime due) {
  return std::max(std::chrono::ceil<milliseconds>(due - boot_now()), milliseconds{1});
}

ChannelOptions channel_options(const QuorumConnection& connection) {
  ChannelOptions options;
  options.protocol = quorum::kQuorumProtocol;
  options.key = connection.key;
  options.message_bytes_max = quorum::kSaidBytesMax;
  return options;
}

}  // namespace

LeaderFinder::LeaderFinder(std::shared_ptr<QuorumVoters> voters, Log log, milliseconds patience)
    : voters_(std::move(voters)),
      log_(log),
      patience_(patience),
      order_(voters_->connection().voters),
      leader_(order_.front()) {}

void LeaderFinder::close() {
  closed_ = true;
  if (channel_) channel_->close();
}

void LeaderFinder::leave(const std::string& why) {
  left_ = leader_;
  troubles_[leader_] = why;
  move_to(leader_, /*front=*/false);
}

void LeaderFinder::move_to(const std::string& voter, bool front) {
  const auto at = std::find(order_.begin(), order_.end(), voter);
  if (at == order_.end()) return;
  front ? std::rotate(order_.begin(), at, at + 1) : std::rotate(at, at + 1, order_.end());
}

std::string LeaderFinder::troubles() const {
  std::string text;
  for (const auto& [voter, trouble] : troubles_) {
    text += (text.empty() ? "" : "; ") + voter + ": " + trouble;
  }
  return text;
}

Awaitable<std::shared_ptr<Channel>> LeaderFinder::find() {
  std::vector<std::string> waiting = order_;
  std::string next;
  bool guest = false;  // one more than this process was told of; a round has one
  while (!waiting.empty() || !next.empty()) {
    auto at = std::find(waiting.begin(), waiting.end(), next);
    if (at == waiting.end() && (next.empty() || !is_unknown(next) || std::exchange(guest, true))) {
      if (waiting.empty()) break;
      at = waiting.begin();
    }
    const std::string voter = at == waiting.end() ? next : *at;
    if (at != waiting.end()) waiting.erase(at);
    next.clear();
    std::string trouble = co_await greet(voter);
    if (closed_) co_return nullptr;
    if (trouble.empty() && welcome_.leads) {
      leader_ = voter;
      left_.clear();
      troubles_.clear();
      move_to(voter, /*front=*/true);
      co_return std::exchange(channel_, nullptr);
    }
    channel_.reset();
    if (trouble.empty()) {
      trouble = take_hint(next);
    } else if (timed_out_) {
      move_to(voter, /*front=*/false);
    }
    troubles_[voter] = std::move(trouble);
  }
  left_.clear();
  co_return nullptr;
}

bool LeaderFinder::is_unknown(const std::string& voter) const {
  return std::find(order_.begin(), order_.end(), voter) == order_.end();
}

std::string LeaderFinder::take_hint(std::string& next) const {
  if (welcome_.leader.empty()) return "it knows no leader";
  const bool may_ask = voters_->connection().ask_others || !is_unknown(welcome_.leader);
  if (may_ask && welcome_.leader != left_) next = welcome_.leader;
  return "it says that " + welcome_.leader + " leads";
}

void LeaderFinder::count(const std::string& trouble, LocalTime asked) {
  if (closed_) return;
  StoreStatistics& statistics = voters_->statistics();
  ++statistics.requests;
  if (trouble.empty()) {
    statistics.note_answer(asked, false, boot_now());
  } else {
    ++statistics.unanswered;
  }
}

Awaitable<std::string> LeaderFinder::greet(std::string voter) {
  const LocalTime asked = boot_now();
  const LocalTime due = later(asked, patience_);
  timed_out_ = false;
  Dialed dialed = co_await dial(voters_->names(), std::move(voter), voters_->tls(), patience_);
  std::string trouble = std::move(dialed.trouble);
  if (dialed.stream && !closed_) {
    constexpr milliseconds kLeast{1'000};
    expect_acknowledged(dialed.stream->socket(), std::max(patience_, kLeast));
    channel_ = std::make_shared<Channel>(std::move(dialed.stream), Channel::Side::client,
                                         channel_options(voters_->connection()));
    trouble = co_await say_hello(due);
  }
  if (!trouble.empty()) timed_out_ = boot_now() >= due;
  count(trouble, asked);
  co_return trouble;
}

Awaitable<std::string> LeaderFinder::say_hello(LocalTime due) {
  const std::shared_ptr<Channel> channel = channel_;
  const auto why = [&channel](const char* else_why) {
    return channel->trouble().empty() ? std::string(else_why) : channel->trouble();
  };
  const bool opened = co_await channel->open(time_left(due));
  if (!opened) co_return why("it ended the connection");
  quorum::Hello hello;
  hello.name = voters_->connection().name;
  hello.log = log_.value();
  const bool said = co_await channel->write(encode(quorum::ToVoter(hello)), time_left(due));
  if (!said) co_return why("it ended the connection");
  const ReadWithin heard = co_await read_within(channel, time_left(due));
  if (!heard.message) co_return heard.in_time ? why("it ended the connection") : "it says nothing";
  const auto answer = quorum::decode_to_client(*heard.message);
  if (!answer) co_return "it sent an invalid message";
  if (const auto* refused = std::get_if<quorum::Refused>(&*answer)) co_return refused->why;
  const auto* welcome = std::get_if<quorum::Welcome>(&*answer);
  if (welcome == nullptr) co_return "it sent an invalid greeting";
  welcome_ = *welcome;
  co_return "";
}

}  // namespace neliroute
