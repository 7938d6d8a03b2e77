#include "voter/posix_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "tests/unit/voter/recorded_voters.h"
#include "voter/voter_disk.h"

namespace neliroute {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

class PosixFilesTest : public testing::Test {
 protected:
  PosixFilesTest() {
    std::string name = (std::filesystem::temp_directory_path() / "neliroute-voter-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    folder_ = root_ + "/h1";
  }
  ~PosixFilesTest() override { std::filesystem::remove_all(root_); }

  std::string root_;
  std::string folder_;
  PosixFiles files_;
};

TEST_F(PosixFilesTest, eachOperationDoesWhatItSays) {
  ASSERT_TRUE(files_.make_folder(folder_));
  ASSERT_TRUE(files_.make_folder(folder_));
  const std::string path = folder_ + "/a";
  {
    auto file = files_.open(path);
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->append("abc"));
    ASSERT_TRUE((*file)->append("def"));
    ASSERT_TRUE((*file)->truncate(4));
    ASSERT_TRUE((*file)->append("gh"));
    ASSERT_TRUE((*file)->sync());
  }
  EXPECT_EQ(*files_.read(path), "abcdgh");
  ASSERT_TRUE((*files_.open(path))->append("i"));
  ASSERT_TRUE(files_.rename(path, folder_ + "/b"));
  ASSERT_TRUE(files_.open(folder_ + "/c"));
  ASSERT_TRUE(files_.remove(folder_ + "/c"));
  ASSERT_TRUE(files_.sync_folder(folder_));
  EXPECT_THAT(*files_.list(folder_), UnorderedElementsAre("b"));
  EXPECT_EQ(*files_.read(folder_ + "/b"), "abcdghi");
}

TEST_F(PosixFilesTest, anErrorNamesTheOperationThePathAndTheReason) {
  const std::string there = folder_ + "/none/x";
  for (const auto& [error, what] : {
           std::pair(files_.make_folder(there).error(), "cannot make the folder"),
           std::pair(files_.lock(there).error(), "cannot open"),
           std::pair(files_.list(there).error(), "cannot list"),
           std::pair(files_.read(there).error(), "cannot open"),
           std::pair(files_.open(there).error(), "cannot open"),
           std::pair(files_.rename(there, there).error(), "cannot rename"),
           std::pair(files_.remove(there).error(), "cannot remove"),
           std::pair(files_.sync_folder(there).error(), "cannot sync"),
       }) {
    EXPECT_EQ(error.code(), Errc::system_refused);
    EXPECT_EQ(error.message(),
              std::string(what) + " `" + there + "`: No such file or directory");
  }
}

TEST_F(PosixFilesTest, aFullDiskIsSaid) {
  auto full = files_.open("/dev/full");
  ASSERT_TRUE(full);
  EXPECT_EQ((*full)->append("abc").error().message(),
            "cannot write to `/dev/full`: No space left on device");
}

TEST_F(PosixFilesTest, twoProcessesCannotShareAFolder) {
  const auto draw = [] { return quorum::VoterId(5); };
  {
    const auto first = VoterDisk::open(files_, folder_, draw);
    ASSERT_TRUE(first);
    const auto second = VoterDisk::open(files_, folder_, draw);  // flock is of the open folder
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code(), Errc::bad_option);
    EXPECT_THAT(second.error().message(), HasSubstr("`" + folder_ + "` is used by another"));
  }
  EXPECT_TRUE(VoterDisk::open(files_, folder_, draw));
}

TEST_F(PosixFilesTest, aVotersDiskIsReadBackFromRealFiles) {
  const auto draw = [] { return quorum::VoterId(1); };
  const auto stores = record(1, 1, milliseconds(3'000)).disks.front();
  ASSERT_GT(stores.size(), 10U);
  ASSERT_EQ(stores.front().voter.self, draw());
  const quorum::Durable& last = stores.back().voter;
  {
    auto opened = VoterDisk::open(files_, folder_, draw, 500);
    ASSERT_TRUE(opened) << opened.error();
    for (const auto& [ready, voter] : stores) {
      ASSERT_TRUE(opened->disk.store(ready, voter));
    }
  }
  const auto opened = VoterDisk::open(files_, folder_, [] { return quorum::VoterId(99); }, 500);
  ASSERT_TRUE(opened) << opened.error();
  EXPECT_TRUE(opened->notices.empty());
  EXPECT_EQ(opened->durable.self, last.self);
  EXPECT_EQ(opened->durable.log, last.log);
  EXPECT_EQ(opened->durable.term, last.term);
  EXPECT_EQ(opened->durable.voted_for, last.voted_for);
  ASSERT_EQ(opened->durable.entries.end(), last.entries.end());
  for (quorum::Index i = last.entries.first(); i < last.entries.end(); ++i) {
    EXPECT_EQ(opened->durable.entries.at(i), last.entries.at(i));
  }
}

TEST(WriteAllTest, goesOnAfterShortWritesAndInterruptions) {
  std::string written;
  int calls = 0;
  const auto write = [&](const char* from, std::size_t size) -> ssize_t {
    if (++calls % 2 == 1) {
      errno = EINTR;
      return -1;
    }
    const std::size_t part = std::min<std::size_t>(size, 3);
    written.append(from, part);
    return static_cast<ssize_t>(part);
  };
  EXPECT_TRUE(write_all(write, "abcdefgh"));
  EXPECT_EQ(written, "abcdefgh");
  EXPECT_EQ(calls, 6);
}

TEST(WriteAllTest, endsAtAnError) {
  int calls = 0;
  const auto write = [&](const char*, std::size_t) -> ssize_t {
    errno = ENOSPC;
    return ++calls == 1 ? 2 : -1;
  };
  EXPECT_FALSE(write_all(write, "abcdefgh"));
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace neliroute
