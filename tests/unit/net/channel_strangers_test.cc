// Sides that do not fit each other, strangers, and somebody in between.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/channel.h"
#include "net/channel_keys.h"
#include "tests/unit/net/channel_rig.h"

namespace neliroute::net_test {
namespace {

using testing::HasSubstr;

ChannelOptions speaking(std::string protocol, std::string key) {
  return {std::move(protocol), std::move(key), 1000};
}

/// Two sides with options of their own.
struct Differing : ChannelRig {
  void open(const ChannelOptions& of_client, const ChannelOptions& of_server) {
    auto [one, other] = connected();
    client = over(std::move(one), Channel::Side::client, of_client);
    server = over(std::move(other), Channel::Side::server, of_server);
    const auto opening = begin(client->open(kSoon));
    EXPECT_FALSE(run(server->open(kSoon)));
    EXPECT_FALSE(end(opening));
  }

  std::unique_ptr<Channel> client, server;
};

TEST_F(Differing, another_protocol_is_named_on_both_sides) {
  open(speaking("test 1", ""), speaking("test 2", ""));
  EXPECT_EQ(client->trouble(), "the other side speaks \"test 2\", this one \"test 1\"");
  EXPECT_EQ(server->trouble(), "the other side speaks \"test 1\", this one \"test 2\"");
}

TEST_F(Differing, both_sides_learn_that_their_keys_differ) {
  open(speaking("test 1", "one key"), speaking("test 1", "another"));
  EXPECT_THAT(client->trouble(), HasSubstr("keys of the two sides differ"));
  EXPECT_THAT(server->trouble(), HasSubstr("keys of the two sides differ"));
}

TEST_F(Differing, both_sides_learn_which_one_has_no_key) {
  open(speaking("test 1", "one key"), speaking("test 1", ""));
  EXPECT_THAT(client->trouble(), HasSubstr("this side has a key and the other one has none"));
  EXPECT_THAT(server->trouble(), HasSubstr("the other side has a key and this one has none"));
  open(speaking("test 1", ""), speaking("test 1", "one key"));
  EXPECT_THAT(client->trouble(), HasSubstr("the other side has a key and this one has none"));
  EXPECT_THAT(server->trouble(), HasSubstr("this side has a key and the other one has none"));
}

TEST_F(Differing, two_clients_do_not_believe_each_other) {
  auto [one, other] = connected();
  client = over(std::move(one), Channel::Side::client, speaking("test 1", "one key"));
  server = over(std::move(other), Channel::Side::client, speaking("test 1", "one key"));
  const auto opening = begin(client->open(kSoon));
  EXPECT_FALSE(run(server->open(kSoon)));
  EXPECT_FALSE(end(opening));
}

/// A server, and a stranger who writes bytes to it.
struct Strangers : ChannelRig {
  Strangers() : Strangers("") {}
  explicit Strangers(const std::string& key) { meet(key); }
  void meet(const std::string& key) {
    auto [one, other] = connected();
    stranger.emplace(std::move(one));
    server = over(std::move(other), Channel::Side::server, speaking("test 1", key));
  }
  void open() {
    give(*stranger, draw_preamble("test 1", false)->encode());
    ASSERT_TRUE(run(server->open(kSoon))) << server->trouble();
  }

