// What a program is told on its stdin, and what it answers.
#include "tool/exec/program_listener.h"

#include <gtest/gtest.h>

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace neliroute::tool {
namespace {

using Lines = std::vector<std::string>;

struct ProgramListenerTest : testing::Test {
  ProgramListenerTest() { listener.of_process(ProcessId{0xabcd}); }
  [[nodiscard]] std::function<void()> ends(const std::string& what) {
    return [this, what] { ended.push_back(what); };
  }
  void prepare(std::uint32_t partition, std::shared_ptr<const Predecessor> predecessor = nullptr) {
    listener.prepare(Partition{partition}, {ends("prepare"), stop.get_token(), predecessor});
  }
  [[nodiscard]] static Transition transition(TransitionKind kind, std::uint32_t partition) {
    Transition made;
    made.kind = kind;
    made.partition = Partition{partition};
    made.epoch = {17, 4};
    return made;
  }
  void stopped(std::uint32_t partition) {
    Transition t = transition(TransitionKind::stopped, partition);
    t.reason = StopReason::superseded;
    t.successor = std::make_shared<ProcessInfo>(ProcessInfo{"beta", "beta:1", {}});
    listener.stopped(t, BarrierToken(ends("stopped")));
  }

  Lines lines;
  Lines ended;
  std::stop_source stop;
  ProgramListener listener{[this](std::string_view line) { lines.emplace_back(line); }};
};

TEST_F(ProgramListenerTest, tells_each_event_with_a_number) {
  prepare(3, std::make_shared<Predecessor>(
                 Predecessor{{"alpha", "alpha:1", {}}, {16, 2}, Ending::none}));
  listener.warm_up(transition(TransitionKind::acquired, 3), ReadyToken(ends("warm_up")));
  listener.acquired(transition(TransitionKind::acquired, 3));
  stopped(3);
  EXPECT_EQ(
      lines,
      (Lines{
          R"({"seq":1,"process":"000000000000abcd","event":"prepare","partition":3,"predecessor":)"
          R"({"name":"alpha","endpoint":"alpha:1","epoch":{"inc":16,"offset":2},"ending":"none"}})",
          R"({"seq":2,"process":"000000000000abcd","event":"warm_up","partition":3,)"
          R"("epoch":{"inc":17,"offset":4}})",
          R"({"seq":3,"process":"000000000000abcd","event":"acquired","partition":3,)"
          R"("epoch":{"inc":17,"offset":4}})",
          R"({"seq":4,"process":"000000000000abcd","event":"stopped","partition":3,)"
          R"("epoch":{"inc":17,"offset":4},)"
          R"("successor":{"name":"beta","endpoint":"beta:1"},"reason":"superseded"})"}));
  EXPECT_EQ(ended, (Lines{"prepare", "warm_up", "stopped"})) << "nothing is waited for";
}

TEST_F(ProgramListenerTest, waits_for_what_the_program_wants_to_be_waited_for) {
  listener.on_line(R"({"awaits":["prepare","stopped"]})");
  prepare(1);
  prepare(2);
  stopped(7);
  EXPECT_EQ(listener.awaited(), 3u);
  EXPECT_TRUE(ended.empty());
  listener.on_line(R"({"done":2})");
  listener.on_line(R"({"done":2})");
  listener.on_line(R"({"done":99})");
  listener.on_line(R"({"done":-1})");
  EXPECT_EQ(ended, Lines{"prepare"});
  listener.on_line(R"({"done":3})");
  EXPECT_EQ(ended, (Lines{"prepare", "stopped"}));
  listener.warm_up(transition(TransitionKind::acquired, 2), ReadyToken(ends("warm_up")));
  EXPECT_EQ(ended.back(), "warm_up") << "it did not ask for that";
}

TEST_F(ProgramListenerTest, waits_for_no_step_that_another_has_followed) {
  listener.on_line(R"({"awaits":["prepare","warm_up","stopped"]})");
  prepare(1);
  stop.request_stop();
  EXPECT_EQ(lines.back(),
            R"({"seq":2,"process":"000000000000abcd","event":"cancelled","partition":1})");
  EXPECT_EQ(listener.awaited(), 0u);
  listener.warm_up(transition(TransitionKind::acquired, 1), ReadyToken(ends("warm_up")));
  listener.acquired(transition(TransitionKind::acquired, 1));
  EXPECT_EQ(listener.awaited(), 0u);
  stopped(1);
  listener.acquired(transition(TransitionKind::acquired, 1));
  EXPECT_EQ(listener.awaited(), 1u) << "but for what it has to finish";
}

TEST_F(ProgramListenerTest, does_not_wait_for_a_program_that_can_answer_no_more) {
  listener.on_line(R"({"awaits":["stopped"]})");
  stopped(1);
  listener.on_silent();
  EXPECT_EQ(ended, Lines{"stopped"});
  stopped(1);
  EXPECT_EQ(ended.size(), 2u);
}

TEST_F(ProgramListenerTest, takes_no_harm_from_lines_that_make_no_sense) {
  for (const char* line : {"", "x", "[]", "{}", R"({"done":"1"})", R"({"awaits":1})",
                           R"({"awaits":[1,"acquired"]})", R"({"done":1.5})"}) {
    listener.on_line(line);
  }
  prepare(1);
  EXPECT_EQ(ended, Lines{"prepare"});
}

}  // namespace
}  // namespace neliroute::tool
