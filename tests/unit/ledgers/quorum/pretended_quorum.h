// A ledger on voters that a test pretends.
//
// Threads: the test's.   Units: std::chrono.   Errors: they fail the test.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <utility>

#include "ledgers/quorum/quorum_ledger.h"
#include "tests/unit/ledgers/ledger_driver.h"
#include "tests/unit/ledgers/quorum/pretend_voters.h"

namespace neliroute {

class PretendedQuorum : public PretendVoters {
 public:
  using PretendVoters::PretendVoters;

  [[nodiscard]] static QuorumLedgerOptions options(bool watcher = false) {
    QuorumLedgerOptions options;
    options.lease = milliseconds{2'000};
    options.clock_error = milliseconds{100};
    options.watcher = watcher;
    return options;
  }
  void open(LedgerDriver& driver, const QuorumConnection& connection, bool watcher = false) {
    driver.open(1, [&](boost::asio::any_io_executor strand) {
      return make_quorum_ledger(std::move(strand), connection, nullptr, options(watcher)).ledger;
    });
  }
  void open_and_read(LedgerDriver& driver, bool watcher = false) {
    open(driver, connection(), watcher);
    driver.start_and_read();
  }
  void write_and_read(LedgerDriver& driver, std::uint64_t seq) {
    driver.write(Log{0}, seq);
    ASSERT_TRUE(driver.wait([&](const Seen& seen) {
      return !seen.received[0].empty() && seen.received[0].back().seq == seq &&
             seen.offsets.contains(seq);
    }));
  }
};

}  // namespace neliroute
