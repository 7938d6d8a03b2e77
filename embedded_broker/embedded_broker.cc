#include "embedded_broker/embedded_broker.h"

#include <librdkafka/rdkafka.h>
// Must follow rdkafka.h, which it needs.
#include <librdkafka/rdkafka_mock.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <charconv>
#include <optional>
#include <set>

#include "ledgers/kafka/relay.h"
#include "ledgers/topic_name.h"
#include "neli_core/system_refusal.h"

namespace neliroute {
namespace {

using Handle = std::unique_ptr<rd_kafka_t, decltype(&rd_kafka_destroy)>;
using Cluster =
    std::unique_ptr<rd_kafka_mock_cluster_t, decltype(&rd_kafka_mock_cluster_destroy)>;

constexpr const char* kHost = "127.0.0.1";
constexpr std::int32_t kBrokerId = 1;

#if RD_KAFKA_VERSION >= 0x020c0000
constexpr bool kSupported = true;

/// Changes only the address that the cluster advertises, not where it listens.
rd_kafka_resp_err_t adapt(rd_kafka_mock_cluster_t* cluster, std::uint16_t port) {
  rd_kafka_mock_broker_set_host_port(cluster, kBrokerId, kHost, port);
  rd_kafka_mock_group_initial_rebalance_delay_ms(cluster, 0);
  // Its consumer protocol assigns plain ranges, so clients get the answer that it has none.
  constexpr std::int16_t kConsumerGroupHeartbeat = 68;
  return rd_kafka_mock_set_apiversion(cluster, kConsumerGroupHeartbeat, -1, -1);
}
#else
constexpr bool kSupported = false;

rd_kafka_resp_err_t adapt(rd_kafka_mock_cluster_t*, std::uint16_t) {
  return RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED;
}
#endif

Error too_old() {
  return {Errc::ledger_refused, std::string("the embedded broker needs librdkafka >= 2.12, and "
                                            "this program was built with ") +
                                    rd_kafka_version_str() +
                                    ": run scripts/setup and build again, or use a real Kafka"};
}

Error refused(std::string_view what, std::string_view why) {
  return {Errc::ledger_refused, "the embedded broker did not start: " + std::string(what) + ": " +
                                    std::string(why)};
}

/// The error in the topics, if any.
std::optional<Error> check(const EmbeddedBrokerOptions& options) {
  std::set<std::string_view> names;
  for (const auto& [name, partitions] : options.topics) {
    if (auto fits = check_topic_name(name); !fits) return fits.error();
    if (partitions == 0 || partitions > EmbeddedBroker::kPartitionsMax) {
      return Error(Errc::bad_option, "topic " + name + ": " + std::to_string(partitions) +
                                         " partitions; choose 1 to " +
                                         std::to_string(EmbeddedBroker::kPartitionsMax));
    }
    if (!names.insert(name).second) {
      return Error(Errc::bad_option, "topic " + name + " is named twice; name it once");
    }
  }
  return std::nullopt;
}

/// While it lives, threads are started with every signal blocked. librdkafka does so itself, except
/// for the mock's thread, which ends for good when a signal interrupts it.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

/// A librdkafka that connects to nothing and is silent, whatever clients send to its cluster.
Result<Handle> make_handle() {
  std::array<char, 512> why{};
  rd_kafka_conf_t* settings = rd_kafka_conf_new();
  rd_kafka_conf_set(settings, "client.id", "neliroute-embedded-broker", nullptr, 0);
  rd_kafka_conf_set(settings, "log_level", "0", nullptr, 0);
  Handle handle(rd_kafka_new(RD_KAFKA_PRODUCER, settings, why.data(), why.size()),
                rd_kafka_destroy);
  if (!handle) {
    rd_kafka_conf_destroy(settings);
    return refused("librdkafka", why.data());
  }
  return handle;
}

/// librdkafka aborts where its mock cluster cannot open a file: with fewer than this, none is made.
constexpr std::size_t kSpareFiles = 16;

std::optional<Error> lack_of_files() {
  std::array<int, kSpareFiles> spare{};
  std::size_t count = 0;
  while (count < spare.size() && (spare[count] = ::eventfd(0, EFD_CLOEXEC)) >= 0) ++count;
  const boost::system::error_code why(errno, boost::system::system_category());
  for (std::size_t i = 0; i < count; ++i) ::close(spare[i]);
  if (count == spare.size()) return std::nullopt;
  return system_refusal("the embedded broker needs " + std::to_string(kSpareFiles) + " files more",
                        why);
}

/// The random port on which the cluster listens: its "bootstraps" is one host:port.
std::uint16_t port_of(const rd_kafka_mock_cluster_t* cluster) {
  const std::string_view bootstraps = rd_kafka_mock_cluster_bootstraps(cluster);
  const std::string_view digits = bootstraps.substr(bootstraps.rfind(':') + 1);
  std::uint16_t port = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), port);
  return port;
}

}  // namespace

