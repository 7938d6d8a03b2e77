#include "forward/exchange/tunnel.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "forward/rules/message_parser.h"

namespace neliroute::forward {
namespace {

std::vector<char> take(boost::beast::flat_buffer& received) {
  const auto bytes = received.data();
  const char* const begin = static_cast<const char*>(bytes.data());
  std::vector<char> taken(begin, begin + bytes.size());
  received.consume(received.size());
  return taken;
}

}  // namespace

Tunnel::Tunnel(Stream& client, std::shared_ptr<void> keeps, UpstreamPtr upstream,
               milliseconds idle)
    : client_(client),
      keeps_(std::move(keeps)),
      upstream_(std::move(upstream)),
      idle_(idle),
      limit_(client.get_executor()),
      ended_(client.get_executor(), Clock::time_point::max()) {}

Awaitable<> Tunnel::run(boost::beast::flat_buffer& from_client) {
  client_.expires_never();
  upstream_->stream.expires_never();
  watch();
  Stream& owner = upstream_->stream;
  const auto on_end = [self = shared_from_this()](std::exception_ptr thrown) {
    if (thrown) std::rethrow_exception(thrown);
    --self->open_;
    self->ended_.cancel();
  };
  boost::asio::co_spawn(client_.get_executor(), pass(client_, owner, take(from_client)), on_end);
  boost::asio::co_spawn(client_.get_executor(),
                        pass(owner, client_, take(upstream_->input.received)), on_end);
  while (open_ > 0) co_await await_timer(ended_);
  limit_.cancel();
}

Awaitable<> Tunnel::pass(Stream& from, Stream& to, std::vector<char> buffer) {
  while (true) {
    if (!buffer.empty()) {
      const Outcome written = co_await await_moved([&](Stream::Moved then) {
        boost::asio::async_write(to, boost::asio::buffer(buffer), std::move(then));
      });
      if (written.error) break;
    }
    buffer.resize(kPart);
    const Outcome read = co_await await_moved([&](Stream::Moved then) {
      from.async_read_some(boost::asio::buffer(buffer), std::move(then));
    });
    if (read.error) break;
    used_ = Clock::now();
    if (&to == &client_) bytes_ += read.count;
    buffer.resize(read.count);
  }
  to.async_end_sending([self = shared_from_this()](boost::system::error_code) {});
  // Few that speak TLS go on reading after the other side has ended.
  if (from.has_tls() || to.has_tls()) end();
}

void Tunnel::watch() {
  limit_.expires_at(used_ + idle_);
  limit_.async_wait([self = shared_from_this()](boost::system::error_code error) {
    if (error || self->open_ == 0) return;
    Clock::now() < self->used_ + self->idle_ ? self->watch() : self->end();
  });
}

void Tunnel::end() {
  client_.close();
  upstream_->stream.close();
}

}  // namespace neliroute::forward
