// Whether another process states this one's endpoint, and lives.
#include "router/owner/same_endpoint.h"

#include <gtest/gtest.h>

#include "tests/unit/router/view/records.h"

namespace neliroute {
namespace {

using testing_records::at_ms;
using testing_records::kLease;
using testing_records::Writer;

Record of(std::uint64_t id, const std::string& endpoint) {
  Record record = Writer{id}.header(RecordType::renewal);
  record.process.endpoint = endpoint;
  return record;
}

TEST(SameEndpoint, one_that_is_read_again_a_lease_later_lives) {
  SameEndpoint same(ProcessId{1}, "a:1", kLease);
  const LocalTime first = at_ms(5000);
  EXPECT_FALSE(same.note(of(2, "a:1"), first)) << "it may be handing over to this one";
  EXPECT_FALSE(same.note(of(2, "a:1"), first + kLease - milliseconds{1}));
  EXPECT_TRUE(same.note(of(2, "a:1"), first + kLease));
  EXPECT_FALSE(same.note(of(2, "a:1"), first + 10 * kLease)) << "said once";
  EXPECT_FALSE(same.note(of(3, "a:1"), first + 10 * kLease)) << "each by itself";
  EXPECT_TRUE(same.note(of(3, "a:1"), first + 12 * kLease));
}

TEST(SameEndpoint, its_own_records_and_other_endpoints_are_none) {
  SameEndpoint same(ProcessId{1}, "a:1", kLease);
  SameEndpoint nowhere(ProcessId{1}, "", kLease);
  for (int round = 0; round < 5; ++round) {
    const LocalTime now = at_ms(5000) + round * 2 * kLease;
    EXPECT_FALSE(same.note(of(1, "a:1"), now));
    EXPECT_FALSE(same.note(of(2, "a:2"), now));
    EXPECT_FALSE(same.note(of(2, ""), now));
    EXPECT_FALSE(nowhere.note(of(2, ""), now));
  }
}

TEST(SameEndpoint, names_that_never_end_are_not_all_kept) {
  SameEndpoint same(ProcessId{1}, "a:1", kLease);
  int said = 0;
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t id = 2; id < 1000; ++id) {
      said += same.note(of(id, "a:1"), at_ms(5000) + round * 2 * kLease) ? 1 : 0;
    }
  }
  EXPECT_EQ(said, 100);
}

}  // namespace
}  // namespace neliroute
