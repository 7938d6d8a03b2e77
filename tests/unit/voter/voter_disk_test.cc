#include "voter/voter_disk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/voter/simulated_files.h"
#include "voter/frame.h"

namespace neliroute {
namespace {

using quorum::Durable;
using quorum::Entry;
using quorum::EntryLog;
using quorum::Index;
using quorum::Ready;
using quorum::VoterId;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;
using std::string_literals::operator""s;
using Operation = SimulatedFiles::Operation;

constexpr std::size_t kSegmentBytes = 300;
const std::string kFolder = "/disk";

class VoterDiskTest : public testing::Test {
 protected:
  void open() {
    disk_.reset();
    auto opened = VoterDisk::open(files_, kFolder, [&] { return VoterId(++ids_); }, kSegmentBytes);
    ASSERT_TRUE(opened) << opened.error();
    disk_.emplace(std::move(*opened));
    voter_ = disk_->durable;
  }
  Result<void> store(const Ready& ready) { return disk_->disk.store(ready, voter_); }

  Result<void> vote_in(quorum::Term term) {
    voter_.term = term;
    voter_.voted_for = VoterId(77);
    Ready ready;
    ready.vote_changed = true;
    return store(ready);
  }
  Result<void> begin_log(Index first = 0) {
    voter_.log = quorum::LogId(5);
    voter_.term = 1;
    quorum::Configuration configuration{{{voter_.self, "h1", 1}}};
    voter_.entries = EntryLog({first, first > 0 ? 1U : 0U, BrokerTime(), configuration});
    Ready ready;
    ready.vote_changed = ready.start_changed = true;
    ready.entries_changed = first;
    return store(ready);
  }
  /// One entry at `index`, where others are cut off.
  Result<void> write(Index index, std::string record) {
    voter_.entries.cut(index);
    voter_.entries.append({voter_.term, BrokerTime(), std::move(record)});
    Ready ready;
    ready.entries_changed = index;
    return store(ready);
  }
  /// That many of 100 bytes each, so that a file has two.
  void write_many(int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(write(voter_.entries.end(), std::string(100, static_cast<char>('a' + i))));
    }
  }
  Result<void> drop(Index first) {
    voter_.entries.drop(first);
    Ready ready;
    ready.start_changed = true;
    return store(ready);
  }
  [[nodiscard]] std::vector<std::string> records() const {
    std::vector<std::string> records;
    const EntryLog& log = disk_->durable.entries;
    for (Index i = log.first(); i < log.end(); ++i) {
      records.push_back(std::get<std::string>(log.at(i).what));
    }
    return records;
  }
  void crash() {
    disk_.reset();
    files_.restart(chance_);
  }
  static std::string path(const std::string& name) { return kFolder + "/" + name; }

