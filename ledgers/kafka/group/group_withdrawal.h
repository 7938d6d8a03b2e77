// Feeds a Withdrawal with events, queries what it needs, and carries out what it decides.
//
// Threads: the strand.   Units: std::chrono.   Errors: none; notices say why it leaves.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "ledgers/kafka/client/kafka_statistics.h"
#include "ledgers/kafka/topic/broker_probe.h"
#include "neli_core/event.h"
#include "neli_core/leaving/withdrawal.h"
#include "neli_core/ledger.h"
#include "neli_core/ready.h"

namespace neliroute {

struct GroupWithdrawalParts {
  ProcessId self;
  Lane lane;
  WithdrawalOptions options;
  /// Null: withdrawals are not counted.
  std::shared_ptr<KafkaStatistics> statistics;
  // Each may answer at once, or late; not at all only if this is destroyed as well.
  std::function<void(Then<TopicDescription>)> query_leaders;
  std::function<void(std::function<void(std::optional<std::size_t>)>)> count_others;
  /// Leaves the group, and joins it again after the pause.
  std::function<void(milliseconds pause)> leave;
  /// The pause ended.
  std::function<void()> join;
  NoticeSink notices;
};

class GroupWithdrawal {
 public:
  explicit GroupWithdrawal(GroupWithdrawalParts parts);

  void note(const Event& event, LocalTime now);
  /// A record was refused; no log: the broker refuses all of them.
  void on_write_refused(std::optional<Log> log, LocalTime now);
  void on_read_refused(Log log) { withdrawal_.read_refused(log); }
  void on_joined();
  /// Call it now and then.
  void tick(LocalTime now);

 private:
  void query_leaders();
  void count_others(LocalTime now);
  void leave(const Withdrawal::Leave& why);

  GroupWithdrawalParts parts_;
  Withdrawal withdrawal_;
  bool querying_leaders_ = false;
  bool counting_others_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::mt19937 random_;
};

}  // namespace neliroute
