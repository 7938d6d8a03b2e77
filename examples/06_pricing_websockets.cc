// Quotes of instruments over WebSockets, each instrument's from the process that owns it:
//   06_pricing_websockets owner NAME HOST:PORT BROKERS
//   06_pricing_websockets subscriber BROKERS     a line whenever an instrument has another owner
//
// A subscriber connects to the owner of each instrument. When it owns that no more, the owner
// closes the connection; the subscriber looks up the next one, and says which quote it received
// last. A quote has the same number everywhere, so the next owner goes on there, and none is
// missing. (In 03 Kafka carries the quotes, and keeps them.) NELIROUTE_ASSIGNMENT works as in 01;
// subscribers that may start before the first owner then need NELIROUTE_PARTITIONS=64 as well.
#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <iostream>
#include <map>
#include <neliroute/router.h>
#include <neliroute/watcher.h>
#include <sstream>
#include <stdexcept>
#include <tuple>

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using WebSocket = beast::websocket::stream<beast::tcp_stream>;
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);  // returns errors, throws none
constexpr const char* kTopic = "neliroute-websockets";
constexpr std::chrono::seconds kPatience{2}, kAgain{1};  // with the other end; until a retry

// The feed stands for an exchange: a quote of each instrument every period, numbered by the time.
constexpr std::chrono::milliseconds kPeriod{100};
const std::vector<std::string> kInstruments = {
    "AUDUSD", "CADJPY", "CHFJPY", "EURAUD", "EURCHF", "EURGBP", "EURJPY", "EURNOK", "EURSEK",
    "EURUSD", "GBPCHF", "GBPJPY", "GBPUSD", "NOKSEK", "NZDUSD", "USDCAD", "USDCHF", "USDJPY"};
std::int64_t newest() { return std::chrono::system_clock::now().time_since_epoch() / kPeriod; }
std::size_t price_of(const std::string& instrument, std::int64_t sequence) {
  return 10'000 + std::hash<std::string>()(instrument + std::to_string(sequence)) % 100;
}

/// One subscriber of one instrument, for as long as this process owns it. It asks for
/// /INSTRUMENT/SEQUENCE: the last quote that it has, or 0.
asio::awaitable<void> publish(WebSocket socket, const neliroute::Router& router) {
  auto& stream = beast::get_lowest_layer(socket);
  beast::flat_buffer buffer;
  beast::http::request<beast::http::empty_body> request;
  stream.expires_after(kPatience);
  const auto [broken, read] = co_await beast::http::async_read(stream, buffer, request, kAwait);
  if (broken) co_return;
  std::istringstream target{std::string(request.target().substr(1))};
  std::string instrument;
  std::int64_t last = 0;
  std::getline(target, instrument, '/') >> last;
  if (!router.owns(instrument)) co_return;  // closed: the subscriber looks up again
  if (const auto [bad] = co_await socket.async_accept(request, kAwait); bad) co_return;
  std::int64_t next = last == 0 ? newest() : std::max(last + 1, newest() - 600);
  while (router.owns(instrument)) {
    for (; next <= newest(); ++next) {
      const auto quote = std::to_string(next) + ' ' + std::to_string(price_of(instrument, next));
      stream.expires_after(kPatience);  // a subscriber that takes nothing is dropped
      const auto [gone, written] = co_await socket.async_write(asio::buffer(quote), kAwait);
      if (gone) co_return;
    }
    co_await asio::steady_timer(socket.get_executor(), kPeriod / 4).async_wait(kAwait);
  }
  stream.expires_after(kPatience);
  co_await socket.async_close(beast::websocket::close_code::going_away, kAwait);
}

asio::awaitable<void> accept(tcp::acceptor& acceptor, const neliroute::Router& router) {
  for (;;) {
    auto [error, socket] = co_await acceptor.async_accept(kAwait);
    if (!error) {
      WebSocket made(std::move(socket));
      asio::co_spawn(acceptor.get_executor(), publish(std::move(made), router), asio::detached);
    } else {  // no descriptor is left, most likely
      co_await asio::steady_timer(acceptor.get_executor(), kAgain).async_wait(kAwait);
    }
  }
}

