// Whether a topic that was away is there again, and still fits: asked without blocking.
//
// Threads: the strand.   Units: none.   Errors: an answer that tells nothing counts as fitting;
// reading will show.
#pragma once

#include <librdkafka/rdkafka.h>

#include <functional>
#include <neliroute/time.h>
#include <optional>
#include <string>

#include "kafka/topic/admin_queue.h"
#include "neli_core/options.h"

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
  void finish(Outcome outcome, const std::string& why = {});

  AdminQueue queue_;
  std::string topic_;
  Mode mode_;
  std::uint32_t partitions_;
  bool embedded_broker_;
  milliseconds answer_within_;
  Answer answer_;
  std::function<void(std::uint32_t)> count_answer_;
};

}  // namespace neliroute
