#include "ledgers/kafka/topic/topic_setup.h"

#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <neliroute/clock.h>
#include <optional>
#include <thread>
#include <utility>

#include "ledgers/kafka/client/client_config.h"
#include "ledgers/kafka/client/kafka_error.h"
#include "ledgers/kafka/topic/blocking_probe.h"
#include "ledgers/kafka/topic/topic_check.h"

namespace neliroute {
namespace {

constexpr int kFirstWithConsumerProtocol = 0x020c0000;

void warn(TopicFacts& facts, std::string text) {
  facts.notices.push_back({Severity::warning, std::move(text)});
}

Configs configs_for_new_topic() {
  return {{"cleanup.policy", "delete"},
          {"message.timestamp.type", "LogAppendTime"},
          {"retention.ms", "86400000"},
          {"segment.ms", "3600000"},
          {"segment.bytes", "16777216"}};
}

/// What is known of each broker, or else the client's own word for all of it.
std::string why_silent(const KafkaOptions& options, const BlockingProbe& broker,
                       rd_kafka_resp_err_t error) {
  const std::string known = broker.failures().text();
  return known.empty() ? rd_kafka_err2str(error) : Secrets{options}.without(known);
}

Error unreachable(const KafkaOptions& options, const BlockingProbe& broker,
                  rd_kafka_resp_err_t error) {
  const std::string why = why_silent(options, broker, error);
  if (broker.failures().refusals() > 0) {
    return {Errc::ledger_refused, options.brokers + " refuses: " + why};
  }
  return {Errc::ledger_unreachable,
          "no broker answered at " + options.brokers + " within " +
              std::to_string(options.timeout.count()) + " ms (" + why +
              "); check `kafka.brokers`, and that Kafka runs there"};
}

std::size_t brokers_in(const KafkaOptions& options) {
  const auto commas = std::count(options.brokers.begin(), options.brokers.end(), ',');
  return static_cast<std::size_t>(commas) + 1;
}

Error topic_error(const KafkaOptions& options, const char* what, rd_kafka_resp_err_t error) {
  return {is_refusal(error) ? Errc::ledger_refused : Errc::ledger_unreachable,
          std::string(what) + " topic " + options.topic + ": " + describe(error)};
}

constexpr milliseconds kTopicPoll{100};

// A deployment may start watchers before the first owner, which creates the topic.
Result<TopicDescription> await_topic(BlockingProbe& broker, const KafkaOptions& options,
                              const NoticeSink& waiting) {
  const bool for_ever = options.missing_topic == MissingTopic::wait_for_ever;
  if (options.missing_topic != MissingTopic::fail) {
    if (waiting) {
      waiting({Severity::warning,
               "topic " + options.topic + " is not there yet, and a watcher creates none; " +
                   (for_ever ? "waiting until an owner creates it"
                             : "waiting for an owner to create it, at most " +
                                   std::to_string(options.timeout.count()) + " ms")});
    }
    if (for_ever) broker.set_deadline(kNever);
    while (!broker.over()) {
      std::this_thread::sleep_for(kTopicPoll);
      const auto seen = broker.topic(options.topic);
      if (!seen.value && broker.over()) break;  // the time was up before the answer came
      if (!seen.value) return unreachable(options, broker, seen.error);
      if (seen.value->is_missing()) continue;
      if (for_ever) broker.set_deadline(later(boot_now(), options.timeout));
      return *seen.value;
    }
  }
  std::string text = "topic " + options.topic +
                     " does not exist, and a watcher creates none; start an owner (neliroute run)";
  text += options.missing_topic == MissingTopic::fail
              ? " or name another `kafka.topic`"
              : ", name another `kafka.topic`, or wait longer (`kafka.timeout`, `missing_topic`)";
  return Error{Errc::ledger_unfit, std::move(text)};
}

// It has no request for it, and would leave the one for a topic's creation unanswered.
Error made_by_nobody(const KafkaOptions& options) {
  return {Errc::ledger_unfit, "topic " + options.topic +
                                 " does not exist, and an embedded broker creates none while it "
                                 "runs; start it with this one (neliroute broker `kafka.topic` " +
                                 options.topic + "), or name another `kafka.topic`"};
}

// Another process may create it at the same time, which is as good.
Result<TopicDescription> create(BlockingProbe& broker, const KafkaOptions& options,
                                std::uint32_t partitions, TopicFacts& facts) {
  Answer<Done> created;
  // -1: the broker's own default replication; brokers before 2.4 want a number.
  for (const int replication : {-1, 1}) {
    created = broker.await<Done>(&BrokerProbe::create_topic, options.topic, partitions, replication,
                                 configs_for_new_topic());
    if (created.error != RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR) break;
  }
  facts.created = created.value.has_value();
  if (is_refusal(created.error)) {
    return Error{Errc::ledger_refused, "cannot create topic " + options.topic + ": " +
                                           rd_kafka_err2str(created.error) +
                                           "; grant CREATE on the topic, or create it yourself"};
  }
  if (!facts.created && created.error != RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) {
    return topic_error(options, "cannot create", created.error);
  }
  while (true) {
    const auto seen = broker.topic(options.topic);
    if (!seen.value) return unreachable(options, broker, seen.error);
    if (!seen.value->is_missing()) return *seen.value;
    if (broker.over()) return topic_error(options, "no broker shows the new", seen.value->error);
  }
}

// With a group M is the topic's number. With an assigner it is the members' own, which a watcher,
// that does not know who assigns, learns from the records.
Result<void> choose_partitions(const KafkaOptions& options, std::uint32_t topic_partitions,
                               TopicFacts& facts) {
  facts.topic_partitions = topic_partitions;
  const bool assigner = options.assignment == Assignment::assigner && !options.watcher;
  if (assigner || options.watcher) {
    facts.own_partitions =
        assigner || options.partitions.value_or(topic_partitions) != topic_partitions;
    facts.partitions =
        options.partitions.value_or(options.watcher ? topic_partitions : kPartitionsDefault);
    facts.logs = options.logs.value_or(logs_for(facts));
    if (facts.logs <= topic_partitions || facts.logs > facts.partitions) return {};
    return Error{Errc::bad_option, "`logs` " + std::to_string(facts.logs) + ", but topic " +
                                       options.topic + " has " +
                                       std::to_string(topic_partitions) +
                                       " partitions, and each log is one of them; lower `logs`, or "
                                       "use another `kafka.topic`"};
  }
  facts.partitions = topic_partitions;
  if (options.partitions && *options.partitions != facts.partitions) {
    return Error{Errc::bad_option, "`partitions` " + std::to_string(*options.partitions) +
                                       ", but topic " + options.topic + " has " +
                                       std::to_string(facts.partitions) +
                                       "; leave `partitions` out, or use another `kafka.topic`"};
  }
  facts.logs = options.logs.value_or(logs_for(facts));
  return {};
}

// What a new topic would give: with an assigner it gets the logs, and no partition else.
Result<TopicFacts> facts_of_new_topic(const KafkaOptions& options) {
  const std::uint32_t partitions = options.partitions.value_or(kPartitionsDefault);
  const bool assigner = options.assignment == Assignment::assigner;
  TopicFacts facts;
  auto fits = choose_partitions(
      options, assigner ? options.logs.value_or(std::min(kLogsDefault, partitions)) : partitions,
      facts);
  if (!fits) return fits.error();
  return facts;
}

Result<void> check_configuration(BlockingProbe& broker, const KafkaOptions& options,
                                 const TopicDescription& topic, TopicFacts& facts) {
  if (facts.embedded_broker) {
    const bool grouped = options.assignment == Assignment::group;
    warn(facts, std::string("this broker cannot tell its configuration: the topic's is not "
                            "checked, ") +
                    (grouped ? "the classic group protocol is used, " : "") +
                    "and no broker time is believed");
    return {};
  }
  const auto described =
      broker.await<ResourceConfigs>(&BrokerProbe::configs, RD_KAFKA_RESOURCE_TOPIC, options.topic);
  if (!described.value) {
    warn(facts, "the configuration of topic " + options.topic + " cannot be read (" +
                    rd_kafka_err2name(described.error) +
                    "), so it is not checked and its broker time is not believed; grant "
                    "DESCRIBE_CONFIGS on the topic");
    return {};
  }
  const TopicVerdict verdict = judge(described, {options.topic, options.mode});
  if (verdict.kind == TopicVerdict::Kind::unfit) return Error{Errc::ledger_unfit, verdict.why};
  const Configs& configs = described.value->values;
  const auto stamp = configs.find("message.timestamp.type");
  facts.believe_broker_time = stamp != configs.end() && stamp->second == "LogAppendTime";
  if (auto warning = stamp_warning(configs, options.topic)) warn(facts, std::move(*warning));
  facts.retention = duration_in(configs, "retention.ms");
  if (topic.replication == 1) {
    warn(facts, "topic " + options.topic +
                    " has replication factor 1: a lost broker loses records, and safety with "
                    "them");
  } else if (number_in(configs, "min.insync.replicas").value_or(2) < 2) {
    warn(facts, "topic " + options.topic +
                    " has min.insync.replicas 1: a lost broker may lose records, and safety with "
                    "them");
  }
  return {};
}

constexpr const char* kSessionConfig = "consumer.session.timeout.ms";
constexpr const char* kHeartbeatConfig = "consumer.heartbeat.interval.ms";

// Whether the broker shows the new session, before this process joins with it.
bool await_session(BlockingProbe& broker, const std::string& group, milliseconds session) {
  while (true) {
    const auto seen =
        broker.await<ResourceConfigs>(&BrokerProbe::configs, RD_KAFKA_RESOURCE_GROUP, group);
    if (seen.value && duration_in(seen.value->values, kSessionConfig) == session) return true;
    if (broker.over()) return false;
  }
}

std::string text_of(const Answer<Done>& refused) {
  return rd_kafka_err2name(refused.error) + (refused.why.empty() ? "" : ": " + refused.why);
}

// Where --session asks for less than is in force, and it is this process's to set.
void set_session(BlockingProbe& broker, TopicFacts& facts) {
  GroupSession& found = facts.group_session;
  GroupSessionPlan plan = plan_group_session(found);
  if (plan.step == GroupSessionPlan::Step::ask_empty) {
    const auto empty = broker.await<bool>(&BrokerProbe::group_is_empty, found.group);
    found.empty = empty.value;
    plan = plan_group_session(found);
    if (!found.empty) {
      facts.session.why_not_set = cannot_set(
          found, std::string("whether it has members: ") + rd_kafka_err2name(empty.error));
      return;
    }
  }
  facts.session.why_not_set = plan.why_not;
  if (plan.step != GroupSessionPlan::Step::set) return;
  const Configs wanted{{kSessionConfig, std::to_string(plan.session.count())},
                       {kHeartbeatConfig, std::to_string(plan.heartbeat.count())}};
  const auto set = broker.await<Done>(&BrokerProbe::set_group_configs, found.group, wanted);
  if (!set.value || !await_session(broker, found.group, plan.session)) {
    facts.session.why_not_set = cannot_set(found, set.value ? "it is not seen" : text_of(set));
    return;
  }
  facts.notices.push_back(
      {Severity::info, "group " + found.group + " had no session of its own: set " +
                           kSessionConfig + "=" + std::to_string(plan.session.count()) + " and " +
                           kHeartbeatConfig + "=" + std::to_string(plan.heartbeat.count()) +
                           ", which stay until somebody changes them"});
  facts.session.session = found.session = plan.session;
  facts.session.heartbeat = plan.heartbeat;
}

// The consumer protocol's session is the broker's, unless the group has its own.
void ask_session(BlockingProbe& broker, const KafkaOptions& options, const Configs& configs,
                 TopicFacts& facts) {
  SessionFacts& session = facts.session;
  if (session.protocol == GroupProtocol::classic) {
    session.session_min = duration_in(configs, "group.min.session.timeout.ms");
    session.session_max = duration_in(configs, "group.max.session.timeout.ms");
    return;
  }
  session.session = duration_in(configs, "group.consumer.session.timeout.ms");
  session.heartbeat = duration_in(configs, "group.consumer.heartbeat.interval.ms");
  GroupSession& found = facts.group_session;
  found.brokers = options.brokers;
  found.group = options.group_id();
  found.session = session.session;
  found.session_floor = duration_in(configs, "group.consumer.min.session.timeout.ms");
  found.heartbeat_floor = duration_in(configs, "group.consumer.min.heartbeat.interval.ms");
  found.classic_floor = duration_in(configs, "group.min.session.timeout.ms");
  found.wanted = options.session;
  const auto group = broker.await<ResourceConfigs>(&BrokerProbe::configs, RD_KAFKA_RESOURCE_GROUP,
                                                   options.group_id());
  if (!group.value) {
    warn(facts, std::string("the configuration of group ") + options.group_id() +
                    " cannot be read (" + rd_kafka_err2name(group.error) +
                    "), so the broker's session is assumed; grant DESCRIBE_CONFIGS on the "
                    "group");
    return;
  }
  const auto& [values, own] = *group.value;
  if (auto set = duration_in(values, kSessionConfig)) session.session = set;
  if (auto set = duration_in(values, kHeartbeatConfig)) session.heartbeat = set;
  found.session = session.session;
  found.own_settings = own.contains(kSessionConfig) || own.contains(kHeartbeatConfig);
  set_session(broker, facts);
}

Result<void> choose_protocol(BlockingProbe& broker, const KafkaOptions& options,
                             const Answer<ResourceConfigs>& described, TopicFacts& facts) {
  const bool library = rd_kafka_version() >= kFirstWithConsumerProtocol;
  if (options.protocol == GroupProtocol::consumer && !library) {
    return Error{Errc::bad_option, std::string("`group_protocol` consumer needs librdkafka 2.12 "
                                               "or later, this is ") +
                                       rd_kafka_version_str() + "; use classic"};
  }
  if (options.assignment == Assignment::assigner) return check_properties_without_group(options);
  const Configs configs = described.value ? described.value->values : Configs{};
  bool offered = false;
  if (described.value) {
    const auto protocols = configs.find("group.coordinator.rebalance.protocols");
    offered = protocols != configs.end() &&
              protocols->second.find("consumer") != std::string::npos;
    if (options.protocol == GroupProtocol::consumer && !offered) {
      return Error{Errc::bad_option,
                   "`group_protocol` consumer, but this broker does not have it (Kafka 4.0 and "
                   "later do, where group.coordinator.rebalance.protocols names it); use classic"};
    }
  } else if (!facts.embedded_broker) {
    warn(facts, std::string("the broker's configuration cannot be read (") +
                    rd_kafka_err2name(described.error) +
                    "), so the classic group protocol is used unless `group_protocol` says "
                    "otherwise; grant DESCRIBE_CONFIGS on the cluster");
  }
  const GroupProtocol best =
      library && offered ? GroupProtocol::consumer : GroupProtocol::classic;
  facts.session.protocol = options.protocol.value_or(best);
  ask_session(broker, options, configs, facts);
  return check_properties_of(options, facts.session.protocol);
}

}  // namespace

std::optional<Error> unfit_topic(const Configs& configs, const std::string& topic, Mode mode) {
  const auto policy = configs.find("cleanup.policy");
  if (policy != configs.end() && policy->second.find("compact") != std::string::npos) {
    return Error{Errc::ledger_unfit, "topic " + topic + " is compacted (cleanup.policy=" +
                                        policy->second +
                                        "), which drops records that the protocol needs; set it "
                                        "to delete, or use another `kafka.topic`"};
  }
  const auto stamp = configs.find("message.timestamp.type");
  if (mode == Mode::exclusive && stamp != configs.end() && stamp->second != "LogAppendTime") {
    return Error{Errc::ledger_unfit, "topic " + topic + " stamps " + stamp->second +
                                        ", but exclusive mode needs "
                                        "message.timestamp.type=LogAppendTime; alter the topic"};
  }
  return std::nullopt;
}

std::optional<std::string> stamp_warning(const Configs& configs, const std::string& topic) {
  const auto stamp = configs.find("message.timestamp.type");
  if (stamp == configs.end() || stamp->second == "LogAppendTime") return std::nullopt;
  return "topic " + topic + " stamps " + stamp->second +
         ", so epochs follow the clocks of the processes: one whose clock is ahead raises "
         "everybody's, and the longest lease ever seen counts for good; set "
         "message.timestamp.type=LogAppendTime";
}

std::uint32_t logs_for(const TopicFacts& facts) noexcept {
  return std::min({kLogsDefault, facts.partitions, facts.topic_partitions});
}

std::uint32_t needed_partitions(const TopicFacts& facts) noexcept {
  return facts.own_partitions ? facts.logs : facts.partitions;
}

Result<void> check_retention(const TopicFacts& facts, milliseconds lease) {
  if (!facts.retention || *facts.retention >= 10 * lease) return {};
  return Error{Errc::ledger_unfit, "the topic keeps records for " +
                                      std::to_string(facts.retention->count()) +
                                      " ms (retention.ms), less than 10 x the lease of " +
                                      std::to_string(lease.count()) +
                                      " ms; raise retention.ms, or lower `timing.lease`"};
}

std::optional<std::string> short_retention_warning(const TopicFacts& facts,
                                                   const Timing& timing) {
  const milliseconds needed = timing.serve_stale + 10 * timing.lease;
  if (timing.serve_stale.count() == 0 || !facts.retention || *facts.retention >= needed) {
    return std::nullopt;
  }
  return "the topic keeps records for " + std::to_string(facts.retention->count()) +
         " ms (retention.ms), less than the " + std::to_string(needed.count()) +
         " ms of `timing.serve_stale` + 10 x the lease: after a long silence of Kafka the last "
         "records may have expired, and partitions are claimed anew; raise retention.ms, or lower "
         "`timing.serve_stale`";
}

std::optional<std::string> broker_loss_text(const TopicFacts& facts, milliseconds lease) {
  std::string text;
  const auto add = [&](const std::optional<milliseconds>& after, const char* how,
                       const std::string& config) {
    if (!after || *after <= lease) return;
    text += (text.empty() ? "" : ", and ") + std::to_string((*after - lease).count()) + " ms " +
            how + " (" + config + " of " + std::to_string(after->count()) +
            " ms less the lease of " + std::to_string(lease.count()) + " ms)";
  };
  add(facts.broker_session, "if it dies", "broker.session.timeout.ms");
  // Kafka looks for replicas that lag every half of that time.
  std::optional<milliseconds> lag = facts.replica_lag;
  if (lag) *lag += *lag / 2;
  add(lag, "if it lives and fetches nothing", "1.5 x replica.lag.time.max.ms");
  if (text.empty()) return std::nullopt;
  return "the loss of one broker can leave every slot without an owner, for up to about " + text;
}

Result<TopicFacts> prepare_topic(
    const KafkaOptions& options, const NoticeSink& waiting,
    const std::function<Result<void>(const TopicFacts& facts)>& before_creation) {
  if (auto allowed = check_properties(options); !allowed) return allowed.error();
  auto handle = make_client(ClientKind::admin, {options, Timing{}, GroupProtocol::classic, false});
  if (!handle) return handle.error();
  BlockingProbe broker(std::move(*handle), brokers_in(options),
                       later(boot_now(), options.timeout));
  broker.on_first_silence([&](rd_kafka_resp_err_t error) {
    if (!waiting) return;
    waiting({Severity::warning, "no broker answers at " + options.brokers + " yet (" +
                                    why_silent(options, broker, error) +
                                    "); waiting, at most " +
                                    std::to_string(options.timeout.count()) + " ms"});
  });
  auto seen = broker.topic(options.topic);
  if (!seen.value) return unreachable(options, broker, seen.error);
  TopicDescription topic = *seen.value;
  TopicFacts facts;
  // The broker itself is queried first: the embedded one answers at once that it does not know the
  // request. A topic's configuration is the controller's to tell, for which librdkafka would wait.
  const auto described = broker.await<ResourceConfigs>(
      &BrokerProbe::configs, RD_KAFKA_RESOURCE_BROKER, std::to_string(broker.broker_id()));
  facts.embedded_broker = described.error == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE;
  if (topic.is_missing()) {
    auto wanted = facts_of_new_topic(options);
    if (!wanted) return wanted.error();
    if (!options.watcher && before_creation) {
      if (auto fits = before_creation(*wanted); !fits) return fits.error();
    }
    if (!options.watcher && facts.embedded_broker) return made_by_nobody(options);
    auto created = options.watcher
                       ? await_topic(broker, options, waiting)
                       : create(broker, options, wanted->topic_partitions, facts);
    if (!created) return created.error();
    topic = *created;
  }
  if (topic.error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return topic_error(options, "cannot use", topic.error);
  }
  if (auto fits = choose_partitions(options, topic.partitions, facts); !fits) return fits.error();
  if (options.watcher) return facts;
  if (described.value) {
    facts.broker_session = duration_in(described.value->values, "broker.session.timeout.ms");
    facts.replica_lag = duration_in(described.value->values, "replica.lag.time.max.ms");
  }
  if (auto fits = check_configuration(broker, options, topic, facts); !fits) return fits.error();
  if (auto chosen = choose_protocol(broker, options, described, facts); !chosen) {
    return chosen.error();
  }
  return facts;
}

}  // namespace neliroute
