#include "tool/xds/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "tests/tool/xds/temporary_folder.h"

namespace neliroute::tool {
namespace {

TEST(AtomicFileTest, IsReplacedAsAWhole) {
  const TemporaryFolder folder;
  ASSERT_TRUE(replace_file(folder.of("a"), "one"));
  EXPECT_EQ(folder.text("a"), "one");
  const auto before = std::filesystem::hard_link_count(folder.of("a"));
  std::filesystem::create_hard_link(folder.of("a"), folder.of("reader"));
  ASSERT_TRUE(replace_file(folder.of("a"), std::string(1'000'000, 'x')));
  EXPECT_EQ(folder.text("a").size(), 1'000'000u);
  EXPECT_EQ(folder.text("reader"), "one") << "who has opened the old one still reads that";
  EXPECT_EQ(std::filesystem::hard_link_count(folder.of("a")), before);
  EXPECT_FALSE(std::filesystem::exists(folder.of("a.tmp")));
}

TEST(AtomicFileTest, LeftOverPartsAreReplaced) {
  const TemporaryFolder folder;
  folder.write("other", "kept");
  std::filesystem::create_hard_link(folder.of("other"), folder.of("a.tmp"));
  ASSERT_TRUE(replace_file(folder.of("a"), "one"));
  EXPECT_EQ(folder.text("a"), "one");
  std::filesystem::create_symlink(folder.of("other"), folder.of("a.tmp"));
  ASSERT_TRUE(replace_file(folder.of("a"), "two"));
  EXPECT_EQ(folder.text("a"), "two");
  EXPECT_FALSE(std::filesystem::is_symlink(folder.of("a")));
  EXPECT_EQ(folder.text("other"), "kept") << "somebody else may have put it there";
}

TEST(AtomicFileTest, IsReadableForOthersWhateverTheUmask) {
  const TemporaryFolder folder;
  const mode_t before = ::umask(0077);
  const auto done = replace_file(folder.of("a"), "one");
  ::umask(before);
  ASSERT_TRUE(done);
  struct stat found {};
  ASSERT_EQ(::stat(folder.of("a").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0644u);
}

TEST(AtomicFileTest, IsKnownAgain) {
  const TemporaryFolder folder;
  EXPECT_EQ(file_at(folder.of("a")), std::nullopt);
  const auto first = replace_file(folder.of("a"), "one");
  ASSERT_TRUE(first);
  EXPECT_EQ(file_at(folder.of("a")), *first);
  std::filesystem::create_hard_link(folder.of("a"), folder.of("reader"));  // or its inode is free
  ASSERT_TRUE(replace_file(folder.of("a"), "one"));
  EXPECT_NE(file_at(folder.of("a")), *first);
}

// As on a full disk: the system takes a part of it.
TEST(AtomicFileTest, ThatDoesNotFitLeavesTheOldOne) {
  const TemporaryFolder folder;
  ASSERT_TRUE(replace_file(folder.of("a"), "old"));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit little{4096, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
  const auto done = replace_file(folder.of("a"), std::string(10'000, 'x'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message().find(folder.of("a.tmp")), std::string::npos)
      << done.error().message();
  EXPECT_EQ(folder.text("a"), "old");
  EXPECT_FALSE(std::filesystem::exists(folder.of("a.tmp"))) << "it would keep the disk full";
}

TEST(AtomicFileTest, ThatCannotBeWrittenLeavesTheOldOne) {
  const TemporaryFolder folder;
  ASSERT_TRUE(replace_file(folder.of("a"), "old"));
  std::filesystem::create_directory(folder.of("a.tmp"));
  EXPECT_FALSE(replace_file(folder.of("a"), "new"));
  EXPECT_EQ(folder.text("a"), "old");
  std::filesystem::remove(folder.of("a.tmp"));
  std::filesystem::create_directories(folder.of("taken/by"));
  EXPECT_FALSE(replace_file(folder.of("taken"), "new"));
  EXPECT_FALSE(std::filesystem::exists(folder.of("taken.tmp")));
  EXPECT_FALSE(replace_file(folder.of("none/a"), "new"));
}

}  // namespace
}  // namespace neliroute::tool
