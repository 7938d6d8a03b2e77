// Whether a topic that was away is there again, and still fits: asked without blocking.
//
// Threads: the strand.   Units: none.   Errors: an answer that tells nothing counts as fitting;
// reading will show.
#pragma once

#include <librdkafka/rdkafka.h>

#include <functional>
#include <optional>
#include <string>

#include "neli_core/kafka/queue_wakeup.h"
#include "neli_core/kafka/rdkafka_ptr.h"
#include "neli_core/options.h"
#include "neli_core/time.h"

namespace neliroute {

class TopicCheck {
 public:
  enum class Outcome {
    fits,
    missing,     ///< who was asked says that it is not there
    unanswered,  ///< nobody said anything in time
    unfit,
  };
  /// `why`: what is wrong, if it does not fit.
  using Answer = std::function<void(Outcome, const std::string& why)>;

  /// `handle`: the client that asks; it must outlive this.
  TopicCheck(rd_kafka_t* handle, QueueWakeup& wakeup, std::string topic, Mode mode,
             std::uint32_t partitions, bool embedded_broker,
             milliseconds answer_within = kAnswerWithin);
  ~TopicCheck();

  /// The answer comes from serve(). Does nothing while one is awaited.
  void ask(Answer answer);
  /// How many partitions the topic has; no answer where nobody tells. Not beside ask().
  void count(std::function<void(std::uint32_t)> answer);
  bool serve();
  [[nodiscard]] bool asked() const noexcept { return answer_ != nullptr; }

 private:
  static constexpr milliseconds kAnswerWithin{5000};

  void ask_configuration();
  void ask_partitions();
  void on_configuration(rd_kafka_event_t* event);
  void on_partitions(rd_kafka_event_t* event);
  void on_count(rd_kafka_event_t* event);
  [[nodiscard]] rdkafka::AdminOptionsPtr options_for(rd_kafka_admin_op_t operation) const;
  void finish(Outcome outcome, const std::string& why = {});

  rd_kafka_t* handle_;
  QueueWakeup& wakeup_;
  std::string topic_;
  Mode mode_;
  std::uint32_t partitions_;
  bool embedded_broker_;
  milliseconds answer_within_;
  rdkafka::QueuePtr queue_;
  Answer answer_;
  std::function<void(std::uint32_t)> count_answer_;
};

}  // namespace neliroute
