#include "tool/print/event_log.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tool/print/log.h"

namespace neliroute::tool {
namespace {

Transition transition(TransitionKind kind, StopReason reason = StopReason::none) {
  Transition made;
  made.kind = kind;
  made.partition = Partition{3};
  made.epoch = {1700000000000, 42};
  made.at = LocalTime{microseconds{12'000'034}};
  made.reason = reason;
  return made;
}

const EventSource kSource{"odd \"name\"", ProcessId{0xabc}, Lane{2}, Mode::exclusive};
constexpr microseconds kUnixMinusBoot{1'700'000'000'000'000};

TEST(EventLogTest, LinesOfTheSpecification) {
  EXPECT_EQ(event_line(kSource, transition(TransitionKind::acquired), kUnixMinusBoot),
            R"({"at":1700000012.000034,"boot":12.000034,"process":"odd \"name\"",)"
            R"("id":"0000000000000abc","event":"acquired","partition":3,"lane":2,)"
            R"("epoch":{"inc":1700000000000,"offset":42},"mode":"exclusive"})");
  EXPECT_NE(event_line(kSource, transition(TransitionKind::draining), kUnixMinusBoot)
                .find(R"("event":"draining")"),
            std::string::npos);
}

TEST(EventLogTest, OnlyStoppedHasAReason) {
  EXPECT_NE(event_line(kSource, transition(TransitionKind::stopped, StopReason::superseded),
                       kUnixMinusBoot)
                .find(R"("event":"stopped","reason":"superseded")"),
            std::string::npos);
  EXPECT_EQ(event_line(kSource, transition(TransitionKind::released, StopReason::closed),
                       kUnixMinusBoot)
                .find("reason"),
            std::string::npos);
}

TEST(EventLogTest, WhoLedBeforeAndWhoComesAfterAreNamed) {
  Transition acquired = transition(TransitionKind::acquired);
  Predecessor before;
  before.process.name = "alpha";
  before.ending = Ending::expired;
  acquired.previous = std::make_shared<const Predecessor>(before);
  EXPECT_NE(event_line(kSource, acquired, kUnixMinusBoot)
                .find(R"(,"previous":"alpha","ending":"expired"})"),
            std::string::npos);
  Transition draining = transition(TransitionKind::draining);
  draining.successor = std::make_shared<const ProcessInfo>(ProcessInfo{"beta", "b:1", {}});
  const std::string line = event_line(kSource, draining, kUnixMinusBoot);
  EXPECT_NE(line.find(R"(,"successor":"beta"})"), std::string::npos);
  EXPECT_EQ(line.find("previous"), std::string::npos);
}

TEST(EventLogTest, WhatTheApplicationTookIsInMilliseconds) {
  Transition acquired = transition(TransitionKind::acquired);
  acquired.prepare = microseconds{1'234'005};
  acquired.warm_up = microseconds{20};
  EXPECT_TRUE(event_line(kSource, acquired, kUnixMinusBoot)
                  .ends_with(R"("mode":"exclusive","prepare_ms":1234.005,"warm_up_ms":0.020})"));
  Transition released = transition(TransitionKind::released);
  released.barrier = microseconds{40'000};
  EXPECT_TRUE(event_line(kSource, released, kUnixMinusBoot)
                  .ends_with(R"("mode":"exclusive","barrier_ms":40.000})"));
}

// Else who follows the runbook of NelirouteBarrierOverdue finds nothing.
TEST(EventLogTest, AnOverdueBarrierIsAnEvent) {
  EXPECT_NE(event_line(kSource, transition(TransitionKind::barrier_overdue), kUnixMinusBoot)
                .find(R"("event":"barrier_overdue","partition":3)"),
            std::string::npos);
}

TEST(EventLogTest, ANameThatIsNotUtf8LeavesTheLineJson) {
  EventSource source = kSource;
  source.process = "bad\xff";
  EXPECT_NE(event_line(source, transition(TransitionKind::acquired), kUnixMinusBoot)
                .find(R"(,"process_base64":"YmFk/w==","id":)"),
            std::string::npos);
}

/// A path that goes away with the test.
class LineWriterTest : public testing::Test {
 protected:
  LineWriterTest()
      : path_((std::filesystem::temp_directory_path() /
               ("neliroute-lines-" + std::to_string(::getpid())))
                  .string()) {
    start_log(LogLevel::info);
  }
  ~LineWriterTest() override { std::filesystem::remove(path_); }

  std::unique_ptr<LineWriter> open() {
    auto opened = LineWriter::open(path_);
    return opened ? std::move(*opened) : nullptr;
  }
  std::string content() const {
    std::stringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }
  /// What a pipe holds now.
  static std::string take(int pipe) {
    std::string text;
    std::array<char, 65536> part{};
    for (ssize_t n = 0; (n = ::read(pipe, part.data(), part.size())) > 0;) {
      text.append(part.data(), static_cast<std::size_t>(n));
    }
    return text;
  }

  std::string path_;
};

TEST_F(LineWriterTest, AppendsWholeLines) {
  for (const char* line : {"one", "two"}) {
    auto writer = open();
    ASSERT_TRUE(writer);
    writer->write(line);
  }
  EXPECT_EQ(content(), "one\ntwo\n");
}

TEST_F(LineWriterTest, EndsTheHalfLineOfOneThatWasKilled) {
  std::ofstream(path_) << "one\nha";
  open()->write("two");
  EXPECT_EQ(content(), "one\nha\ntwo\n");
}

TEST_F(LineWriterTest, FinishesTheLineThatAFullDiskCutOnceThereIsRoom) {
  auto writer = open();
  ASSERT_TRUE(writer);
  // A limit on the size of files cuts a write as a full disk does.
  const auto xfsz = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit tight{7, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  writer->write("first");
  writer->write("second");
  writer->write("third");
  const std::string cut = content();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, xfsz);
  EXPECT_EQ(cut, "first\ns");
  EXPECT_TRUE(writer->flush());
  writer->write("fourth");
  EXPECT_EQ(content(), "first\nsecond\nthird\nfourth\n");
}

TEST_F(LineWriterTest, AStalledReaderStopsNobodyAndIsToldWhatItMissed) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  constexpr int kLines = 20'000;
  const std::string filler(90, '.');
  finish_stderr();  // what the test before said
  testing::internal::CaptureStderr();
  auto writer = open();  // nobody reads it yet
  ASSERT_TRUE(writer);
  for (int i = 0; i < kLines; ++i) writer->write(std::to_string(i) + filler);
  const int reader = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK);
  std::string text;
  do {
    text += take(reader);
  } while (!writer->flush());
  writer->write("last");
  text += take(reader);
  writer.reset();
  ::close(reader);
  finish_stderr();
  const std::string told = testing::internal::GetCapturedStderr();
  // What is there is the beginning, in order and whole, and then what came after it was read.
  std::istringstream lines(text);
  int count = 0;
  std::string line;
  while (std::getline(lines, line) && line == std::to_string(count) + filler) ++count;
  EXPECT_EQ(line, "last");
  EXPECT_GT(count, 10'000) << "a megabyte is kept";
  EXPECT_LT(count, kLines);
  EXPECT_NE(told.find("its reader has stalled"), std::string::npos) << told;
  EXPECT_NE(told.find(std::to_string(kLines - count) + " lines were lost"), std::string::npos)
      << told;
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 2) << "each is said once: " << told;
}

TEST_F(LineWriterTest, RefusesAFolderAndWhatIsNowhere) {
  for (const char* path : {"/", "/no/such/folder/file"}) {
    const auto refused = LineWriter::open(path);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find(path), std::string::npos);
  }
}

TEST_F(LineWriterTest, AFullDiskStopsNobody) {
  finish_stderr();
  testing::internal::CaptureStderr();
  {
    auto writer = LineWriter::open("/dev/full");
    ASSERT_TRUE(writer);
    (*writer)->write("lost");
    (*writer)->write("lost as well, and not told again");
  }
  finish_stderr();
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("No space left"), std::string::npos) << told;
  EXPECT_NE(told.find("2 lines were lost"), std::string::npos) << told;
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 2) << told;
}

}  // namespace
}  // namespace neliroute::tool
