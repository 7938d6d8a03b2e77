#include "forward/upstreams.h"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

namespace neliroute::forward {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

// An owner that closed it meanwhile, or sends what nobody asked for.
bool is_of_no_use(Stream& stream) {
  error_code error;
  char byte = 0;
  stream.socket().receive(boost::asio::buffer(&byte, 1), tcp::socket::message_peek, error);
  return error != boost::asio::error::would_block;
}

}  // namespace

/// A connection on its way.
struct Upstreams::Connecting : std::enable_shared_from_this<Connecting> {
  Connecting(const boost::asio::any_io_executor& executor, Handler to)
      : resolver(executor),
        upstream(std::make_unique<Upstream>(executor)),
        handler(std::move(to)) {}
  tcp::resolver resolver;
  UpstreamPtr upstream;
  Handler handler;
  TlsContextPtr tls;
  std::string host;
  boost::asio::steady_timer limit{resolver.get_executor()};
  bool done = false;

  void on_connected(error_code error) {
    if (error) return finish(error);
    error_code ignored;
    upstream->stream.socket().set_option(tcp::no_delay(true), ignored);
    upstream->stream.socket().non_blocking(true, error);  // for is_of_no_use()
    if (error || !tls) return finish(error);
    if (!upstream->stream.use_tls_to(tls, host)) {
      return finish(boost::asio::error::invalid_argument);
    }
    upstream->stream.async_connect_tls([self = shared_from_this()](const error_code& refused) {
      if (!self->done) self->finish(refused);
    });
  }

  void finish(error_code error) {
    if (std::exchange(done, true)) return;
    limit.cancel();
    resolver.cancel();
    if (error) upstream->stream.close();
    std::exchange(handler, nullptr)(error, error ? nullptr : std::move(upstream));
  }
};

Upstreams::Upstreams(boost::asio::any_io_executor executor, UpstreamLimits limits)
    : executor_(std::move(executor)), limits_(limits), sweeper_(executor_) {}

Upstreams::~Upstreams() { close(); }

void Upstreams::close() {
  closed_ = true;
  *alive_ = false;
  idle_.clear();
  count_ = 0;
  sweeper_.cancel();
}

void Upstreams::take(const std::string& endpoint, bool fresh, bool own, Handler handler) {
  if (UpstreamPtr kept = fresh ? nullptr : take_idle(endpoint)) {
    boost::asio::post(executor_, [handler = std::move(handler),
                                  shared = std::make_shared<UpstreamPtr>(std::move(kept))] {
      handler({}, std::move(*shared));
    });
    return;
  }
  connect(endpoint, own, std::move(handler));
}

UpstreamPtr Upstreams::take_idle(const std::string& endpoint) {
  const auto kept = idle_.find(endpoint);
  if (kept == idle_.end()) return nullptr;
  UpstreamPtr found;
  while (!found && !kept->second.empty()) {
    Idle newest = std::move(kept->second.front());
    kept->second.pop_front();
    --count_;
    const bool over = Clock::now() >= newest.until;
    if (!over && !is_of_no_use(newest.upstream->stream)) found = std::move(newest.upstream);
  }
  if (kept->second.empty()) idle_.erase(kept);
  return found;
}

void Upstreams::connect(const std::string& endpoint, bool own, Handler handler) {
  const auto one = std::make_shared<Connecting>(executor_, std::move(handler));
  one->upstream->endpoint = endpoint;
  if (!own) one->tls = limits_.tls;
  const std::size_t colon = endpoint.rfind(':');
  if (colon == std::string::npos) {
    return boost::asio::post(executor_,
                             [one] { one->finish(boost::asio::error::host_not_found); });
  }
  std::string host = endpoint.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  one->host = host;
  one->limit.expires_after(limits_.connect);
  one->limit.async_wait([one](const error_code& error) {
    if (!error) one->finish(boost::asio::error::timed_out);
  });
  one->resolver.async_resolve(
      host, endpoint.substr(colon + 1), tcp::resolver::numeric_service,
      [one](const error_code& error, const tcp::resolver::results_type& found) {
        if (error || one->done) return one->finish(error);
        one->upstream->stream.expires_never();  // `limit` bounds it
        one->upstream->stream.tcp().async_connect(
            found, [one](const error_code& refused, const tcp::endpoint&) {
              if (!one->done) one->on_connected(refused);
            });
      });
}

void Upstreams::give_back(UpstreamPtr upstream) {
  if (closed_ || upstream->received.size() > 0) return;
  std::list<Idle>& kept = idle_[upstream->endpoint];
  if (kept.size() >= limits_.idle_each) {
    kept.pop_back();
    --count_;
  }
  upstream->stream.expires_never();
  if (upstream->received.capacity() > 0) upstream->received.shrink_to_fit();
  kept.push_front({std::move(upstream), Clock::now() + limits_.idle});
  if (++count_ == 1) sweep();
}

// Those that nobody takes are closed, or owners that left would be remembered for ever.
void Upstreams::sweep() {
  sweeper_.expires_after(limits_.idle);
  sweeper_.async_wait([this, alive = alive_](const error_code& error) {
    if (error || !*alive) return;
    const auto now = Clock::now();
    for (auto of = idle_.begin(); of != idle_.end();) {
      count_ -= std::erase_if(of->second, [&](const Idle& one) { return now >= one.until; });
      of = of->second.empty() ? idle_.erase(of) : std::next(of);
    }
    if (count_ > 0) sweep();
  });
}

}  // namespace neliroute::forward
