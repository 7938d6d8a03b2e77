#include "net/stream.h"

#include <boost/asio/post.hpp>
#include <span>

namespace neliroute {

void Stream::prepare(const TlsContextPtr& context) {
  context_ = context;
  tls_.emplace(tcp_, *context);
}

void Stream::async_accept_tls(const TlsContextPtr& context, Ended ended) {
  prepare(context);
  tls_->next_layer().async_handshake(boost::asio::ssl::stream_base::server, std::move(ended));
}

bool Stream::use_tls_to(const TlsContextPtr& context, const std::string& host) {
  prepare(context);
  return expect_host(*tls_->next_layer().native_handle(), host);
}

void Stream::async_connect_tls(Ended ended) {
  tls_->next_layer().async_handshake(boost::asio::ssl::stream_base::client, std::move(ended));
}

std::string Stream::refusal() {
  if (!tls_) return {};
  const long result = SSL_get_verify_result(tls_->next_layer().native_handle());
  return result == X509_V_OK ? "" : X509_verify_cert_error_string(result);
}

void Stream::async_end_sending(Ended ended) {
  if (tls_) return tls_->next_layer().async_shutdown(std::move(ended));
  Error error;
  tcp_.socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send, error);
  boost::asio::post(tcp_.get_executor(), [ended = std::move(ended), error] { ended(error); });
}

void Stream::read_some(const boost::asio::mutable_buffer& into, AnyMoved moved) {
  tls_ ? tls_->async_read_some(into, std::move(moved))
       : tcp_.async_read_some(into, std::move(moved));
}

void Stream::write_some(AnyMoved moved) {
  const std::span<const boost::asio::const_buffer> from(gathered_);
  tls_ ? tls_->async_write_some(from, std::move(moved))
       : tcp_.async_write_some(from, std::move(moved));
}

}  // namespace neliroute
