#include "tool/print/stderr_lines.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <sstream>
#include <string>
#include <thread>

#include "tool/print/log.h"
#include "tool/print/output.h"

namespace neliroute::tool {
namespace {

/// While it lives, stderr is one end of a pipe or of a pair of sockets.
class Replaced {
 public:
  enum class By { pipe, socket };

  explicit Replaced(By by) : before_(::dup(STDERR_FILENO)) {
    std::array<int, 2> ends{};
    EXPECT_EQ(by == By::pipe ? ::pipe(ends.data())
                             : ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()),
              0);
    reader_ = ends[0];
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[1]);
  }
  ~Replaced() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
    ::close(reader_);
  }
  Replaced(const Replaced&) = delete;
  Replaced& operator=(const Replaced&) = delete;

  /// All that comes, up to that text.
  std::string read_until(std::string_view text) const {
    std::string all;
    std::array<char, 65536> part{};
    while (all.find(text) == std::string::npos) {
      const ssize_t n = ::read(reader_, part.data(), part.size());
      if (n <= 0) return all;
      all.append(part.data(), static_cast<std::size_t>(n));
    }
    return all;
  }

 private:
  int before_;
  int reader_ = -1;
};

const std::string kFiller(90, '.');
constexpr int kLines = 40'000;

/// How many whole lines it begins with, from 0 up.
int count_lines(const std::string& text) {
  std::istringstream lines(text);
  int count = 0;
  std::string line;
  while (std::getline(lines, line) && line == std::to_string(count) + kFiller) ++count;
  return count;
}

TEST(StderrLinesTest, AStalledReaderStopsNobodyAndIsToldWhatItMissed) {
  for (const auto by : {Replaced::By::pipe, Replaced::By::socket}) {
    const Replaced standard(by);
    for (int i = 0; i < kLines; ++i) write_stderr(std::to_string(i) + kFiller + "\n");
    const std::string text = standard.read_until("nobody read them\n");
    const int count = count_lines(text);
    EXPECT_GT(count, 10'000) << "a megabyte is kept";
    EXPECT_LT(count, kLines);
    EXPECT_NE(text.find("neliroute: " + std::to_string(kLines - count) + " lines were lost here"),
              std::string::npos);
    write_stderr("next\n");
    EXPECT_EQ(standard.read_until("next\n"), "next\n");
  }
}

// A reader that reads again need not wait for another line.
TEST(StderrLinesTest, WhatWasKeptIsWrittenAsSoonAsSomebodyReads) {
  const Replaced standard(Replaced::By::pipe);
  for (int i = 0; i < 2'000; ++i) write_stderr(std::to_string(i) + kFiller + "\n");
  EXPECT_EQ(count_lines(standard.read_until("1999" + kFiller + "\n")), 2'000);
}

TEST(StderrLinesTest, TheLogWaitsForNobody) {
  const Replaced standard(Replaced::By::pipe);
  start_log(LogLevel::info);
  for (int i = 0; i < 2'000; ++i) log(Severity::info, std::to_string(i) + kFiller);
  const std::string text = standard.read_until(" 1999" + kFiller + "\n");
  EXPECT_NE(text.find(" info 0" + kFiller + "\n"), std::string::npos);
  const std::string longer(20'000, 'x');  // than what a stream gathers
  log(Severity::info, longer);
  EXPECT_TRUE(standard.read_until("x\n").ends_with(" info " + longer + "\n"));
}

TEST(StderrLinesTest, AFullDiskLeavesTheExitCode) {
  const int before = ::dup(STDERR_FILENO);
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ::dup2(full, STDERR_FILENO);
  const int code = fail("route", "no broker", kExitUnreachable);
  finish_stderr();
  ::close(STDERR_FILENO);
  const int closed = fail("route", "no such option", kExitUsage);
  finish_stderr();
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  ::close(full);
  EXPECT_EQ(code, kExitUnreachable);
  EXPECT_EQ(closed, kExitUsage);
}

// Opened again it would be written from its beginning.
TEST(StderrLinesTest, AFileIsGoneOnWith) {
  std::array<char, 32> path{"/tmp/neliroute-stderr-XXXXXX"};
  const int file = ::mkstemp(path.data());
  ASSERT_GE(file, 0);
  const int before = ::dup(STDERR_FILENO);
  ::dup2(file, STDERR_FILENO);
  write_stderr("one\n");
  draw_stderr("two\n");
  write_stderr("three\n");
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  std::array<char, 64> text{};
  EXPECT_EQ(::pread(file, text.data(), text.size(), 0), 14);
  EXPECT_STREQ(text.data(), "one\ntwo\nthree\n");
  ::close(file);
  ::unlink(path.data());
}

}  // namespace
}  // namespace neliroute::tool
