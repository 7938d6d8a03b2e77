#include "router/view/published.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace neliroute {
namespace {

// Knows how many of its kind live.
struct Counted {
  explicit Counted(std::atomic<int>& living, std::uint64_t number)
      : alive(&living, [](std::atomic<int>* count) { --*count; }), first(number), second(number) {
    ++living;
  }
  std::shared_ptr<std::atomic<int>> alive;
  std::uint64_t first;
  std::uint64_t second;
};

class PublishedTest : public testing::Test {
 protected:
  Counted value(std::uint64_t number) { return Counted(living_, number); }

  std::atomic<int> living_{0};
};

TEST_F(PublishedTest, AReadingStaysWhatItWas) {
  Published<Counted> published(value(1));
  const auto before = published.read();
  published.publish(value(2));
  EXPECT_EQ(before->first, 1u);
  EXPECT_EQ(published.read()->first, 2u);
}

TEST_F(PublishedTest, WhatNobodyReadsIsFreedAtTheNextPublish) {
  Published<Counted> published(value(1));
  {
    const auto first = published.read();
    published.publish(value(2));
    published.publish(value(3));
    published.publish(value(4));
    EXPECT_EQ(living_, 3) << "the one read, the newest, and the one that it replaced";
  }
  published.publish(value(5));
  EXPECT_EQ(living_, 2);
  published.publish(value(6));
  EXPECT_EQ(living_, 2);
}

TEST_F(PublishedTest, WhatNobodyReadsCanBeReclaimedInsteadAndWhatSomebodyReadsCannot) {
  Published<Counted> published(value(1));
  EXPECT_FALSE(published.reclaim()) << "the newest is everybody's";
  {
    const auto first = published.read();
    published.publish(value(2));
    EXPECT_FALSE(published.reclaim()) << "it is read";
    EXPECT_EQ(first->first, 1u);
  }
  auto spare = published.reclaim();
  ASSERT_TRUE(spare);
  EXPECT_EQ(spare->first, 1u);
  EXPECT_FALSE(published.reclaim()) << "once";
  spare->first = 3;
  published.publish(std::move(*spare));
  EXPECT_EQ(published.read()->first, 3u);
}

TEST_F(PublishedTest, NothingIsLeftBehind) {
  {
    Published<Counted> published(value(1));
    auto reading = published.read();
    published.publish(value(2));
    reading = published.read();
  }
  EXPECT_EQ(living_, 0);
}

TEST_F(PublishedTest, AReadingMayBeMovedAndIsGivenUpOnce) {
  Published<Counted> published(value(1));
  auto one = published.read();
  auto other = std::move(one);
  EXPECT_FALSE(one);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->first, 1u);
  other = {};
  published.publish(value(2));
  published.publish(value(3));
  EXPECT_EQ(living_, 2);
}

TEST_F(PublishedTest, MoreReadingsThanTheWordCanCountAreCountedStill) {
  Published<Counted> published(value(1));
  std::vector<Published<Counted>::Reading> held;
  for (int i = 0; i < 200'000; ++i) held.push_back(published.read());
  for (int i = 0; i < 200'000; ++i) EXPECT_EQ(published.read()->first, 1u);
  published.publish(value(2));
  published.publish(value(3));
  EXPECT_EQ(living_, 3) << "it is held";
  EXPECT_EQ(held.back()->first, 1u);
  held.clear();
  published.publish(value(4));
  EXPECT_EQ(living_, 2);
}

TEST_F(PublishedTest, ReadersAndAWriterAtOnceTearNothingAndLeakNothing) {
  constexpr std::uint64_t kRounds = 20'000;
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> wrong{0};
  {
    Published<Counted> published(value(0));
    std::vector<std::thread> readers;
    for (int i = 0; i < 4; ++i) {
      readers.emplace_back([&] {
        std::uint64_t newest = 0;
        Published<Counted>::Reading held;
        while (!done) {
          auto reading = published.read();
          wrong += reading->first != reading->second || reading->first < newest;
          newest = reading->first;
          if (newest % 7 == 0) held = std::move(reading);
          if (held) wrong += held->first != held->second;
        }
      });
    }
    for (std::uint64_t round = 1; round <= kRounds; ++round) published.publish(value(round));
    done = true;
    for (std::thread& reader : readers) reader.join();
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(living_, 0);
}

}  // namespace
}  // namespace neliroute
