#include "tool/print/log.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tool/print/output.h"

namespace neliroute::tool {
namespace {

/// While it lives, stderr is that file, which it closes.
class Replaced {
 public:
  explicit Replaced(int file) : before_(::dup(STDERR_FILENO)) {
    ::dup2(file, STDERR_FILENO);
    ::close(file);
  }
  ~Replaced() {
    finish_stderr();
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
    write_stderr("stderr is back");  // what was lost is told here, and in no other test
    finish_stderr();
  }
  Replaced(const Replaced&) = delete;
  Replaced& operator=(const Replaced&) = delete;

 private:
  int before_;
};

/// While it lives, stderr is one end of a pipe or of a pair of sockets.
class Read {
 public:
  enum class By { pipe, socket };

  explicit Read(By by) : ends_(made(by)), standard_(ends_[1]) {}
  ~Read() { close(); }  // first, so that nobody waits for what is unread
  Read(const Read&) = delete;
  Read& operator=(const Read&) = delete;

  /// All that comes, up to that text.
  std::string until(std::string_view text) const {
    std::string all;
    std::array<char, 65536> part{};
    while (all.find(text) == std::string::npos) {
      const ssize_t n = ::read(ends_[0], part.data(), part.size());
      if (n <= 0) return all;
      all.append(part.data(), static_cast<std::size_t>(n));
    }
    return all;
  }
  void close() {
    if (ends_[0] >= 0) ::close(ends_[0]);
    ends_[0] = -1;
  }

 private:
  static std::array<int, 2> made(By by) {
    std::array<int, 2> ends{};
    EXPECT_EQ(by == By::pipe ? ::pipe(ends.data())
                             : ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()),
              0);
    return ends;
  }

