// Gaps that only an etcd can have: logs that look as before.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/base64.h"
#include "ledgers/etcd/etcd_identity.h"
#include "ledgers/etcd/etcd_json.h"
#include "ledgers/etcd/etcd_keys.h"
#include "ledgers/etcd/etcd_ledger.h"
#include "tests/unit/ledgers/etcd/etcd_server.h"
#include "tests/unit/ledgers/ledger_driver.h"
#include "tests/unit/ledgers/store_rigs.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;

class EtcdGapTest : public testing::Test {
 protected:
  EtcdGapTest() { make_logs(); }

  void make_logs() {
    BlockingEtcd admin(etcd_.connection());
    ASSERT_TRUE(admin.call("/v3/kv/txn", make_identity(keys_, 1), 2s).ok());
  }
  void open_and_read(LedgerDriver& driver, std::uint64_t writer, bool watcher = false,
                     milliseconds kept = 600s) {
    EtcdLedgerOptions options;
    options.id = ProcessId{writer};
    options.lease = 1s;
    options.kept = kept;
    options.watcher = watcher;
    driver.open(1, [&](boost::asio::any_io_executor strand) {
      return make_etcd_ledger(std::move(strand), etcd_.connection(), nullptr, options).ledger;
    });
    driver.start_and_read();
  }
  static void write_and_read(LedgerDriver& driver, std::uint64_t seq) {
    driver.write(Log{0}, seq);
    ASSERT_TRUE(driver.wait([&](const Seen& seen) {
      return !seen.received[0].empty() && seen.received[0].back().seq == seq;
    }));
  }
  [[nodiscard]] static GapReason gap_of(LedgerDriver& driver) {
    EXPECT_TRUE(driver.wait([](const Seen& seen) { return !seen.gaps.empty(); }));
    const auto gaps = driver.seen().gaps;
    return gaps.empty() ? GapReason::restarted : gaps[0].reason;
  }
  [[nodiscard]] EtcdKeyValue identity() {
    const EtcdFound found = etcd_.find({keys_.identity()});
    EXPECT_EQ(found.keys.size(), 1U);
    return found.keys.empty() ? EtcdKeyValue{} : found.keys[0];
  }

  [[nodiscard]] std::vector<EtcdKeyValue> records() {
    return etcd_.find(all_below(keys_.records(Log{0}))).keys;
  }
  void revoke_leases() {
    BlockingEtcd admin(etcd_.connection());
    const EtcdAnswer all = admin.call("/v3/lease/leases", {}, 2s);
    ASSERT_TRUE(all.ok()) << all.trouble;
    for (const auto& one : all.body.at("leases").as_array()) {
      ASSERT_TRUE(admin.call("/v3/lease/revoke", one.as_object(), 2s).ok());
    }
  }

  EtcdProcess etcd_;
  EtcdKeys keys_{etcd_.connection().prefix};
};

TEST_F(EtcdGapTest, RestoredAndAsFarAgain) {
  LedgerDriver driver;
  open_and_read(driver, 1);
  for (const std::uint64_t seq : {1U, 2U, 3U}) write_and_read(driver, seq);
  const EtcdKeyValue known = identity();
  const std::int64_t last = driver.seen().received[0].back().offset;
  etcd_.restart_apart([&](EtcdProcess& apart) {
    apart.commit({put_operation(known.key, known.value)});
    for (std::int64_t i = 0; i < last + 5; ++i) {
      apart.commit({put_operation(keys_.records(Log{0}) + "stranger", std::to_string(i))});
    }
  });
  EXPECT_EQ(gap_of(driver), GapReason::changed);
}

TEST_F(EtcdGapTest, ARestartWithoutALossIsNone) {
  LedgerDriver driver;
  open_and_read(driver, 1);
  for (const std::uint64_t seq : {1U, 2U, 3U}) write_and_read(driver, seq);
  for (std::uint64_t turn = 0; turn < 2; ++turn) {
    etcd_.stop();
    etcd_.start();
    write_and_read(driver, 4 + turn);
  }
  EXPECT_TRUE(driver.seen().gaps.empty());
}

TEST_F(EtcdGapTest, MadeAnewBelowAMember) {
  LedgerDriver driver;
  open_and_read(driver, 1);
  write_and_read(driver, 1);
  etcd_.commit({put_operation(keys_.identity(), R"({"id":"1","logs":1})")});
  driver.write(Log{0}, 2);
  EXPECT_EQ(gap_of(driver), GapReason::replaced);
  EXPECT_EQ(driver.seen().failed.size(), 1U) << "nothing is appended to other logs";
}

TEST_F(EtcdGapTest, MadeAnewBelowAWatcher) {
  LedgerDriver driver;
  open_and_read(driver, 1, /*watcher=*/true);
  etcd_.commit({put_operation(keys_.records(Log{0}) + "stranger", "here the watch began")});
  ASSERT_TRUE(driver.wait([](const Seen& seen) { return !seen.received[0].empty(); }));
  etcd_.commit({put_operation(keys_.identity(), R"({"id":"1","logs":1})")});
  EXPECT_EQ(gap_of(driver), GapReason::replaced);
}

