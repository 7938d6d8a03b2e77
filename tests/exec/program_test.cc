// Programs that a shell starts: what ends them, what they are written, and what they leave behind.
#include "tool/exec/program.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tool/exec/finish_time.h"

namespace neliroute::tool {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

constexpr milliseconds kLong{20'000};

struct ProgramTest : testing::Test {
  ProgramTest() { std::signal(SIGPIPE, SIG_IGN); }

  void start(const std::string& command, milliseconds patience = kLong) {
    Program::Handlers handlers;
    handlers.on_line = [this](std::string_view line) { lines.emplace_back(line); };
    handlers.on_silent = [this] { silent = true; };
    handlers.on_exit = [this](int ended) { status = ended; };
    handlers.on_hung = [this] { ++hung; };
    handlers.on_deaf = [this] { ++deaf; };
    auto started = Program::start(io.get_executor(), command, patience, std::move(handlers));
    ASSERT_TRUE(started) << started.error().message();
    program = std::move(*started);
  }
  /// Until then, or until it takes too long.
  [[nodiscard]] bool wait(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + kLong;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return print_seen(), false;
      io.run_one_for(100ms);
    }
    return true;
  }
  void print_seen() const {
    std::fprintf(stderr, "silent: %d, hung: %d, deaf: %d, ended with: %d, lines: %s\n", silent,
                 hung, deaf, status.value_or(-1), testing::PrintToString(lines).c_str());
  }
  [[nodiscard]] bool wait_line(const std::string& line) {
    return wait([&] { return !lines.empty() && lines.back() == line; });
  }
  /// It did not end by itself, or has said so.
  void stop(milliseconds bound) { EXPECT_FALSE(program->stop(bound)); }
  /// Neither a process nor what is left of one.
  [[nodiscard]] static bool has_children() {
    siginfo_t found{};
    return ::waitid(P_ALL, 0, &found, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
  }

  boost::asio::io_context io{1};
  Lines lines;
  bool silent = false;
  std::optional<int> status;
  int hung = 0;
  int deaf = 0;
  std::unique_ptr<Program> program;
};

TEST_F(ProgramTest, reads_and_writes_lines_and_ends_with_the_status) {
  start("read a; echo \"$a\" >&3; exit 7");
  program->write("hello");
  EXPECT_TRUE(wait([&] { return status && silent; }));
  EXPECT_EQ(lines, Lines{"hello"});
  EXPECT_EQ(*status, 7);
  EXPECT_EQ(program->pid(), 0) << "its number may be another's now";
  program->write("nobody reads this");
  stop(kLong);
  EXPECT_FALSE(has_children());
}

TEST_F(ProgramTest, waits_for_all_of_the_group_after_sigterm) {
  // The outer shell dies at once of what the inner one takes its time for.
  start(
      "sh -c 'trap \"sleep 0.2; echo saved >&3; exit\" TERM; echo up >&3; "
      "while read a; do :; done'; true");
  ASSERT_TRUE(wait_line("up"));
  stop(kLong);
  EXPECT_TRUE(wait_line("saved"));
  EXPECT_FALSE(has_children());
}

TEST_F(ProgramTest, kills_all_of_the_group_when_its_time_is_over) {
  start("sh -c 'trap \"\" TERM; echo up >&3; while :; do sleep 100; done'; true");
  ASSERT_TRUE(wait_line("up"));
  stop(20ms);
  EXPECT_FALSE(has_children());
}

TEST_F(ProgramTest, lets_live_what_its_shell_leaves_behind_until_it_is_stopped) {
  start(
      // What a shell starts in the background reads nothing, unless it is told to.
      "exec 4<&0; sh -c 'trap exit TERM; echo up >&3; while read a; do "
      "echo \"$a\" >&3; done' <&4 & wait; exit 3");
  ASSERT_TRUE(wait_line("up"));
  ::kill(program->pid(), SIGTERM);
  ASSERT_TRUE(wait([&] { return status.has_value(); }));
  EXPECT_EQ(*status, 128 + SIGTERM);
  program->write("still there");
  EXPECT_TRUE(wait_line("still there"));
  EXPECT_FALSE(silent);
  stop(kLong);
  EXPECT_FALSE(has_children());
}

// A leave waits for no answers of it then, and may be over before SIGCHLD comes.
TEST_F(ProgramTest, that_has_just_closed_its_descriptors_ends_by_itself) {
  start("exec 3>&-; sleep 0.2; exit 5");
  ASSERT_TRUE(wait([&] { return silent; }));
  ASSERT_FALSE(status);
  EXPECT_EQ(program->stop(kLong), 5);
  EXPECT_FALSE(has_children());
}

TEST_F(ProgramTest, that_ended_while_nothing_ran_ended_by_itself) {
  start("echo up >&3; read a; exit 5");
  ASSERT_TRUE(wait_line("up"));
  program->write("go");
  siginfo_t ended{};
  while (ended.si_pid != program->pid()) {
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(program->pid()), &ended, WEXITED | WNOWAIT), 0);
  }
  EXPECT_EQ(program->stop(kLong), 5);
  EXPECT_FALSE(status);
}

