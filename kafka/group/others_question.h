// How many members the group has besides this process: asked of its coordinator, without blocking.
//
// Threads: the strand.   Units: none.
// Errors: no number where nobody can tell; no answer for as long as no coordinator answers.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "kafka/topic/admin_queue.h"

namespace neliroute {

class OthersQuestion {
 public:
  using Answer = std::function<void(std::optional<std::size_t>)>;

  /// `handle`: the client that asks; it must outlive this.
  OthersQuestion(rd_kafka_t* handle, QueueWakeup& wakeup, std::string group);

  /// `self`: the own member's id; empty: this process is no member. A group that does not know who
  /// is not leaving is not described by who knows it. Whoever asked before and has no answer gets
  /// none any more.
  void ask(std::string self, bool leaving, Answer answer);
  [[nodiscard]] bool asked() const noexcept { return answer_ != nullptr; }
  /// Nobody can tell any more: the client goes.
  void give_up();
  /// Takes an answer; false: there was none.
  bool serve();

 private:
  [[nodiscard]] std::optional<std::size_t> others_in(const rd_kafka_event_t* event) const;

  AdminQueue queue_;
  std::string group_;
  std::string self_;
  bool leaving_ = false;
  Answer answer_;
};

}  // namespace neliroute
