// What a service includes of the installed package, and what that lets it say.
#include <neliroute/admin.h>
#include <neliroute/forwarder.h>
#include <neliroute/metrics.h>
#include <neliroute/router.h>
#include <neliroute/watcher.h>

#include <boost/asio.hpp>
#include <iostream>

namespace {

struct Service : neliroute::Listener {
  void stopped(const neliroute::Transition&, neliroute::BarrierToken barrier) override {
    kept = [barrier]() mutable { barrier.complete(); };  // a std::function wants copies
  }
  std::function<void()> kept;
};

/// Not called, as it needs a broker; compiled and linked.
boost::asio::awaitable<void> serve(neliroute::Router& router, neliroute::Watcher& watcher) {
  Service service;
  const auto subscription = router.subscribe(service);
  co_await router.async_ready(boost::asio::use_awaitable);
  const neliroute::Lookup& lookup = watcher;
  std::cout << lookup.route("alice").verdict << ' ' << router.owns("alice") << '\n';
  const auto metrics = neliroute::Metrics::make(router.observable());
  const auto executor = co_await boost::asio::this_coro::executor;
  neliroute::ForwarderOptions front;
  neliroute::AdminOptions shown;
  shown.proxied = [counts = front.counts] { return counts.requests(); };
  const auto proxy_metrics = front.counts.metrics(router.observable());
  shown.collectables = {proxy_metrics};
  const auto admin = neliroute::AdminServer::open(executor, router.observable(), shown);
  const auto forwarder = neliroute::Forwarder::bind(executor, router, front);
  const auto gateway = neliroute::Forwarder::bind(executor, watcher, front);
  if (forwarder && (*forwarder)->listen()) {
    co_await (*forwarder)->async_drain(neliroute::milliseconds{1}, boost::asio::use_awaitable);
  }
  co_await watcher.async_close(boost::asio::use_awaitable);
  co_await router.async_drain(router.timing().drain, boost::asio::use_awaitable);
}

}  // namespace

auto* volatile serve_later = &serve;

/// It reads certificates, so OpenSSL was linked.
bool names_a_wrong_file() {
  neliroute::ForwarderOptions front;
  front.key = "header:X-User";
  front.application = "127.0.0.1:9000";
  if (!front.check()) return false;
  front.tls.certificate = front.tls.key = "/nowhere.pem";
  const auto checked = front.check();
  if (!checked) std::cout << checked.error() << '\n';
  return !checked && checked.error().message().find("/nowhere.pem") != std::string::npos;
}

bool without_a_broker() {
  auto options = neliroute::RouterOptions::from_environment();
  if (!options || !names_a_wrong_file()) return false;
  options->kafka.brokers = "127.0.0.1:1";
  options->kafka.timeout = neliroute::milliseconds{50};
  options->slots = 4096;
  boost::asio::io_context io;
  const auto router = neliroute::Router::open(io.get_executor(), *options);
  if (!router) std::cout << router.error() << '\n';
  return !router && router.error().code() == neliroute::Errc::ledger_unreachable;
}
