// A TCP connection, plain or with TLS, that Beast and Asio read and write as one.
//
// Threads: one (an executor of its own).   Units: std::chrono.   Errors: passed to handlers.
#pragma once

#include <neliroute/time.h>

#include <array>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_stream.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/write.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/tls.h"

namespace neliroute {

class Stream {
 public:
  using executor_type = boost::beast::tcp_stream::executor_type;
  using Error = boost::system::error_code;
  /// What reads and writes call. One type for all of them: with each other one the compiler would
  /// write once more all that Asio and Beast do below it, which took minutes.
  using Moved = std::function<void(Error, std::size_t)>;
  using Ended = std::function<void(Error)>;

  /// To be connected.
  explicit Stream(const boost::asio::any_io_executor& executor) : tcp_(executor) {}
  /// Is connected.
  explicit Stream(boost::asio::ip::tcp::socket socket) : tcp_(std::move(socket)) {}

  [[nodiscard]] executor_type get_executor() noexcept { return tcp_.get_executor(); }
  [[nodiscard]] boost::asio::ip::tcp::socket& socket() noexcept { return tcp_.socket(); }
  [[nodiscard]] boost::beast::tcp_stream& tcp() noexcept { return tcp_; }
  [[nodiscard]] bool has_tls() const noexcept { return tls_.has_value(); }

  void expires_after(milliseconds limit) { tcp_.expires_after(limit); }
  void expires_never() { tcp_.expires_never(); }
  void cancel() { tcp_.cancel(); }
  void close() { tcp_.close(); }

  /// From now on all is encrypted, once the handshake is done.
  void async_accept_tls(const TlsContextPtr& context, Ended ended);
  /// The same as a client, in two steps: `host` is whom its certificate must name. False: that is
  /// no name and no address.
  [[nodiscard]] bool use_tls_to(const TlsContextPtr& context, const std::string& host);
  void async_connect_tls(Ended ended);

  /// Why the other side's certificate is not accepted; empty: it is, or there was none.
  [[nodiscard]] std::string refusal();

  /// Nothing more will be sent. Completes when the peer has that: with TLS when it has said the
  /// same.
  void async_end_sending(Ended ended);

  /// As async_read_some(), without any limit of time, and cheaper.
  template <class Handler>
  void receive(const boost::asio::mutable_buffer& into, Handler handler) {
    if (tls_) {
      expires_never();
      return read_some(into, AnyMoved(std::move(handler)));
    }
    tcp_.socket().async_read_some(into, AnyMoved(std::move(handler)));
  }
  /// Of `into` at most its first buffer.
  template <class Buffers, class Token>
  auto async_read_some(const Buffers& into, Token&& token) {
    return boost::asio::async_initiate<Token, void(Error, std::size_t)>(
        [this, &into](auto handler) {
          read_some(*boost::asio::buffer_sequence_begin(into), AnyMoved(std::move(handler)));
        },
        token);
  }
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& from, Token&& token) {
    return boost::asio::async_initiate<Token, void(Error, std::size_t)>(
        [this, &from](auto handler) {
          gather(from);
          write_some(AnyMoved(std::move(handler)));
        },
        token);
  }

  /// Writes of a message what the kernel takes at once, which mostly is all there is: that spares a
  /// timer, a turn of the executor, and memory. would_block: the rest is to be written as Beast
  /// does, as is all of it with TLS.
  template <class Serializer>
  [[nodiscard]] Error write_at_once(Serializer& serializer) {
    if (tls_) return boost::asio::error::would_block;
    Error error;
    if (!tcp_.socket().non_blocking()) tcp_.socket().non_blocking(true, error);
    while (!error && !serializer.is_done()) write_some_at_once(serializer, error);
    return error;
  }

 private:
  // Flat, or each line of a header would be a record and a system call of its own.
  using Tls = boost::beast::flat_stream<boost::asio::ssl::stream<boost::beast::tcp_stream&>>;

  /// The same for what Beast calls. Runs on the executor of the stream: in Boost 1.81 that of an
  /// any_completion_handler cannot be posted to.
  class AnyMoved {
   public:
    using cancellation_slot_type = boost::asio::cancellation_slot;

    template <class Handler>
    explicit AnyMoved(Handler handler) : handler_(std::move(handler)) {}
    [[nodiscard]] cancellation_slot_type get_cancellation_slot() const noexcept {
      return handler_.get_cancellation_slot();
    }
    void operator()(Error error, std::size_t count) { std::move(handler_)(error, count); }

   private:
    boost::asio::any_completion_handler<void(Error, std::size_t)> handler_;
  };

  /// What one system call takes.
  static constexpr std::size_t kBuffersMost = 64;

  void prepare(const TlsContextPtr& context);
  template <class Serializer>
  void write_some_at_once(Serializer& serializer, Error& error) {
    std::size_t written = 0;
    serializer.next(error, [&](Error& failed, const auto& buffers) {
      written = write_flat(buffers, failed);
    });
    if (!error) serializer.consume(written);
  }
  /// A message has some twenty buffers: that many cost the kernel more than a copy of a short one.
  template <class Buffers>
  std::size_t write_flat(const Buffers& from, Error& error) {
    constexpr std::size_t kShort = 4096;
    if (boost::asio::buffer_size(from) > kShort) return tcp_.socket().write_some(from, error);
    std::array<char, kShort> copy;
    const std::size_t size = boost::asio::buffer_copy(boost::asio::buffer(copy), from);
    return tcp_.socket().write_some(boost::asio::buffer(copy.data(), size), error);
  }
  template <class Buffers>
  void gather(const Buffers& from) {
    gathered_.clear();
    const auto end = boost::asio::buffer_sequence_end(from);
    for (auto one = boost::asio::buffer_sequence_begin(from); one != end; ++one) {
      if (gathered_.size() == kBuffersMost) break;
      gathered_.emplace_back(*one);
    }
  }
  void read_some(const boost::asio::mutable_buffer& into, AnyMoved moved);
  void write_some(AnyMoved moved);

  boost::beast::tcp_stream tcp_;
  TlsContextPtr context_;  ///< certificates may be read anew meanwhile
  std::optional<Tls> tls_;
  std::vector<boost::asio::const_buffer> gathered_;  ///< what is being written
};

}  // namespace neliroute
