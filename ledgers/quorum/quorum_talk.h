// Questions to the leader of a log by a thread that waits for their answers: at start, and for an
// operator's command.
//
// Threads: one, which blocks.   Units: std::chrono.
// Errors: ledger_unreachable, naming each voter that was asked in vain.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <neliroute/error.h>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>
#include <string>

#include "ledgers/quorum/leader_finder.h"
#include "net/await.h"
#include "quorum/client_message.h"

namespace neliroute {

class QuorumTalk {
 public:
  /// `waiting` is told once, if nobody answers at first. `for_ever`: until somebody answers.
  QuorumTalk(const QuorumConnection& connection, TlsContextPtr tls, Log log,
             NoticeSink waiting = nullptr, bool for_ever = false);
  ~QuorumTalk() { finder_.close(); }
  QuorumTalk(const QuorumTalk&) = delete;
  QuorumTalk& operator=(const QuorumTalk&) = delete;

  [[nodiscard]] Result<quorum::Answer> ask(const quorum::Ask& question);
  /// Of the voter that answered.
  [[nodiscard]] const quorum::Welcome& welcome() const noexcept { return finder_.welcome(); }
  [[nodiscard]] const std::string& leader() const { return finder_.leader(); }

  using Take = std::function<void(quorum::Index, quorum::Entry&)>;
  /// All entries from `from` on that are committed below `end`. False: the log is another one than
  /// `id` by now, or does not have all of them any more.
  [[nodiscard]] Result<bool> read(quorum::LogId id, quorum::Index from, quorum::Index end,
                                  const Take& take);

 private:
  struct Reading {
    quorum::LogId id;
    quorum::Index next = 0;
    quorum::Index end = 0;
    const Take* take = nullptr;
  };
  enum class Read : std::uint8_t { interrupted, done, gone };

  [[nodiscard]] Awaitable<std::optional<quorum::Answer>> ask_once(quorum::Ask question);
  [[nodiscard]] Awaitable<Read> read_once(Reading& reading);
  [[nodiscard]] Awaitable<std::optional<quorum::ToClient>> hear();
  void stop();
  /// An error: the time is over.
  [[nodiscard]] Result<void> wait();

  const QuorumConnection& connection_;
  NoticeSink waiting_;
  bool for_ever_;
  boost::asio::io_context io_;
  std::shared_ptr<QuorumVoters> voters_;
  LeaderFinder finder_;
  std::shared_ptr<Channel> channel_;
  std::uint64_t questions_ = 0;
  LocalTime deadline_;
  bool said_silent_ = false;
};

}  // namespace neliroute