TEST_F(EtcdGapTest, DeletedBelowAMember) {
  LedgerDriver driver;
  open_and_read(driver, 1);
  write_and_read(driver, 1);
  const boost::json::object all{{"key", base64("contract/")}, {"range_end", base64("contract0")}};
  etcd_.commit({{{"request_delete_range", all}}});
  driver.write(Log{0}, 2);
  EXPECT_EQ(gap_of(driver), GapReason::missing);
  make_logs();
  driver.run([](Ledger& ledger) { ledger.restart_tail(Log{0}); });
  ASSERT_TRUE(driver.wait([](const Seen& seen) { return seen.started.size() == 2; }));
  EXPECT_EQ(driver.seen().started[1].below, Below::nothing);
  write_and_read(driver, 3);
  LedgerDriver next;
  open_and_read(next, 2);
  EXPECT_EQ(next.seen().started[0].below, Below::unread) << "the mark was put again";
}

TEST_F(EtcdGapTest, WhereAllLeasesAreOverTheMarkIsLeft) {
  LedgerDriver driver;
  open_and_read(driver, 1);
  write_and_read(driver, 1);
  revoke_leases();
  EXPECT_TRUE(records().empty()) << "what the dead wrote vanishes";
  LedgerDriver next;
  open_and_read(next, 2);
  EXPECT_EQ(next.seen().started[0].below, Below::unread);
  write_and_read(driver, 2);
  EXPECT_TRUE(driver.seen().failed.empty());
}

TEST_F(EtcdGapTest, WhatALivingWriterWroteIsKept) {
  LedgerDriver driver;
  open_and_read(driver, 1, false, 3s);
  write_and_read(driver, 1);
  EXPECT_TRUE(driver.never([](const Seen&) { return false; }, 9s));
  EXPECT_EQ(records().size(), 1U);
  write_and_read(driver, 2);
}

TEST_F(EtcdGapTest, ManyPages) {
  const auto put = [&](int i) {
    const std::string key = keys_.records(Log{0}) + "stranger/" + std::to_string(i % 120);
    etcd_.commit({put_operation(key, "x")});
  };
  etcd_.commit({put_operation(keys_.begun(Log{0}), "")});
  for (int i = 0; i < 120; ++i) put(i);
  {
    LedgerDriver driver;
    open_and_read(driver, 1);
    EXPECT_TRUE(driver.wait([](const Seen& seen) { return seen.received[0].size() == 120; }, 3s));
  }
  std::atomic<bool> done = false;
  std::thread writer([&] { for (int i = 0; !done; ++i) put(i); });
  for (std::uint64_t turn = 0; turn < 20; ++turn) {
    LedgerDriver driver;
    open_and_read(driver, 2 + turn);
    EXPECT_TRUE(driver.wait([](const Seen& seen) { return seen.received[0].size() >= 150; }, 5s));
    const auto read = driver.seen().received[0];
    for (std::size_t i = 1; i < read.size(); ++i) EXPECT_GT(read[i].offset, read[i - 1].offset);
  }
  done = true;
  writer.join();
}

TEST_F(EtcdGapTest, ALateRequestIsNotTakenForANewerOne) {
  LedgerDriver driver;
  open_and_read(driver, 1);
  write_and_read(driver, 1);
  etcd_.commit({put_operation(keys_.writer(ProcessId{1}), "1")});
  write_and_read(driver, 2);
}

TEST_F(EtcdGapTest, WhatWasStoredWithoutAnAnswerIsNotStoredAgain) {
  LedgerDriver driver;
  open_and_read(driver, 1);
  write_and_read(driver, 1);
  etcd_.commit({put_operation(keys_.writer(ProcessId{1}), "2")});
  driver.write(Log{0}, 2);
  ASSERT_TRUE(driver.wait([](const Seen& seen) { return seen.offsets.contains(2); }));
  EXPECT_TRUE(driver.never([](const Seen& seen) { return seen.received[0].size() > 1; }, 500ms));
}

// What was read last still stands, and what came after it here is not what came after it there.
TEST_F(EtcdGapTest, RestoredWithOtherRecordsSince) {
  LedgerDriver driver;
  open_and_read(driver, 1);
  write_and_read(driver, 1);
  const EtcdKeyValue known = identity();
  const EtcdKeyValue last = records().back();
  for (int i = 0; i < 20; ++i) etcd_.commit({put_operation("other", std::to_string(i))});
  // Meanwhile it asks where the log ends.
  EXPECT_TRUE(driver.never([](const Seen&) { return false; }, 1500ms));
  etcd_.restart_apart([&](EtcdProcess& apart) {
    const auto fill = [&](std::int64_t count) {
      for (; count > 0; --count) apart.commit({put_operation("other", "x")});
    };
    apart.commit({put_operation(known.key, known.value)});
    fill(last.revision - 3);
    apart.commit({put_operation(last.key, last.value)});
    fill(3);
    apart.commit({put_operation(keys_.records(Log{0}) + "late", "x")});
    fill(40);
  });
  EXPECT_EQ(gap_of(driver), GapReason::changed);
}

TEST_F(EtcdGapTest, RestoredAndRewritten) {
  LedgerDriver driver;
  open_and_read(driver, 1);
  for (const std::uint64_t seq : {1U, 2U, 3U}) write_and_read(driver, seq);
  const EtcdKeyValue known = identity();
  const std::string last = records().back().key;
  const std::int64_t end = driver.seen().received[0].back().offset;
  etcd_.restart_apart([&](EtcdProcess& apart) {
    apart.commit({put_operation(known.key, known.value)});
    for (std::int64_t i = 0; i < end + 5; ++i) {
      apart.commit({put_operation(last, std::to_string(i))});
    }
  });
  EXPECT_EQ(gap_of(driver), GapReason::changed);
}

}  // namespace
}  // namespace neliroute
