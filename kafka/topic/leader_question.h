// Whom the cluster names as the leader of each log: asked of any broker, without blocking.
//
// Threads: the strand.   Units: none.   Errors: no answer where nobody tells, or the library is
// older than 2.3, which came with the question.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kafka/topic/admin_queue.h"

namespace neliroute {

class LeaderQuestion {
 public:
  /// For each log its leader's number; none: it has none.
  using Answer = std::function<void(const std::vector<std::optional<std::int32_t>>&)>;

  /// `handle`: the client that asks; it must outlive this.
  LeaderQuestion(rd_kafka_t* handle, QueueWakeup& wakeup, std::string topic, std::uint32_t logs,
                 Answer answer);

  /// Does nothing while an answer is awaited.
  void ask();
  /// Takes the answer, if it is there.
  bool serve();

 private:
  void on_answer(const rd_kafka_event_t* event) const;

  AdminQueue queue_;
  std::string topic_;
  std::uint32_t logs_;
  Answer answer_;
  bool asked_ = false;
};

}  // namespace neliroute
