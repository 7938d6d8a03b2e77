// The contract's store on a real PostgreSQL.
#include <gtest/gtest.h>

#include "tests/unit/ledgers/postgres/postgres_topic.h"
#include "tests/unit/ledgers/store_rigs.h"

namespace neliroute {
namespace {

class PostgresRig : public StoreRig {
 public:
  explicit PostgresRig(std::string query) : query_(std::move(query)) {}

  OpenedLedger open(boost::asio::any_io_executor strand, bool watcher) override {
    PostgresLedgerOptions options = PostgresTopic::options();
    options.logs = kContractLogs;
    options.lease = kContractLease;
    options.watcher = watcher;
    return make_postgres_ledger(std::move(strand), topic_.connection(query_), options);
  }
  void append_by_stranger(Log log, const std::string& value) override {
    topic_.server().query("SELECT neliroute.append(topic, log, id, 600000, 1000, ARRAY['" + value +
                          "'::bytea], true) FROM neliroute.log" + topic_.where(log));
  }
  void fall_silent() override { topic_.server().freeze(); }
  void come_back() override { topic_.server().thaw(); }
  void expire(Log log, std::int64_t low) override {
    const std::string number = std::to_string(low);
    topic_.server().query("DELETE FROM neliroute.record" + topic_.where(log) +
                          " AND position < " + number + "; UPDATE neliroute.log SET low = " +
                          number + topic_.where(log));
  }
  void truncate(Log log, std::int64_t from, std::int64_t) override {
    const std::string number = std::to_string(from);
    topic_.server().query("DELETE FROM neliroute.record" + topic_.where(log) +
                          " AND position >= " + number + "; UPDATE neliroute.log SET next = " +
                          number + topic_.where(log));
  }
  void replace() override {
    topic_.remove_logs();
    topic_.make_logs();
  }

 private:
  PostgresTopic topic_{kContractLogs};
  std::string query_;
};

}  // namespace

std::unique_ptr<StoreRig> make_postgres_rig() { return std::make_unique<PostgresRig>(""); }
std::unique_ptr<StoreRig> make_polled_postgres_rig() {
  return std::make_unique<PostgresRig>("&notify=off");
}

}  // namespace neliroute
