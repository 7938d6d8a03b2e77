#include "tool/event_log.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

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

TEST(EventLogTest, AnOverdueBarrierIsNoEvent) {
  EXPECT_EQ(event_line(kSource, transition(TransitionKind::barrier_overdue), kUnixMinusBoot), "");
}

TEST(LineWriterTest, AppendsWholeLines) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("neliroute-lines-" + std::to_string(::getpid()));
  for (const char* line : {"one", "two"}) {
    auto writer = LineWriter::open(path.string());
    ASSERT_TRUE(writer) << writer.error().message();
    (*writer)->write(line);
  }
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::filesystem::remove(path);
  EXPECT_EQ(text.str(), "one\ntwo\n");
}

TEST(LineWriterTest, RefusesAFolderAndWhatIsNowhere) {
  for (const char* path : {"/", "/no/such/folder/file"}) {
    const auto refused = LineWriter::open(path);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find(path), std::string::npos);
  }
}

TEST(LineWriterTest, AFullDiskStopsNobody) {
  auto writer = LineWriter::open("/dev/full");
  ASSERT_TRUE(writer);
  (*writer)->write("lost");
  (*writer)->write("lost as well, and not told again");
}

}  // namespace
}  // namespace neliroute::tool