  std::array<int, 2> ends_;
  Replaced standard_;
};

const std::string kFiller(990, '.');
constexpr int kLines = 40'000;

std::string line(int number) { return std::to_string(number) + kFiller; }

/// The numbers of the whole lines, and how many it says were lost before one.
struct Counted {
  explicit Counted(const std::string& text) {
    std::istringstream lines(text);
    for (std::string one; std::getline(lines, one);) {
      int number = 0;
      if (std::sscanf(one.c_str(), "neliroute: %d lines were lost here", &number) == 1) {
        lost += number;
      } else {
        number = std::atoi(one.c_str());
        (one == line(number) ? numbers : alien).push_back(number);
      }
    }
  }
  std::vector<int> numbers;
  std::vector<int> alien;
  int lost = 0;
};

TEST(StderrTest, AStalledReaderStopsNobodyAndIsToldWhatItMissed) {
  for (const auto by : {Read::By::pipe, Read::By::socket}) {
    const Read standard(by);
    for (int i = 0; i < kLines; ++i) write_stderr(line(i));
    write_stderr("end");
    const Counted got(standard.until("end\n"));
    EXPECT_TRUE(std::is_sorted(got.numbers.begin(), got.numbers.end()));
    EXPECT_EQ(got.alien.size(), 1U) << "only the end";
    EXPECT_GT(got.numbers.size(), kLinesKept);
    EXPECT_GT(got.lost, 0);
    EXPECT_EQ(got.numbers.size() + static_cast<std::size_t>(got.lost), std::size_t{kLines});
    EXPECT_EQ(got.numbers.back(), kLines - 1) << "the newest are kept";
    write_stderr("next");
    EXPECT_EQ(standard.until("next\n"), "next\n");
  }
}

// A reader that reads again need not wait for another line.
TEST(StderrTest, WhatWasKeptIsWrittenAsSoonAsSomebodyReads) {
  const Read standard(Read::By::pipe);
  for (int i = 0; i < 2'000; ++i) write_stderr(line(i));
  EXPECT_EQ(Counted(standard.until(line(1999) + "\n")).numbers.size(), 2'000U);
}

TEST(StderrTest, LinesOfManyThreadsAreWhole) {
  constexpr int kThreads = 8;
  constexpr int kEach = 200;
  const Read standard(Read::By::pipe);
  std::string text;
  std::thread reader([&] { text = standard.until("end\n"); });
  std::vector<std::thread> writers;
  for (int t = 0; t < kThreads; ++t) {
    writers.emplace_back([t] {
      for (int i = 0; i < kEach; ++i) write_stderr(line(t * kEach + i));
    });
  }
  for (std::thread& writer : writers) writer.join();
  write_stderr("end");
  reader.join();
  Counted got(text);
  EXPECT_EQ(got.alien.size(), 1U) << "only the end";
  std::sort(got.numbers.begin(), got.numbers.end());
  ASSERT_EQ(got.numbers.size(), std::size_t{kThreads * kEach});
  EXPECT_EQ(got.numbers.front(), 0);
  EXPECT_EQ(got.numbers.back(), kThreads * kEach - 1);
}

TEST(StderrTest, TheEndWaitsForASlowReaderAndNotForOneThatStopped) {
  using Clock = std::chrono::steady_clock;
  const Read standard(Read::By::pipe);
  for (int i = 0; i < 200; ++i) write_stderr(line(i));
  const auto began = Clock::now();
  finish_stderr();
  EXPECT_GE(Clock::now() - began, kReaderPatience);
  // Its reader begins while the end waits.
  std::string text;
  std::thread reader([&] { text = standard.until("end\n"); });
  write_stderr("end");
  finish_stderr();
  reader.join();
  EXPECT_EQ(Counted(text).numbers.size(), 200U);
}

TEST(StderrTest, AReaderThatHasGoneLeavesTheExitCode) {
  Read standard(Read::By::pipe);
  standard.close();  // SIGPIPE would end this test
  EXPECT_EQ(fail("route", "no broker", kExitUnreachable), kExitUnreachable);
  finish_stderr();
}

TEST(StderrTest, AFullDiskOrNoneLeavesTheExitCode) {
  for (const bool closed : {false, true}) {
    const Replaced standard(::open("/dev/full", O_WRONLY | O_CLOEXEC));
    if (closed) ::close(STDERR_FILENO);
    EXPECT_EQ(fail("route", "no broker", kExitUnreachable), kExitUnreachable);
    finish_stderr();
  }
}

// Another process that shares it may have made it so.
TEST(StderrTest, ANonBlockingPipeGetsWholeLines) {
  const Read standard(Read::By::pipe);
  ::fcntl(STDERR_FILENO, F_SETFL, ::fcntl(STDERR_FILENO, F_GETFL) | O_NONBLOCK);
  for (int i = 0; i < 500; ++i) write_stderr(line(i));
  const Counted got(standard.until(line(499) + "\n"));
  EXPECT_EQ(got.numbers.size(), 500U);
  EXPECT_TRUE(got.alien.empty());
}

TEST(StderrTest, LastWordsComeAfterTheLinesOrNotAtAll) {
  const Read standard(Read::By::pipe);
  write_stderr("line");
  write_last_words("words\n");
  EXPECT_EQ(standard.until("words\n"), "line\nwords\n");
  for (int i = 0; i < 200; ++i) write_stderr(line(i));
  write_last_words("never read\n");  // and never waited for
  write_stderr("end");
  EXPECT_EQ(standard.until("end\n").find("never"), std::string::npos);
}

TEST(LogTest, WritesWholeLinesWithTimeAndLevel) {
  const Read standard(Read::By::pipe);
  start_log(LogLevel::warning);
  log(Severity::info, "nobody wants it");
  const std::string longer(20'000, 'x');
  log(Severity::warning, longer + "\n2026-01-31 error");
  const std::string text = standard.until("error\n");
  EXPECT_TRUE(text.ends_with(" warning " + longer + "\\x0a2026-01-31 error\n"))
      << text.substr(0, 80);
  EXPECT_EQ(text.find(longer), std::string("2026-01-31 12:00:00.000 warning ").size());
  start_log(LogLevel::info);
}

// What was said before a crash is what explains it.
TEST(StderrDeathTest, ACrashOrAnExitLosesNoLine) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto said = [] {
    start_log(LogLevel::info);
    for (int i = 0; i < 500; ++i) log(Severity::info, std::to_string(i));
  };
  EXPECT_DEATH((said(), std::abort()), "info 499\n");
  EXPECT_EXIT((said(), std::exit(3)), testing::ExitedWithCode(3), "info 499\n");
}

}  // namespace
}  // namespace neliroute::tool
