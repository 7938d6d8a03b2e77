// Messages between two sides that mean well, with and without a key and TLS.
#include "net/channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "net/tls.h"
#include "tests/unit/net/certificates.h"
#include "tests/unit/net/channel_rig.h"

namespace neliroute::net_test {
namespace {

using testing::HasSubstr;

constexpr const char* kKey = "a key of both sides";

/// Both sides, with or without a key and TLS.
struct Channels : ChannelRig, testing::WithParamInterface<std::tuple<bool, bool>> {
  Channels() {
    const auto [keyed, tls] = GetParam();
    options.protocol = "test 1";
    if (keyed) options.key = kKey;
    auto [one, other] = connected();
    auto to_server = std::make_unique<Stream>(std::move(one));
    auto to_client = std::make_unique<Stream>(std::move(other));
    if (tls) encrypt(*to_server, *to_client);
    client = std::make_unique<Channel>(std::move(to_server), Channel::Side::client, options);
    server = std::make_unique<Channel>(std::move(to_client), Channel::Side::server, options);
  }

  void encrypt(Stream& to_server, Stream& to_client) {
    const auto own = folder / "own.pem";
    const auto key = folder / "own.key";
    make_identity("server", own, key, "IP:127.0.0.1");
    auto identity = TlsIdentity::make({own, key, own}, [](const std::string&) {});
    auto trusted = trusting({own, own, key});
    ASSERT_TRUE(identity && trusted);
    ASSERT_TRUE(to_server.use_tls_to(*trusted, "127.0.0.1"));
    int done = 0;
    const auto count = [&](Stream::Error error) { done += error ? 0 : 1; };
    to_server.async_connect_tls(count);
    to_client.async_accept_tls((*identity)->current(), count);
    ASSERT_TRUE(run_until([&] { return done == 2; }));
  }

  void open() {
    const auto one = begin(client->open(kSoon));
    ASSERT_TRUE(run(server->open(kSoon))) << server->trouble();
    ASSERT_TRUE(end(one)) << client->trouble();
  }

  Awaitable<bool> send_all(Channel& channel, std::vector<std::string> messages) {
    for (const std::string& message : messages) {
      const bool told = co_await channel.write(message, kSoon);
      if (!told) co_return false;
    }
    co_return true;
  }
  Awaitable<std::vector<std::string>> read_some(Channel& channel, std::size_t count) {
    std::vector<std::string> read;
    while (read.size() < count) {
      auto message = co_await channel.read();
      if (!message) break;
      read.push_back(std::move(*message));
    }
    co_return read;
  }
  /// Until the other side takes no more.
  Awaitable<bool> flood(Channel& channel, milliseconds within) {
    bool told = true;
    while (told) told = co_await channel.write(std::string(std::size_t{1} << 20, 'x'), within);
    co_return told;
  }

  Folder folder;
  ChannelOptions options;
  std::unique_ptr<Channel> client, server;
};

TEST_P(Channels, messages_come_whole_and_in_order_in_both_directions_at_once) {
  open();
  std::vector<std::string> up, down;
  for (const std::size_t size : {0u, 1u, 100u, 20'000u, 1'000'000u, 3u, 2'097'152u, 0u, 7u}) {
    up.emplace_back(size, 'u');
    down.emplace_back(size + 1 > options.message_bytes_max ? 5 : size + 1, 'd');
  }
  const auto sent_up = begin(send_all(*client, up));
  const auto sent_down = begin(send_all(*server, down));
  const auto read_up = begin(read_some(*server, up.size()));
  const auto read_down = begin(read_some(*client, down.size()));
  EXPECT_EQ(end(read_up), up);
  EXPECT_EQ(end(read_down), down);
  EXPECT_TRUE(end(sent_up));
  EXPECT_TRUE(end(sent_down));
}

TEST_P(Channels, who_waits_for_a_message_learns_that_the_other_side_ended) {
  open();
  const auto read = begin(client->read());
  server->close();
  EXPECT_EQ(end(read), std::nullopt);
  EXPECT_EQ(client->trouble(), "");
  EXPECT_FALSE(run(client->write("one", kSoon)));
  EXPECT_EQ(run(client->read()), std::nullopt);
}

TEST_P(Channels, what_was_written_before_the_end_is_read) {
  open();
  ASSERT_TRUE(run(server->write("last words", kSoon)));
  server->close();
  EXPECT_EQ(run(client->read()), "last words");
  EXPECT_EQ(run(client->read()), std::nullopt);
  EXPECT_EQ(client->trouble(), "");
}

TEST_P(Channels, close_ends_what_is_awaited) {
  open();
  const auto read = begin(client->read());
  const auto flooded = begin(flood(*client, kSoon));
  io.poll();
  client->close();
  EXPECT_EQ(end(read), std::nullopt);
  EXPECT_FALSE(end(flooded));
  EXPECT_EQ(client->trouble(), "");
  EXPECT_FALSE(run(client->write("one", kSoon)));
  EXPECT_FALSE(run(client->open(kSoon)));
}

TEST_P(Channels, a_channel_may_be_destroyed_while_it_is_awaited) {
  open();
  const auto read = begin(client->read());
  const auto written = begin(client->write(std::string(2'000'000, 'x'), kSoon));
  io.poll();
  client.reset();
  EXPECT_EQ(end(read), std::nullopt);
  end(written);
  const auto opening = begin(server->read());
  server.reset();
  EXPECT_EQ(end(opening), std::nullopt);
}

TEST_P(Channels, a_side_that_never_reads_is_given_up) {
  open();
  EXPECT_FALSE(run(flood(*client, 50ms)));
  EXPECT_THAT(client->trouble(), HasSubstr("did not take a message of 1048576 bytes within 50 ms"));
}

TEST_P(Channels, time_counts_only_while_a_message_is_written) {
  open();
  ASSERT_TRUE(run(client->write("one", 20ms)));
  ASSERT_EQ(run(server->read()), "one");
  // As long as the limit, and more.
  const auto read = begin(client->read());
  boost::asio::steady_timer timer(io);
  bool passed = false;
  timer.expires_after(60ms);
  timer.async_wait([&](auto) { passed = true; });
  ASSERT_TRUE(run_until([&] { return passed; }));
  ASSERT_TRUE(run(server->write("two", kSoon)));
  EXPECT_EQ(end(read), "two");
}

TEST_P(Channels, one_s_own_message_must_not_be_too_long) {
  open();
  EXPECT_FALSE(run(client->write(std::string(options.message_bytes_max + 1, 'x'), kSoon)));
  EXPECT_THAT(client->trouble(), HasSubstr("2097153 bytes is too large"));
  EXPECT_EQ(run(server->read()), std::nullopt);
}

std::string name_of(const testing::TestParamInfo<std::tuple<bool, bool>>& made) {
  const auto [keyed, tls] = made.param;
  return std::string(keyed ? "keyed" : "keyless") + (tls ? "_tls" : "");
}

INSTANTIATE_TEST_SUITE_P(ChannelTest, Channels, testing::Combine(testing::Bool(), testing::Bool()),
                         name_of);

}  // namespace
}  // namespace neliroute::net_test