  SimulatedFiles files_;
  sim::Random chance_{1, 1};
  std::optional<OpenedDisk> disk_;
  Durable voter_;
  std::uint64_t ids_ = 100;
};

TEST_F(VoterDiskTest, anEmptyFolderIsAnEmptyVoterWithAStoredId) {
  open();
  EXPECT_EQ(disk_->durable.self, VoterId(101));
  EXPECT_FALSE(disk_->durable.log);
  EXPECT_EQ(disk_->durable.term, 0U);
  EXPECT_TRUE(disk_->notices.empty());
  crash();
  open();
  EXPECT_EQ(disk_->durable.self, VoterId(101));
  EXPECT_EQ(ids_, 101U);
}

TEST_F(VoterDiskTest, aCrashWhileItIsMadeLeavesAnEmptyFolderOrAVoter) {
  for (int operations = 0;; ++operations) {
    SimulatedFiles files;
    files.stop_after(operations);
    const auto draw = [&] { return VoterId(++ids_); };
    const bool made = VoterDisk::open(files, kFolder, draw).has_value();
    const std::uint64_t id = ids_;
    files.restart(chance_);
    const auto opened = VoterDisk::open(files, kFolder, draw);
    ASSERT_TRUE(opened) << opened.error();
    EXPECT_TRUE(opened->notices.empty());
    if (made) {
      EXPECT_EQ(opened->durable.self, VoterId(id));
      EXPECT_GT(operations, 4);
      break;
    }
  }
}

TEST_F(VoterDiskTest, whatWasStoredIsReadBack) {
  open();
  ASSERT_TRUE(begin_log());
  ASSERT_TRUE(write(0, "a"));
  ASSERT_TRUE(vote_in(4));
  ASSERT_TRUE(write(1, "b"));
  ASSERT_TRUE(write(2, "c"));
  ASSERT_TRUE(write(1, "d"));
  const quorum::LogStart start = voter_.entries.start();
  open();
  EXPECT_EQ(disk_->durable.self, VoterId(101));
  EXPECT_EQ(disk_->durable.log, quorum::LogId(5));
  EXPECT_EQ(disk_->durable.term, 4U);
  EXPECT_EQ(disk_->durable.voted_for, VoterId(77));
  EXPECT_EQ(disk_->durable.entries.start(), start);
  EXPECT_THAT(records(), ElementsAre("a", "d"));
  EXPECT_EQ(disk_->durable.entries.last_term(), 4U);
}

TEST_F(VoterDiskTest, anEntryCostsOneAppendAndOneSync) {
  open();
  ASSERT_TRUE(begin_log());
  files_.done.clear();
  ASSERT_TRUE(write(0, "a"));
  EXPECT_THAT(files_.done, ElementsAre(Operation::append, Operation::sync));
  ASSERT_TRUE(write(1, "b"));
  files_.done.clear();
  ASSERT_TRUE(write(0, "in place of both"));
  EXPECT_THAT(files_.done, ElementsAre(Operation::append, Operation::sync));
  files_.done.clear();
  ASSERT_TRUE(vote_in(2));
  EXPECT_THAT(files_.done, ElementsAre(Operation::open, Operation::append, Operation::sync,
                                       Operation::rename, Operation::sync_folder));
  files_.done.clear();
  ASSERT_TRUE(store(Ready{}));
  EXPECT_TRUE(files_.done.empty());
}

TEST_F(VoterDiskTest, whatIsDroppedLeavesByWholeFiles) {
  open();
  ASSERT_TRUE(begin_log());
  write_many(6);
  EXPECT_THAT(*files_.list(kFolder),
              UnorderedElementsAre("vote", "log.000001", "log.000002", "log.000003"));
  ASSERT_TRUE(drop(1));
  EXPECT_TRUE(files_.contains(path("log.000001")));
  ASSERT_TRUE(drop(3));
  EXPECT_THAT(*files_.list(kFolder), UnorderedElementsAre("vote", "log.000002", "log.000003"));
  open();
  EXPECT_TRUE(disk_->notices.empty());
  EXPECT_EQ(disk_->durable.entries.first(), 2);  // as it is in files: lower
  EXPECT_EQ(disk_->durable.entries.end(), 6);
  EXPECT_EQ(records().front(), std::string(100, 'c'));
}

TEST_F(VoterDiskTest, entriesOfEarlierFilesAreReplaced) {
  open();
  ASSERT_TRUE(begin_log());
  write_many(6);
  ASSERT_TRUE(write(1, "b"));
  ASSERT_TRUE(write(2, "c"));
  open();
  EXPECT_TRUE(disk_->notices.empty());
  EXPECT_THAT(records(), ElementsAre(std::string(100, 'a'), "b", "c"));
}

TEST_F(VoterDiskTest, aLogThatBeginsAnewReplacesTheOldOne) {
  open();
  ASSERT_TRUE(begin_log());
  write_many(6);
  ASSERT_TRUE(begin_log(50));
  ASSERT_TRUE(write(50, "a"));
  EXPECT_THAT(*files_.list(kFolder), UnorderedElementsAre("vote", "log.000004"));
  open();
  EXPECT_EQ(disk_->durable.entries.first(), 50);
  EXPECT_THAT(records(), ElementsAre("a"));
}

// --- Errors --------------------------------------------------------------------------------------

TEST_F(VoterDiskTest, anErrorIsSaidOnceAndThenNothingIsStored) {
  for (const Operation operation : {Operation::open, Operation::append, Operation::sync,
                                    Operation::rename, Operation::sync_folder}) {
    open();
    files_.fail_next(operation, "No space left on device");
    const auto failed = vote_in(voter_.term + 1);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code(), Errc::system_refused);
    EXPECT_THAT(failed.error().message(), HasSubstr("No space left on device"));
    for (int i = 0; i < 2; ++i) {  // the files are well again
      const auto again = vote_in(voter_.term + 1);
      ASSERT_FALSE(again);
      EXPECT_EQ(again.error().code(), Errc::closed);
      EXPECT_THAT(again.error().message(), HasSubstr("`" + kFolder + "`"));
    }
    EXPECT_FALSE(store(Ready{}));
  }
}