TEST_F(ProgramTest, that_closes_descriptor_3_and_goes_on_is_stopped_all_the_same) {
  start("exec 3>&-; exec sleep 100");
  ASSERT_TRUE(wait([&] { return silent; }));
  stop(kLong);
  EXPECT_FALSE(has_children());
}

TEST_F(ProgramTest, reaps_what_others_leave_behind) {
  start("(setsid sh -c 'echo gone >&3' &); read a; exit 0");
  ASSERT_TRUE(wait_line("gone"));
  const auto only_two = [] {
    siginfo_t found{};
    ::waitid(P_ALL, 0, &found, WEXITED | WNOHANG | WNOWAIT);
    return found.si_pid == 0;  // no child has ended that nobody has reaped
  };
  EXPECT_TRUE(wait(only_two));
  program->write("end");
  EXPECT_TRUE(wait([&] { return status == 0; }));
}

TEST_F(ProgramTest, leaves_it_no_second_copy_of_descriptor_3) {
  start(
      "n=0; for f in /proc/$$/fd/*; do [ $f -ef /proc/$$/fd/3 ] && n=$((n+1)); done; "
      "echo $n >&3");
  EXPECT_TRUE(wait([&] { return silent; }));
  EXPECT_EQ(lines, Lines{"1"});
}

TEST_F(ProgramTest, writes_all_of_a_burst_to_a_program_that_reads) {
  start("head -c 8388608 | wc -c >&3");
  program->expect(8192);
  const std::string line(1023, 'x');
  for (int i = 0; i < 8192; ++i) program->write(line);
  EXPECT_TRUE(wait_line("8388608"));
  EXPECT_EQ(hung, 0);
}

// Its owner has left by then, and nothing runs any more.
TEST_F(ProgramTest, is_told_what_still_waits_before_it_is_stopped) {
  start("sleep 0.3; head -n 500 | wc -l >&3; exec sleep 100");
  for (int i = 0; i < 500; ++i) program->write(std::string(1023, 'x'));
  program->finish(kLong);
  EXPECT_TRUE(wait_line("500"));
  stop(0ms);
}

TEST_F(ProgramTest, that_reads_nothing_is_told_no_longer_than_it_may_take) {
  start("sleep 100");
  for (int i = 0; i < 500; ++i) program->write(std::string(1023, 'x'));
  const auto began = std::chrono::steady_clock::now();
  program->finish(100ms);
  EXPECT_GE(std::chrono::steady_clock::now() - began, 100ms);
  EXPECT_LT(std::chrono::steady_clock::now() - began, kLong);
  stop(0ms);
}

TEST_F(ProgramTest, reports_its_status_also_if_orphans_end_just_before) {
  for (int i = 0; i < 200; ++i) {
    start("(true & true & true &); exit 7");
    ASSERT_TRUE(wait([&] { return status.has_value(); })) << i;
    EXPECT_EQ(std::exchange(status, std::nullopt), 7);
    program.reset();
  }
}

