// A process that owns slots and serves the keys in them:  01_own_and_serve HOST:PORT [BROKERS]
// Each line on stdin (a pipe or a terminal) is a key that somebody asks for.
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/signal_set.hpp>
#include <iostream>
#include <string>

#include "router/router.h"

namespace asio = boost::asio;

// On any thread, as often as you like: no lock, no I/O.
void serve(const neliroute::Router& router, const std::string& key) {
  if (const auto work = router.begin(router.slot_of(key))) {
    // Do the work here: while `work` lives, who takes the slot over waits for it, at most until the
    // lease ends. Hand work.epoch() to the store, which refuses one that is older.
    std::cout << key << ": served here, epoch " << to_string(work.epoch()) << std::endl;
  } else if (const auto route = router.route(key); route.verdict == neliroute::Verdict::remote) {
    std::cout << key << ": ask " << route.endpoint() << std::endl;
  } else {
    std::cout << key << ": " << to_string(route.verdict) << ", ask again soon" << std::endl;
  }
}

int main(int count, char** arguments) {
  neliroute::RouterOptions options;
  options.process.endpoint = count > 1 ? arguments[1] : "127.0.0.1:7001";
  if (count > 2) options.kafka.brokers = arguments[2];
  options.timing.profile = neliroute::Profile::fast;
  options.log = [](const neliroute::Notice& notice) { std::clog << notice.text << '\n'; };

  asio::io_context io;
  const auto opened = neliroute::Router::open(io.get_executor(), options);
  if (!opened) {
    std::cerr << opened.error().message() << '\n';
    return 1;
  }
  neliroute::Router& router = **opened;
  router.on_transition([](const neliroute::Transition& change, neliroute::BarrierToken) {
    // acquired: have what the partition needs loaded, elsewhere: nothing is renewed while a handler
    // runs, so all calls in one go must take less than an interval. stopped: what was begun is
    // waited for by itself; who has more to finish keeps the token.
    std::clog << to_string(change.kind) << " partition " << change.partition.value() << '\n';
  });
  int status = 0;
  router.on_failure([&](const neliroute::Error&) {  // which the log has told
    status = 2;
    io.stop();
  });
  // Hand over, then end: on a signal, or when nobody asks any more.
  const auto leave = [&] { router.async_drain(std::chrono::seconds{5}, [&](auto) { io.stop(); }); };
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
  next();
  io.run();
  return status;
}