TEST_F(VoterDiskTest, whatASyncFailedToWriteIsNotReadByTheNextProcess) {
  open();
  ASSERT_TRUE(begin_log());
  ASSERT_TRUE(write(0, "a"));
  files_.fail_next(Operation::sync, "Input/output error");
  ASSERT_FALSE(write(1, "b"));
  open();  // the process ended, the machine did not: the system would still show what is lost
  EXPECT_THAT(records(), ElementsAre("a"));
  ASSERT_TRUE(write(1, "c"));
  crash();
  open();
  EXPECT_THAT(records(), ElementsAre("a", "c"));

  ASSERT_TRUE(write(2, std::string(300, 'd')));
  files_.fail_next(Operation::sync, "Input/output error");
  ASSERT_FALSE(write(3, "the first of a file"));
  EXPECT_FALSE(files_.contains(path("log.000002")));
  open();
  EXPECT_EQ(records().size(), 3U);
}

TEST_F(VoterDiskTest, whatTheProcessBeforeDidNotSyncIsStoredOnceItIsRead) {
  open();
  ASSERT_TRUE(begin_log());
  ASSERT_TRUE(write(0, "a"));
  for (Index index = 1; index < 20; ++index) {  // killed before its sync; then the machine fails
    const std::string written = framed(
        quorum::encode(quorum::Batch{index, {{1, BrokerTime(), std::to_string(index)}}}));
    ASSERT_TRUE((*files_.open(path(files_.list(kFolder)->front())))->append(written));
    open();
    ASSERT_EQ(records().size(), static_cast<std::size_t>(index) + 1);
    crash();
    open();
    ASSERT_EQ(records().size(), static_cast<std::size_t>(index) + 1);
  }
}

TEST_F(VoterDiskTest, aFullDiskLosesNothingThatWasStored) {
  open();
  ASSERT_TRUE(begin_log());
  ASSERT_TRUE(write(0, "a"));
  files_.fail_next(Operation::append, "No space left on device");
  ASSERT_FALSE(write(1, "half of it is written"));
  open();
  EXPECT_TRUE(disk_->notices.empty());
  EXPECT_THAT(records(), ElementsAre("a"));
}

// --- What is not whole ---------------------------------------------------------------------------

TEST_F(VoterDiskTest, aTornWriteIsCutOff) {
  open();
  ASSERT_TRUE(begin_log());
  ASSERT_TRUE(write(0, "a"));
  const std::size_t whole = files_.bytes(path("log.000001")).size();
  ASSERT_TRUE(write(1, "b"));
  const std::string all = files_.bytes(path("log.000001"));
  for (std::size_t size = whole; size < all.size(); ++size) {
    std::string torn = all.substr(0, size);
    for (const bool zeros : {false, true}) {
      torn.resize(zeros ? all.size() : size);
      files_.write(path("log.000001"), torn);
      open();
      EXPECT_TRUE(disk_->notices.empty());
      EXPECT_THAT(records(), ElementsAre("a"));
      EXPECT_EQ(files_.bytes(path("log.000001")).size(), whole);
    }
  }
  ASSERT_TRUE(write(1, "c"));
  crash();
  open();
  EXPECT_THAT(records(), ElementsAre("a", "c"));
}

