// What a ledger promises of writes, however often the leader changes meanwhile.
//
// Threads: the test's.   Units: none.   Errors: they fail the test.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <utility>

#include "tests/unit/ledgers/ledger_driver.h"

namespace neliroute {

/// Each is acknowledged once, positions rise, and each is read where it was said to be.
inline void expect_acknowledged_once_and_read(const Seen& seen) {
  const std::set<std::uint64_t> once(seen.acknowledged.begin(), seen.acknowledged.end());
  EXPECT_EQ(once.size(), seen.acknowledged.size());
  std::set<std::pair<std::int64_t, std::uint64_t>> read;
  std::int64_t last = -1;
  for (const SeenRecord& record : seen.received[0]) {
    EXPECT_GT(record.offset, last);
    last = record.offset;
    read.emplace(record.offset, record.seq);
  }
  last = -1;
  for (const std::uint64_t seq : seen.acknowledged) {
    const std::int64_t position = seen.offsets.at(seq);
    EXPECT_TRUE(read.contains({position, seq})) << seq << " at " << position;
    EXPECT_GT(position, last) << "they keep their order";
    last = position;
  }
}

/// Until one of them is stored and read.
inline void write_until_read(LedgerDriver& driver, std::uint64_t seq) {
  constexpr std::uint64_t kMost = 20;
  const std::uint64_t end = seq + kMost;
  for (bool read = false; !read; ++seq) {
    ASSERT_LT(seq, end) << "none is stored";
    driver.write(Log{0}, seq);
    ASSERT_TRUE(driver.wait([&](const Seen& seen) {
      read = !seen.received[0].empty() && seen.received[0].back().seq == seq &&
             seen.offsets.contains(seq);
      return read || (!seen.failed.empty() && seen.failed.back() == seq);
    }));
  }
}

}  // namespace neliroute
