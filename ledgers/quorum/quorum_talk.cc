#include "ledgers/quorum/quorum_talk.h"

#include <neliroute/clock.h>
#include <thread>
#include <utility>
#include <variant>

#include "ledgers/parts/run_within.h"

namespace neliroute {
namespace {

constexpr milliseconds kTalkGreeting{2'000};
constexpr milliseconds kTalkAnswer{5'000};
constexpr milliseconds kTalkPoll{100};

}  // namespace

QuorumTalk::QuorumTalk(const QuorumConnection& connection, TlsContextPtr tls, Log log,
                       NoticeSink waiting, bool for_ever)
    : connection_(connection),
      waiting_(std::move(waiting)),
      for_ever_(for_ever),
      voters_(std::make_shared<QuorumVoters>(io_.get_executor(), connection, std::move(tls))),
      finder_(voters_, log, std::min(kTalkGreeting, connection.timeout)),
      deadline_(later(boot_now(), connection.timeout)) {}

void QuorumTalk::stop() {
  if (channel_) channel_->close();
}

Result<void> QuorumTalk::wait() {
  const std::string within = std::to_string(connection_.timeout.count()) + " ms";
  if (!for_ever_ && boot_now() >= deadline_) {
    return Error{Errc::ledger_unreachable,
                 connection_.shown + ": no voter that leads answered within " + within + " (" +
                     finder_.troubles() +
                     "); start a majority of them, name others, or wait longer "
                     "(`kafka.timeout`)"};
  }
  if (!std::exchange(said_silent_, true) && waiting_) {
    waiting_({Severity::warning, connection_.shown + ": no voter leads yet (" +
                                     finder_.troubles() + "); waiting" +
                                     (for_ever_ ? std::string() : ", at most " + within)});
  }
  std::this_thread::sleep_for(kTalkPoll);
  return {};
}

Result<quorum::Answer> QuorumTalk::ask(const quorum::Ask& question) {
  const auto voters = static_cast<int>(connection_.voters.size());
  for (;;) {
    auto answer = run_within(io_, ask_once(question), voters * kTalkGreeting + 2 * kTalkAnswer,
                             [this] { stop(); });
    if (answer) return *std::move(answer);
    if (auto more = wait(); !more) return more.error();
  }
}

Awaitable<std::optional<quorum::ToClient>> QuorumTalk::hear() {
  const ReadWithin heard = co_await read_within(channel_, kTalkAnswer);
  std::optional<quorum::ToClient> said;
  if (heard.message) said = quorum::decode_to_client(*heard.message);
  if (!said || said->index() == quorum::ToClient(quorum::Resigned{}).index()) {
    finder_.leave(heard.in_time ? "it ended the connection" : "no answer in time");
    channel_.reset();
    said.reset();
  }
  co_return said;
}

Awaitable<std::optional<quorum::Answer>> QuorumTalk::ask_once(quorum::Ask question) {
  if (!channel_) channel_ = co_await finder_.find();
  if (!channel_) co_return std::nullopt;
  question.number = ++questions_;
  const bool asked = co_await channel_->write(encode(quorum::ToVoter(question)), kTalkAnswer);
  if (!asked) channel_.reset();
  while (channel_) {
    auto said = co_await hear();
    if (!said) break;
    auto* answer = std::get_if<quorum::Answer>(&*said);
    if (answer != nullptr && answer->number == question.number) co_return std::move(*answer);
  }
  co_return std::nullopt;
}

Awaitable<QuorumTalk::Read> QuorumTalk::read_once(Reading& reading) {
  channel_.reset();  // each is followed once
  quorum::Ask question;
  question.index = reading.next;
  const auto answer = co_await ask_once(std::move(question));
  if (!answer) co_return Read::interrupted;
  if (answer->log != reading.id || answer->first > reading.next || answer->end < reading.end) {
    co_return Read::gone;
  }
  if (reading.next >= reading.end) co_return Read::done;
  const bool asked = co_await channel_->write(encode(quorum::ToVoter(quorum::Follow{reading.next})),
                                              kTalkAnswer);
  while (asked && channel_) {
    auto said = co_await hear();
    if (!said) break;
    auto* const entries = std::get_if<quorum::Entries>(&*said);
    if (entries == nullptr) continue;
    if (entries->index > reading.next) co_return Read::gone;
    quorum::Index index = entries->index;
    for (quorum::Entry& entry : entries->entries) {
      if (index++ != reading.next || reading.next >= reading.end) continue;
      (*reading.take)(reading.next++, entry);
    }
    if (reading.next >= reading.end) co_return Read::done;
  }
  co_return Read::interrupted;
}

Result<bool> QuorumTalk::read(quorum::LogId id, quorum::Index from, quorum::Index end,
                              const Take& take) {
  constexpr milliseconds kAll{3'600'000};
  Reading reading{id, from, end, &take};
  for (;;) {
    const quorum::Index before = reading.next;
    const Read read = run_within(io_, read_once(reading), kAll, [this] { stop(); });
    if (read != Read::interrupted) return read == Read::done;
    if (reading.next > before) deadline_ = later(boot_now(), connection_.timeout);
    if (auto more = wait(); !more) return more.error();
  }
}

}  // namespace neliroute