TEST_F(VoterDiskTest, aFileThatWasBegunIsCutOff) {
  open();
  ASSERT_TRUE(begin_log());
  write_many(2);
  for (const std::string& begun : {""s, "half a frame"s}) {
    files_.write(path("log.000002"), begun);
    open();
    EXPECT_TRUE(disk_->notices.empty());
    EXPECT_EQ(records().size(), 2U);
    EXPECT_FALSE(files_.contains(path("log.000002")));
  }
  write_many(3);
  open();
  EXPECT_EQ(records().size(), 5U);
}

class DamagedDiskTest : public VoterDiskTest {
 protected:
  /// Opens a disk with three files, which `damage` changes. Returns what the notice says.
  std::string opened_after(const std::function<void()>& damage) {
    open();
    EXPECT_TRUE(begin_log());
    write_many(6);
    const VoterId was = voter_.self;
    damage();
    open();
    EXPECT_NE(disk_->durable.self, was);
    EXPECT_FALSE(disk_->durable.log);
    EXPECT_EQ(disk_->durable.term, 0U);
    EXPECT_EQ(disk_->durable.entries.end(), 0);
    if (disk_->notices.size() != 1) {
      ADD_FAILURE() << "there is no notice";
      return "";
    }
    EXPECT_EQ(disk_->notices.front().severity, Severity::error);
    const std::string text = disk_->notices.front().text;
    const VoterId is = disk_->durable.self;
    open();
    EXPECT_EQ(disk_->durable.self, is);
    EXPECT_TRUE(disk_->notices.empty());
    return text;
  }
  void flip(const std::string& name, std::size_t offset) {
    std::string bytes = files_.bytes(path(name));
    bytes[offset] ^= 0x10;
    files_.write(path(name), bytes);
  }
};

TEST_F(DamagedDiskTest, anEntryBeforeOthers) {
  const std::string said = opened_after([&] { flip("log.000003", 20); });
  EXPECT_EQ(said, "`/disk/log.000003` is damaged at byte 0: what was written there is not whole. "
                  "The voter's files are now in `/disk/damaged-1`, and it begins anew: it copies "
                  "the log from the others, and votes again once it is admitted");
  EXPECT_THAT(*files_.list(path("damaged-1")),
              UnorderedElementsAre("vote", "log.000001", "log.000002", "log.000003"));
  EXPECT_THAT(*files_.list(kFolder), UnorderedElementsAre("vote", "damaged-1"));
}

TEST_F(DamagedDiskTest, aLengthBeforeOthers) {
  for (std::size_t byte = 0; byte < 4; ++byte) {
    EXPECT_THAT(opened_after([&] { flip("log.000003", byte); }),
                HasSubstr("`/disk/log.000003` is damaged at byte 0: what was"));
  }
}

TEST_F(DamagedDiskTest, theEndOfAnEarlierFile) {
  std::size_t second = 0;
  const std::string said = opened_after([&] {
    second = kFrameHeadBytes + frame_at(files_.bytes(path("log.000002")), 0)->size();
    flip("log.000002", second + 10);
  });
  EXPECT_THAT(said, HasSubstr("`/disk/log.000002` is damaged at byte " + std::to_string(second)));
  EXPECT_THAT(opened_after([&] {
                const std::string bytes = files_.bytes(path("log.000001"));
                files_.write(path("log.000001"), bytes.substr(0, bytes.size() - 1));
              }),
              HasSubstr("`/disk/log.000001` is damaged"));
}

TEST_F(DamagedDiskTest, aMissingFile) {
  EXPECT_THAT(opened_after([&] { files_.forget(path("log.000002")); }),
              HasSubstr("`/disk/log.000002` is damaged at byte 0: it is missing"));
  EXPECT_THAT(opened_after([&] { files_.forget(path("vote")); }),
              HasSubstr("`/disk/vote` is damaged at byte 0: it is missing"));
  EXPECT_THAT(opened_after([&] {
                for (const char* name : {"log.000001", "log.000002", "log.000003"}) {
                  files_.forget(path(name));
                }
              }),
              HasSubstr("`/disk/log.000001` is damaged at byte 0: it is missing"));
  EXPECT_TRUE(files_.contains(path("damaged-3/vote")));
}

