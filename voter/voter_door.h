// Accepts connections of other voters and of clients, and reads who they are and which log they
// want.
//
// A connection that sends no valid greeting in time is closed. The numbers of unknown connections,
// of voters and of clients are bounded; of the unknown ones one is closed for a new one, the oldest
// of the machine that has most, so that those which say nothing keep nobody out.
//
// Threads: that of the voter.   Units: std::chrono.   Errors: notices.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "net/await.h"
#include "net/channel.h"
#include "net/tls.h"
#include "quorum/client_message.h"
#include "voter/served_log.h"
#include "voter/voter_notices.h"

namespace neliroute {

class VoterDoor : public std::enable_shared_from_this<VoterDoor> {
 public:
  struct Options {
    /// Of the quorum.
    std::string name;
    /// Of this voter, and of all.
    std::string address;
    milliseconds election{0};
    milliseconds kept{0};
    ChannelOptions channel;
    /// For the next connection; without one there is no TLS.
    std::function<TlsContextPtr()> tls;
    std::size_t clients_max = 1024;
    /// Where it counts them.
    std::shared_ptr<VoterStatistics> statistics;
  };

  /// `logs` must not end before the executor does.
  VoterDoor(boost::asio::ip::tcp::acceptor acceptor, std::shared_ptr<VoterNotices> notices,
            Options options, std::vector<ServedLog*> logs);

  void begin();
  void close();

 private:
  static constexpr std::size_t kUnknownMax = 256;
  static constexpr std::size_t kPeersMax = 256;
  /// For each step until it has said what it wants: TLS, keys, greeting.
  static constexpr milliseconds kSoon{2'000};

  /// A connection that has not said who it is.
  struct Unknown {
    std::string address;
    std::function<void()> close;
    /// For another one.
    bool closed = false;
  };
  using UnknownPtr = std::shared_ptr<Unknown>;

  [[nodiscard]] Awaitable<> accept_all();
  [[nodiscard]] std::deque<UnknownPtr>::iterator first_to_go();
  void make_room();
  [[nodiscard]] Awaitable<> serve(std::unique_ptr<Stream> stream, std::string from);
  /// Null: it does not open.
  [[nodiscard]] Awaitable<std::shared_ptr<Channel>> open(std::unique_ptr<Stream> stream,
                                                         UnknownPtr unknown, std::string from);
  [[nodiscard]] Awaitable<std::optional<quorum::Hello>> hear(std::shared_ptr<Channel> channel);
  [[nodiscard]] Awaitable<> serve_peer(std::shared_ptr<Channel> channel, quorum::Hello hello,
                                       std::string from);
  [[nodiscard]] Awaitable<> serve_client(std::shared_ptr<Channel> channel, std::uint32_t log,
                                         std::string from);
  /// Empty: it is served.
  [[nodiscard]] std::string refusal(const quorum::Hello& hello) const;
  /// Empty: it makes sense.
  [[nodiscard]] std::string trouble_with(const quorum::PeerMessage& peer) const;
  /// Of another voter that was started otherwise than this one.
  void compare(const quorum::Hello& hello, const std::string& address);
  void complain(const char* who, const std::string& from, const std::string& of);

  boost::asio::ip::tcp::acceptor acceptor_;
  std::shared_ptr<VoterNotices> notices_;
  const Options options_;
  const std::vector<ServedLog*> logs_;
  boost::asio::steady_timer timer_;
  /// All that are open, to be closed.
  std::set<std::shared_ptr<Channel>> channels_;
  std::deque<UnknownPtr> unknown_;  ///< the oldest first
  bool over_ = false;
};

}  // namespace neliroute
