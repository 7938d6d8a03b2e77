// A TCP connection, plain or with TLS, that Beast and Asio read and write as one.
//
// Threads: one (an executor of its own).   Units: std::chrono.   Errors: passed to handlers.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_stream.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <memory>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <utility>

#include "forward/tls.h"

namespace neliroute::forward {

class Stream {
 public:
  using executor_type = boost::beast::tcp_stream::executor_type;
  using Error = boost::system::error_code;

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
  template <class Token>
  auto async_accept_tls(const TlsContextPtr& context, Token&& token) {
    prepare(context);
    return tls_->next_layer().async_handshake(boost::asio::ssl::stream_base::server,
                                              std::forward<Token>(token));
  }
  /// The same as a client, in two steps: `host` is whom its certificate must name. False: that is
  /// no name and no address.
  [[nodiscard]] bool use_tls_to(const TlsContextPtr& context, const std::string& host) {
    prepare(context);
    return expect_host(*tls_->next_layer().native_handle(), host);
  }
  template <class Token>
  auto async_connect_tls(Token&& token) {
    return tls_->next_layer().async_handshake(boost::asio::ssl::stream_base::client,
                                              std::forward<Token>(token));
  }

  /// Nothing more will be sent. Completes when the peer has that: with TLS when it has said the
  /// same.
  template <class Token>
  auto async_end_sending(Token&& token) {
    return boost::asio::async_initiate<Token, void(Error)>(
        [this](auto handler) {
          if (tls_) return tls_->next_layer().async_shutdown(std::move(handler));
          Error error;
          tcp_.socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send, error);
          boost::asio::post(tcp_.get_executor(), [handler = std::move(handler), error]() mutable {
            std::move(handler)(error);
          });
        },
        token);
  }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(Error, std::size_t)>(
        [this](auto handler, const Buffers& into) {
          tls_ ? static_cast<void>(tls_->async_read_some(into, std::move(handler)))
               : static_cast<void>(tcp_.async_read_some(into, std::move(handler)));
        },
        token, buffers);
  }
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(Error, std::size_t)>(
        [this](auto handler, const Buffers& from) {
          tls_ ? static_cast<void>(tls_->async_write_some(from, std::move(handler)))
               : static_cast<void>(tcp_.async_write_some(from, std::move(handler)));
        },
        token, buffers);
  }

 private:
  // Flat, or each line of a header would be a record and a system call of its own.
  using Tls = boost::beast::flat_stream<boost::asio::ssl::stream<boost::beast::tcp_stream&>>;

  void prepare(const TlsContextPtr& context) {
    context_ = context;
    tls_.emplace(tcp_, *context);
  }

  boost::beast::tcp_stream tcp_;
  TlsContextPtr context_;  ///< certificates may be read anew meanwhile
  std::optional<Tls> tls_;
};

}  // namespace neliroute::forward