TEST_F(DamagedDiskTest, theVote) {
  open();
  const std::size_t size = files_.bytes(path("vote")).size();
  for (std::size_t byte = 0; byte < size; ++byte) {
    EXPECT_THAT(opened_after([&] { flip("vote", byte); }),
                HasSubstr("`/disk/vote` is damaged at byte 0: it is not whole"));
  }
  const auto lengthen = [&] { files_.write(path("vote"), files_.bytes(path("vote")) + '\0'); };
  EXPECT_THAT(opened_after(lengthen), HasSubstr("not whole"));
}

TEST_F(DamagedDiskTest, theOnlyFileOfALog) {
  EXPECT_THAT(opened_after([&] {
                ASSERT_TRUE(begin_log(50));
                flip("log.000004", 30);
              }),
              HasSubstr("`/disk/log.000004` is damaged at byte 0"));
}

TEST_F(DamagedDiskTest, aVoteAndALogThatDoNotBelongTogether) {
  std::string older;
  EXPECT_THAT(opened_after([&] {
                older = files_.bytes(path("vote"));
                ASSERT_TRUE(vote_in(9));
                ASSERT_TRUE(write(6, "in term 9"));
                files_.write(path("vote"), older);  // a backup
              }),
              HasSubstr("it has a term that the vote does not know yet"));
  EXPECT_THAT(opened_after([&] {
                Durable other = voter_;
                other.log = quorum::LogId(6);
                Ready ready;
                ready.vote_changed = true;
                ASSERT_TRUE(disk_->disk.store(ready, other));
              }),
              HasSubstr("it belongs to another log than the vote"));
}

TEST_F(DamagedDiskTest, aFileOfAnotherPlace) {
  EXPECT_THAT(opened_after([&] {
                files_.write(path("log.000002"), files_.bytes(path("log.000003")));
              }),
              HasSubstr("`/disk/log.000002` is damaged at byte 0: it does not follow"));
}

TEST_F(DamagedDiskTest, aCrashWhileItIsSetAsideBringsNothingBack) {
  for (int operations = 0; operations < 40; ++operations) {
    SCOPED_TRACE(operations);
    SimulatedFiles files;
    Durable voter;
    {
      auto made = VoterDisk::open(files, kFolder, [] { return VoterId(1); }, kSegmentBytes);
      ASSERT_TRUE(made);
      voter = made->durable;
      voter.log = quorum::LogId(5);
      voter.term = 1;
      voter.entries = EntryLog({0, 0, BrokerTime(), {{{VoterId(1), "h1", 1}}}});
      Ready ready;
      ready.vote_changed = ready.start_changed = true;
      for (int i = 0; i < 7; ++i) {
        ready.entries_changed = voter.entries.end();
        voter.entries.append({1, BrokerTime(), std::string(100, 'a')});
        ASSERT_TRUE(made->disk.store(ready, voter));
        ready = {};
      }
    }
    std::string bytes = files.bytes("/disk/log.000001");
    bytes[20] ^= 1;
    files.write("/disk/log.000001", bytes);
    files.stop_after(operations);
    const auto draw = [] { return VoterId(2); };
    const bool opened = VoterDisk::open(files, kFolder, draw).has_value();
    files.restart(chance_);
    const auto again = VoterDisk::open(files, kFolder, draw);
    ASSERT_TRUE(again) << again.error();
    EXPECT_EQ(again->durable.self, VoterId(2));
    EXPECT_FALSE(again->durable.log);
    if (opened) {
      EXPECT_TRUE(again->notices.empty());
      EXPECT_GT(operations, 10);
      return;
    }
  }
  FAIL() << "it never opened";
}

TEST_F(VoterDiskTest, aVoteOfAnotherVersionIsLeftAlone) {
  open();
  std::string bytes = quorum::encode(quorum::Vote{VoterId(101), std::nullopt, 0, std::nullopt});
  bytes.front() = 2;
  files_.write(path("vote"), framed(bytes));
  disk_.reset();
  const auto opened = VoterDisk::open(files_, kFolder, [] { return VoterId(1); });
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), Errc::bad_option);
  EXPECT_THAT(opened.error().message(), HasSubstr("`/disk/vote` was written by another version"));
  EXPECT_EQ(files_.bytes(path("vote")), framed(bytes));
}

}  // namespace
}  // namespace neliroute
