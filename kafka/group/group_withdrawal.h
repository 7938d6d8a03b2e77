// Tells a Withdrawal what happens, asks what it wants to know, and carries out what it decides.
//
// Threads: the strand.   Units: std::chrono.   Errors: none; notices say why it leaves.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "kafka/client/kafka_statistics.h"
#include "kafka/client/queue_wakeup.h"
#include "kafka/topic/leader_question.h"
#include "neli_core/event.h"
#include "neli_core/ledger.h"
#include "neli_core/ready.h"
#include "neli_core/leaving/withdrawal.h"

namespace neliroute {

struct GroupWithdrawalParts {
  ProcessId self;
  Lane lane;
  std::string topic;
  WithdrawalOptions options;
  /// Null: nobody counts.
  std::shared_ptr<KafkaStatistics> statistics;
  /// The client that asks; null: there is none now.
  std::function<rd_kafka_t*()> client;
  /// May answer at once, or never.
  std::function<void(std::function<void(std::optional<std::size_t>)>)> count_others;
  /// Leaves the group, and joins it again after the pause.
  std::function<void(milliseconds pause)> leave;
  /// The pause is over.
  std::function<void()> join;
  NoticeSink notices;
};

class GroupWithdrawal {
 public:
  GroupWithdrawal(GroupWithdrawalParts parts, QueueWakeup& wakeup);

  void note(const Event& event, LocalTime now);
  /// A record was refused; none: whatever it writes is.
  void on_write_refused(std::optional<Log> log, LocalTime now);
  void on_read_refused(Log log) { withdrawal_.read_refused(log); }
  void on_joined();
  /// Every now and then.
  void tick(LocalTime now);
  /// Takes an answer; false: there was none.
  bool serve();
  /// The client that asked goes; nothing is awaited of it any more.
  void forget_question() { question_.reset(); }

 private:
  void leave(const Withdrawal::Leave& why);

  GroupWithdrawalParts parts_;
  QueueWakeup& wakeup_;
  Withdrawal withdrawal_;
  std::unique_ptr<LeaderQuestion> question_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::mt19937 random_;
};

}  // namespace neliroute
