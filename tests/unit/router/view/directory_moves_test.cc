// How long a directory sees no owner, and two, when a partition moves.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "router/view/directory.h"
#include "tests/world/memory_log.h"
#include "tests/unit/router/view/records.h"

namespace neliroute {
namespace {

using namespace testing_records;
using namespace std::chrono_literals;
using Durations = std::vector<microseconds>;

struct Moving {
  explicit Moving(Mode mode = Mode::non_exclusive) : directory({1, 1, Lane{0}, mode, kLease}) {
    directory.on(tail_at(Log{0}, 0, 10), now);
  }
  void read(std::int64_t offset, const Record& record) {
    const Decoded value = record;
    directory.tick(now);
    directory.on(Received{Log{0}, offset, BrokerTime{milliseconds{kInc}}, true, &value}, now);
  }
  void wait(milliseconds time) {
    now += time;
    directory.tick(now);
  }
  LocalTime now = at_ms(10'000);
  Directory directory;
};

TEST(DirectoryMoves, without_a_gap_overlap_until_the_release_is_read) {
  Moving moving;
  moving.read(11, Writer{1}.leads(10, "0"));
  EXPECT_EQ(moving.directory.take_gaps(), Durations{}) << "it had no owner before";
  moving.read(12, Writer{2}.claim("0"));
  moving.wait(20ms);
  moving.read(13, Writer{2}.leads(12, "0"));
  EXPECT_EQ(moving.directory.take_gaps(), Durations{0ms});
  moving.wait(30ms);
  moving.read(14, Writer{1}.release(10, "0"));
  EXPECT_EQ(moving.directory.take_overlaps(), Durations{30ms});
  moving.read(15, Writer{1}.release(10, "0"));
  EXPECT_EQ(moving.directory.take_overlaps(), Durations{}) << "once";
}

TEST(DirectoryMoves, after_a_crash_have_a_gap_from_the_end_of_the_lease) {
  Moving moving;
  moving.read(11, Writer{1}.leads(10, "0"));
  moving.wait(kLease + 400ms);
  moving.read(13, Writer{2}.leads(12, "0"));
  EXPECT_EQ(moving.directory.take_gaps(), Durations{400ms});
  moving.read(14, Writer{1}.release(10, "0"));
  EXPECT_EQ(moving.directory.take_overlaps(), Durations{}) << "there was none";
}

TEST(DirectoryMoves, in_exclusive_mode_have_a_gap_from_the_claim) {
  Moving moving(Mode::exclusive);
  const Writer a{1, "p1", Mode::exclusive};
  moving.read(11, a.leads(10, "0"));
  moving.read(12, kExclusiveB.claim("0"));
  moving.wait(50ms);
  moving.read(13, kExclusiveB.leads(12, "0"));
  EXPECT_EQ(moving.directory.take_gaps(), Durations{50ms});
}

TEST(DirectoryMoves, overlap_with_the_owner_before_and_no_older_one) {
  Moving moving;
  moving.read(11, Writer{1}.leads(10, "0"));
  moving.read(13, Writer{2}.leads(12, "0"));
  moving.wait(kLease + 400ms);
  moving.read(15, Writer{3}.leads(14, "0"));
  moving.read(16, Writer{1}.release(10, "0"));
  EXPECT_EQ(moving.directory.take_overlaps(), Durations{}) << "it slept, and two have led since";
}

TEST(DirectoryMoves, behind_a_gap_in_the_log_are_not_measured) {
  Moving moving;
  moving.read(11, Writer{1}.leads(10, "0"));
  const auto gap = [&] {
    moving.directory.on(GapFound{Log{0}}, moving.now);
    moving.wait(50ms);
    moving.directory.on(tail_at(Log{0}, 12, 12), moving.now);
  };
  gap();
  moving.read(13, Writer{2}.leads(12, "0"));
  EXPECT_EQ(moving.directory.take_gaps(), Durations{});
  moving.wait(kLease);
  gap();
  moving.read(15, Writer{3}.leads(14, "0"));
  EXPECT_EQ(moving.directory.take_gaps(), Durations{}) << "others may have led meanwhile";
  moving.read(17, Writer{4}.leads(16, "0"));
  EXPECT_EQ(moving.directory.take_gaps(), Durations{0ms});
  gap();
  moving.read(18, Writer{3}.release(14, "0"));
  EXPECT_EQ(moving.directory.take_overlaps(), Durations{});
}

TEST(DirectoryMoves, leave_nothing_of_whom_no_hint_names) {
  Moving moving;
  const auto hint = [&moving]() -> const Hint& { return moving.directory.hint(kZero); };
  moving.read(10, Writer{1}.leads(10, "0"));
  const std::weak_ptr<const Peer> former = hint().owner;
  moving.read(11, Writer{3}.claim("0"));
  const std::weak_ptr<const Peer> next = hint().next;
  moving.read(12, Writer{1}.release(10, "0"));
  EXPECT_EQ(hint().former.who, former.lock());
  EXPECT_FALSE(next.expired());
  moving.read(13, Writer{3}.leads(11, "0"));
  EXPECT_EQ(hint().owner, next.lock()) << "one that is named is made once";
  EXPECT_FALSE(former.expired()) << "it came before the present one";
  moving.read(14, Writer{3}.release(11, "0"));
  EXPECT_TRUE(former.expired()) << "its endpoint and tags may be long";
  moving.read(15, Writer{1}.claim("0"));
  ASSERT_TRUE(hint().next);
  EXPECT_EQ(hint().next->info.name, "p1") << "and may come back";
}

}  // namespace
}  // namespace neliroute
