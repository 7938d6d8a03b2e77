#include "ledgers/kafka/relay.h"

#include <gmock/gmock.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "tests/eventually.h"
#include "tests/unit/embedded_broker/io_thread.h"

namespace neliroute {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using testing::HasSubstr;

constexpr std::size_t kMegabyte = std::size_t{1} << 20U;

std::string pattern(std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 7 + i / 251);
  return text;
}

tcp::endpoint local(std::uint16_t port) { return {asio::ip::address_v4::loopback(), port}; }

std::string read_to_end(tcp::socket& socket) {
  std::string text;
  error_code error;
  asio::read(socket, asio::dynamic_buffer(text), error);
  return text;
}

/// Writes until the other side has not read for a while; what was written.
std::string write_until_it_stalls(tcp::socket& socket) {
  const std::string chunk = pattern(kMegabyte);
  std::string sent;
  socket.non_blocking(true);
  for (int stalls = 0; stalls < 20 && sent.size() < 256 * kMegabyte;) {
    error_code error;
    sent += chunk.substr(0, socket.write_some(asio::buffer(chunk), error));
    stalls = error ? stalls + 1 : 0;
    if (error) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  socket.non_blocking(false);
  return sent;
}

/// A relay to a port on which the test itself listens.
class RelayTest : public testing::Test {
 protected:
  void SetUp() override { open(Relay::kConnectionsMax, upstream_.local_endpoint().port()); }
  void TearDown() override { close(); }

  void open(std::size_t connections_max, std::uint16_t upstream_port) {
    close();
    io_.run([&] {
      auto relay = Relay::listen(io_.executor(), 0, connections_max);
      ASSERT_TRUE(relay.has_value()) << relay.error().message();
      relay_ = std::move(*relay);
      relay_->forward_to(upstream_port);
    });
  }
  void close() {
    if (relay_) io_.run([&] { relay_.reset(); });
  }
  std::size_t connections() {
    return io_.run([&] { return relay_->connections(); });
  }

  tcp::socket connect() {
    tcp::socket socket(sockets_);
    socket.connect(local(relay_->port()));
    return socket;
  }
  std::pair<tcp::socket, tcp::socket> pair() {
    auto client = connect();
    return {std::move(client), upstream_.accept()};
  }

  asio::io_context sockets_;
  tcp::acceptor upstream_{sockets_, local(0)};
  IoThread io_;
  std::unique_ptr<Relay> relay_;
};

TEST_F(RelayTest, CarriesBothWaysAtOnce) {
  auto sockets = pair();
  tcp::socket& client = sockets.first;
  tcp::socket& server = sockets.second;
  const std::string requests = pattern(4 * kMegabyte);
  const std::string answers = pattern(3 * kMegabyte + 1);
  std::string requests_read(requests.size(), '\0');
  std::string answers_read(answers.size(), '\0');
  auto upwards = std::async([&] { asio::write(client, asio::buffer(requests)); });
  auto downwards = std::async([&] { asio::write(server, asio::buffer(answers)); });
  auto served = std::async([&] { asio::read(server, asio::buffer(requests_read)); });
  asio::read(client, asio::buffer(answers_read));
  served.get();
  EXPECT_TRUE(requests_read == requests);
  EXPECT_TRUE(answers_read == answers);
}

TEST_F(RelayTest, ASideThatDoesNotReadStopsTheOther) {
  auto [client, server] = pair();
  const std::string sent = write_until_it_stalls(server);
  EXPECT_LT(sent.size(), 64 * kMegabyte) << "only kernels' buffers and 16 KiB may hold it";
  server.shutdown(tcp::socket::shutdown_send);
  EXPECT_TRUE(read_to_end(client) == sent);
}

TEST_F(RelayTest, TheClientGetsAllThatTheUpstreamSaidBeforeItEnded) {
  auto [client, server] = pair();
  (void)write_until_it_stalls(client);  // the relay holds requests that nobody reads
  const std::string answer = pattern(kMegabyte);
  auto said = std::async([&, &out = server] {
    asio::write(out, asio::buffer(answer));
    out.shutdown(tcp::socket::shutdown_send);
  });
  EXPECT_TRUE(read_to_end(client) == answer);
  said.get();
  client.close();
  EXPECT_TRUE(eventually_is(0, [&] { return connections(); }));
}

TEST_F(RelayTest, TheUpstreamGetsAllThatTheClientSaidBeforeItEnded) {
  auto [client, server] = pair();
  const std::string request = pattern(8 * kMegabyte);
  auto said = std::async([&, &out = client] {
    asio::write(out, asio::buffer(request));
    out.close();
  });
  EXPECT_TRUE(read_to_end(server) == request);
  said.get();
  EXPECT_TRUE(eventually_is(0, [&] { return connections(); }));
}

TEST_F(RelayTest, AnUpstreamThatReadsNothingLearnsOfTheClientsEndByAReset) {
  auto [client, server] = pair();
  asio::write(client, asio::buffer(std::string("a request that waits for its answer")));
  client.shutdown(tcp::socket::shutdown_send);  // no more than a polite end
  server.wait(tcp::socket::wait_error);
  EXPECT_TRUE(eventually_is(0, [&] { return connections(); }));
}

TEST_F(RelayTest, AnUpstreamThatIsGoneEndsTheClient) {
  const std::uint16_t nobody = upstream_.local_endpoint().port();
  upstream_.close();
  open(Relay::kConnectionsMax, nobody);
  auto client = connect();
  EXPECT_EQ(read_to_end(client), "");
  EXPECT_TRUE(eventually_is(0, [&] { return connections(); }));
}

TEST_F(RelayTest, BeyondItsBoundItLetsNobodyInUntilSomebodyLeaves) {
  open(2, upstream_.local_endpoint().port());
  auto first = pair();
  auto second = pair();
  auto third = connect();
  EXPECT_EQ(read_to_end(third), "");
  EXPECT_EQ(connections(), 2U);
  first.first.close();
  ASSERT_TRUE(eventually_is(1, [&] { return connections(); }));
  auto fourth = pair();
  asio::write(fourth.first, asio::buffer("x", 1));
  char got = 0;
  EXPECT_EQ(asio::read(fourth.second, asio::buffer(&got, 1)), 1U);
}

TEST_F(RelayTest, WhenDestroyedItEndsEveryConnectionAndLetsGoOfTheExecutor) {
  auto first = pair();
  auto second = pair();
  second.second.shutdown(tcp::socket::shutdown_send);  // this one is half closed
  asio::write(first.second, asio::buffer("y", 1));
  close();
  EXPECT_THAT(read_to_end(first.first), testing::AnyOf("", "y"));
  EXPECT_EQ(read_to_end(first.second), "");
  io_.join();  // hangs if the relay left anything behind
}

TEST_F(RelayTest, APortInUseIsAnErrorThatNamesIt) {
  io_.run([&] {
    auto again = Relay::listen(io_.executor(), relay_->port());
    ASSERT_FALSE(again.has_value());
    EXPECT_EQ(again.error().code(), Errc::bad_option);
    EXPECT_THAT(again.error().message(), HasSubstr("port " + std::to_string(relay_->port())));
    EXPECT_THAT(again.error().message(), HasSubstr("choose another port"));
  });
}

TEST_F(RelayTest, ItsPortIsFreeOnceItIsDestroyed) {
  auto [client, server] = pair();
  const std::uint16_t port = relay_->port();
  close();
  io_.run([&] {
    auto again = Relay::listen(io_.executor(), port);
    ASSERT_TRUE(again.has_value()) << again.error().message();
    EXPECT_EQ((*again)->port(), port);
  });
}

}  // namespace
}  // namespace neliroute
