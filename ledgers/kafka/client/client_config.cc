#include "ledgers/kafka/client/client_config.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>

#include "ledgers/kafka/client/property_table.h"
#include "neli_core/record/record.h"

namespace neliroute {
namespace {

using rdkafka::ConfPtr;
using rdkafka::HandlePtr;

constexpr std::string_view kStrategy = "partition.assignment.strategy";
constexpr std::string_view kCooperative = "cooperative-sticky";

Error bad(std::string what) { return {Errc::bad_option, std::move(what)}; }

bool goes_to(std::string_view property, ClientKind kind) noexcept {
  if (is_group_property(property)) return kind == ClientKind::group;
  if (is_producer_property(property)) return kind == ClientKind::producer;
  if (is_consumer_property(property)) return kind != ClientKind::producer;
  return true;
}

// Sets properties until one is refused. What librdkafka says of a secret may quote it.
class Setter {
 public:
  explicit Setter(rd_kafka_conf_t* conf) : conf_(conf) {}

  void set(const std::string& property, const std::string& value) {
    if (error_) return;
    std::array<char, 512> text{};
    const auto outcome = rd_kafka_conf_set(conf_, property.c_str(), value.c_str(), text.data(),
                                           text.size());
    if (outcome == RD_KAFKA_CONF_OK) return;
    if (outcome == RD_KAFKA_CONF_UNKNOWN) {
      error_ = bad("`kafka.properties` " + property + ": librdkafka " + rd_kafka_version_str() +
                   " has no such property");
    } else {
      error_ = bad("`kafka.properties` " + property + ": " +
                   (is_secret_property(property) ? "this value is refused" : text.data()));
    }
  }
  void set(const std::string& property, milliseconds value) {
    set(property, std::to_string(value.count()));
  }
  /// For properties that older libraries lack. Returns whether this one has it.
  bool set_if_known(const std::string& property, const std::string& value) {
    std::size_t size = 0;
    const auto found = rd_kafka_conf_get(conf_, property.c_str(), nullptr, &size);
    if (found != RD_KAFKA_CONF_OK) return false;
    set(property, value);
    return true;
  }

  [[nodiscard]] Result<void> result() const {
    if (error_) return *error_;
    return {};
  }

