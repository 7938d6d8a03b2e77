#include "voter/answers.h"

#include <gtest/gtest.h>

#include <string>

namespace neliroute {
namespace {

using quorum::Index;

/// Entries 10 to 19, of which i was stamped at i / 2 * 100 ms, of these bytes.
quorum::EntryLog ten_entries(std::size_t bytes = 1) {
  quorum::EntryLog log({10, 1, BrokerTime(), {}});
  for (Index i = 10; i < 20; ++i) {
    log.append({2, BrokerTime(milliseconds(i / 2 * 100)), std::string(bytes, 'r')});
  }
  return log;
}

quorum::Answer answered(const quorum::EntryLog& log, const quorum::Ask& ask, Index end = 20) {
  return answer_to(ask, quorum::LogId(3), log, end);
}

TEST(AnswersTest, whatIsStampedSinceIsFound) {
  const auto log = ten_entries();
  const auto since = [&](int ms) { return first_since(log, 18, BrokerTime(milliseconds(ms))); };
  EXPECT_EQ(since(0), 10);
  EXPECT_EQ(since(500), 10);
  EXPECT_EQ(since(501), 12);
  EXPECT_EQ(since(600), 12);
  EXPECT_EQ(since(800), 16);
  EXPECT_EQ(since(801), 18);
  EXPECT_EQ(since(900), 18) << "it is not committed";
}

TEST(AnswersTest, thePlaceIsThatOrNextToIt) {
  const auto log = ten_entries();
  EXPECT_EQ(answered(log, {1, 13, std::nullopt, 2}).index, 13);
  EXPECT_EQ(answered(log, {1, 13, std::nullopt, 2}).entries.size(), 2U);
  EXPECT_EQ(answered(log, {1, 3, std::nullopt, 2}).index, 10);
  EXPECT_EQ(answered(log, {1, 3, std::nullopt, 2}).term_before, 1U);
  EXPECT_EQ(answered(log, {1, 99, std::nullopt, 2}).index, 20);
  EXPECT_EQ(answered(log, {1, 99, std::nullopt, 2}).term_before, 2U);
  EXPECT_TRUE(answered(log, {1, 99, std::nullopt, 2}).entries.empty());
  EXPECT_EQ(answered(log, {1, 13, std::nullopt, 64}, 15).entries.size(), 2U);
  EXPECT_EQ(answered(log, {1, 13, std::nullopt, 0}).entries.size(), 0U);
  EXPECT_EQ(answered(log, {1, quorum::kNothing, std::nullopt, 3}).index, 17);
  EXPECT_EQ(answered(log, {1, quorum::kNothing, std::nullopt, 3}).entries.size(), 3U);
  EXPECT_EQ(answered(log, {1, quorum::kNothing, std::nullopt, 64}).index, 10);
  EXPECT_EQ(answered(log, {1, quorum::kNothing, BrokerTime(milliseconds(600)), 3}).index, 12);
  const auto whole = answered(log, {7, 13, std::nullopt, 2}, 18);
  EXPECT_EQ(whole.number, 7U);
  EXPECT_EQ(whole.first, 10);
  EXPECT_EQ(whole.end, 18);
}

TEST(AnswersTest, aMessageHasSoManyBytesUnlessOneEntryHasMore) {
  const auto log = ten_entries(quorum::kChunkBytes / 2);
  EXPECT_EQ(chunk(log, 11, 20, 64).size(), 2U);
  const auto newest = answered(log, {1, quorum::kNothing, std::nullopt, 64});
  EXPECT_EQ(newest.index, 18);
  EXPECT_EQ(newest.entries.size(), 2U);
  const auto large = ten_entries(quorum::kChunkBytes + 1);
  EXPECT_EQ(chunk(large, 11, 20, 64).size(), 1U);
  EXPECT_EQ(answered(large, {1, quorum::kNothing, std::nullopt, 64}).index, 19);
}

TEST(AnswersTest, aMessageHasSoManyEntries) {
  quorum::EntryLog log({0, 0, BrokerTime(), {}});
  for (int i = 0; i < 200; ++i) log.append({1, BrokerTime(), quorum::Begins{}});
  EXPECT_EQ(chunk(log, 0, 200, 1'000).size(), quorum::kChunkEntries);
  EXPECT_EQ(answered(log, {1, quorum::kNothing, std::nullopt, 1'000}, 200).entries.size(),
            quorum::kChunkEntries);
}

}  // namespace
}  // namespace neliroute
