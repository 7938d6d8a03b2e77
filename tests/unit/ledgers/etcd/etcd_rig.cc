// The contract's store on a real etcd.
#include <gtest/gtest.h>

#include "base/base64.h"
#include "ledgers/etcd/etcd_identity.h"
#include "ledgers/etcd/etcd_json.h"
#include "ledgers/etcd/etcd_keys.h"
#include "ledgers/etcd/etcd_ledger.h"
#include "tests/unit/ledgers/etcd/etcd_server.h"
#include "tests/unit/ledgers/store_rigs.h"

namespace neliroute {
namespace {

class EtcdRig : public StoreRig {
 public:
  EtcdRig() { make_logs(); }

  OpenedLedger open(boost::asio::any_io_executor strand, bool watcher) override {
    EtcdLedgerOptions options;
    options.id = ProcessId{++writers_};
    options.logs = kContractLogs;
    options.lease = kContractLease;
    options.kept = milliseconds{600'000};
    options.watcher = watcher;
    return make_etcd_ledger(std::move(strand), etcd_.connection(), nullptr, options);
  }
  void append_by_stranger(Log log, const std::string& value) override {
    etcd_.commit({put_operation(keys_.records(log) + "stranger", value)});
  }
  void fall_silent() override { etcd_.freeze(); }
  void come_back() override { etcd_.thaw(); }
  void expire(Log log, std::int64_t low) override {
    for (const EtcdKeyValue& one : etcd_.find(records(log)).keys) {
      if (one.revision >= low) continue;
      etcd_.commit({{{"request_delete_range", boost::json::object{{"key", base64(one.key)}}}}});
    }
  }
  // Restored from before there was a record: the logs' id is the same.
  void truncate(Log, std::int64_t, std::int64_t) override {
    const EtcdFound known = etcd_.find({keys_.identity()});
    ASSERT_EQ(known.keys.size(), 1U);
    etcd_.restart_apart([&](EtcdProcess& apart) {
      apart.commit({put_operation(keys_.identity(), known.keys[0].value)});
    });
  }
  void replace() override {
    etcd_.stop();
    etcd_.wipe();
    etcd_.start();
    make_logs();
  }
  [[nodiscard]] bool tells_all() const override { return false; }

 private:
  void make_logs() {
    BlockingEtcd etcd(etcd_.connection());
    const auto made = etcd.call("/v3/kv/txn", make_identity(keys_, kContractLogs), kContractLease);
    EXPECT_TRUE(made.ok()) << made.trouble;
  }
  [[nodiscard]] EtcdRange records(Log log) const {
    return all_below(keys_.records(log));
  }

  EtcdProcess etcd_;
  EtcdKeys keys_{etcd_.connection().prefix};
  std::uint64_t writers_ = 100;
};

}  // namespace

std::unique_ptr<StoreRig> make_etcd_rig() { return std::make_unique<EtcdRig>(); }

}  // namespace neliroute