 private:
  rd_kafka_conf_t* conf_;
  std::optional<Error> error_;
};

// The library says why it cannot read a file, but neither which file nor for which property.
Result<void> check_file(const std::string& property, const std::string& path) {
  const bool none = path.empty() || (property == "ssl.ca.location" && path == "probe");
  if (none || ::access(path.c_str(), R_OK) == 0) return {};
  return bad("`kafka.properties` " + property + ": cannot read " + path + ": " +
             std::generic_category().message(errno) + "; name a file that this process may read");
}

// What all clients have in common. A request on a cut link is given up after about a lease; TCP
// alone would go on waiting long after the link is restored.
void set_common(Setter& setter, const ClientSettings& settings) {
  using std::chrono::seconds;
  setter.set("bootstrap.servers", settings.kafka.brokers);
  setter.set("client.id", "neliroute");
  setter.set("log.queue", "true");
  setter.set("allow.auto.create.topics", "false");
  setter.set("socket.nagle.disable", "true");
  setter.set("socket.keepalive.enable", "true");
  setter.set("socket.timeout.ms",
             std::clamp<milliseconds>(settings.timing.lease, seconds{3}, seconds{30}));
  setter.set("socket.connection.setup.timeout.ms",
             std::clamp<milliseconds>(settings.timing.lease, seconds{3}, seconds{30}));
  setter.set("reconnect.backoff.ms", milliseconds{20});
  setter.set("reconnect.backoff.max.ms", milliseconds{500});
  // How long librdkafka ignores that a topic is gone, or is back.
  setter.set("topic.metadata.propagation.max.ms", milliseconds{0});
  // KIP-714: two thirds of the memory that the library has for each broker, and for each attempt
  // to connect while there is none. Who collects such metrics can turn it on.
  setter.set_if_known("enable.metrics.push", "false");
}

void set_producer(Setter& setter, const ClientSettings& settings) {
  setter.set("acks", "all");
  setter.set("enable.idempotence", "true");
  setter.set("linger.ms", "0");
  setter.set("message.timeout.ms", settings.timing.lease);
  // Records that piled up during a cut are read in as many answers as it takes, not in one.
  setter.set("batch.size", std::to_string(kRecordBytesMax));
  setter.set("queue.buffering.max.messages", "100000");
  setter.set("queue.buffering.max.kbytes", "65536");
}

void set_consumer(Setter& setter, const ClientSettings& settings) {
  setter.set("auto.offset.reset", "error");
  setter.set("isolation.level", "read_uncommitted");
  setter.set("enable.auto.commit", "false");
  setter.set("enable.auto.offset.store", "false");
  setter.set("fetch.error.backoff.ms", milliseconds{50});
  const milliseconds wait =
      std::min<milliseconds>(milliseconds{250}, settings.timing.lease / 4);
  setter.set("fetch.wait.max.ms", settings.embedded_broker ? milliseconds{10} : wait);
  // All logs share one queue. While it is full the library fetches none of them, an old one for a
  // second; so a log's history must not fill it. (It must not be needlessly deep either: records
  // that are read again queue behind all others.)
  setter.set("max.partition.fetch.bytes", std::to_string(8 * kRecordBytesMax));
  const bool short_pause = setter.set_if_known("fetch.queue.backoff.ms", "10");
  setter.set("queued.min.messages", short_pause ? "10000" : "100000");
  setter.set("queued.max.messages.kbytes", short_pause ? "4096" : "16384");
}

void set_group(Setter& setter, const ClientSettings& settings) {
  setter.set("group.id", settings.kafka.group_id());
  setter.set("enable.partition.eof", "false");
  // While no broker is connected, the library (2.15.1: rd_kafka_connect_any()) lets a client
  // connect every half of this, whatever its backoff has grown to. A member without a coordinator
  // does so; the other clients rarely ask, and start more slowly with a longer time.
  setter.set("reconnect.backoff.ms", milliseconds{250});
  if (settings.kafka.variation == Variation::broadcast) {
    // Which records it missed does not matter: the next ones count. How many wait does: at a full
    // queue the library stops fetching, and V ages behind a backlog.
    setter.set("auto.offset.reset", "latest");
  } else {
    setter.set("queued.min.messages", "1");
  }
  // The library's own threads would keep up the membership of a process that hangs.
  setter.set("max.poll.interval.ms",
             std::max(settings.timing.hang_limit,
                      least_hang_limit(settings.protocol, settings.timing.session)));
  if (settings.protocol == GroupProtocol::consumer) {
    setter.set("group.protocol", "consumer");
    return;
  }
  setter.set(std::string{kStrategy}, std::string{kCooperative});
  setter.set("session.timeout.ms", settings.timing.session);
  setter.set("heartbeat.interval.ms", settings.timing.heartbeat);
}

int events_of(ClientKind kind) noexcept {
  int events = RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_LOG;
  if (kind != ClientKind::admin) events |= RD_KAFKA_EVENT_STATS;
  if (kind == ClientKind::group) events |= RD_KAFKA_EVENT_REBALANCE;
  if (kind == ClientKind::producer) events |= RD_KAFKA_EVENT_DR;
  return events;
}

rd_kafka_type_t type_of(ClientKind kind) noexcept {
  return kind == ClientKind::producer ? RD_KAFKA_PRODUCER : RD_KAFKA_CONSUMER;
}

// The library says "topic X changed id" at this level only, see topic_id_in() in tail.h.
void set_debug(Setter& setter, const KafkaOptions& options) {
  const auto own = options.properties.find("debug");
  setter.set("debug", own == options.properties.end() || own->second.empty()
                          ? "metadata"
                          : own->second + ",metadata");
}

}  // namespace

Result<void> check_properties(const KafkaOptions& options) {
  const ConfPtr conf{rd_kafka_conf_new()};
  Setter setter{conf.get()};
  for (const auto& [property, value] : options.properties) {
    if (const std::string_view why = why_refused(property); !why.empty()) {
      return bad("`kafka.properties` " + property + " can't be set: " + std::string{why});
    }
    setter.set(property, value);
    if (!is_file_property(property)) continue;
    if (auto readable = check_file(property, value); !readable) return readable;
  }
  return setter.result();
}

Result<void> check_properties_without_group(const KafkaOptions& options) {
  for (const auto& [property, value] : options.properties) {
    if (!is_group_property(property)) continue;
    return bad("`kafka.properties` " + property +
               " is of a consumer group, and with `assignment` assigner, the default, there is "
               "none; leave it out, or say `assignment` group");
  }
  return {};
}

Result<void> check_properties_of(const KafkaOptions& options, GroupProtocol protocol) {
  const auto strategy = options.properties.find(std::string{kStrategy});
  if (strategy != options.properties.end() && protocol == GroupProtocol::consumer) {
    return bad(
        "`kafka.properties` partition.assignment.strategy works with the classic group protocol "
        "only, but "
        "the consumer protocol is in use; add `group_protocol` classic or leave it out");
  }
  if (strategy != options.properties.end() && strategy->second != kCooperative &&
      strategy->second.find(kCooperative) != std::string::npos) {
    return bad(
        "`kafka.properties` partition.assignment.strategy mixes cooperative-sticky with others; "
        "name it "
        "alone");
  }
  const auto remote = options.properties.find("group.remote.assignor");
  if (remote != options.properties.end() && protocol == GroupProtocol::classic) {
    return bad(
        "`kafka.properties` group.remote.assignor works with the consumer group protocol only, but "
        "the "
        "classic protocol is in use; leave it out");
  }
  return {};
}

milliseconds statistics_interval(std::uint32_t partitions) noexcept {
  constexpr milliseconds kInterval{10'000};
  constexpr std::uint32_t kMany = 1000;
  constexpr std::uint32_t kTooMany = 10'000;
  if (partitions > kTooMany) return milliseconds{0};
  return partitions <= kMany ? kInterval : kInterval * partitions / kMany;
}

bool is_cooperative(const KafkaOptions& options, GroupProtocol protocol) noexcept {
  if (protocol == GroupProtocol::consumer) return true;
  const auto strategy = options.properties.find(std::string{kStrategy});
  return strategy == options.properties.end() || strategy->second == kCooperative;
}

Result<ConfPtr> make_conf(ClientKind kind, const ClientSettings& settings) {
  ConfPtr conf{rd_kafka_conf_new()};
  Setter setter{conf.get()};
  set_common(setter, settings);
  if (kind == ClientKind::producer) {
    set_producer(setter, settings);
  } else {
    set_consumer(setter, settings);
  }
  if (kind == ClientKind::tail) setter.set("enable.partition.eof", "true");
  if (kind == ClientKind::group) set_group(setter, settings);
  if (kind != ClientKind::admin) setter.set("statistics.interval.ms", settings.statistics);
  for (const auto& [property, value] : settings.kafka.properties) {
    if (goes_to(property, kind)) setter.set(property, value);
  }
  if (kind == ClientKind::tail) set_debug(setter, settings.kafka);
  if (auto outcome = setter.result(); !outcome) return outcome.error();
  rd_kafka_conf_set_events(conf.get(), events_of(kind));
  return conf;
}

Result<HandlePtr> make_client(ClientKind kind, const ClientSettings& settings) {
  auto conf = make_conf(kind, settings);
  if (!conf) return conf.error();
  std::array<char, 512> text{};
  HandlePtr handle{rd_kafka_new(type_of(kind), conf->get(), text.data(), text.size())};
  if (!handle) {
    std::string why = "librdkafka refuses these settings: " +
                      Secrets{settings.kafka}.without(text.data());
    // It does not say which of them are the user's. Their values may be secrets.
    if (!settings.kafka.properties.empty()) why += "; look at";
    for (const auto& [property, value] : settings.kafka.properties)
      why += " `kafka.properties` " + property;
    return bad(why);
  }
  static_cast<void>(conf->release());  // owned by the handle now
  rd_kafka_set_log_queue(handle.get(), nullptr);
  return handle;
}

Secrets::Secrets(const KafkaOptions& options) {
  for (const auto& [property, value] : options.properties) {
    if (is_secret_property(property) && !value.empty()) values_.push_back(value);
  }
}

std::string Secrets::without(std::string_view text) const {
  std::string result{text};
  for (const std::string& value : values_) {
    for (auto at = result.find(value); at != std::string::npos; at = result.find(value, at)) {
      result.replace(at, value.size(), "***");
      at += 3;
    }
  }
  return result;
}

bool LogFilter::accept(int level, std::string_view facility, std::string_view text,
                       Notice& notice) {
  constexpr int kWarning = 4;
  constexpr int kInfo = 6;
  constexpr std::size_t kRemembered = 32;
  // A hang is also reported as an error, and that text says what to do here.
  if (level > kInfo || facility == "MAXPOLL") return false;
  std::string line = "librdkafka: " + std::string{facility} + ": " + secrets_.without(text);
  // Several clients log the same line, with other numbers in it.
  std::string key;
  std::copy_if(line.begin(), line.end(), std::back_inserter(key),
               [](char c) { return c < '0' || c > '9'; });
  if (std::find(recent_.begin(), recent_.end(), key) != recent_.end()) return false;
  if (recent_.size() < kRemembered) {
    recent_.push_back(std::move(key));
  } else {
    recent_[oldest_] = std::move(key);
    oldest_ = (oldest_ + 1) % kRemembered;
  }
  notice = {level <= kWarning ? Severity::warning : Severity::info, std::move(line)};
  return true;
}

}  // namespace neliroute
