#include "ledgers/ledger_address.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <utility>
#include <variant>

#ifdef NELIROUTE_WITH_POSTGRES
#include "ledgers/postgres/postgres_address.h"
#endif
#include "ledgers/quorum/quorum_address.h"
#include "ledgers/parameters.h"
#include "ledgers/topic_name.h"

namespace neliroute {
namespace {

constexpr std::string_view kKafka = "kafka://";
constexpr std::string_view kEtcd = "etcd://";
constexpr std::string_view kEtcdTls = "etcds://";
constexpr std::string_view kPostgres = "postgres://";
constexpr std::string_view kPostgresToo = "postgresql://";
constexpr std::string_view kMemory = "memory:";

Error bad(std::string_view ledger, const std::string& why) {
  return {Errc::bad_option, "`ledger` \"" + std::string(ledger) + "\": " + why};
}

/// The address may say a secret before @, although it should not.
std::string without_user(std::string_view ledger) {
  const auto at = ledger.rfind('@');
  if (at == std::string_view::npos) return std::string(ledger);
  const auto scheme = ledger.find("://");
  const bool first = scheme != std::string_view::npos && scheme < at;
  return std::string(first ? ledger.substr(0, scheme + 3) : "") + "..." +
         std::string(ledger.substr(at));
}

Result<LedgerAddress> in_memory(std::string_view ledger) {
  const std::string_view name = ledger.substr(kMemory.size());
  if (name.empty()) return bad(ledger, "expected a name after memory:, as in memory:test");
  return LedgerAddress{MemoryConnection{std::string(name)}};
}

Result<LedgerAddress> on_kafka(std::string_view ledger, const KafkaConnection& kafka) {
  const KafkaConnection defaults;
  if (kafka.brokers != defaults.brokers || kafka.topic != defaults.topic) {
    return bad(ledger, "it names the brokers and the topic, as `kafka.brokers` and `kafka.topic` "
                       "do; give either the one or the others");
  }
  std::string_view rest = ledger.substr(kKafka.size());
  KafkaConnection found = kafka;
  if (const auto slash = rest.find('/'); slash != std::string_view::npos) {
    found.topic = rest.substr(slash + 1);
    rest = rest.substr(0, slash);
  }
  if (rest.empty()) return bad(ledger, "expected brokers, as in kafka://HOST:9092/TOPIC");
  if (auto fits = check_topic_name(found.topic); !fits) return bad(ledger, fits.error().message());
  found.brokers = rest;
  return LedgerAddress{std::move(found)};
}

/// HOST:PORT, or [ADDRESS]:PORT; without a port etcd's own.
std::optional<EtcdServer> etcd_server(std::string_view text) {
  EtcdServer server{std::string(text), "2379"};
  const auto bracket = text.rfind(']');
  const auto colon = text.rfind(':');
  if (colon != std::string_view::npos && (bracket == std::string_view::npos || bracket < colon)) {
    server = {std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
  }
  if (server.host.starts_with('[') && server.host.ends_with(']')) {
    server.host = server.host.substr(1, server.host.size() - 2);
  } else if (server.host.find(':') != std::string::npos) {
    return std::nullopt;
  }
  std::uint16_t port = 0;
  const char* const end = server.port.data() + server.port.size();
  const auto [read_to, error] = std::from_chars(server.port.data(), end, port);
  if (server.host.empty() || error != std::errc{} || read_to != end || port == 0) {
    return std::nullopt;
  }
  return server;
}

constexpr const char* kEtcdExpected =
    "expected servers and a prefix, as in etcd://HOST:2379,HOST:2379/PREFIX";

/// ?NAME=VALUE&NAME=VALUE
Result<void> take_query(std::string_view ledger, std::string_view query, EtcdConnection& found) {
  auto taken = take_parameters(query, [&](std::string_view name,
                                          std::string_view value) -> Result<void> {
    std::string* const target = name == "authorities"   ? &found.authorities
                                : name == "certificate" ? &found.certificate
                                : name == "key"         ? &found.key
                                                        : nullptr;
    if (target == nullptr || value.empty() || !found.tls) {
      return bad(ledger, "`" + std::string(name) +
                             "` is no parameter here; expected ?authorities=FILE, "
                             "certificate=FILE or key=FILE, with etcds:// only");
    }
    *target = value;
    return {};
  });
  if (!taken) return taken;
  if (found.certificate.empty() == found.key.empty()) return {};
  return bad(ledger, "a certificate and a key go together");
}

/// The name before @ leaves `rest`, with all that is there by mistake.
Result<void> take_user(std::string_view shown, std::string_view& rest, EtcdConnection& found) {
  const auto at = rest.rfind('@');
  if (at == std::string_view::npos) return {};
  found.user = rest.substr(0, at);
  rest.remove_prefix(at + 1);
  if (found.user.empty() || found.user.find_first_of(":/") != std::string::npos) {
    return bad(shown, "expected the name of a user before @; its password comes from "
                      "NELIROUTE_ETCD_PASSWORD in the environment");
  }
  const char* const password = std::getenv("NELIROUTE_ETCD_PASSWORD");
  if (password == nullptr) {
    return bad(shown, "it names a user, and NELIROUTE_ETCD_PASSWORD is not set in the "
                      "environment");
  }
  found.password = password;
  return {};
}

Result<void> check_no_kafka(const std::string& shown, const KafkaConnection& kafka) {
  const KafkaConnection defaults;
  if (kafka.brokers == defaults.brokers && kafka.topic == defaults.topic) return {};
  return bad(shown, "`kafka.brokers` and `kafka.topic` are of Kafka; leave them out");
}

#ifdef NELIROUTE_WITH_POSTGRES
Result<LedgerAddress> on_postgres(std::string_view ledger, const KafkaConnection& kafka) {
  const std::string shown = std::string(kPostgres) + "...";  // a password may stand anywhere
  if (auto fits = check_no_kafka(shown, kafka); !fits) return fits.error();
  if (!kafka.properties.empty()) {
    return bad(shown, "`kafka.properties` are of Kafka; leave them out. What libpq takes stands "
                      "in the address, as in ?sslmode=verify-full");
  }
  auto found = postgres_connection(ledger);
  if (!found) return bad(shown, found.error().message());
  found->timeout = kafka.timeout;
  return LedgerAddress{std::move(*found)};
}
#else
Result<LedgerAddress> on_postgres(std::string_view, const KafkaConnection&) {
  return Error{Errc::bad_option, "`ledger` postgres://: this build has no PostgreSQL; build it "
                                 "with libpq-dev and -DNELIROUTE_WITH_POSTGRES=ON"};
}
#endif

Result<LedgerAddress> on_etcd(std::string_view ledger, const KafkaConnection& kafka) {
  EtcdConnection found;
  found.timeout = kafka.timeout;
  found.tls = ledger.starts_with(kEtcdTls);
  const std::string_view scheme = found.tls ? kEtcdTls : kEtcd;
  std::string_view rest = ledger.substr(scheme.size());
  const std::string shown = without_user(ledger);
  if (auto fits = check_no_kafka(shown, kafka); !fits) return fits.error();
  if (!kafka.properties.empty()) {
    return bad(shown, "`kafka.properties` are of Kafka; leave them out. With etcds:// "
                      "?authorities=FILE, certificate=FILE and key=FILE name PEM files");
  }
  const auto query = std::min(rest.find('?'), rest.size());
  if (auto taken = take_query(shown, rest.substr(std::min(query + 1, rest.size())), found);
      !taken) {
    return taken.error();
  }
  rest = rest.substr(0, query);
  if (auto taken = take_user(shown, rest, found); !taken) return taken.error();
  const auto slash = rest.find('/');
  if (slash == std::string_view::npos) return bad(shown, kEtcdExpected);
  found.prefix = rest.substr(slash + 1);
  rest = rest.substr(0, slash);
  if (auto fits = check_topic_name(found.prefix); !fits) return bad(shown, fits.error().message());
  found.shown = std::string(scheme) + std::string(rest) + "/" + found.prefix;
  for (bool more = true; more;) {
    const auto comma = std::min(rest.find(','), rest.size());
    more = comma < rest.size();
    auto server = etcd_server(rest.substr(0, comma));
    if (!server) return bad(shown, kEtcdExpected);
    found.servers.push_back(std::move(*server));
    if (more) rest.remove_prefix(comma + 1);
  }
  return LedgerAddress{std::move(found)};
}

Result<LedgerAddress> on_quorum(std::string_view ledger, const KafkaConnection& kafka) {
  const std::string shown = without_user(ledger);
  if (auto fits = check_no_kafka(shown, kafka); !fits) return fits.error();
  if (!kafka.properties.empty()) {
    return bad(shown, "`kafka.properties` are of Kafka; leave them out");
  }
  auto found = quorum_connection(ledger);
  if (!found) return bad(shown, found.error().message());
  found->timeout = kafka.timeout;
  return LedgerAddress{std::move(*found)};
}

const std::string& name_of(const KafkaConnection& kafka) { return kafka.topic; }
const std::string& name_of(const EtcdConnection& etcd) { return etcd.prefix; }
const std::string& name_of(const PostgresConnection& postgres) { return postgres.topic; }
const std::string& name_of(const QuorumConnection& quorum) { return quorum.name; }
const std::string& name_of(const MemoryConnection& memory) { return memory.name; }

std::string text_of(const KafkaConnection& kafka) {
  return "topic " + kafka.topic + " at " + kafka.brokers;
}
std::string text_of(const EtcdConnection& etcd) { return etcd.shown; }
std::string text_of(const PostgresConnection& postgres) { return postgres.shown; }
std::string text_of(const QuorumConnection& quorum) { return quorum.shown; }
std::string text_of(const MemoryConnection& memory) { return "memory:" + memory.name; }

}  // namespace

Result<LedgerAddress> ledger_address(std::string_view ledger, const KafkaConnection& kafka) {
  if (ledger.empty()) return LedgerAddress{kafka};
  if (ledger.starts_with(kKafka)) return on_kafka(ledger, kafka);
  if (ledger.starts_with(kEtcd) || ledger.starts_with(kEtcdTls)) return on_etcd(ledger, kafka);
  if (ledger.starts_with(kPostgres) || ledger.starts_with(kPostgresToo)) {
    return on_postgres(ledger, kafka);
  }
  if (ledger.starts_with(kQuorumScheme) || ledger.starts_with(kQuorumTlsScheme)) {
    return on_quorum(ledger, kafka);
  }
  if (ledger.starts_with(kMemory)) return in_memory(ledger);
  return bad(without_user(ledger), "expected kafka://HOST:PORT,.../TOPIC, "
                                   "etcd://HOST:PORT,.../PREFIX, "
                                   "postgres://USER@HOST/DATABASE?topic=NAME, "
                                   "quorum://HOST:PORT,.../NAME, or memory:NAME within one "
                                   "program");
}

const std::string& topic_of(const LedgerAddress& address) {
  return std::visit([](const auto& at) -> const std::string& { return name_of(at); }, address);
}

bool positions_are_dense(const LedgerAddress& address) {
  return !std::holds_alternative<EtcdConnection>(address) &&
         !std::holds_alternative<QuorumConnection>(address);
}

std::string describe(const LedgerAddress& address) {
  return std::visit([](const auto& at) { return text_of(at); }, address);
}

}  // namespace neliroute