/// The last of this process's children but the program's shell: its guardian.
pid_t guardian(pid_t shell) {
  std::ifstream children("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  pid_t found = 0;
  for (pid_t child = 0; children >> child;) {
    if (child != shell) found = child;
  }
  return found;
}

TEST_F(ProgramTest, is_guarded_on_if_its_guardian_is_killed) {
  start("echo up >&3; while :; do sleep 1; done");
  ASSERT_TRUE(wait_line("up"));
  const pid_t first = guardian(program->pid());
  ASSERT_GT(first, 0);
  ::kill(first, SIGKILL);
  ASSERT_TRUE(wait([&] {
    const pid_t second = guardian(program->pid());
    return second > 0 && second != first;
  }));
  stop(0ms);
  EXPECT_FALSE(has_children());
}

TEST_F(ProgramTest, counts_one_as_hung_that_reads_nothing_for_so_long) {
  start("echo up >&3; exec sleep 100", 50ms);
  ASSERT_TRUE(wait_line("up"));
  program->write("it may take its time for what its pipe holds");
  const std::string line(1023, 'x');
  for (int i = 0; i < 512; ++i) program->write(line);
  EXPECT_EQ(hung, 0);
  EXPECT_TRUE(wait([&] { return hung == 1; }));
  EXPECT_EQ(deaf, 0);
  const auto began = std::chrono::steady_clock::now();
  program->finish(kLong);
  EXPECT_LT(std::chrono::steady_clock::now() - began, kLong) << "it has had its time";
}

// A server that knows nothing of this, and does not hang.
TEST_F(ProgramTest, writes_no_more_to_one_that_says_and_reads_nothing) {
  start("sleep 0.5; wc -c >&3; exec sleep 100", 50ms);
  const std::string line(1023, 'x');
  for (int i = 0; i < 512; ++i) program->write(line);
  EXPECT_TRUE(wait([&] { return deaf == 1; }));
  for (int i = 0; i < 2000; ++i) program->write(line);
  program->finish(kLong);
  EXPECT_TRUE(wait([&] { return !lines.empty(); })) << "what it then reads has an end";
  EXPECT_EQ(deaf, 1);
  EXPECT_EQ(hung, 0);
}

TEST_F(ProgramTest, drops_the_whole_of_a_line_that_is_too_long) {
  start("head -c 200000 /dev/zero | tr '\\0' x >&3; echo >&3; echo next >&3");
  ASSERT_TRUE(wait([&] { return silent; }));
  EXPECT_EQ(lines, Lines{"next"});
}

TEST_F(ProgramTest, does_not_count_one_as_hung_that_has_read_all) {
  start("while read a; do echo \"$a\" >&3; done", 1ms);
  program->write("one");
  ASSERT_TRUE(wait_line("one"));
  program->write("two");
  ASSERT_TRUE(wait_line("two"));
  io.run_for(20ms);
  EXPECT_EQ(hung, 0);
}

TEST_F(ProgramTest, counts_one_as_hung_that_leaves_too_much_unread) {
  start("echo up >&3; exec sleep 100");
  ASSERT_TRUE(wait_line("up"));
  program->expect(16);
  const std::string line(1023, 'x');
  for (int i = 0; i < 1200; ++i) program->write(line);
  EXPECT_EQ(hung, 1);
}

TEST_F(ProgramTest, writes_no_more_to_one_that_has_closed_its_stdin) {
  start("exec 0<&-; echo closed >&3; exec sleep 100", 1ms);
  ASSERT_TRUE(wait_line("closed"));
  const std::string line(1023, 'x');
  program->write(line);
  io.run_for(20ms);
  for (int i = 0; i < 2000; ++i) program->write(line);
  EXPECT_EQ(hung, 0);
}

TEST(FinishTime, is_shared_by_all_who_finish) {
  const FinishTime::Clock::time_point begin{};
  FinishTime finish(10s);
  EXPECT_EQ(finish.left(begin), 10s);
  EXPECT_EQ(finish.left(begin + 4s), 6s);
  EXPECT_EQ(finish.last(begin + 4s), 6s);
  EXPECT_EQ(finish.left(begin + 11s), 0s);
  EXPECT_EQ(finish.last(begin + 11s), 1s) << "it has only now been told";
  EXPECT_EQ(FinishTime(200ms).last(begin), 200ms);
}

}  // namespace
}  // namespace neliroute::tool
