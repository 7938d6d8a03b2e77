// Programs that a shell starts: what ends them, what they are given, and what they leave behind.
#include "tool/exec/program.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace neliroute::tool {
namespace {

using namespace std::chrono_literals;

constexpr milliseconds kLong{20'000};

struct ProgramTest : testing::Test {
  ~ProgramTest() override { std::filesystem::remove(said); }

  /// It may write to $SAID.
  void start(const std::string& command) {
    auto started = Program::start(io.get_executor(), command, {"SAID=" + said.string()},
                                  [this](int ended) { status = ended; });
    ASSERT_TRUE(started) << started.error().message();
    program = std::move(*started);
  }
  /// Until then, or until it takes too long.
  [[nodiscard]] bool wait(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + kLong;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      io.run_one_for(10ms);
    }
    return true;
  }
  [[nodiscard]] bool wait_said(const std::string& wanted) {
    return wait([&] { return last_said() == wanted; });
  }
  /// Its last line.
  [[nodiscard]] std::string last_said() const {
    std::ifstream file(said);
    std::string last;
    for (std::string line; std::getline(file, line);) last = line;
    return last;
  }
  /// Neither a process nor what is left of one.
  [[nodiscard]] static bool has_children() {
    siginfo_t found{};
    return ::waitid(P_ALL, 0, &found, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
  }
  void await_end_of_shell() const {
    siginfo_t ended{};
    while (ended.si_pid != program->pid()) {
      ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(program->pid()), &ended, WEXITED | WNOWAIT), 0);
    }
  }

  boost::asio::io_context io{1};
  const std::filesystem::path said =
      std::filesystem::path(testing::TempDir()) / ("program." + std::to_string(::getpid()));
  std::optional<int> status;
  std::unique_ptr<Program> program;
};

TEST_F(ProgramTest, ends_with_the_status) {
  start("exit 7");
  EXPECT_TRUE(wait([&] { return status == 7; }));
  EXPECT_EQ(program->pid(), 0) << "its number may be another's now";
  EXPECT_EQ(program->stop(kLong).status, std::nullopt);
  EXPECT_FALSE(has_children());
}

TEST_F(ProgramTest, has_an_empty_stdin_and_no_descriptor_of_ours) {
  const int ours = ::dup(STDERR_FILENO);  // without CLOEXEC, as Asio's sockets
  start("read a; seen=$?; [ -e /proc/$$/fd/" + std::to_string(ours) +
        " ] && seen=\"$seen open\"; echo \"$seen\" >>$SAID");
  EXPECT_TRUE(wait_said("1"));
  ::close(ours);
}

TEST_F(ProgramTest, is_told_by_variables_whatever_is_inherited) {
  ::setenv("SAID", "/dev/null", 1);
  start("echo told >>$SAID");
  EXPECT_TRUE(wait_said("told"));
  ::unsetenv("SAID");
}

TEST_F(ProgramTest, has_the_signals_of_a_new_process) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);  // as an owner does
  sigset_t blocked;
  sigset_t mask;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &mask);
  for (const int number : {SIGPIPE, SIGTERM}) {
    start("kill -" + std::to_string(number) + " $$; exit 0");
    EXPECT_TRUE(wait([&] { return status.has_value(); }));
    EXPECT_EQ(std::exchange(status, std::nullopt), 128 + number);
    program.reset();
  }
  ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  std::signal(SIGPIPE, before);
}

TEST_F(ProgramTest, waits_for_all_of_the_group_after_sigterm) {
  // The outer shell dies at once of what the inner one takes its time for.
  start(
      "sh -c 'trap \"sleep 0.2; echo saved >>$SAID; exit\" TERM; echo up >>$SAID; "
      "while :; do sleep 0.05; done'; true");
  ASSERT_TRUE(wait_said("up"));
  const GroupEnd end = program->stop(kLong);
  EXPECT_EQ(end.status, std::nullopt);
  EXPECT_FALSE(end.killed);
  EXPECT_EQ(last_said(), "saved");
  EXPECT_FALSE(has_children());
}

TEST_F(ProgramTest, kills_all_of_the_group_when_its_time_is_over) {
  start("sh -c 'trap \"\" TERM; echo up >>$SAID; while :; do sleep 100; done'; true");
  ASSERT_TRUE(wait_said("up"));
  const GroupEnd end = program->stop(20ms);
  EXPECT_EQ(end.status, std::nullopt);
  EXPECT_TRUE(end.killed);
  EXPECT_FALSE(has_children());
}

TEST_F(ProgramTest, lets_live_what_its_shell_leaves_behind_until_it_is_stopped) {
  start(
      "sh -c 'trap \"echo ended >>$SAID; exit\" TERM; echo up >>$SAID; "
      "while :; do sleep 0.05; done' & wait; exit 3");
  ASSERT_TRUE(wait_said("up"));
  ::kill(program->pid(), SIGTERM);
  ASSERT_TRUE(wait([&] { return status.has_value(); }));
  EXPECT_EQ(*status, 128 + SIGTERM);
  EXPECT_EQ(last_said(), "up");
  EXPECT_EQ(program->stop(kLong).status, std::nullopt);
  EXPECT_EQ(last_said(), "ended");
  EXPECT_FALSE(has_children());
}

TEST_F(ProgramTest, that_fails_when_it_is_told_to_end_has_failed) {
  start("trap 'exit 5' TERM; echo up >>$SAID; while :; do sleep 0.05; done");
  ASSERT_TRUE(wait_said("up"));
  EXPECT_EQ(program->stop(kLong).status, 5);
  EXPECT_EQ(status, std::nullopt);
}

TEST_F(ProgramTest, that_ended_while_nothing_ran_ended_by_itself) {
  start("exit 5");
  await_end_of_shell();
  EXPECT_EQ(program->stop(kLong).status, 5);
  EXPECT_EQ(status, std::nullopt);
}

TEST_F(ProgramTest, reaps_what_others_leave_behind) {
  start("(setsid sh -c 'echo gone >>$SAID' &); while :; do sleep 0.05; done");
  ASSERT_TRUE(wait_said("gone"));
  EXPECT_TRUE(wait([] {
    siginfo_t found{};
    ::waitid(P_ALL, 0, &found, WEXITED | WNOHANG | WNOWAIT);
    return found.si_pid == 0;  // no child has ended that nobody has reaped
  }));
  EXPECT_EQ(program->stop(kLong).status, std::nullopt);
}

TEST_F(ProgramTest, reports_its_status_also_if_orphans_end_just_before) {
  for (int i = 0; i < 100; ++i) {
    start("(true & true & true &); exit 7");
    ASSERT_TRUE(wait([&] { return status.has_value(); })) << i;
    EXPECT_EQ(std::exchange(status, std::nullopt), 7);
    program.reset();
  }
}

}  // namespace
}  // namespace neliroute::tool
