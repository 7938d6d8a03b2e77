// A KafkaLedger's clients, their queues, and the order in which they close. Private.
//
// Lifetime: librdkafka calls nobody back; it fills queues, which this object serves on the strand.
// Work that it posts to the strand, and the handlers of its timer and its eventfd, run only while
// the token `alive_` lives (while_alive()): a handler that is still waiting when the ledger is
// released does nothing.
//
// Threads: the strand.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ledgers/kafka/client/client_config.h"
#include "ledgers/kafka/client/queue_wakeup.h"
#include "ledgers/kafka/client/rebootstrap.h"
#include "ledgers/kafka/group/group_member.h"
#include "ledgers/kafka/group/group_prompter.h"
#include "ledgers/kafka/group/group_withdrawal.h"
#include "ledgers/kafka/kafka_ledger.h"
#include "ledgers/kafka/record_writer.h"
#include "ledgers/kafka/tail/tail.h"
#include "ledgers/kafka/topic/topic_check.h"
#include "ledgers/kafka/troubles.h"

namespace neliroute {

class KafkaLedgerImpl final : public KafkaLedger {
 public:
  KafkaLedgerImpl(boost::asio::any_io_executor strand, KafkaLedgerParameters parameters);
  ~KafkaLedgerImpl() override;

  // kafka_ledger_impl.cc
  [[nodiscard]] Result<void> open_clients();
  void start(EventSink events, NoticeSink notices) override;
  void on_refused(std::function<void(const Error&)> handler) override;
  // reading.cc
  void restart_tail(Log log) override;
  void reread(const RereadRequest& request) override;
  // writing.cc
  void write(Write write) override;
  void broadcast() override;
  // membership.cc
  void subscribe() override;
  void expedite(milliseconds within) override;
  void finish_rebalances(std::uint32_t count) override;
  void leave_group() override;
  void stay_away(bool away) override;
  void count_others(std::function<void(std::optional<std::size_t>)> answer) override;
  // closing.cc
  void close(LocalTime deadline, std::function<void()> done) override;

 private:
  /// A handler that does nothing once the ledger is released.
  template <class Work>
  [[nodiscard]] auto while_alive(Work work) const {
    return [token = std::weak_ptr(alive_), work = std::move(work)](const auto&... arguments) {
      if (!token.expired()) work(arguments...);
    };
  }
  void post(std::function<void()> work);
  [[nodiscard]] bool is_watcher() const noexcept { return parameters_.kafka.watcher; }

  // kafka_ledger_impl.cc
  [[nodiscard]] ClientSettings settings() const;
  void on_wake();
  void on_timer();
  void arm_timer();
  bool serve_once();
  void serve_later();
  void emit(const Event& event);
  void on_other(ClientKind kind, const rd_kafka_event_t* event);
  void on_log_line(ClientKind kind, rd_kafka_event_t* event);
  void on_trouble(Troubles& reported, rd_kafka_resp_err_t error, std::string text);
  void refuse(const std::string& why);
  void notice(Severity severity, std::string text);
  // reading.cc
  [[nodiscard]] Result<void> open_tail();
  void note_answer(const Event& event, LocalTime now);
  [[nodiscard]] LocalTime last_answer(Log log) const;
  [[nodiscard]] LocalTime last_answer() const;
  [[nodiscard]] TopicNeeds topic_needs() const;
  struct TailProbe;
  [[nodiscard]] TailProbe* tail_probe();
  void rescue_tail_if_due(LocalTime now);
  void check_topic_if_due(LocalTime now);
  void on_topic_checked(const TopicVerdict& verdict);
  void count_partitions_if_due(LocalTime now);
  // writing.cc
  [[nodiscard]] Result<void> open_writer();
  [[nodiscard]] BrokerProbe* writer_probe();
  void renew_writer(bool other_topic);
  void rescue_writer_if_due(LocalTime now);
  void on_written(std::uint64_t seq, rd_kafka_resp_err_t error, std::int64_t offset);
  // membership.cc
  [[nodiscard]] Result<void> open_group();
  void make_withdrawal();
  void on_group_event(const Event& event);
  void on_rejoined();
  void on_inconsistent_group(rd_kafka_resp_err_t error);
  void await_membership();
  [[nodiscard]] BrokerProbe* cluster_probe();
  void withdraw_if_due(LocalTime now);
  // closing.cc
  void advance_close();
  void release();

  /// The tail's client, queried; and which answers are awaited.
  struct TailProbe {
    TailProbe(rd_kafka_t* handle, QueueWakeup* wakeup) : probe(handle, wakeup) {}
    BrokerProbe probe;
    bool checking_topic = false;
    bool checking_empty_logs = false;
    bool counting_partitions = false;
  };

  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  boost::asio::any_io_executor strand_;
  KafkaLedgerParameters parameters_;
  boost::asio::steady_timer timer_;
  std::shared_ptr<QueueWakeup> wakeup_;
  EventSink events_;
  NoticeSink notices_;
  LogFilter log_filter_;
  Rebootstrap rebootstrap_;
  std::unique_ptr<RecordWriter> writer_;
  std::optional<bool> renews_writer_;  ///< posted; true: there is another topic
  std::unique_ptr<BrokerProbe> writer_probe_;
  std::unique_ptr<Tail> tail_;
  std::unique_ptr<TailProbe> tail_probe_;
  std::unique_ptr<BrokerProbe> spare_probe_;  ///< the tail's client, for cluster_probe()
  std::unique_ptr<GroupMember> group_;
  std::shared_ptr<GroupPrompter> prompter_;      ///< consumer protocol
  std::unique_ptr<GroupWithdrawal> withdrawal_;  ///< `claimed`, where the own id is known
  /// Rereads of empty logs, which wait for the topic's check.
  std::vector<RereadRequest> empty_logs_;
  LocalTime next_topic_check_ = kLongAgo;
  LocalTime next_count_ = kLongAgo;
  std::map<Log, LocalTime> last_answers_;
  milliseconds topic_check_pause_{0};
  std::string topic_trouble_;
  /// What was reported, of reading and in general, and of writing; until that works again.
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
  bool serving_ = false;
  bool serve_posted_ = false;
};

}  // namespace neliroute
