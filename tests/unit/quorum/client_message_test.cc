#include "quorum/client_message.h"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

#include "quorum/encoding.h"

namespace neliroute::quorum {
namespace {

/// All but the last, which ends the text.
template <std::size_t kSize>
std::string all_bytes(const char (&text)[kSize]) {
  return {text, kSize - 1};
}
BrokerTime at(std::int64_t ms) { return BrokerTime(milliseconds(ms)); }

std::vector<Entry> entries() {
  return {{3, at(10), Begins{}},
          {3, at(10), "a record"},
          {4, at(11), Configuration{{{VoterId(1), "h1:7100", 1}}}}};
}
PeerMessage peer_message() {
  return {1, {VoterId(7), "a", "b", LogId(9), 4, 8, Append{5, 2, entries(), 4, 6}}};
}

std::vector<ToVoter> to_voter() {
  return {Hello{"main", true, 3, milliseconds(300), milliseconds(1'200'000)},
          Hello{"main", false, 3}, Ask{~std::uint64_t{0}, 5, std::nullopt, 64},
          Ask{1, kNothing, at(12), 1}, Follow{9}, AppendRecord{8, "a record"}, peer_message()};
}
std::vector<ToClient> to_client() {
  return {Welcome{3, milliseconds(300), milliseconds(1'200'000), true, "h1:7100"},
          Refused{"it is full"},
          Resigned{},
          Answer{1, LogId(9), 4, 9, 5, 3, entries()},
          Entries{5, entries()},
          Appended{8, 6}, Appended{9, kNothing}};
}

template <class Message>
auto decode(std::string_view bytes) {
  if constexpr (std::is_same_v<Message, ToVoter>) {
    return decode_to_voter(bytes);
  } else {
    return decode_to_client(bytes);
  }
}
bool is_read(const ToVoter& message) { return decode_to_voter(encode(message)).has_value(); }
bool is_read(const ToClient& message) { return decode_to_client(encode(message)).has_value(); }

/// Each is read as it was written; and whatever one byte is changed to, what is read has one
/// encoding.
template <class Message>
void check_all(const std::vector<Message>& messages) {
  for (const Message& message : messages) {
    SCOPED_TRACE(message.index());
    const std::string bytes = encode(message);
    const auto read = decode<Message>(bytes);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->index(), message.index());
    EXPECT_EQ(encode(*read), bytes);
    EXPECT_FALSE(decode<Message>(bytes + '\0'));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(decode<Message>(bytes.substr(0, size))) << size << " bytes";
    }
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      for (int value = 0; value < 256; ++value) {
        std::string changed = bytes;
        changed[i] = static_cast<char>(value);
        if (const auto other = decode<Message>(changed)) {
          ASSERT_EQ(encode(*other), changed) << "byte " << i;
        }
      }
    }
  }
}

TEST(ClientMessageTest, whatClientsSayIsReadAsItWasWritten) { check_all(to_voter()); }
TEST(ClientMessageTest, whatVotersSayIsReadAsItWasWritten) { check_all(to_client()); }

TEST(ClientMessageTest, theFieldsAreReadBack) {
  const auto asked = decode_to_voter(encode(ToVoter{Ask{1, kNothing, at(12), 64}}));
  ASSERT_TRUE(asked);
  EXPECT_EQ(std::get<Ask>(*asked).since, at(12));
  EXPECT_EQ(std::get<Ask>(*asked).entries, 64U);
  const auto said = decode_to_voter(encode(ToVoter{peer_message()}));
  ASSERT_TRUE(said);
  EXPECT_EQ(std::get<PeerMessage>(*said).log, 1U);
  EXPECT_EQ(std::get<Append>(std::get<PeerMessage>(*said).message.body).entries, entries());
  const auto answered = decode_to_client(encode(to_client()[3]));
  ASSERT_TRUE(answered);
  const auto& answer = std::get<Answer>(*answered);
  EXPECT_EQ(answer.first, 4);
  EXPECT_EQ(answer.end, 9);
  EXPECT_EQ(answer.index, 5);
  EXPECT_EQ(answer.term_before, 3U);
  EXPECT_EQ(answer.entries, entries());
  const auto welcomed = decode_to_client(encode(to_client()[0]));
  ASSERT_TRUE(welcomed);
  EXPECT_EQ(std::get<Welcome>(*welcomed).election, milliseconds(300));
  EXPECT_EQ(std::get<Welcome>(*welcomed).leader, "h1:7100");
}

