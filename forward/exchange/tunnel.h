// An upgraded connection: bytes are passed on both ways until each side has ended. A peer whose
// machine is gone sends nothing, for ever: so it ends too when nothing has moved for long.
//
// Threads: one (an executor of its own).   Units: std::chrono, bytes.   Errors: they end it.
#pragma once

#include <neliroute/time.h>

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "net/await.h"
#include "forward/upstream/upstreams.h"

namespace neliroute::forward {

class Tunnel : public std::enable_shared_from_this<Tunnel> {
 public:
  /// `keeps` owns the client's stream. Its executor runs all of this.
  Tunnel(Stream& client, std::shared_ptr<void> keeps, UpstreamPtr upstream, milliseconds idle);

  /// Until both sides have ended. What is in their buffers is passed on first.
  [[nodiscard]] Awaitable<> run(boost::beast::flat_buffer& from_client);
  /// Closes both sides.
  void end();
  [[nodiscard]] std::uint64_t bytes_to_client() const noexcept { return bytes_; }

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] Awaitable<> pass(Stream& from, Stream& to, std::vector<char> buffer);
  void watch();

  Stream& client_;
  const std::shared_ptr<void> keeps_;
  const UpstreamPtr upstream_;
  const milliseconds idle_;
  boost::asio::steady_timer limit_;
  boost::asio::steady_timer ended_;  ///< cancelled when a side has
  int open_ = 2;
  Clock::time_point used_ = Clock::now();
  std::uint64_t bytes_ = 0;
};

}  // namespace neliroute::forward
