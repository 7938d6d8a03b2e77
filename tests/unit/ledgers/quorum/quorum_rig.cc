// The contract's store on the real voters of a quorum, in this process, reached over links.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ledgers/quorum/quorum_ledger.h"
#include "tests/unit/ledgers/store_rigs.h"
#include "tests/unit/ledgers/test_link.h"
#include "tests/unit/voter/server_rig.h"
#include "voter/posix_files.h"
#include "voter/voter_disk.h"

namespace neliroute {
namespace {

class QuorumRig : public StoreRig {
 public:
  QuorumRig() {
    for (int voter = 0; voter < voters_.size(); ++voter) {
      links_.push_back(std::make_unique<TestLink>(voters_.port(voter)));
    }
    start();
  }
  ~QuorumRig() override { come_back(); }

  OpenedLedger open(boost::asio::any_io_executor strand, bool watcher) override {
    QuorumConnection connection;
    for (const auto& link : links_) connection.voters.push_back("127.0.0.1:" + link->port());
    connection.name = voters_.options(0).name;
    connection.shown = "quorum://contract";
    connection.ask_others = false;  // they name each other, beside the links
    QuorumLedgerOptions options;
    options.logs = kContractLogs;
    options.lease = kContractLease;
    options.clock_error = milliseconds{100};
    options.watcher = watcher;
    return make_quorum_ledger(std::move(strand), connection, nullptr, options);
  }
  void append_by_stranger(Log log, const std::string& value) override {
    EXPECT_TRUE(voters_.append(value, log.value()));
  }
  void fall_silent() override {
    for (const auto& link : links_) link->freeze();
  }
  void come_back() override {
    for (const auto& link : links_) link->thaw();
  }
  void expire(Log log, std::int64_t low) override {
    change(log, [low](quorum::EntryLog& entries) { entries.drop(std::min(low, entries.end())); });
  }
  void truncate(Log log, std::int64_t from, std::int64_t) override {
    change(log, [from](quorum::EntryLog& entries) { entries.cut(from); });
  }
  void replace() override {
    stop();
    for (int voter = 0; voter < voters_.size(); ++voter) voters_.wipe(voter);
    start();
  }

 private:
  void start() {
    voters_.start_all();
    for (std::uint32_t log = 0; log < kContractLogs; ++log) EXPECT_GE(voters_.leader(log), 0);
  }
  void stop() {
    for (int voter = 0; voter < voters_.size(); ++voter) voters_.stop(voter);
  }
  /// On all disks.
  void change(Log log, const std::function<void(quorum::EntryLog&)>& how) {
    stop();
    for (int voter = 0; voter < voters_.size(); ++voter) {
      const VoterServerOptions options = voters_.options(voter);
      rewrite(options.folder + "/" + options.name + "/log-" + std::to_string(log.value()), how);
    }
    start();
  }
  static void rewrite(const std::string& folder,
                      const std::function<void(quorum::EntryLog&)>& how) {
    PosixFiles files;
    quorum::Durable durable;
    {
      auto opened = VoterDisk::open(files, folder, [] { return quorum::VoterId{1}; });
      ASSERT_TRUE(opened) << opened.error();
      durable = std::move(opened->durable);
    }
    how(durable.entries);
    std::filesystem::remove_all(folder);
    auto anew = VoterDisk::open(files, folder, [&] { return durable.self; });
    ASSERT_TRUE(anew) << anew.error();
    quorum::Ready ready;
    ready.vote_changed = ready.start_changed = true;
    ready.entries_changed = durable.entries.first();
    ASSERT_TRUE(anew->disk.store(ready, durable));
  }

  ServerRig voters_{3, [](VoterServerOptions& options) { options.logs = kContractLogs; }};
  std::vector<std::unique_ptr<TestLink>> links_;
};

}  // namespace

std::unique_ptr<StoreRig> make_quorum_rig() { return std::make_unique<QuorumRig>(); }

}  // namespace neliroute
