// Why brokers do not answer: of each, the last thing that the client said of its connection.
//
// The client's error is the same for all of it ("Broker transport failure"). Its log and its error
// events name the broker and what happened, and from that follows what to do.
//
// Threads: one.   Units: none.   Errors: none.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace neliroute {

class BrokerFailures {
 public:
  /// Of the client's log or an error; others say nothing here.
  void note(rd_kafka_event_t* event);
  /// As one line of librdkafka's names it: "BROKER: TEXT". NO_ERROR: only the text is known.
  void note(std::string_view line, rd_kafka_resp_err_t error);

  /// So many brokers will say the same until a password, a certificate or a property is changed.
  [[nodiscard]] std::size_t refusals() const noexcept;
  /// Each broker with what happened, and what to do; empty: nothing is known.
  [[nodiscard]] std::string text() const;

 private:
  struct Failure {
    std::string text;
    rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
  };
  std::map<std::string, Failure, std::less<>> failures_;
};

}  // namespace neliroute