  std::optional<tcp::socket> stranger;
  std::unique_ptr<Channel> server;
};

TEST_F(Strangers, who_says_nothing_is_given_up) {
  EXPECT_FALSE(run(server->open(50ms)));
  EXPECT_THAT(server->trouble(), HasSubstr("did not say what it is within 50 ms"));
}

TEST_F(Strangers, who_stops_within_its_first_bytes_is_given_up) {
  give(*stranger, draw_preamble("test 1", false)->encode().substr(0, 20));
  EXPECT_FALSE(run(server->open(50ms)));
  EXPECT_THAT(server->trouble(), HasSubstr("within 50 ms"));
}

TEST_F(Strangers, who_ends_at_once_is_no_mystery) {
  stranger->close();
  EXPECT_FALSE(run(server->open(kSoon)));
  EXPECT_THAT(server->trouble(), HasSubstr("ended the connection before it said what it is"));
}

TEST_F(Strangers, other_protocols_are_refused_at_their_first_bytes) {
  give(*stranger, "GET / HTTP/1.1\r\n");
  EXPECT_FALSE(run(server->open(kSoon)));
  EXPECT_THAT(server->trouble(), HasSubstr("does not speak \"test 1\""));
}

TEST_F(Strangers, tls_is_recognised) {
  give(*stranger, std::string_view("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11));
  EXPECT_FALSE(run(server->open(kSoon)));
  EXPECT_THAT(server->trouble(), HasSubstr("speaks TLS and this one does not"));
}

TEST_F(Strangers, bytes_that_make_no_sense_are_refused) {
  std::string bytes = draw_preamble("test 1", false)->encode();
  bytes[Preamble::kMagic.size() + Preamble::kProtocolBytes] = 'x';
  give(*stranger, bytes);
  EXPECT_FALSE(run(server->open(kSoon)));
  EXPECT_THAT(server->trouble(), HasSubstr("make no sense"));
}

TEST_F(Strangers, a_message_that_is_too_long_is_refused_before_its_bytes) {
  open();
  give(*stranger, "\xff\xff\xff\xff");
  EXPECT_EQ(run(server->read()), std::nullopt);
  EXPECT_EQ(server->trouble(),
            "the other side began a message of 4294967295 bytes; at most 1000 are taken");
}

TEST_F(Strangers, the_longest_message_is_taken_and_a_longer_one_is_not) {
  open();
  const std::string longest(1000, 'x');
  give(*stranger, std::string_view("\xe8\x03\0\0", 4));
  give(*stranger, longest);
  give(*stranger, std::string_view("\xe9\x03\0\0", 4));
  EXPECT_EQ(run(server->read()), longest);
  EXPECT_EQ(run(server->read()), std::nullopt);
  EXPECT_THAT(server->trouble(), HasSubstr("1001 bytes"));
}

TEST_F(Strangers, a_first_message_may_be_shorter_than_those_after_it) {
  auto [one, other] = connected();
  stranger.emplace(std::move(one));
  ChannelOptions options = speaking("test 1", "");
  options.first_message_bytes_max = 10;
  server = over(std::move(other), Channel::Side::server, options);
  open();
  give(*stranger, std::string("\x0a\0\0\0", 4) + std::string(10, 'x'));
  give(*stranger, std::string("\xe8\x03\0\0", 4) + std::string(1000, 'y'));
  EXPECT_EQ(run(server->read()), std::string(10, 'x'));
  EXPECT_EQ(run(server->read()), std::string(1000, 'y'));
  auto [third, fourth] = connected();
  stranger.emplace(std::move(third));
  server = over(std::move(fourth), Channel::Side::server, options);
  open();
  give(*stranger, std::string_view("\x0b\0\0\0", 4));
  EXPECT_EQ(run(server->read()), std::nullopt);
  EXPECT_EQ(server->trouble(),
            "the other side began a message of 11 bytes; at most 10 are taken");
}

TEST_F(Strangers, a_message_that_comes_byte_by_byte_is_whole) {
  open();
  const auto read = begin(server->read());
  for (const char byte : std::string("\x03\0\0\0one", 7)) {
    io.poll();
    give(*stranger, std::string(1, byte));
  }
  EXPECT_EQ(end(read), "one");
}

TEST_F(Strangers, half_a_message_is_none) {
  for (const std::size_t size : {1u, 4u, 6u}) {
    meet("");
    open();
    give(*stranger, std::string_view("\x03\0\0\0one", 7).substr(0, size));
    stranger->shutdown(tcp::socket::shutdown_send);
    EXPECT_EQ(run(server->read()), std::nullopt);
    EXPECT_THAT(server->trouble(), HasSubstr("ended inside a message"));
  }
}

/// The server has a key.
struct Keyless : Strangers {
  Keyless() : Strangers("a key") {}
};

TEST_F(Keyless, without_the_key_nobody_gets_anything_that_it_could_be_guessed_from) {
  give(*stranger, draw_preamble("test 1", true)->encode() + std::string(32, 'x'));
  EXPECT_FALSE(run(server->open(kSoon)));
  EXPECT_THAT(server->trouble(), HasSubstr("keys of the two sides differ"));
  take(*stranger, Preamble::kBytes);
  EXPECT_EQ(take(*stranger, 32), std::string(32, '\0'));
}

TEST_F(Keyless, who_does_not_prove_the_key_in_time_is_given_up) {
  give(*stranger, draw_preamble("test 1", true)->encode());
  EXPECT_FALSE(run(server->open(50ms)));
}

TEST_F(Keyless, who_ends_instead_of_proving_the_key_is_no_mystery) {
  give(*stranger, draw_preamble("test 1", true)->encode());
  stranger->shutdown(tcp::socket::shutdown_send);
  EXPECT_FALSE(run(server->open(kSoon)));
  EXPECT_THAT(server->trouble(), HasSubstr("instead of proving that it has the key"));
}

/// All bytes between the two sides pass through the test.
struct Middle : ChannelRig {
  static constexpr std::size_t kFrame = 4 + 3 + ChannelKeys::kCodeBytes;

  Middle() { meet(); }
  void meet() {
    auto [one, other] = connected();
    auto [third, fourth] = connected();
    to_client.emplace(std::move(other));
    to_server.emplace(std::move(third));
    client = over(std::move(one), Channel::Side::client, speaking("test 1", "a key"));
    server = over(std::move(fourth), Channel::Side::server, speaking("test 1", "a key"));
  }
  void up(std::size_t count) { give(*to_server, take(*to_client, count)); }
  void down(std::size_t count) { give(*to_client, take(*to_server, count)); }

  void open() {
    const auto one = begin(client->open(kSoon));
    const auto other = begin(server->open(kSoon));
    up(Preamble::kBytes);
    down(Preamble::kBytes);
    up(32);
    down(32);
    ASSERT_TRUE(end(one));
    ASSERT_TRUE(end(other));
  }
  /// Of a message of three bytes that the client sends.
  std::string frame(const std::string& message) {
    EXPECT_TRUE(run(client->write(message, kSoon)));
    return take(*to_client, kFrame);
  }
  void expect_noticed() {
    EXPECT_EQ(run(server->read()), std::nullopt);
    EXPECT_THAT(server->trouble(), HasSubstr("changed, dropped or repeated"));
  }

  std::optional<tcp::socket> to_client, to_server;
  std::unique_ptr<Channel> client, server;
};

TEST_F(Middle, what_passes_as_it_is_is_read) {
  open();
  const std::string one = frame("one");
  give(*to_server, one + frame("two"));
  EXPECT_EQ(run(server->read()), "one");
  EXPECT_EQ(run(server->read()), "two");
  ASSERT_TRUE(run(server->write("yes", kSoon)));
  down(kFrame);
  EXPECT_EQ(run(client->read()), "yes");
}

TEST_F(Middle, no_bit_of_a_preamble_can_be_changed) {
  const auto one = begin(client->open(kSoon));
  const auto other = begin(server->open(kSoon));
  std::string changed = take(*to_client, Preamble::kBytes);
  changed.back() ^= 1;
  give(*to_server, changed);
  down(Preamble::kBytes);
  up(32);
  EXPECT_FALSE(end(other));
  down(32);
  EXPECT_FALSE(end(one));
}

TEST_F(Middle, no_byte_of_a_message_or_its_code_can_be_changed) {
  for (std::size_t at = 4; at < kFrame; ++at) {
    meet();
    open();
    std::string changed = frame("one");
    changed[at] ^= 1;
    give(*to_server, changed);
    expect_noticed();
  }
}

TEST_F(Middle, no_message_can_be_cut) {
  open();
  std::string cut = frame("one");
  cut[0] = 2;
  give(*to_server, cut.erase(6, 1));
  expect_noticed();
}

TEST_F(Middle, no_message_can_be_repeated) {
  open();
  const std::string one = frame("one");
  give(*to_server, one + one);
  EXPECT_EQ(run(server->read()), "one");
  expect_noticed();
}

TEST_F(Middle, messages_cannot_change_places) {
  open();
  const std::string one = frame("one");
  give(*to_server, frame("two") + one);
  expect_noticed();
}

TEST_F(Middle, no_message_can_be_left_out) {
  open();
  frame("one");
  give(*to_server, frame("two"));
  expect_noticed();
}

TEST_F(Middle, no_message_can_be_sent_back) {
  open();
  give(*to_client, frame("one"));
  EXPECT_EQ(run(client->read()), std::nullopt);
  EXPECT_THAT(client->trouble(), HasSubstr("changed, dropped or repeated"));
}

TEST_F(Middle, no_message_serves_on_another_channel) {
  open();
  const std::string one = frame("one");
  meet();
  open();
  give(*to_server, one);
  expect_noticed();
}

TEST_F(Middle, nobody_without_the_key_can_write) {
  open();
  give(*to_server, std::string("\x03\0\0\0one", 7) + std::string(16, 'x'));
  expect_noticed();
}

}  // namespace
}  // namespace neliroute::net_test
