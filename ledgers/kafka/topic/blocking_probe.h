// Queries the brokers at start, and waits for the answers.
//
// Threads: one; blocking.   Units: std::chrono.   Errors: as the probe's; an unanswered query times
// out at the deadline.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <neliroute/time.h>
#include <string>
#include <utility>

#include "ledgers/kafka/client/broker_failures.h"
#include "ledgers/kafka/topic/broker_probe.h"

namespace neliroute {

class BlockingProbe {
 public:
  /// `brokers`: that the client was given.
  BlockingProbe(rdkafka::HandlePtr handle, std::size_t brokers, LocalTime deadline);

  /// The topic as any broker sees it, by a request that every library and broker knows; it is
  /// repeated until one answers, or, at first, all refuse what no time will mend.
  [[nodiscard]] Answer<TopicDescription> topic(const std::string& name);
  /// A broker that the last answer of topic() named.
  [[nodiscard]] int broker_id() const noexcept { return broker_id_; }
  /// The answer to any other request of BrokerProbe.
  template <class T, class... Parameters, class... Arguments>
  [[nodiscard]] Answer<T> await(void (BrokerProbe::*request)(Parameters...),
                                Arguments&&... arguments) {
    std::optional<Answer<T>> answer;
    const Then<T> then = [&answer](const Answer<T>& answered) { answer = answered; };
    (probe_.*request)(std::forward<Arguments>(arguments)...,
                      milliseconds{std::min(left_ms(), kAdminTryMs)}, then);
    for (bool last = false; !answer && !last; last = over()) probe_.serve(left_ms());
    if (!answer) probe_.give_up();
    return *answer;
  }
  /// Called once, when the first attempt got no answer and there will be others.
  void on_first_silence(std::function<void(rd_kafka_resp_err_t)> handler) {
    silence_ = std::move(handler);
  }
  [[nodiscard]] bool over() const;
  void set_deadline(LocalTime deadline) noexcept { deadline_ = deadline; }
  /// What is known of the brokers that did not answer.
  [[nodiscard]] const BrokerFailures& failures() const noexcept { return failures_; }

 private:
  static constexpr int kAdminTryMs = 5000;  ///< an answer that takes longer counts as unknown

  [[nodiscard]] int left_ms() const;
  void note_failures();

  rdkafka::HandlePtr handle_;
  BrokerProbe probe_;
  rdkafka::QueuePtr main_;
  rdkafka::TopicPtr topic_;
  LocalTime deadline_;
  int broker_id_ = -1;
  std::size_t brokers_;
  BrokerFailures failures_;
  bool answered_ = false;  ///< some broker did, once
  std::function<void(rd_kafka_resp_err_t)> silence_;
};

}  // namespace neliroute
