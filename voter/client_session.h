// A client of one log on its channel: what it asks, follows and appends.
//
// An answer is made only when it can be sent, so a client that reads slowly costs a connection and
// nothing else. A client that does not read for long is dropped. Requests under way are bounded: at
// the bound no more are read.
//
// Threads: that of the voter.   Units: LocalTime.   Errors: end the channel.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <neliroute/time.h>
#include <optional>
#include <string>

#include "net/await.h"
#include "net/channel.h"
#include "quorum/client_message.h"
#include "voter/served_log.h"

namespace neliroute {

class ClientSession final : public LogClient, public std::enable_shared_from_this<ClientSession> {
 public:
  /// `log` must not end before the executor does.
  ClientSession(const boost::asio::any_io_executor& executor, std::shared_ptr<Channel> channel,
                ServedLog& log, quorum::Welcome welcome);

  /// Until the channel is over. Why: for people, empty if there is nothing to say.
  [[nodiscard]] Awaitable<std::string> serve();

  void on_proposed(quorum::Index index) override;
  void on_change() override;

 private:
  static constexpr std::size_t kAsksMax = 64;
  static constexpr std::size_t kAppendsMax = 1024;
  static constexpr std::size_t kAppendBytesMax = std::size_t{4} << 20;
  /// Of all clients of the log.
  static constexpr std::size_t kWaitingBytesMax = std::size_t{64} << 20;

  struct Asked {
    quorum::Ask ask;
    LocalTime at;
  };
  struct Appending {
    std::uint64_t number = 0;
    std::size_t bytes = 0;
    quorum::Index index = quorum::kNothing;
  };

  [[nodiscard]] bool is_full() const;
  [[nodiscard]] bool has_appended() const;
  [[nodiscard]] bool has_entries() const;
  [[nodiscard]] bool has_answer() const;
  [[nodiscard]] bool has_news() const;
  /// False: it makes no sense.
  [[nodiscard]] bool take(quorum::ToVoter message);
  void end();
  [[nodiscard]] Awaitable<> read_all();
  [[nodiscard]] Awaitable<> write_all();
  [[nodiscard]] std::optional<quorum::ToClient> next(LocalTime now);
  [[nodiscard]] std::optional<quorum::ToClient> next_committed();
  [[nodiscard]] Awaitable<> wait(boost::asio::steady_timer& timer, microseconds at_most);

  boost::asio::any_io_executor executor_;
  std::shared_ptr<Channel> channel_;
  ServedLog& log_;
  const quorum::Welcome welcome_;
  const milliseconds patience_;
  quorum::Term term_ = 0;
  boost::asio::steady_timer readable_;  ///< until it may read on
  boost::asio::steady_timer writable_;  ///< until there is something to say
  std::deque<Asked> asked_;
  std::deque<Appending> appending_;
  /// Of these, how many have an index.
  std::size_t proposed_ = 0;
  std::size_t appending_bytes_ = 0;
  std::optional<quorum::Index> next_;
  LocalTime said_ = kLongAgo;
  bool reading_waits_ = false;
  bool writing_waits_ = false;
  /// The last thing that it was told: then others come first.
  bool told_appended_ = false;
  bool resigned_ = false;
  bool over_ = false;
  std::string trouble_;
};

}  // namespace neliroute
