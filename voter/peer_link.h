// The connection on which a voter sends to another one, which answers on a connection of its own.
//
// It is made again whenever it ends. What cannot be sent at once waits. All that waits is lost when
// the connection ends, or when it becomes too much: voters allow for lost messages.
//
// Threads: that of the voter.   Units: bytes, std::chrono.   Errors: notices.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <neliroute/time.h>
#include <optional>
#include <string>

#include "base/host_names.h"
#include "net/await.h"
#include "net/channel.h"
#include "net/tls.h"
#include "voter/voter_notices.h"

namespace neliroute {

class PeerLink : public std::enable_shared_from_this<PeerLink> {
 public:
  struct Options {
    /// Of the quorum.
    std::string name;
    std::string address;
    /// Of this voter.
    milliseconds election{0};
    milliseconds kept{0};
    ChannelOptions channel;
    /// For the next connection; without one there is no TLS.
    std::function<TlsContextPtr()> tls;
  };

  PeerLink(const boost::asio::any_io_executor& executor, std::shared_ptr<HostNames> names,
           std::shared_ptr<VoterNotices> notices, Options options);

  void begin();
  void close();
  [[nodiscard]] bool is_open() const noexcept { return channel_ != nullptr; }
  /// An encoded PeerMessage; lost, unless it is open.
  void send(std::string message);

 private:
  /// Of entries. What is short goes first, or they would delay whether there is a leader.
  static constexpr std::size_t kWaitingBytesMax = std::size_t{8} << 20;
  static constexpr std::size_t kShort = 4'096;

  [[nodiscard]] Awaitable<> run();
  /// Until the connection ends.
  [[nodiscard]] Awaitable<> use_one();
  [[nodiscard]] Awaitable<> send_all(std::shared_ptr<Channel> channel);
  [[nodiscard]] std::string next();
  /// Reads the only answer there is, a refusal, and notices that the connection ends.
  [[nodiscard]] Awaitable<> listen(std::shared_ptr<Channel> channel);
  void forget();
  void recover();
  void fail(const std::string& why);

  boost::asio::any_io_executor executor_;
  std::shared_ptr<HostNames> names_;
  std::shared_ptr<VoterNotices> notices_;
  const Options options_;
  const milliseconds patience_;
  boost::asio::steady_timer timer_;
  /// While it is open.
  std::shared_ptr<Channel> channel_;
  struct Waiting {
    std::deque<std::string> messages;
    std::size_t bytes = 0;
  };
  Waiting short_;
  Waiting long_;
  std::optional<LocalTime> failing_since_;
  bool told_ = false;
  bool over_ = false;
};

}  // namespace neliroute
