// The stores that the contract of a ledger is tried on: how to open a ledger there, and how to make
// the store suffer.
//
// Threads: the test's.   Units: std::chrono.   Errors: they fail the test.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <ostream>
#include <string>

#include "ledgers/prepared_store.h"

namespace neliroute {

inline constexpr std::uint32_t kContractLogs = 2;
inline constexpr milliseconds kContractLease{2000};

class StoreRig {
 public:
  virtual ~StoreRig() = default;
  [[nodiscard]] virtual OpenedLedger open(boost::asio::any_io_executor strand, bool watcher) = 0;
  /// A record of somebody who knows nothing of the protocol.
  virtual void append_by_stranger(Log log, const std::string& value) = 0;
  /// It answers nobody from now on, or again. What it has stored stays.
  virtual void fall_silent() = 0;
  virtual void come_back() = 0;
  /// No record below is kept.
  virtual void expire(Log log, std::int64_t low) = 0;
  /// The records from there to the log's end are lost.
  virtual void truncate(Log log, std::int64_t from, std::int64_t end) = 0;
  /// All logs are made anew, without a record.
  virtual void replace() = 0;
  /// Whether a tail that starts reads all that is kept, and not only the newest of each kind.
  [[nodiscard]] virtual bool tells_all() const { return true; }
};

struct StoreKind {
  const char* name;
  std::unique_ptr<StoreRig> (*make)();
};

inline void PrintTo(const StoreKind& kind, std::ostream* out) { *out << kind.name; }

[[nodiscard]] std::unique_ptr<StoreRig> make_memory_rig();
/// Positions with gaps between them.
[[nodiscard]] std::unique_ptr<StoreRig> make_sparse_memory_rig();
[[nodiscard]] std::unique_ptr<StoreRig> make_kafka_rig();
/// A real one, of this machine.
[[nodiscard]] std::unique_ptr<StoreRig> make_etcd_rig();
[[nodiscard]] std::unique_ptr<StoreRig> make_postgres_rig();
/// Without notifications.
[[nodiscard]] std::unique_ptr<StoreRig> make_polled_postgres_rig();
/// Three voters in this process.
[[nodiscard]] std::unique_ptr<StoreRig> make_quorum_rig();

}  // namespace neliroute
