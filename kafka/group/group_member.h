// A member of the consumer group: what the group assigns and takes back, and nothing else. Its
// partitions are paused, no record is ever read here, unless the variation is `broadcast`: then
// every record of an assigned partition is an event.
//
// Threads: the strand.   Units: std::chrono.
// Errors: a member that Kafka will not have any more is replaced after a pause, and so is one whose
// library refuses what the group assigned; notices say why.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "kafka/client/client_config.h"
#include "kafka/client/client_log.h"
#include "kafka/client/queue_wakeup.h"
#include "kafka/client/rdkafka_ptr.h"
#include "kafka/group/heartbeat_pump.h"
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

  /// Makes the client that join() is to use: only then librdkafka says whether the settings do.
  [[nodiscard]] Result<void> open();
  /// Tries again by itself if that fails.
  [[nodiscard]] Result<void> join();
  /// Subscribes to what it is subscribed to: with the consumer protocol its next heartbeat is sent
  /// now. No call for the classic one, which would join anew.
  void subscribe_again();
  /// Consumer protocol: whether the group has answered that it is a member.
  [[nodiscard]] bool is_counted() const;
  /// By which the group knows it; empty: it is no member.
  [[nodiscard]] std::string member_id() const;
  /// Lets the event handed out last proceed.
  void finish();
  /// Starts leaving; what Kafka takes back meanwhile is let go without a word.
  void leave();
  /// The same, and joins again after the pause; tells as revoked what it had.
  void withdraw(milliseconds pause);
  /// The pause is over.
  void join_soon();
  [[nodiscard]] bool is_leaving() const noexcept { return leaving_; }
  /// Left, or never joined.
  [[nodiscard]] bool gone() const;
  /// Takes what came off the queue; false: nothing was left.
  bool serve(const std::function<void(const rd_kafka_event_t*)>& other);
  /// Hands out the next event, if none is being dealt with.
  void announce_next();
  /// Joins again, if a fatal error ended the last membership, it withdrew, or joining failed, a
  /// while ago. True: it does now.
  bool rejoin_if_due(LocalTime now);
  /// For tests; none while it is no member.
  [[nodiscard]] rd_kafka_t* handle() const { return handle_.get(); }

 private:
  [[nodiscard]] rd_kafka_resp_err_t subscribe();
  void hear(rd_kafka_event_t* event);
  [[nodiscard]] rd_kafka_resp_err_t let_proceed(rd_kafka_event_t* event);
  void let_all_proceed();
  void end_withdrawn(LocalTime now);
  void end_membership();
  void finish_leaving();
  void lose_membership();

  ClientSettings settings_;
  QueueWakeup& wakeup_;
  Sink events_;
  NoticeSink notices_;
  const bool hears_;        ///< `broadcast`
  const bool cooperative_;  ///< asked once: while closing the library no longer knows
  rdkafka::HandlePtr opened_;  ///< not in use yet
  rdkafka::HandlePtr handle_;
  rdkafka::QueuePtr queue_;
  std::optional<ClientLog> log_;
  std::unique_ptr<HeartbeatPump> pump_;
  std::deque<rdkafka::EventPtr> rebalances_;
  PartitionRanges assigned_;
  bool announced_ = false;
  bool leaving_ = false;
  std::string left_as_;       ///< the member's id: a client that leaves must not be asked for it
  bool withdrawing_ = false;  ///< leaving_, and it will join again
  std::optional<rd_kafka_resp_err_t> refused_;  ///< what the library said to an assignment
  LocalTime rejoin_at_ = kNever;
};

}  // namespace neliroute
