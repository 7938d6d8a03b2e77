// A TCP relay on this machine: 127.0.0.1:port -> 127.0.0.1:upstream port.
//
// It exists so that the embedded broker, whose own port is random, can be reached on a port that
// the user chose. Each connection has two loops with a buffer of 16 KiB each: a side that does not
// read stops the other side from sending.
//
// Ending a connection: if the upstream ends it, the client gets all that was sent before and then
// the end. If the client ends it, the upstream gets all that was sent before and then a reset,
// because a Kafka client that ended its side wants no answer any more, and the mock broker must
// learn of it even while it holds an answer back and reads nothing: it aborts if a member comes
// back on a new connection while the old one seems to wait for the group.
//
// Threads: one: the executor is a strand, or of an io_context that one thread runs; all calls and
// the destructor on it, or while nothing runs it. It outlives the relay.
// Units: counts.   Errors: listen() names the port and what to do.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <neliroute/error.h>

namespace neliroute {

class Relay {
 public:
  static constexpr std::size_t kConnectionsMax = 1024;

  /// Binds the port (0: any free one), but accepts no client yet.
  [[nodiscard]] static Result<std::unique_ptr<Relay>> listen(
      const boost::asio::any_io_executor& executor, std::uint16_t port,
      std::size_t connections_max = kConnectionsMax);

  ~Relay();  ///< Ends every connection and frees the port.
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  /// Accepts clients from now on. Call it once.
  void forward_to(std::uint16_t upstream_port);

  [[nodiscard]] std::uint16_t port() const noexcept;
  [[nodiscard]] std::size_t connections() const noexcept;

 private:
  class Connection;
  class Listener;
  explicit Relay(std::shared_ptr<Listener> listener);

  std::shared_ptr<Listener> listener_;
};

}  // namespace neliroute
