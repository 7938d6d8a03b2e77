#include "forward/gateway.h"

#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "neli_core/system_refusal.h"
#include "router/text/listen_address.h"

namespace neliroute::forward {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

// Where there is no descriptor left, accepting fails at once, again and again.
constexpr milliseconds kAcceptAgain{50};

// A client takes a file, the owner that serves it another, and an owner that waits for the next
// request a third.
std::size_t connections_of(const FrontLimits& limits) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return limits.connections;
  return std::min<std::size_t>(limits.connections, std::max<rlim_t>(files.rlim_cur / 3, 1));
}

Error cannot_listen(const tcp::endpoint& at, const error_code& error) {
  const std::string what = "`listen`: cannot listen on " + address_text(at);
  if (auto refused = system_refusal(what, error)) return *refused;
  return {Errc::bad_option,
          what + ": " + error.message() +
              "; choose an address of this machine and a free port (port 0: any)"};
}

}  // namespace

Result<std::shared_ptr<Gateway>> Gateway::open(boost::asio::any_io_executor executor,
                                               GatewayOptions options, Directions& directions) {
  auto made = bind(std::move(executor), std::move(options), directions);
  if (!made) return made;
  if (const auto listens = (*made)->listen(); !listens) return listens.error();
  return made;
}

Result<std::shared_ptr<Gateway>> Gateway::bind(boost::asio::any_io_executor executor,
                                               GatewayOptions options, Directions& directions) {
  const tcp::endpoint listen = options.listen;
  options.front.connections = connections_of(options.front);
  options.upstream.idle_all = std::min(options.upstream.idle_all, options.front.connections);
  std::shared_ptr<Gateway> made(new Gateway(std::move(executor), std::move(options), directions));
  error_code error;
  tcp::acceptor& acceptor = made->acceptor_;
  acceptor.open(listen.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(listen, error);
  if (error) return cannot_listen(listen, error);
  return made;
}

Result<void> Gateway::listen() {
  error_code error;
  acceptor_.listen(boost::asio::socket_base::max_listen_connections, error);
  if (error) return cannot_listen(endpoint(), error);
  boost::asio::post(executor_, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && !self->proxy_.draining) self->accept();
  });
  return {};
}

Gateway::Gateway(boost::asio::any_io_executor executor, GatewayOptions options,
                 Directions& directions)
    : keeps_(std::move(options.keeps)),
      executor_(std::move(executor)),
      acceptor_(executor_),
      later_(executor_),
      last_requests_(executor_),
      upstreams_(executor_, options.upstream),
      counters_(std::move(options.counters)),
      proxy_{directions, upstreams_, *counters_, options.exchange, options.name},
      service_{proxy_, std::move(options.key), options.slots, options.front,
               std::move(options.trusts), std::move(options.trusts_forwarded),
               std::move(options.tls), std::move(options.on_request)} {}

tcp::endpoint Gateway::endpoint() const {
  error_code error;
  return acceptor_.local_endpoint(error);
}

void Gateway::accept() {
  acceptor_.async_accept(executor_, [weak = weak_from_this()](error_code error,
                                                              tcp::socket socket) {
    if (const auto self = weak.lock()) self->on_accept(error, std::move(socket));
  });
}

void Gateway::on_accept(error_code error, tcp::socket socket) {
  if (proxy_.draining) return;
  if (error) {
    later_.expires_after(kAcceptAgain);
    return later_.async_wait([weak = weak_from_this()](error_code cancelled) {
      const auto self = weak.lock();
      if (self && !cancelled && !self->proxy_.draining) self->accept();
    });
  }
  const bool full =
      connections_.size() >= service_.limits.connections && !close_longest_idle();
  const auto place = std::make_shared<FrontConnection*>(nullptr);
  const auto connection = std::make_shared<FrontConnection>(
      std::move(socket), service_, [self = shared_from_this(), place] {
        self->connections_.erase(*place);
        self->counters_->note_connections(self->connections_.size());
        self->end_if_drained();
      });
  *place = connection.get();
  connections_.insert(connection.get());
  counters_->note_connections(connections_.size());
  full ? connection->refuse() : connection->start();
  accept();
}

// Or clients that ask for nothing would keep others out. It leaves connections_ soon.
bool Gateway::close_longest_idle() {
  if (service_.idle.empty()) return false;
  const auto longest = service_.idle.front()->weak_from_this().lock();
  if (!longest) return false;
  longest->close();
  return true;
}

std::vector<std::shared_ptr<FrontConnection>> Gateway::living() const {
  std::vector<std::shared_ptr<FrontConnection>> all;
  for (FrontConnection* one : connections_) {
    if (auto alive = one->weak_from_this().lock()) all.push_back(std::move(alive));
  }
  return all;
}

void Gateway::drain(milliseconds bound, std::function<void()> done) {
  const bool drains = std::exchange(proxy_.draining, true);
  drained_ = std::move(done);
  error_code ignored;
  acceptor_.close(ignored);
  later_.expires_after(bound);
  later_.async_wait([weak = weak_from_this()](error_code error) {
    const auto self = weak.lock();
    if (self && !error) self->close_all();
  });
  if (drains) return end_if_drained();  // the last requests are limited already
  last_requests_.expires_after(service_.limits.last_requests);
  last_requests_.async_wait([weak = weak_from_this()](error_code error) {
    const auto self = weak.lock();
    if (!self || error) return;
    self->service_.takes_no_more = true;
    for (const auto& connection : self->living()) connection->close_when_idle();
    self->end_if_drained();
  });
  end_if_drained();
}

void Gateway::close() {
  proxy_.draining = true;
  drained_ = nullptr;
  error_code ignored;
  acceptor_.close(ignored);
  close_all();
  later_.cancel();
  last_requests_.cancel();
  upstreams_.close();
}

void Gateway::close_all() {
  for (const auto& connection : living()) connection->close();
}

void Gateway::end_if_drained() {
  if (!proxy_.draining || !connections_.empty()) return;
  later_.cancel();
  last_requests_.cancel();
  upstreams_.close();
  if (const auto done = std::exchange(drained_, nullptr)) done();
}

}  // namespace neliroute::forward
