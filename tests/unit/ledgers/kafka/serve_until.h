// Serves one of the ledger's clients in the test's own loop until a condition holds.
//
// Threads: the loop's.   Units: std::chrono.   Errors: false after 30 s; what came is printed.
#pragma once

#include <librdkafka/rdkafka.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <iostream>
#include <map>
#include <neliroute/clock.h>
#include <string>

namespace neliroute {

/// Its kind; a line of the client's log, or its error, in full.
inline std::string event_text(const rd_kafka_event_t* event) {
  std::string text = rd_kafka_event_name(event);
  const char* facility = nullptr;
  const char* line = nullptr;
  int level = 0;
  // Neither changes the event, though the C interface takes it as one that may be.
  auto* taken = const_cast<rd_kafka_event_t*>(event);
  if (rd_kafka_event_log(taken, &facility, &line, &level) == 0) text += std::string(": ") + line;
  if (rd_kafka_event_error(taken) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    text += std::string(": ") + rd_kafka_event_error_string(taken);
  }
  return text;
}

template <class Client>
[[nodiscard]] bool serve_until(Client& client, boost::asio::io_context& io,
                               const std::function<bool()>& condition) {
  const LocalTime deadline = later(boot_now(), milliseconds{30'000});
  const auto work = boost::asio::make_work_guard(io);  // without any, run_one_for() waits for none
  std::map<std::string, std::size_t> seen;
  while (!condition()) {
    if (boot_now() >= deadline) {
      std::cerr << "waited for 30 s in vain; events of the client besides its own:\n";
      for (const auto& [what, count] : seen) std::cerr << "  " << count << " x " << what << '\n';
      return false;
    }
    while (client.serve([&](const rd_kafka_event_t* event) { ++seen[event_text(event)]; })) {
    }
    io.restart();
    io.run_one_for(milliseconds{20});
  }
  return true;
}

}  // namespace neliroute
