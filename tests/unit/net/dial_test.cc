#include "net/dial.h"

#include <chrono>
#include <future>
#include <thread>

#include "tests/unit/net/channel_rig.h"

namespace neliroute::net_test {
namespace {

class DialTest : public ChannelRig {
 protected:
  Dialed dialed(HostNames& names, const std::string& address, milliseconds within = kSoon) {
    return run(dial(names, address, nullptr, within));
  }
};

TEST_F(DialTest, anAddressIsAHostAndAPort) {
  const auto is = [](const char* address, const char* host, int port) {
    const auto read = host_and_port(address);
    return read && read->host == host && read->port == port;
  };
  EXPECT_TRUE(is("h:1", "h", 1));
  EXPECT_TRUE(is("127.0.0.1:65535", "127.0.0.1", 65535));
  EXPECT_TRUE(is("[::1]:7100", "::1", 7100));
  for (const char* address : {"", "h", ":1", "h:", "h:0", "h:65536", "h:-1", "h:1x", "[]:1"}) {
    EXPECT_FALSE(host_and_port(address)) << address;
  }
}

TEST_F(DialTest, whoListensIsReached) {
  tcp::acceptor acceptor(io, {boost::asio::ip::address_v4::loopback(), 0});
  const std::string port = std::to_string(acceptor.local_endpoint().port());
  HostNames names(io.get_executor());
  for (const std::string host : {"127.0.0.1:", "localhost:"}) {
    const Dialed reached = dialed(names, host + port);
    ASSERT_TRUE(reached.stream) << reached.trouble;
    tcp::socket other = acceptor.accept();
    give(other, "x");
    EXPECT_EQ(take(reached.stream->socket(), 1), "x");
  }
}

TEST_F(DialTest, whoDoesNotIsNot) {
  tcp::acceptor acceptor(io, {boost::asio::ip::address_v4::loopback(), 0});
  const std::string port = std::to_string(acceptor.local_endpoint().port());
  acceptor.close();
  HostNames names(io.get_executor());
  const Dialed refused = dialed(names, "127.0.0.1:" + port);
  EXPECT_FALSE(refused.stream);
  EXPECT_EQ(refused.trouble, "Connection refused");
  EXPECT_EQ(dialed(names, "nowhere").trouble, "expected HOST:PORT");
}

TEST_F(DialTest, aLookupThatHangsOrFailsEndsInTime) {
  std::promise<void> over;
  auto waits = over.get_future().share();
  HostNames names(io.get_executor(), {}, [waits](const std::string& host, auto& error) {
    if (host == "slow") waits.wait();
    error = boost::asio::error::host_not_found;
    return HostNames::Addresses();
  });
  EXPECT_EQ(dialed(names, "unknown:1").trouble, "its name: Host not found (authoritative)");
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(dialed(names, "slow:1", milliseconds(50)).trouble, "its name: Connection timed out");
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
  over.set_value();
}

TEST_F(DialTest, aMachineThatSpeaksNoTlsIsNotWaitedFor) {
  tcp::acceptor acceptor(io, {boost::asio::ip::address_v4::loopback(), 0});
  const std::string port = std::to_string(acceptor.local_endpoint().port());
  HostNames names(io.get_executor());
  const auto trusted = trusting({});
  ASSERT_TRUE(trusted);
  const Dialed silent =
      run(dial(names, "127.0.0.1:" + port, *trusted, milliseconds(50)));
  EXPECT_FALSE(silent.stream);
  EXPECT_EQ(silent.trouble, "its TLS: no answer in time");
}

}  // namespace
}  // namespace neliroute::net_test
