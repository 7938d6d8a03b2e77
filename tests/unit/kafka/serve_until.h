// Serves one of the ledger's clients in the test's own loop until a condition holds.
//
// Threads: the loop's.   Units: std::chrono.   Errors: false after 30 s.
#pragma once

#include <librdkafka/rdkafka.h>

#include <boost/asio/io_context.hpp>
#include <functional>
#include <neliroute/clock.h>

namespace neliroute {

template <class Client>
[[nodiscard]] bool serve_until(Client& client, boost::asio::io_context& io,
                               const std::function<bool()>& condition) {
  const LocalTime deadline = later(boot_now(), milliseconds{30'000});
  while (!condition()) {
    if (boot_now() >= deadline) return false;
    while (client.serve([](const rd_kafka_event_t*) {})) {
    }
    io.restart();
    io.run_one_for(milliseconds{20});
  }
  return true;
}

}  // namespace neliroute
