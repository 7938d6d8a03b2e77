// What the two sides of a channel say first and prove, without a connection.
#include "net/channel_keys.h"

#include <gtest/gtest.h>

#include <set>

namespace neliroute {
namespace {

std::string text(const Digest& digest) { return {digest.data(), digest.size()}; }

TEST(ChannelKeysTest, a_preamble_is_read_as_it_was_written) {
  const Preamble made = draw_preamble("test 1", true).value();
  const std::string bytes = made.encode();
  EXPECT_EQ(bytes.size(), Preamble::kBytes);
  const Preamble read = Preamble::decode(bytes).value();
  EXPECT_EQ(read.protocol, "test 1");
  EXPECT_TRUE(read.keyed);
  EXPECT_EQ(read.nonce, made.nonce);
  EXPECT_NE(read.nonce, draw_preamble("test 1", true)->nonce);
}

TEST(ChannelKeysTest, what_is_no_preamble_is_refused) {
  const std::string bytes = draw_preamble("test 1", false)->encode();
  EXPECT_FALSE(Preamble::decode(bytes.substr(1)));
  EXPECT_FALSE(Preamble::decode(bytes + "x"));
  EXPECT_FALSE(Preamble::decode("x" + bytes.substr(1)));
  std::string neither = bytes;
  neither[Preamble::kMagic.size() + Preamble::kProtocolBytes] = 'x';
  EXPECT_FALSE(Preamble::decode(neither));
}

TEST(ChannelKeysTest, a_protocol_is_cut_and_has_nothing_that_a_terminal_obeys) {
  const std::string longest(100, 'x');
  EXPECT_EQ(Preamble::decode(draw_preamble(longest, false)->encode())->protocol,
            longest.substr(0, Preamble::kProtocolBytes));
  EXPECT_EQ(Preamble::decode(draw_preamble("a\x1b[2J\n", false)->encode())->protocol, "a?[2J?");
}

TEST(ChannelKeysTest, no_code_and_no_proof_serves_for_another) {
  std::set<std::string> made;
  for (const char* const key : {"one key", "another"}) {
    for (const char* const client : {"client", "second client"}) {
      for (const char* const server : {"server", "second server"}) {
        const ChannelKeys keys(key, client, server);
        made.insert(text(keys.client_proof()));
        made.insert(text(keys.server_proof()));
        for (const bool from_client : {false, true}) {
          for (const std::uint64_t number : {0u, 1u, 256u}) {
            for (const char* const message : {"", "one", "two"}) {
              const std::string code = keys.code(from_client, number, message);
              EXPECT_EQ(code.size(), ChannelKeys::kCodeBytes);
              made.insert(code);
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(made.size(), 8u * (2 + 18));
}

TEST(ChannelKeysTest, both_sides_make_the_same) {
  const ChannelKeys one("key", "client", "server");
  const ChannelKeys other("key", "client", "server");
  EXPECT_EQ(one.client_proof(), other.client_proof());
  EXPECT_EQ(one.code(true, 7, "text"), other.code(true, 7, "text"));
}

TEST(ChannelKeysTest, secrets_are_the_same_or_not) {
  EXPECT_TRUE(is_same_secret("", ""));
  EXPECT_TRUE(is_same_secret("same", "same"));
  EXPECT_FALSE(is_same_secret("same", "samf"));
  EXPECT_FALSE(is_same_secret("same", "sam"));
}

}  // namespace
}  // namespace neliroute
