// Voters' disks that crash at every operation, while real voters use them.
#include <gtest/gtest.h>

#include "tests/unit/voter/recorded_voters.h"
#include "tests/unit/voter/simulated_files.h"
#include "voter/voter_disk.h"

namespace neliroute {
namespace {

using quorum::Durable;
using quorum::Entry;
using quorum::Index;
using quorum::VoterId;

bool same_vote(const Durable& a, const Durable& b) {
  return a.self == b.self && a.log == b.log && a.term == b.term && a.voted_for == b.voted_for;
}

/// One voter's disk: opened, used and crashed; what it says is compared with what was stored.
class CrashedDisk {
 public:
  CrashedDisk(const std::vector<RecordedStore>& stores, std::uint64_t seed)
      : stores_(stores), chance_(seed, 7) {
    empty_.self = stores.front().voter.self;
    open();
  }

  static constexpr const char* kDisk = "/disk";
  SimulatedFiles files;
  int crashes = 0;
  /// Crashes after which the store that was under way had been done, though nobody was told.
  int done_untold = 0;

  int crashes_opening = 0;

  /// Whether the next one was acknowledged. If not, the disk has crashed and is opened again.
  bool store_next() {
    if (disk_->disk.store(stores_[next_].ready, stores_[next_].voter)) {
      note(stores_[next_].voter);
      ++next_;
      return true;
    }
    EXPECT_TRUE(files.stopped());
    crash();
    return false;
  }
  [[nodiscard]] bool finished() const { return next_ == stores_.size(); }

 private:
  void crash() {
    ++crashes;
    do {
      disk_.reset();
      files.restart(chance_);
      if (chance_.percent(30)) {
        files.stop_after(static_cast<int>(chance_.between(0, 4)));
      }
      crashes_opening += open() ? 0 : 1;
    } while (!disk_);
    files.stop_after(-1);
    compare();
  }
  bool open() {
    auto opened = VoterDisk::open(files, kDisk, [&] { return empty_.self; }, 600);
    if (!opened) {
      EXPECT_TRUE(files.stopped()) << opened.error();
      return false;
    }
    EXPECT_TRUE(opened->notices.empty()) << opened->notices.front().text;
    disk_.emplace(std::move(*opened));
    return true;
  }

  void note(const Durable& voter) {
    for (Index i = voter.entries.first(); i < voter.entries.end(); ++i) {
      written_.insert_or_assign(i, voter.entries.at(i));
    }
  }

  /// All that was acknowledged is there, and the store that was under way as a whole or not at all.
  void compare() {
    const Durable& before = next_ == 0 ? empty_ : stores_[next_ - 1].voter;
    const Durable& after = finished() ? before : stores_[next_].voter;
    const Durable& found = disk_->durable;
    const bool vote_stored = same_vote(found, after);
    ASSERT_TRUE(vote_stored || same_vote(found, before)) << "at store " << next_;
    const bool old = has_log_of(before);
    const bool done = has_log_of(after) && vote_stored;
    ASSERT_TRUE(old || done) << "at store " << next_ << ": entries " << found.entries.first()
                             << " to " << found.entries.end();
    done_untold += done && !old ? 1 : 0;
  }

  [[nodiscard]] bool has_log_of(const Durable& voter) const {
    const quorum::EntryLog& found = disk_->durable.entries;
    const quorum::EntryLog& wanted = voter.entries;
    if (found.first() > wanted.first() || found.end() != wanted.end() ||
        (voter.log && start_at(found, wanted.first()) != wanted.start())) {
      return false;
    }
    for (Index i = found.first(); i < found.end(); ++i) {
      const Entry& entry = i < wanted.first() ? written_.at(i) : wanted.at(i);
      if (found.at(i) != entry) {
        return false;
      }
    }
    return true;
  }

  const std::vector<RecordedStore>& stores_;
  sim::Random chance_;
  Durable empty_;
  std::optional<OpenedDisk> disk_;
  std::size_t next_ = 0;
  std::map<Index, Entry> written_;
};

struct Seen {
  int begun = 0;
  int conflicts = 0;
  int earlier_files = 0;
  int replaced = 0;
  int dropped = 0;
  int configurations = 0;
  int crashes_opening = 0;
  int done_untold = 0;
};

/// What the stores are made of: the test is about all of it.
void look(const std::vector<RecordedStore>& stores, Seen& seen) {
  const Durable* before = nullptr;
  for (const auto& [ready, voter] : stores) {
    const bool had_log = before != nullptr && before->log;
    seen.begun += !had_log && voter.log ? 1 : 0;
    const auto from = ready.entries_changed;
    if (had_log && from) {
      const bool anew = ready.start_changed && *from <= voter.entries.first();
      seen.replaced += anew ? 1 : 0;
      seen.conflicts += !anew && *from < before->entries.end() ? 1 : 0;
    }
    seen.dropped += had_log && voter.entries.first() > before->entries.first() ? 1 : 0;
    seen.configurations += voter.entries.configured_at().has_value() ? 1 : 0;
    before = &voter;
  }
}

void crash_at_every_operation(const std::vector<RecordedStore>& stores, std::uint64_t seed,
                              Seen& seen) {
  CrashedDisk disk(stores, seed);
  // Each store as often as it has operations, each time with one operation more.
  for (int operations = 0; !disk.finished() && !testing::Test::HasFailure();) {
    const auto first_file = [&] { return disk.files.list(CrashedDisk::kDisk)->front(); };
    const std::string before = first_file();
    disk.files.stop_after(operations);
    if (disk.store_next()) {
      disk.files.stop_after(-1);
      operations = 0;
      seen.earlier_files += first_file() != before ? 1 : 0;
    } else {
      ++operations;
    }
  }
  EXPECT_GE(disk.crashes, 2 * std::ssize(stores));
  seen.crashes_opening += disk.crashes_opening;
  seen.done_untold += disk.done_untold;
}

TEST(VoterDiskCrashTest, whatWasAcknowledgedIsThereAfterACrashAtAnyOperation) {
  Seen seen;
  for (std::uint64_t seed = 1; seed <= 3 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    for (const auto& stores : record(seed, 3, milliseconds(12'000)).disks) {
      if (!stores.empty()) {
        look(stores, seen);
        crash_at_every_operation(stores, seed, seen);
      }
    }
  }
  EXPECT_GT(seen.begun, 5);
  EXPECT_GT(seen.conflicts, 2);
  EXPECT_GT(seen.replaced, 1);
  EXPECT_GT(seen.dropped, 20);
  EXPECT_GT(seen.earlier_files, 20);
  EXPECT_GT(seen.configurations, 0);
  EXPECT_GT(seen.crashes_opening, 100);
  EXPECT_GT(seen.done_untold, 100);
}

}  // namespace
}  // namespace neliroute
