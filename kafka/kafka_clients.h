// What is behind a KafkaLedger: the clients, their queues, and the order in which they close.
// Private.
//
// Threads: the strand.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "kafka/client/rebootstrap.h"
#include "kafka/client/client_config.h"
#include "kafka/client/queue_wakeup.h"
#include "kafka/group/group_member.h"
#include "kafka/group/group_prompter.h"
#include "kafka/group/group_withdrawal.h"
#include "kafka/group/others_question.h"
#include "kafka/kafka_ledger.h"
#include "kafka/record_writer.h"
#include "kafka/tail/tail.h"
#include "kafka/topic/topic_check.h"
#include "kafka/troubles.h"

namespace neliroute {

class KafkaLedger::Clients : public std::enable_shared_from_this<KafkaLedger::Clients> {
 public:
  Clients(boost::asio::any_io_executor strand, KafkaLedgerParameters parameters);
  ~Clients();

  [[nodiscard]] Result<void> open();
  void start(EventSink events, NoticeSink notices);
  void on_refused(std::function<void(const Error&)> handler) { refused_ = std::move(handler); }
  void write(const Write& write);
  void broadcast();
  void restart_tail(Log log);
  void reread(const RereadRequest& request);
  void subscribe();
  void expedite(milliseconds within);
  void finish_rebalances(std::uint32_t count);
  void leave_group();
  void count_others(std::function<void(std::optional<std::size_t>)> answer);
  void close(LocalTime deadline, std::function<void()> done);
  /// No event, no notice, no call from now on; everything is destroyed.
  void release();

 private:
  [[nodiscard]] ClientSettings settings() const;
  void on_wake();
  void on_timer();
  void tell_broker_names_if_due(LocalTime now);
  void arm_timer();
  bool serve_once();
  void serve_later();
  void on_other(ClientKind kind, const rd_kafka_event_t* event);
  void on_group_event(const Event& event);
  void on_inconsistent_group(rd_kafka_resp_err_t error);
  void on_written(std::uint64_t seq, rd_kafka_resp_err_t error, std::int64_t offset);
  void on_trouble(Troubles& told, rd_kafka_resp_err_t error, std::string text);
  void forget_others_question();
  void check_topic_if_due(LocalTime now);
  void count_partitions_if_due(LocalTime now);
  void emit(const Event& event);
  void renew_writer();
  void note_heard(const Event& event, LocalTime now);
  [[nodiscard]] LocalTime heard(Log log) const;
  [[nodiscard]] LocalTime last_heard() const;
  void notice(Severity severity, std::string text);
  void make_topic_check();
  [[nodiscard]] std::unique_ptr<TopicCheck> topic_check() const;
  void advance_close();
  void await_membership();
  void make_withdrawal();

  boost::asio::any_io_executor strand_;
  KafkaLedgerParameters parameters_;
  boost::asio::steady_timer timer_;
  std::shared_ptr<QueueWakeup> wakeup_;
  EventSink events_;
  NoticeSink notices_;
  LogFilter log_filter_;
  Rebootstrap rebootstrap_;
  std::unique_ptr<RecordWriter> writer_;
  std::unique_ptr<Tail> tail_;
  std::unique_ptr<TopicCheck> topic_check_;
  std::unique_ptr<TopicCheck> partition_count_;  ///< `broadcast`: M must not change
  std::unique_ptr<GroupMember> group_;
  std::shared_ptr<GroupPrompter> prompter_;  ///< consumer protocol
  std::unique_ptr<GroupWithdrawal> withdrawal_;  ///< `claimed`, where the own id is known
  std::unique_ptr<OthersQuestion> others_question_;
  std::vector<RereadRequest> empty_logs_asked_;
  LocalTime next_topic_check_ = kLongAgo;
  LocalTime next_count_ = kLongAgo;
  std::map<Log, LocalTime> heard_;  ///< when a log last answered
  milliseconds topic_check_pause_{0};
  std::string topic_trouble_;
  /// What was told, of reading and in general, and of writing; until that works again.
  Troubles troubles_;
  Troubles write_troubles_;
  std::function<void(const Error&)> refused_;
  bool ever_stored_ = false;
  bool ever_assigned_ = false;
  std::optional<LocalTime> inconsistent_since_;  ///< the group has refused this process
  std::function<void()> closed_;
  LocalTime close_by_ = kNever;
  bool closing_ = false;
  bool leaving_ = false;  ///< the group, for good
  bool released_ = false;
};

}  // namespace neliroute