int own(const std::string& name, const std::string& endpoint, const std::string& brokers) {
  auto options = neliroute::RouterOptions::from_environment();  // NELIROUTE_ASSIGNMENT, say
  if (!options) throw std::runtime_error(options.error().message());
  options->kafka.brokers = brokers;
  options->kafka.topic = options->group = kTopic;
  options->process.name = name, options->process.endpoint = endpoint;
  options->timing.profile = neliroute::Profile::fast;
  options->on_notice = [](const neliroute::Notice& notice) { std::clog << notice.text << '\n'; };
  asio::io_context io;
  const auto colon = endpoint.rfind(':');
  const auto host = endpoint.substr(0, colon), port = endpoint.substr(colon + 1);
  tcp::acceptor acceptor(io, tcp::resolver(io).resolve(host, port).begin()->endpoint());
  const auto opened = neliroute::Router::open(io.get_executor(), *options);
  if (!opened) throw std::runtime_error(opened.error().message());
  neliroute::Router& router = **opened;
  struct : neliroute::Listener {
    void failed(const neliroute::Error&) override { status = 2, io->stop(); }
    asio::io_context* io = nullptr;
    int status = 0;
  } listener;
  listener.io = &io;
  const auto subscription = router.subscribe(listener);
  asio::co_spawn(io, accept(acceptor, router), asio::detached);
  asio::signal_set signals(io, SIGTERM, SIGINT);
  signals.async_wait(
      [&](auto, int) { router.async_drain(router.timing().drain, [&](auto) { io.stop(); }); });
  io.run();
  return listener.status;
}

/// What a subscriber received of an instrument.
struct Heard {
  std::string by;
  std::int64_t last = 0, missing = 0;
  Clock::time_point at = Clock::now();
};

void hear(const std::string& what, Heard& one, const std::string& quote, const std::string& by) {
  std::int64_t sequence = 0;
  std::string price;
  std::istringstream(quote) >> sequence >> price;
  const auto missing = one.last == 0 ? 0 : sequence - one.last - 1;
  if (by != one.by) {
    const std::chrono::duration<double> gap = Clock::now() - one.at;
    std::cout << what << " from " << by << ": quote " << sequence << " is " << price << ", missing "
              << missing << ", gap " << gap.count() << " s" << std::endl;
  }
  one = {by, sequence, one.missing + missing};
}

/// Receives the quotes of an instrument from whichever process owns it.
asio::awaitable<void> follow(neliroute::Watcher& watcher, std::string instrument, Heard& heard) {
  const neliroute::Slot slot = watcher.slot_of(instrument);
  neliroute::Epoch after = neliroute::kNoEpoch;  // of an owner that closed, or was not reached
  for (;;) {
    // Nobody polls: it ends with the record that names another owner.
    const auto [error, route] = co_await watcher.async_route_after(slot, after, kAgain, kAwait);
    if (error && error != neliroute::Errc::timed_out) co_return;  // on_notice says why
    after = error ? neliroute::kNoEpoch : route.epoch;  // no other: the same one once more
    if (error || route.suspected) continue;
    const std::string owner(route.owner()), endpoint(route.endpoint());
    const auto colon = endpoint.rfind(':');
    WebSocket socket(co_await asio::this_coro::executor);
    auto& stream = beast::get_lowest_layer(socket);
    const auto [unknown, addresses] =
        co_await tcp::resolver(socket.get_executor())
            .async_resolve(endpoint.substr(0, colon), endpoint.substr(colon + 1), kAwait);
    stream.expires_after(kPatience);
    const auto [unreachable, address] = co_await stream.async_connect(addresses, kAwait);
    if (unknown || unreachable) watcher.suspect(endpoint);  // so that the others need not try
    const auto target = '/' + instrument + '/' + std::to_string(heard.last);
    auto [closed] = co_await socket.async_handshake(endpoint, target, kAwait);
    while (!closed) {
      std::string quote;
      auto buffer = asio::dynamic_buffer(quote);
      stream.expires_after(kPatience);
      std::tie(closed, std::ignore) = co_await socket.async_read(buffer, kAwait);
      if (!closed) hear(instrument, heard, quote, owner);
    }
  }
}

int subscribe(const std::string& brokers) {
  auto options = neliroute::WatcherOptions::from_environment();
  if (!options) throw std::runtime_error(options.error().message());
  options->kafka.brokers = brokers, options->kafka.topic = kTopic;
  options->on_notice = [](const neliroute::Notice& notice) { std::clog << notice.text << '\n'; };
  asio::io_context io;
  const auto watcher = neliroute::Watcher::open(io.get_executor(), *options);
  if (!watcher) throw std::runtime_error(watcher.error().message());
  std::map<std::string, Heard> tape;
  for (const auto& one : kInstruments) {
    asio::co_spawn(io, follow(**watcher, one, tape[one]), asio::detached);
  }
  asio::signal_set signals(io, SIGTERM, SIGINT);
  signals.async_wait([&](auto, int) { io.stop(); });
  io.run();
  std::int64_t missing = 0;
  for (const auto& [instrument, one] : tape) missing += one.missing;
  std::cout << "missing " << missing << std::endl;
  return missing == 0 ? 0 : 1;
}

int main(int count, char** words) try {
  if (count == 5 && words[1] == std::string("owner")) return own(words[2], words[3], words[4]);
  if (count == 3 && words[1] == std::string("subscriber")) return subscribe(words[2]);
  return std::cerr << "use: owner NAME HOST:PORT BROKERS | subscriber BROKERS\n", 2;
} catch (const std::exception& error) {
  return std::cerr << words[count - 2] << ": " << error.what() << '\n', 2;
}
