// A member of the consumer group: what the group assigns and revokes, and nothing else. Its
// partitions are paused and no record is read here, unless the variation is `broadcast`: then
// every record of an assigned partition is an event.
//
// Threads: the strand.   Units: std::chrono.
// Errors: a member that Kafka removed for good is replaced after a pause, and so is one whose
// library refuses an assignment; notices say why.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "ledgers/kafka/client/backoff.h"
#include "ledgers/kafka/client/client_config.h"
#include "ledgers/kafka/client/client_log.h"
#include "ledgers/kafka/client/queue_wakeup.h"
#include "ledgers/kafka/client/rdkafka_ptr.h"
#include "ledgers/kafka/group/heartbeat_pump.h"
#include "neli_core/event.h"
#include "neli_core/ledger.h"

namespace neliroute {

class GroupMember {
 public:
  /// One event at a time: the next comes after finish().
  using Sink = std::function<void(const Event&)>;

  GroupMember(ClientSettings settings, QueueWakeup& wakeup, Sink events,
              NoticeSink notices = {});
  ~GroupMember();

  /// Creates the client that join() will use: librdkafka checks the settings only then.
  [[nodiscard]] Result<void> open();
  /// If it fails, or it is to stay away, rejoin_if_due() retries it.
  [[nodiscard]] Result<void> join();
  /// Subscribes to the same topic again: with the consumer protocol that sends the next heartbeat
  /// now. Does nothing with the classic protocol, which would join again.
  void subscribe_again();
  /// Consumer protocol: whether the group has answered that it is a member.
  [[nodiscard]] bool is_counted() const;
  /// The group's id for it; empty: it is no member.
  [[nodiscard]] std::string member_id() const;
  /// Acknowledges the rebalance whose event was emitted last.
  void finish();
  /// Starts leaving; what Kafka revokes meanwhile is acknowledged without an event, by the thread
  /// that destroys the client: librdkafka may never answer whoever acknowledges then.
  void leave();
  /// The same, and joins again after the pause; what it had is reported as revoked.
  void withdraw(milliseconds pause);
  /// Withdraws, if it is a member, and joins only when it is told otherwise.
  void stay_away(bool away);
  /// The pause is over.
  void join_soon();
  [[nodiscard]] bool is_leaving() const noexcept { return leaving_; }
  /// Left, or never joined.
  [[nodiscard]] bool gone() const;
  /// Takes events off the queue; false: none was left.
  bool serve(const std::function<void(const rd_kafka_event_t*)>& other);
  /// Emits the next event, unless one is still being handled.
  void announce_next();
  /// Joins again if a fatal error ended the last membership, it withdrew, or joining failed, a
  /// while ago; the longer ago, the more often that was so since it was last assigned anything.
  /// True: it did.
  bool rejoin_if_due(LocalTime now);
  /// For tests; none while it is no member.
  [[nodiscard]] rd_kafka_t* handle() const { return handle_.get(); }

 private:
  struct Rebalances;
  [[nodiscard]] Rebalances rebalances() const;
  static void leave_group(const Rebalances& rebalances, rd_kafka_queue_t* queue);
  [[nodiscard]] rd_kafka_resp_err_t subscribe();
  void emit_records(rd_kafka_event_t* event);
  [[nodiscard]] rd_kafka_resp_err_t acknowledge(rd_kafka_event_t* event);
  void accept_nothing();
  void acknowledge_all();
  /// Waits so long until its client is destroyed: leases wait meanwhile. `left`: called once it has
  /// left, on any thread.
  void end_membership(milliseconds patience = milliseconds{0}, std::function<void()> left = {});
  void lose_membership();

  ClientSettings settings_;
  QueueWakeup& wakeup_;
  Sink events_;
  NoticeSink notices_;
  const bool reads_;        ///< `broadcast`
  const bool cooperative_;  ///< read once: while closing the library no longer knows
  rdkafka::HandlePtr opened_;  ///< not in use yet
  rdkafka::HandlePtr handle_;
  rdkafka::QueuePtr queue_;
  std::optional<ClientLog> log_;
  std::unique_ptr<HeartbeatPump> pump_;
  std::deque<rdkafka::EventPtr> rebalances_;
  PartitionRanges assigned_;
  bool announced_ = false;
  bool leaving_ = false;
  std::string left_as_;       ///< the member's id, while it is leaving
  std::shared_ptr<std::atomic<bool>> left_;  ///< null: it is not leaving, or never was a member
  bool withdrawing_ = false;  ///< leaving_, and it will join again
  bool stays_away_ = false;
  std::optional<rd_kafka_resp_err_t> refused_;  ///< the library's answer to an assignment
  Backoff rejoin_;
  LocalTime rejoin_at_ = kNever;
};

}  // namespace neliroute