TEST(ClientMessageTest, theBytesAreThoseOfTheFormat) {
  EXPECT_EQ(encode(ToVoter{Hello{"ab", false, 3}}), all_bytes("\0\2\0ab\0\3\0\0\0"));
  EXPECT_EQ(encode(ToVoter{Hello{"ab", true, 3, milliseconds(4), milliseconds(5)}}),
            all_bytes("\0\2\0ab\1\3\0\0\0\4\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0"));
  EXPECT_EQ(encode(ToClient{Appended{8, 6}}),
            all_bytes("\5\10\0\0\0\0\0\0\0\6\0\0\0\0\0\0\0"));
}

TEST(ClientMessageTest, impossibleMessagesAreRefused) {
  EXPECT_FALSE(is_read(ToVoter{Ask{1, 5, at(12), 1}})) << "it is both";
  EXPECT_FALSE(is_read(ToVoter{Ask{1, -2, std::nullopt, 1}}));
  EXPECT_FALSE(is_read(ToVoter{Ask{1, kNothing, at(-1), 1}}));
  EXPECT_FALSE(is_read(ToVoter{Follow{-1}}));
  EXPECT_FALSE(is_read(ToVoter{Follow{kNumberEnd}}));
  EXPECT_FALSE(is_read(ToClient{Welcome{0, milliseconds(300), milliseconds(1), true, ""}}));
  EXPECT_FALSE(is_read(ToClient{Welcome{1, milliseconds(0), milliseconds(1), true, ""}}));
  EXPECT_FALSE(is_read(ToClient{Welcome{1, milliseconds(1), milliseconds(-1), true, ""}}));
  EXPECT_FALSE(is_read(ToClient{Answer{1, LogId(9), 4, 3, 4, 3, {}}}));
  EXPECT_FALSE(is_read(ToClient{Answer{1, LogId(9), 4, 9, 3, 3, {}}})) << "it is dropped";
  EXPECT_FALSE(is_read(ToClient{Answer{1, LogId(9), 4, 7, 5, 3, entries()}})) << "beyond the end";
  EXPECT_FALSE(is_read(ToClient{Answer{1, LogId(0), 4, 9, 5, 3, {}}}));
  EXPECT_FALSE(is_read(ToClient{Answer{1, LogId(9), 4, 9, 5, 0, {}}}));
  EXPECT_FALSE(is_read(ToClient{Answer{1, LogId(9), 4, 9, 5, 4, entries()}})) << "a term falls";
}

// They are shown to people.
TEST(ClientMessageTest, wordsAreShortAndMoveNoCursor) {
  const auto refused = [](const std::string& why) {
    std::string bytes = encode(ToClient{Refused{std::string(why.size(), 'x')}});
    bytes.replace(bytes.size() - why.size(), why.size(), why);
    return !decode_to_client(bytes);
  };
  EXPECT_FALSE(refused("für"));
  EXPECT_TRUE(refused("\x1b[2J"));
  EXPECT_TRUE(refused("a\nb"));
  EXPECT_TRUE(refused("a\x7f"));
  std::string bytes = encode(ToClient{Refused{std::string(kWordsBytesMax, 'x')}});
  EXPECT_TRUE(decode_to_client(bytes));
  ++bytes[1];
  EXPECT_FALSE(decode_to_client(bytes + "x"));
  EXPECT_DEATH((void)encode(ToClient{Refused{"a\nb"}}), "plain words");
}

TEST(ClientMessageTest, theLargestRecordIsReadAndALargerOneIsNot) {
  std::string bytes = encode(ToVoter{AppendRecord{1, std::string(kRecordBytesMax, 'r')}});
  EXPECT_TRUE(decode_to_voter(bytes));
  ++bytes[bytes.size() - kRecordBytesMax - 4];
  EXPECT_FALSE(decode_to_voter(bytes + "r"));
}

}  // namespace
}  // namespace neliroute::quorum
