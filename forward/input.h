// What comes on a connection, one read at a time: of whoever waits for it, and meanwhile of nobody.
//
// A read is under way also while nothing is expected, so a peer that closes its connection, or
// sends what nobody asked for, is noticed at once; and what comes next is read by it, so that this
// costs no system call.
//
// Threads: one (an executor of its own).   Units: std::chrono, bytes.   Errors: passed to handlers.
#pragma once

#include <neliroute/time.h>

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/read_size.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "forward/rules/message_parser.h"
#include "net/stream.h"

namespace neliroute::forward {

class Input {
 public:
  using Error = boost::system::error_code;
  using Then = std::function<void(Error)>;

  /// What is read at a time.
  static constexpr std::size_t kSize = 4096;
  /// Of what was not parsed: a header is shorter. Then reads fail with
  /// http::error::buffer_overflow.
  static constexpr std::size_t kMost = std::size_t{128} * 1024;

  /// `stream` outlives it.
  explicit Input(Stream& stream) : stream_(stream), timer_(stream.get_executor()) {}

  /// What has come and was not parsed. While a read is under way only this class may touch it, and
  /// nobody else may read the stream.
  boost::beast::flat_buffer received{kMost};

  [[nodiscard]] bool is_reading() const noexcept { return reading_; }
  /// Calls `then` when more has come, or nothing more will: by the read that is under way, or by a
  /// new one. Whoever waited before is forgotten. `keeps` owns this, and lives until the read ends.
  /// After `limit` the connection is closed (beast::error::timeout).
  void more(const std::shared_ptr<void>& keeps, std::optional<milliseconds> limit, Then then);
  /// Whoever waits may go on waiting for so long from now.
  void extend(const std::shared_ptr<void>& keeps, milliseconds limit);
  /// Calls `then` when no read is under way: at once, or soon. No byte is lost.
  void pause(std::function<void()> then);

 private:
  using Clock = std::chrono::steady_clock;
  void read(std::shared_ptr<void> keeps);
  void on_read(Error error, std::size_t count);
  void await_limit(std::weak_ptr<void> keeps);

  Stream& stream_;
  boost::asio::steady_timer timer_;
  boost::asio::cancellation_signal cancelled_;
  Then then_;
  Clock::time_point until_ = Clock::time_point::max();
  bool reading_ = false;
  bool armed_ = false;  ///< the timer
  bool late_ = false;
};

/// Reads until a part of the body is there, or its end: then calls `then`, never from inside.
/// need_buffer: there is no room for what has come.
template <bool kIsRequest>
void read_body(Stream& stream, boost::beast::flat_buffer& received,
               MessageParser<kIsRequest>& parser, Stream::Moved then) {
  using Error = boost::system::error_code;
  constexpr std::size_t kReadMost = std::size_t{64} * 1024;
  const std::size_t room = parser.get().body().size;
  const auto taken = [&received, &parser, room](Error& error) {
    error = parser.take_body(received);
    if (error == boost::beast::http::error::need_more) error = {};
    return error || parser.is_done() || parser.get().body().size < room;
  };
  if (Error error; taken(error)) {
    return boost::asio::post(stream.get_executor(),
                             [then = std::move(then), error] { then(error, 0); });
  }
  stream.async_read_some(
      received.prepare(boost::beast::read_size(received, kReadMost)),
      Stream::Moved([&stream, &received, &parser, taken, then = std::move(then)](
                        Error error, std::size_t count) mutable {
        received.commit(count);
        if (error == boost::asio::error::eof) {
          parser.put_eof(error);
          return then(error, 0);
        }
        if (error || taken(error)) return then(error, 0);
        read_body(stream, received, parser, std::move(then));
      }));
}

}  // namespace neliroute::forward
