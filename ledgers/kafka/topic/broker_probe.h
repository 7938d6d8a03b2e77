// Queries the brokers through one client: configurations, topics, groups. Every admin request of
// this library is built here, and every answer decoded.
//
// serve() calls back. A running process does not wait for that; a starting one does
// (blocking_probe.h).
//
// Threads: one.   Units: std::chrono.   Errors: an answer without a value says why.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <neliroute/time.h>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ledgers/kafka/client/queue_wakeup.h"
#include "ledgers/kafka/client/rdkafka_ptr.h"

namespace neliroute {

/// No value: unknown, and `error` says why; so does `why` if the broker sent a text.
template <class T>
struct Answer {
  std::optional<T> value;
  rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
  std::string why;
};

/// Called at most once: not at all if the probe is destroyed before.
template <class T>
using Then = std::function<void(const Answer<T>&)>;

using Configs = std::map<std::string, std::string>;

[[nodiscard]] std::optional<std::int64_t> number_in(const Configs& configs, const char* name);
[[nodiscard]] std::optional<milliseconds> duration_in(const Configs& configs, const char* name);

struct ResourceConfigs {
  Configs values;
  std::set<std::string> set_for_group;  ///< names of those that are not the broker's defaults
};

struct TopicDescription {
  rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;  ///< the topic's own
  std::uint32_t partitions = 0;
  int replication = 0;  ///< 0: not known
  /// By partition; none: it has no leader, or it is not known.
  std::vector<std::optional<std::int32_t>> leaders;

  [[nodiscard]] bool is_missing() const noexcept {
    return error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
           (error == RD_KAFKA_RESP_ERR_NO_ERROR && partitions == 0);
  }
};

using MemberIds = std::vector<std::string>;
struct Done {};

class BrokerProbe {
 public:
  /// `handle`: the client that sends the requests; it must outlive this. `wakeup`: calls for
  /// serve(); null for a caller that waits.
  BrokerProbe(rd_kafka_t* handle, QueueWakeup* wakeup);
  ~BrokerProbe();
  BrokerProbe(const BrokerProbe&) = delete;
  BrokerProbe& operator=(const BrokerProbe&) = delete;

  // Each may answer at once, if the library does not know the request.

  /// These two wait in here while no broker is connected, unless the caller waits (no `wakeup`): in
  /// librdkafka (2.15.1: rd_kafka_broker_controller_async(), rd_kafka_broker_get_async()) a request
  /// that waits for its broker connects again at each failure, without any backoff, over a thousand
  /// times a second.
  void configs(rd_kafka_ResourceType_t type, const std::string& name, milliseconds within,
               Then<ResourceConfigs> then);
  void topic(const std::string& name, milliseconds within, Then<TopicDescription> then);
  void create_topic(const std::string& name, std::uint32_t partitions, int replication,
                    const Configs& configs, milliseconds within, Then<Done> then);
  /// Whether the group has no member, or does not exist.
  void group_is_empty(const std::string& group, milliseconds within, Then<bool> then);
  /// Sets these and leaves the others as they are.
  void set_group_configs(const std::string& group, const Configs& configs, milliseconds within,
                         Then<Done> then);
  /// The group's members, from its coordinator; no answer while there is no coordinator. The client
  /// must be destroyed, and with it this, once that has taken too long (is_overdue()).
  void members(const std::string& group, Then<MemberIds> then);
  [[nodiscard]] bool is_overdue(LocalTime now) const noexcept;

  /// Takes an answer, waiting at most so long; false: there was none. Call it often: requests that
  /// wait for a connection are sent here.
  bool serve(int timeout_ms = 0);
  /// Answers everything that is awaited with a timeout.
  void give_up();

 private:
  using Decode = std::function<void(rd_kafka_event_t*)>;
  template <class T>
  [[nodiscard]] rdkafka::AdminOptionsPtr request(rd_kafka_admin_op_t operation,
                                                 milliseconds within,
                                                 Answer<T> (*decode)(rd_kafka_event_t*),
                                                 Then<T> then);

  /// A request that waits for a connection.
  struct Postponed {
    LocalTime until;
    std::function<void(milliseconds left)> send;
    std::function<void()> give_up;
  };
  void when_connected(milliseconds within, std::function<void(milliseconds)> send,
                      std::function<void()> give_up);
  [[nodiscard]] bool is_connected() const;
  [[nodiscard]] bool serve_postponed();
  void describe_configs(rd_kafka_ResourceType_t type, const std::string& name, milliseconds within,
                        Then<ResourceConfigs> then);
  void describe_topic(const std::string& name, milliseconds within, Then<TopicDescription> then);

  rd_kafka_t* handle_;
  QueueWakeup* wakeup_;
  rdkafka::QueuePtr queue_;
  std::map<std::uintptr_t, Decode> awaited_;
  std::deque<Postponed> postponed_;
  LocalTime next_look_ = kLongAgo;
  bool connected_ = false;  ///< when it last looked, for those that wait
  std::uintptr_t last_request_ = 0;
  std::size_t members_awaited_ = 0;
  LocalTime members_asked_ = kNever;  ///< when the first of these was
};

}  // namespace neliroute
