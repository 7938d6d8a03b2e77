// Counters over HTTP, of which any process may be asked for any:
//   07_behind_a_forwarder HOST:PORT BROKERS      several; no gateway is needed before them
//   curl -X POST http://HOST:PORT/visits         adds 1; GET reads
//
// The process's own HTTP server knows nothing of slots, and could be any. It listens at a port that
// only this machine can reach. The Forwarder listens at HOST:PORT: it gives that server requests
// for what this process owns, with the epoch in a field, and sends the others to their owners.
//
// Counts are in memory only, and begin anew when another process owns them. 04 shows how they are
// stored and handed over. NELIROUTE_ASSIGNMENT=assigner before all processes lets one of them
// assign, as in 01.
//
// Two threads: the router's, which renews leases, so nothing there may take long; and that of HTTP,
// for both the server and the Forwarder.
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <csignal>
#include <iostream>
#include <map>
#include <neliroute/forwarder.h>
#include <neliroute/router.h>
#include <string>
#include <utility>

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;
using std::chrono::seconds, std::chrono::milliseconds;
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);  // returns errors, throws none

/// The application.
class Counters {
 public:
  explicit Counters(std::string served_by) : served_by_(std::move(served_by)) {}

  Response answer(const Request& request) {
    Counter& counter = counters_[std::string(request.target())];
    // Another one means that other processes may have counted meanwhile.
    const std::string epoch(request["Neliroute-Epoch"]);
    if (counter.epoch != epoch) counter = {epoch, 0};
    if (request.method() == http::verb::post) ++counter.value;
    Response made(http::status::ok, request.version());
    made.body() = std::to_string(counter.value) + " by " + served_by_ + '\n';
    return made;
  }

 private:
  struct Counter {
    std::string epoch;
    std::uint64_t value = 0;
  };
  const std::string served_by_;
  std::map<std::string, Counter> counters_;
};

asio::awaitable<void> serve(boost::beast::tcp_stream stream, Counters& counters) {
  boost::beast::flat_buffer buffer;
  for (bool more = true; more;) {
    Request request;
    stream.expires_after(seconds{60});
    const auto [broken, size] = co_await http::async_read(stream, buffer, request, kAwait);
    if (broken) co_return;
    Response response = counters.answer(request);
    more = request.keep_alive();
    response.keep_alive(more);
    response.prepare_payload();
    co_await http::async_write(stream, response, kAwait);
  }
}

asio::awaitable<void> accept(tcp::acceptor& acceptor, Counters& counters) {
  for (;;) {
    auto [error, socket] = co_await acceptor.async_accept(kAwait);
    if (!error) {
      boost::beast::tcp_stream stream(std::move(socket));
      asio::co_spawn(acceptor.get_executor(), serve(std::move(stream), counters), asio::detached);
    } else {  // no descriptor is left, most likely
      co_await asio::steady_timer(acceptor.get_executor(), milliseconds{100}).async_wait(kAwait);
    }
  }
}

/// Ends the process if it cannot own anything any more.
struct Watch : neliroute::Listener {
  void failed(const neliroute::Error&) override {  // on_notice reported it
    exit_code = 2;
    std::raise(SIGTERM);
  }
  int exit_code = 0;
};

int main(int count, char** words) try {
  if (count != 3) return std::cerr << "use: HOST:PORT BROKERS\n", 2;
  const auto say = [](const neliroute::Notice& notice) { std::clog << notice.text << '\n'; };
  asio::thread_pool thread(1);  // the Forwarder's: it outlives the Router's
  asio::io_context io;
  tcp::acceptor acceptor(thread, {asio::ip::address_v4::loopback(), 0});
  Counters counters(words[1]);

  auto options = neliroute::RouterOptions::from_environment();  // NELIROUTE_ASSIGNMENT, say
  if (!options) return std::cerr << options.error().message() << '\n', 2;
  options->process.endpoint = words[1];
  options->kafka.brokers = words[2];
  options->mode = neliroute::Mode::exclusive;
  options->timing.profile = neliroute::Profile::fast;
  options->on_notice = say;
  const auto opened = neliroute::Router::open(io.get_executor(), *options);
  if (!opened) return std::cerr << opened.error().message() << '\n', 2;
  neliroute::Router& router = **opened;

  neliroute::ForwarderOptions front;
  front.key = "path:1";
  front.application = "127.0.0.1:" + std::to_string(acceptor.local_endpoint().port());
  front.one_thread = true;
  front.on_notice = say;
  const auto bound = neliroute::Forwarder::bind(thread.get_executor(), router, front);
  if (!bound) return std::cerr << bound.error().message() << '\n', 2;
  neliroute::Forwarder& forwarder = **bound;

  Watch watch;
  const auto subscription = router.subscribe(watch);
  asio::co_spawn(thread, accept(acceptor, counters), asio::detached);
  // Callers are refused until it can tell who owns what.
  router.async_ready([&](auto error) {
    if (error) return;
    if (const auto listens = forwarder.listen(); !listens) {
      std::cerr << listens.error().message() << '\n';
      watch.failed(listens.error());
    }
  });
  asio::signal_set signals(io, SIGTERM, SIGINT);
  signals.async_wait([&](auto, int) {
    // What is under way is finished, and then handed over; late callers are told whom to ask.
    router.async_drain(router.timing().drain, [&](auto) {
      forwarder.async_drain(seconds{10}, [&](auto) { io.stop(); });
    });
  });
  io.run();
  thread.stop();
  thread.join();
  return watch.exit_code;
} catch (const std::exception& error) {  // Asio throws; neliroute returns values
  std::cerr << words[1] << ": " << error.what() << '\n';
  return 2;
}
