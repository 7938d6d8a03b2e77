#include "quorum/encoding.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/unit/voter/recorded_voters.h"

namespace neliroute::quorum {
namespace {

using std::string_literals::operator""s;

BrokerTime at(std::int64_t ms) { return BrokerTime(milliseconds(ms)); }

Configuration two_voters() {
  return {{{VoterId(1), "h1:7100", 2}, {VoterId(2), "h2:7100", 1}}};
}

constexpr std::uint64_t kTold = 8;

Message message(decltype(Message::body) body) {
  return {VoterId(7), "a", "b", LogId(9), 4, kTold, std::move(body)};
}

bool is_read(const Message& message) { return decode_message(encode(message)).has_value(); }

TEST(QuorumEncodingTest, whatVotersSendIsReadAsItWasWritten) {
  std::set<std::size_t> kinds;
  auto messages = record(6, 3, milliseconds(6'000)).messages;
  messages.push_back(message(Outdated{}));  // the rarest
  messages.push_back(message(TakeOver{}));
  messages.push_back(message(AskVote{true, 5, 1, 1, true}));
  for (const Message& sent : messages) {
    kinds.insert(sent.body.index());
    const std::string bytes = encode(sent);
    const auto read = decode_message(bytes);
    ASSERT_TRUE(read) << "kind " << sent.body.index();
    EXPECT_EQ(encode(*read), bytes);
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<decltype(Message::body)>);
}

TEST(QuorumEncodingTest, aMessagesFieldsAreReadBack) {
  const std::vector<Entry> entries{{3, at(10), Begins{}},
                                   {3, at(10), "a record"},
                                   {4, at(11), two_voters()}};
  const auto read = decode_message(encode(message(Append{5, 2, entries, 4, ~std::uint64_t{0}})));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->from, VoterId(7));
  EXPECT_EQ(read->from_address, "a");
  EXPECT_EQ(read->to_address, "b");
  EXPECT_EQ(read->log, LogId(9));
  EXPECT_EQ(read->term, 4U);
  const auto& append = std::get<Append>(read->body);
  EXPECT_EQ(append.index, 5);
  EXPECT_EQ(append.term_before, 2U);
  EXPECT_EQ(append.entries, entries);
  EXPECT_EQ(append.committed, 4);
  EXPECT_EQ(append.round, ~std::uint64_t{0});

  const LogStart start{8, 2, at(12), two_voters()};
  const auto restarted = decode_message(encode(message(Restart{start, 6})));
  ASSERT_TRUE(restarted);
  EXPECT_EQ(std::get<Restart>(restarted->body).start, start);
  EXPECT_EQ(std::get<Restart>(restarted->body).round, 6U);
  const auto behind = decode_message(encode(message(Behind{kNothing, 6})));
  ASSERT_TRUE(behind);
  EXPECT_EQ(std::get<Behind>(behind->body).end, kNothing);
  const Here said{true, {VoterId(3), VoterId(4)}};
  const auto here = decode_message(encode(message(said)));
  ASSERT_TRUE(here);
  EXPECT_EQ(here->told, kTold);
  EXPECT_EQ(std::get<Here>(here->body).met, said.met);
}

TEST(QuorumEncodingTest, theBytesAreThoseOfTheFormat) {
  EXPECT_EQ(encode(message(Append{5, 2, {{3, at(10), "xy"}}, 4, 6})),
            "\1"                      // the format
            "\7\0\0\0\0\0\0\0"        // from
            "\1a\1b"                  // addresses
            "\1\11\0\0\0\0\0\0\0"     // log
            "\4\0\0\0\0\0\0\0"        // term
            "\10\0\0\0\0\0\0\0"       // told
            "\4"                      // an Append
            "\5\0\0\0\0\0\0\0"        // index
            "\2\0\0\0\0\0\0\0"        // term_before
            "\4\0\0\0\0\0\0\0"        // committed
            "\6\0\0\0\0\0\0\0"        // round
            "\1\0\0\0"                // one entry
            "\3\0\0\0\0\0\0\0"        // its term
            "\12\0\0\0\0\0\0\0"       // its stamp
            "\1\2\0\0\0xy"s);         // a record
  EXPECT_EQ(encode(Vote{VoterId(0x0102), LogId(3), 4, std::nullopt}),
            "\1"
            "\2\1\0\0\0\0\0\0"
            "\1\3\0\0\0\0\0\0\0"
            "\4\0\0\0\0\0\0\0"
            "\0"s);
}

TEST(QuorumEncodingTest, votesSegmentsAndBatchesAreReadBack) {
  const auto vote = decode_vote(encode(Vote{VoterId(1), LogId(2), 3, VoterId(4)}));
  ASSERT_TRUE(vote);
  EXPECT_EQ(vote->self, VoterId(1));
  EXPECT_EQ(vote->log, LogId(2));
  EXPECT_EQ(vote->term, 3U);
  EXPECT_EQ(vote->voted_for, VoterId(4));

  const LogStart start{8, 2, at(12), two_voters()};
  const std::vector<Entry> entries{{3, at(12), "r"}};
  const auto segment = decode_segment(encode(Segment{LogId(2), true, start, entries}));
  ASSERT_TRUE(segment);
  EXPECT_EQ(segment->log, LogId(2));
  EXPECT_TRUE(segment->anew);
  EXPECT_EQ(segment->start, start);
  EXPECT_EQ(segment->entries, entries);

  const auto batch = decode_batch(encode(Batch{8, entries}));
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->index, 8);
  EXPECT_EQ(batch->entries, entries);
}

TEST(QuorumEncodingTest, shortAndLongBytesAreRefused) {
  const std::vector<Entry> entries{{3, at(10), "a record"}, {4, at(11), two_voters()}};
  const std::vector<std::string> all{
      encode(message(Append{5, 2, entries, 4, 6})),
      encode(Vote{VoterId(1), LogId(2), 3, VoterId(4)}),
      encode(Segment{LogId(2), true, {8, 2, at(9), two_voters()}, entries}),
      encode(Batch{8, entries}),
  };
  for (std::size_t kind = 0; kind < all.size(); ++kind) {
    const auto is_read = [kind](std::string_view bytes) {
      return kind == 0   ? decode_message(bytes).has_value()
             : kind == 1 ? decode_vote(bytes).has_value()
             : kind == 2 ? decode_segment(bytes).has_value()
                         : decode_batch(bytes).has_value();
    };
    EXPECT_TRUE(is_read(all[kind]));
    EXPECT_FALSE(is_read(all[kind] + '\0'));
    for (std::size_t size = 0; size < all[kind].size(); ++size) {
      EXPECT_FALSE(is_read(all[kind].substr(0, size))) << kind << ", " << size << " bytes";
    }
  }
}

TEST(QuorumEncodingTest, anyByteMayBeAnything) {
  const std::string bytes = encode(
      message(Append{5, 2, {{3, at(10), "a record"}, {4, at(11), two_voters()}}, 4, 6}));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(value);
      if (const auto read = decode_message(changed)) {
        ASSERT_EQ(encode(*read), changed) << "byte " << i;
      }
    }
  }
}

