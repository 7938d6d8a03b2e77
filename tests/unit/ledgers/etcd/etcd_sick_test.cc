// One of the servers is sick, or none at all; another one is well.
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ledgers/etcd/etcd_identity.h"
#include "ledgers/etcd/etcd_ledger.h"
#include "tests/unit/ledgers/etcd/etcd_server.h"
#include "tests/unit/ledgers/ledger_driver.h"
#include "tests/unit/ledgers/store_rigs.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using boost::asio::ip::tcp;

struct Sickness {
  const char* name;
  std::string answer;          ///< to whatever it is asked
  bool stays = true;           ///< connected after that
  milliseconds each_byte{0};   ///< how long it takes over each
};

void PrintTo(const Sickness& sickness, std::ostream* out) { *out << sickness.name; }

std::string http(const std::string& status, const std::string& body) {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

/// Answers everybody alike, each connection once.
class SickServer {
 public:
  explicit SickServer(Sickness sickness)
      : sickness_(std::move(sickness)),
        acceptor_(io_, {boost::asio::ip::address_v4::loopback(), 0}),
        thread_([this] { serve(); }) {}
  ~SickServer() {
    done_ = true;
    boost::system::error_code ignored;
    tcp::socket wake(io_);
    wake.connect(acceptor_.local_endpoint(), ignored);
    thread_.join();
  }
  [[nodiscard]] std::string port() { return std::to_string(acceptor_.local_endpoint().port()); }
  [[nodiscard]] int asked() const { return asked_; }

 private:
  void serve() {
    std::vector<std::unique_ptr<tcp::socket>> kept;
    while (!done_) {
      auto socket = std::make_unique<tcp::socket>(io_);
      boost::system::error_code error;
      acceptor_.accept(*socket, error);
      if (error || done_) continue;
      ++asked_;
      char first = 0;
      boost::asio::read(*socket, boost::asio::buffer(&first, 1), error);
      answer(*socket);
      if (sickness_.stays) kept.push_back(std::move(socket));
    }
  }
  void answer(tcp::socket& socket) {
    boost::system::error_code error;
    if (sickness_.each_byte == 0ms) {
      boost::asio::write(socket, boost::asio::buffer(sickness_.answer), error);
      return;
    }
    for (const char byte : sickness_.answer) {
      if (error || done_) return;
      boost::asio::write(socket, boost::asio::buffer(&byte, 1), error);
      std::this_thread::sleep_for(sickness_.each_byte);  // it is slow: that is what is tested
    }
  }

  Sickness sickness_;
  boost::asio::io_context io_;
  tcp::acceptor acceptor_;
  std::atomic<bool> done_ = false;
  std::atomic<int> asked_ = 0;
  std::thread thread_;
};

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
    return std::make_unique<EtcdLedger>(std::move(strand), connection, nullptr, options);
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

}  // namespace
}  // namespace neliroute
