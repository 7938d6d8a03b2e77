// Owners that callers could not reach.
#include <gtest/gtest.h>

#include <vector>

#include "router/view/directory.h"
#include "tests/world/memory_log.h"
#include "tests/unit/router/view/records.h"

namespace neliroute {
namespace {

using namespace testing_records;
using namespace std::chrono_literals;

/// p1 owns partitions 0 and 1, one of each log, p2 owns 2.
struct Suspecting {
  Suspecting() {
    for (std::uint32_t l = 0; l < 2; ++l) directory.on(tail_at(Log{l}, 0, 10), now);
    read(0, Writer{1}.leads(10, "0"));
    read(1, Writer{1}.leads(10, "1"));
    read(0, kB.leads(11, "2"));
    static_cast<void>(directory.take_changed());
  }
  void read(std::uint32_t log, const Record& record) {
    const Decoded value = record;
    directory.tick(now);
    directory.on(Received{Log{log}, ++offset, BrokerTime{milliseconds{kInc}}, true, &value}, now);
  }
  void wait(milliseconds time) {
    now += time;
    directory.tick(now);
  }
  [[nodiscard]] std::vector<std::uint32_t> suspected() const {
    std::vector<std::uint32_t> all;
    for (std::uint32_t p = 0; p < 4; ++p) {
      if (directory.hint(Partition{p}).suspected) all.push_back(p);
    }
    return all;
  }

  LocalTime now = at_ms(10'000);
  std::int64_t offset = 20;
  Directory directory{{4, 2, Lane{0}, Mode::non_exclusive, kLease}};
};

using Partitions = std::vector<std::uint32_t>;

TEST(DirectorySuspects, are_all_that_the_process_owns_and_no_other) {
  Suspecting s;
  s.directory.suspect({"p1:7000"}, s.now);
  EXPECT_EQ(s.suspected(), (Partitions{0, 1}));
  EXPECT_EQ(s.directory.take_changed(), (std::vector{Partition{0}, Partition{1}}));
  EXPECT_EQ(s.directory.hint(kZero).owner->info.name, "p1") << "it may own them all the same";
  s.directory.suspect({"p1:7000"}, s.now);
  EXPECT_TRUE(s.directory.take_changed().empty()) << "known already";
}

TEST(DirectorySuspects, are_none_where_nobody_has_that_endpoint) {
  Suspecting s;
  s.directory.suspect({"p1:7001"}, s.now);
  s.directory.suspect({""}, s.now);
  EXPECT_EQ(s.suspected(), Partitions{});
  EXPECT_TRUE(s.directory.take_changed().empty());
}

TEST(DirectorySuspects, are_trusted_again_once_a_record_of_theirs_is_read_in_any_log) {
  Suspecting s;
  s.directory.suspect({"p1:7000", "p2:7000"}, s.now);
  static_cast<void>(s.directory.take_changed());
  s.read(1, Writer{1}.leads(10, "1"));
  EXPECT_EQ(s.suspected(), Partitions{2}) << "p2 has not written";
  EXPECT_EQ(s.directory.take_changed(), (std::vector{Partition{0}, Partition{1}}));
  s.directory.suspect({"p1:7000"}, s.now);
  EXPECT_EQ(s.suspected(), (Partitions{0, 1, 2})) << "and suspected again";
}

TEST(DirectorySuspects, are_suspected_no_longer_than_they_own_anything) {
  Suspecting s;
  s.directory.suspect({"p1:7000"}, s.now);
  s.wait(kLease - 1ms);
  EXPECT_EQ(s.suspected(), (Partitions{0, 1}));
  s.wait(1ms);
  EXPECT_EQ(s.suspected(), Partitions{});
  s.read(0, Writer{1}.leads(10, "0"));
  EXPECT_EQ(s.suspected(), Partitions{}) << "it is back";
}

TEST(DirectorySuspects, do_not_pass_the_suspicion_on_to_their_successors) {
  Suspecting s;
  s.directory.suspect({"p1:7000"}, s.now);
  s.read(0, Writer{3}.leads(40, "0"));
  EXPECT_EQ(s.directory.hint(kZero).owner->info.name, "p3");
  EXPECT_EQ(s.suspected(), Partitions{1});
}

TEST(DirectorySuspects, are_trusted_again_once_a_caller_has_reached_them) {
  Suspecting s;
  s.directory.suspect({"p1:7000", "p2:7000"}, s.now);
  static_cast<void>(s.directory.take_changed());
  s.directory.trust("p1:7000");
  EXPECT_EQ(s.suspected(), Partitions{2});
  EXPECT_EQ(s.directory.take_changed(), (std::vector{Partition{0}, Partition{1}}));
  s.directory.trust("p1:7000");
  s.directory.trust("");
  EXPECT_TRUE(s.directory.take_changed().empty());
  s.directory.suspect({"p1:7000"}, s.now);
  EXPECT_EQ(s.suspected(), (Partitions{0, 1, 2})) << "and suspected again";
}

}  // namespace
}  // namespace neliroute