TEST(QuorumEncodingTest, impossibleMessagesAreRefused) {
  const LogStart start{8, 2, at(12), two_voters()};
  const std::vector<decltype(Message::body)> bodies{
      Append{5, 2, {{5, at(1), Begins{}}}, 0, 1},                       // a term to come
      Append{5, 2, {{1, at(1), Begins{}}}, 0, 1},                       // a term that falls
      Append{5, 2, {{3, at(2), Begins{}}, {3, at(1), Begins{}}}, 0, 1}, // a stamp that falls
      Append{0, 0, {{0, at(2), Begins{}}}, 0, 1},                       // no term
      Append{5, 0, {}, 0, 1},
      Append{0, 2, {}, 0, 1},
      Append{-1, 2, {}, 0, 1},
      Append{kNumberEnd, 2, {}, 0, 1},
      Append{5, 2, {}, -1, 1},
      Append{5, 2, {{3, at(-1), Begins{}}}, 0, 1},
      AskVote{false, 5, 1, 1},  // of a term that its sender is not in
      AskVote{true, 4, 1, 1},
      AskVote{false, 4, kNothing, 1},
      GiveVote{false, 0, true},
      Stored{kNothing, 1},
      Behind{-2, 1},
      Restart{{8, 5, at(12), two_voters()}, 1},
      Restart{{0, 2, at(12), two_voters()}, 1},
      Restart{{8, 0, at(12), two_voters()}, 1},
      Restart{{8, 2, at(12), {}}, 1},  // nobody votes
      Restart{{8, 2, at(12), {{{VoterId(1), "a", 1}, {VoterId(1), "b", 2}}}}, 1},
      Restart{{8, 2, at(12), {{{VoterId(1), "a", 1}, {VoterId(2), "a", 2}}}}, 1},
      Restart{{8, 2, at(12), {{{VoterId(0), "a", 1}}}}, 1},
      Restart{{8, 2, at(12), {{{VoterId(1), "", 1}}}}, 1},
      Restart{{8, 2, at(12), {{{VoterId(1), "a", 0}}}}, 1},
      Here{false, {VoterId(0)}},
  };
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    EXPECT_FALSE(is_read(message(bodies[i]))) << "the one at " << i;
  }
  const auto refused = [](auto change) {
    Message changed = message(Append{5, 2, {}, 0, 1});
    EXPECT_TRUE(is_read(changed));
    change(changed);
    return !is_read(changed);
  };
  EXPECT_TRUE(refused([](Message& m) { m.from = VoterId(0); }));
  EXPECT_TRUE(refused([](Message& m) { m.from_address.clear(); }));
  EXPECT_TRUE(refused([](Message& m) { m.log.reset(); }));
  EXPECT_TRUE(refused([](Message& m) { m.log = LogId(0); }));
  EXPECT_TRUE(refused([](Message& m) { m.term = 0; }));
  EXPECT_TRUE(refused([](Message& m) { m.term = Term{1} << 53; }));
  EXPECT_TRUE(refused([](Message& m) { m.to_address.clear(); }));
}

TEST(QuorumEncodingTest, theLargestRecordIsReadAndALargerOneIsNot) {
  const auto sized = [](std::size_t size) {
    return encode(message(Append{5, 2, {{3, at(1), std::string(size, 'r')}}, 4, 6}));
  };
  std::string bytes = sized(kRecordBytesMax);
  EXPECT_TRUE(decode_message(bytes));
  const std::size_t size_at = bytes.size() - kRecordBytesMax - 4;
  ++bytes[size_at];
  EXPECT_FALSE(decode_message(bytes + "r"));
  EXPECT_DEATH((void)sized(kRecordBytesMax + 1), "larger than it may be");
}

}  // namespace
}  // namespace neliroute::quorum
