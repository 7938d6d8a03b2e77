#include "forward/gateway.h"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "router/text/listen_address.h"

namespace neliroute::forward {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

Error of_option(const Error& error) { return {error.code(), "`listen`: " + error.message()}; }

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
  auto acceptor = bind_at(executor, options.listen, options.shares_port);
  if (!acceptor) return of_option(acceptor.error());
  // A client takes a file, the owner that serves it another, and an owner that waits for the next
  // request a third.
  options.front.connections = places_for(options.front.connections, 3);
  options.upstream.idle_all = std::min(options.upstream.idle_all, options.front.connections);
  return std::shared_ptr<Gateway>(
      new Gateway(std::move(*acceptor), std::move(options), directions));
}

Result<void> Gateway::listen() {
  error_code error;
  gate_.listen(error);
  if (error) return of_option(cannot_listen(address_text(endpoint()), error));
  boost::asio::post(executor_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->gate_.start();
  });
  return {};
}

Gateway::Gateway(tcp::acceptor acceptor, GatewayOptions options, Directions& directions)
    : keeps_(std::move(options.keeps)),
      executor_(acceptor.get_executor()),
      later_(executor_),
      last_requests_(executor_),
      upstreams_(executor_, options.upstream),
      counters_(std::move(options.counters)),
      proxy_{directions, upstreams_, *counters_, options.exchange, options.name},
      service_{proxy_, std::move(options.key), options.slots, options.front, options.trusts,
               options.trusts_forwarded, std::move(options.tls), std::move(options.on_request)},
      gate_(std::move(acceptor),
            {options.front.connections, "the proxy",
             [peers = std::move(options.trusts), proxies = std::move(options.trusts_forwarded)](
                 const auto& address) {
               return (peers && peers(address)) || (proxies && proxies(address));
             },
             std::move(options.on_notice)},
            [this](tcp::socket socket, AcceptGate::PlacePtr place, bool refused) {
              take(std::move(socket), std::move(place), refused);
            }) {}

tcp::endpoint Gateway::endpoint() const {
  return gate_.endpoint();
}

void Gateway::take(tcp::socket socket, AcceptGate::PlacePtr given, bool refused) {
  const auto place = std::make_shared<FrontConnection*>(nullptr);
  const auto connection = std::make_shared<FrontConnection>(
      std::move(socket), service_, std::move(given), [self = shared_from_this(), place] {
        self->connections_.erase(*place);
        self->counters_->note_connections(self->connections_.size());
        self->end_if_drained();
      });
  *place = connection.get();
  connections_.insert(connection.get());
  counters_->note_connections(connections_.size());
  refused ? connection->refuse() : connection->start();
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
  gate_.stop();
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
  gate_.stop();
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