struct EmbeddedBroker::Parts {  // destroyed in reverse order
  Handle handle{nullptr, rd_kafka_destroy};
  Cluster cluster{nullptr, rd_kafka_mock_cluster_destroy};
  std::unique_ptr<Relay> relay;
};

EmbeddedBroker::EmbeddedBroker(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
EmbeddedBroker::~EmbeddedBroker() = default;

Result<std::unique_ptr<EmbeddedBroker>> EmbeddedBroker::open(
    const boost::asio::any_io_executor& executor, const EmbeddedBrokerOptions& options) {
  if (!kSupported) return too_old();
  if (auto error = check(options)) return std::move(*error);
  auto parts = std::make_unique<Parts>();
  auto relay = Relay::listen(executor, options.port);
  if (!relay) return relay.error();
  parts->relay = std::move(*relay);
  if (auto lack = lack_of_files()) return std::move(*lack);
  auto handle = make_handle();
  if (!handle) return handle.error();
  parts->handle = std::move(*handle);
  {
    const SignalsBlocked blocked;
    parts->cluster.reset(rd_kafka_mock_cluster_new(parts->handle.get(), 1));
  }
  if (!parts->cluster) return refused("librdkafka", "its mock cluster could not listen");

  rd_kafka_mock_cluster_t* cluster = parts->cluster.get();
  const std::uint16_t upstream_port = port_of(cluster);
  if (const auto error = adapt(cluster, parts->relay->port())) {
    return refused("settings", rd_kafka_err2str(error));
  }
  for (const auto& [name, partitions] : options.topics) {
    if (const auto error = rd_kafka_mock_topic_create(cluster, name.c_str(),
                                                      static_cast<int>(partitions), 1)) {
      return refused("topic " + name, rd_kafka_err2str(error));
    }
  }
  parts->relay->forward_to(upstream_port);
  return std::unique_ptr<EmbeddedBroker>(new EmbeddedBroker(std::move(parts)));
}

std::uint16_t EmbeddedBroker::port() const noexcept { return parts_->relay->port(); }

std::string EmbeddedBroker::address() const {
  return std::string(kHost) + ":" + std::to_string(port());
}

std::string_view EmbeddedBroker::limits() noexcept {
  return R"(This is librdkafka's mock broker: to try things out, not to keep real data in.
- One broker, on 127.0.0.1 only, without TLS, passwords or ACLs. Everything is
  in memory and ends with it; a partition keeps its last 5 MiB or 100,000
  batches.
- Records bear their sender's clock (CreateTime), not the broker's: in exclusive
  mode a new owner waits every grace in full.
- Groups: the classic protocol only, and a session of at least 2 s. Members
  expire on a scan once a second and a rebalance waits for session - 1 s, so a
  killed process is replaced 2 x session - 1 s to 2 x session later (measured:
  3.1 to 3.9 s at session 2 s, 5.1 to 5.7 s at 3 s, 10.8 to 11.3 s at 6 s), and
  one that joins or leaves is noticed after session - 1 s. Kafka's clock is
  another: believe no failover time that was measured here.
- Every member of a group must name the same partition.assignment.strategy
  first: a mixture aborts the broker's process.
- Clients cannot make, alter, describe or delete topics. One that was not made
  at the start gets 4 partitions when a client that allows it asks for it.
- No lookup of offsets by time. A fetch that finds nothing is answered only
  after the client's fetch.wait.max.ms, even if a record comes meanwhile.
)";
}

}  // namespace neliroute
