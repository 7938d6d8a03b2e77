// Where a lane's ledger is: `kafka://HOST:PORT,.../TOPIC`, `etcd://HOST:PORT,.../PREFIX`
// (with TLS `etcds://`), `postgres://…?topic=NAME`, `quorum://HOST:PORT,.../NAME` (with TLS
// `quorums://`), or `memory:NAME` in the same program.
//
// Threads: pure functions, any.   Units: none.
// Errors: bad_option, naming the text, what was expected and what to do.
#pragma once

#include <cstddef>
#include <neliroute/error.h>
#include <neliroute/options.h>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace neliroute {

/// A store in this program's memory, by its name.
struct MemoryConnection {
  std::string name;
};

struct EtcdServer {
  std::string host;
  std::string port;
  friend bool operator==(const EtcdServer&, const EtcdServer&) = default;
};

/// An etcd, and where in it the keys are.
struct EtcdConnection {
  std::vector<EtcdServer> servers;
  std::string prefix;
  std::string shown;  ///< for people: the address, without a user
  std::string user;  ///< empty: none
  std::string password;
  bool tls = false;
  // PEM files; empty: those that the system trusts, and no certificate of one's own.
  std::string authorities;
  std::string certificate;
  std::string key;
  milliseconds timeout{10'000};  ///< of the first answer, at start
};

/// A PostgreSQL database, and which logs in it.
struct PostgresConnection {
  std::string uri;    ///< for libpq; it may contain a password
  std::string shown;  ///< for people: the address, without a user
  std::string schema = "neliroute";
  std::string topic = "neliroute";
  bool create = false;  ///< make the schema if it is missing
  bool notify = true;   ///< it tells listeners; else it is asked again and again
  bool assume_durable = false;  ///< run in exclusive mode although records may be lost
  milliseconds timeout{10'000};  ///< of the first answer, at start
};

/// The voters of a quorum, all of them, and which logs of theirs.
struct QuorumConnection {
  std::vector<std::string> voters;  ///< HOST:PORT, or [ADDRESS]:PORT; sorted
  std::string name;
  std::string shown;  ///< for people: the address, without what follows ?
  std::string key;    ///< shared with the voters; empty: none
  bool tls = false;
  // PEM files; with TLS voters and clients prove who they are to each other.
  std::string authorities;
  std::string certificate;
  std::string private_key;
  std::string folder;  ///< of a voter's files (?dir=); empty: there is no voter
  /// Ask a voter that another one names, though it is none of these: it took the place of one.
  bool ask_others = true;
  milliseconds timeout{10'000};  ///< of the first answer, at start
};

using LedgerAddress = std::variant<KafkaConnection, EtcdConnection, PostgresConnection,
                                   QuorumConnection, MemoryConnection>;

/// Where `ledger` is empty, `kafka` alone says it; else `kafka` has the properties and the timeout
/// for a Kafka that the address names.
[[nodiscard]] Result<LedgerAddress> ledger_address(std::string_view ledger,
                                                   const KafkaConnection& kafka);
/// The topic, or what another store calls it.
[[nodiscard]] const std::string& topic_of(const LedgerAddress& address);
/// Whether a position without a record is one whose record is gone.
[[nodiscard]] bool positions_are_dense(const LedgerAddress& address);
/// For people: which logs, and where. No secret is in it.
[[nodiscard]] std::string describe(const LedgerAddress& address);

}  // namespace neliroute
