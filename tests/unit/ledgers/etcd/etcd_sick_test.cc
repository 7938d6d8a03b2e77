// One of the servers is sick, or none at all; another one is well.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "ledgers/etcd/etcd_identity.h"
#include "ledgers/etcd/etcd_ledger.h"
#include "tests/unit/ledgers/etcd/etcd_server.h"
#include "tests/unit/ledgers/ledger_driver.h"
#include "tests/unit/ledgers/sick_server.h"
#include "tests/unit/ledgers/store_rigs.h"
#include "tests/unit/ledgers/test_link.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;

std::string http(const std::string& status, const std::string& body) {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

class EtcdSickServer : public testing::TestWithParam<Sickness> {
 protected:
  EtcdProcess etcd_;
};

TEST_P(EtcdSickServer, is_left_for_the_next_one) {
  SickServer sick(GetParam());
  EtcdConnection connection = etcd_.connection();
  BlockingEtcd admin(connection);
  ASSERT_TRUE(admin.call("/v3/kv/txn", make_identity(EtcdKeys(connection.prefix), 1), 2s).ok());
  connection.servers.insert(connection.servers.begin(), EtcdServer{"127.0.0.1", sick.port()});
  EtcdLedgerOptions options;
  options.id = ProcessId{7};
  options.lease = kContractLease;
  options.kept = 600s;
  LedgerDriver driver;
  driver.open(1, [&](boost::asio::any_io_executor strand) {
    return make_etcd_ledger(std::move(strand), connection, nullptr, options).ledger;
  });
  driver.start_and_read();
  driver.write(Log{0}, 1);
  ASSERT_TRUE(driver.wait([](const Seen& seen) { return seen.offsets.contains(1); }));
  ASSERT_TRUE(driver.wait([](const Seen& seen) { return !seen.received[0].empty(); }));
  EXPECT_GT(sick.asked(), 0);
  EXPECT_LT(sick.asked(), 20) << "or it is asked again and again";
}

INSTANTIATE_TEST_SUITE_P(
    All, EtcdSickServer,
    testing::Values(Sickness{"silent", ""}, Sickness{"closes", "", false},
                    Sickness{"is_a_proxy", http("503 Service Unavailable", "<html>no</html>")},
                    Sickness{"says_nothing", http("200 OK", "{}")},
                    Sickness{"says_something_else", http("200 OK", "[1, 2]")},
                    Sickness{"is_no_http", "220 mail\r\n"},
                    Sickness{"has_no_leader",
                             http("503 Service Unavailable",
                                  R"({"code":14,"message":"etcdserver: no leader"})")},
                    Sickness{"is_slow", http("200 OK", std::string(1000, ' ')), true, 50ms}),
    [](const auto& tested) { return std::string(tested.param.name); });

// 1.2 MB of base64, which take longer than a watch may be silent.
TEST(EtcdSlowLink, a_long_record_is_read_however_long_that_takes) {
  EtcdProcess etcd;
  EtcdConnection connection = etcd.connection();
  const EtcdKeys keys(connection.prefix);
  BlockingEtcd admin(connection);
  ASSERT_TRUE(admin.call("/v3/kv/txn", make_identity(keys, 1), 2s).ok());
  TestLink link(static_cast<std::uint16_t>(std::stoi(connection.servers[0].port)), /*slow=*/true);
  connection.servers.assign(2, EtcdServer{"127.0.0.1", link.port()});
  EtcdLedgerOptions options;
  options.id = ProcessId{7};
  options.lease = 400ms;
  options.kept = 600s;
  LedgerDriver driver;
  driver.open(1, [&](boost::asio::any_io_executor strand) {
    return make_etcd_ledger(std::move(strand), connection, nullptr, options).ledger;
  });
  driver.start_and_read();
  etcd.commit({put_operation(keys.records(Log{0}) + "stranger",
                             claim_text(5, 400ms) + std::string(900'000, ' '))});
  EXPECT_TRUE(driver.wait([](const Seen& seen) { return seen.received[0].size() == 1; }));
}

}  // namespace
}  // namespace neliroute
