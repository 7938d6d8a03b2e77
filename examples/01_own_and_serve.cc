// A process that owns slots and serves the keys in them:  01_own_and_serve HOST:PORT [BROKERS]
// Each line on stdin (a pipe or a terminal) is a key that somebody asks for. Other settings come
// from the command's variables: with NELIROUTE_ASSIGNMENT=group Kafka's group assigns, and not one
// of the processes (docs/operating.md says when to choose it).
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>
#include <iostream>
#include <neliroute/router.h>
#include <string>

namespace asio = boost::asio;

// On any thread, as often as you like: no lock, no I/O.
void serve(const neliroute::Router& router, const std::string& key) {
  if (const auto work = router.begin(key)) {
    // Do the work here: while `work` lives, a successor waits for it, at most until the lease ends.
    // Hand work.epoch() to the store, which refuses an older one.
    std::cout << key << ": served here, epoch " << work.epoch() << std::endl;
  } else if (const auto route = router.route(key); route.verdict == neliroute::Verdict::remote) {
    std::cout << key << ": ask " << route.endpoint() << std::endl;
  } else {
    std::cout << key << ": " << route.verdict << ", ask again soon" << std::endl;
  }
}

// Nothing is renewed while these run, so all calls in a row must take less than an interval: load
// what a partition needs elsewhere.
class Service : public neliroute::Listener {
 public:
  explicit Service(asio::io_context& io) : io_(io) {}
  void acquired(const neliroute::Transition& change) override { tell(change); }
  // Work guards are waited for anyway; a service that has more to finish keeps the token.
  void stopped(const neliroute::Transition& change, neliroute::BarrierToken) override {
    tell(change);
  }
  void failed(const neliroute::Error&) override {  // on_notice reported it
    status = 2;
    io_.stop();
  }
  int status = 0;

 private:
  static void tell(const neliroute::Transition& change) {
    std::clog << to_string(change.kind) << " partition " << change.partition.value() << '\n';
  }
  asio::io_context& io_;
};

int main(int count, char** arguments) {
  const auto given = neliroute::RouterOptions::from_environment();
  if (!given) {
    std::cerr << given.error().message() << '\n';
    return 1;
  }
  neliroute::RouterOptions options = *given;
  options.process.endpoint = count > 1 ? arguments[1] : "127.0.0.1:7001";
  if (count > 2) options.kafka.brokers = arguments[2];
  options.timing.profile = neliroute::Profile::fast;
  options.on_notice = [](const neliroute::Notice& notice) { std::clog << notice.text << '\n'; };

  asio::io_context io;
  const auto opened = neliroute::Router::open(io.get_executor(), options);
  if (!opened) {
    std::cerr << opened.error().message() << '\n';
    return 1;
  }
  neliroute::Router& router = **opened;
  Service service(io);
  const auto subscription = router.subscribe(service);
  // Hand over, then end: on a signal, or at the end of stdin.
  const auto leave = [&] { router.async_drain(router.timing().drain, [&](auto) { io.stop(); }); };
  asio::signal_set signals(io, SIGTERM, SIGINT);
  signals.async_wait([&](auto, int) { leave(); });

  asio::posix::stream_descriptor input(io, ::dup(STDIN_FILENO));
  std::string lines;
  std::function<void()> next = [&] {
    asio::async_read_until(input, asio::dynamic_buffer(lines), '\n', [&](auto error, auto size) {
      if (error) return leave();
      serve(router, lines.substr(0, size - 1));
      lines.erase(0, size);
      next();
    });
  };
  // Before that the answer would be `unknown`. An error: it failed, or was told to leave.
  router.async_ready([&](auto error) { if (!error) next(); });
  io.run();
  return service.status;
}
