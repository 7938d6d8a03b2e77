// Rule 9 of docs/protocol.md: when an assignee that was superseded claims again. T = 1000 ms and
// the interval is 100 ms throughout.
#include <gtest/gtest.h>

#include "tests/world/rig.h"

namespace neliroute {
namespace {

using rig::kLog;
using rig::kP0;
using rig::claim_of;
using rig::release_of;
using rig::renewal_of;
using rig::Rig;
using rig::RigOptions;
using namespace std::chrono_literals;

// Process 1 led partition 0; 9 claimed it. 1 is assigned and superseded.
struct Superseded {
  explicit Superseded(Mode mode, bool held_before = true, milliseconds serve_stale = 0s) : rig([=] {
    RigOptions options;
    options.mode = mode;
    options.serve_stale = serve_stale;
    return options;
  }()) {
    a = &rig.start(1, "a");
    rig.assign(*a, "0");
    rig.run_for(1500ms);
    incarnation = a->core.epoch(kP0)->incarnation;
    if (!held_before) rig.append(kLog, claim_of(8, "0", incarnation));
    foreign = rig.append_claim(kLog, claim_of(9, "0", incarnation));
    rig.settle();
    read = rig.now();
    claims = a->records(RecordType::claim).size();
  }
  std::size_t claimed() const { return a->records(RecordType::claim).size() - claims; }
  // Whether the next claim is written at this very microsecond.
  void expect_claims_at(LocalTime time) {
    rig.run_to(time - 1us);
    EXPECT_EQ(claimed(), 0u);
    rig.run_to(time);
    EXPECT_EQ(claimed(), 1u);
  }
  // 9 goes on living, without leading, for this long.
  void renew_for(milliseconds duration, const char* leading = "", const char* draining = "") {
    for (milliseconds passed{0}; passed < duration; passed += 100ms) {
      rig.append(kLog, renewal_of(9, foreign, "0", leading, draining));
      rig.settle();
      rig.run_for(100ms);
    }
  }

  Rig rig;
  rig::Process* a = nullptr;
  std::int64_t incarnation = 0;
  Epoch foreign;
  LocalTime read;
  std::size_t claims = 0;
};

TEST(Rule9, claims_again_when_the_newest_epoch_is_released) {
  Superseded s(Mode::exclusive);
  s.rig.run_for(50ms);
  s.rig.append(kLog, release_of(9, s.foreign, "0"));
  s.rig.settle();
  EXPECT_EQ(s.claimed(), 1u);
}

TEST(Rule9, claims_again_when_the_newest_epoch_is_out_of_the_way_by_6a) {
  Superseded s(Mode::exclusive);
  s.expect_claims_at(s.read + 1001001us);
}

TEST(Rule9, does_not_claim_while_the_newest_epoch_lives) {
  for (const Mode mode : {Mode::exclusive, Mode::non_exclusive}) {
    Superseded s(mode);
    s.renew_for(5s, "0");
    EXPECT_EQ(s.claimed(), 0u);
  }
}

TEST(Rule9, claims_again_when_its_holder_has_said_draining_for_2_intervals) {
  Superseded s(Mode::exclusive);
  s.renew_for(300ms, "0");
  s.rig.append(kLog, renewal_of(9, s.foreign, "0", "", "0"));
  s.rig.settle();
  s.expect_claims_at(s.rig.now() + 200ms);
}

TEST(Rule9, a_holder_that_leads_again_has_to_say_draining_anew) {
  Superseded s(Mode::exclusive);
  s.renew_for(100ms, "", "0");
  s.renew_for(100ms, "0");
  s.rig.append(kLog, renewal_of(9, s.foreign, "0", "", "0"));
  s.rig.settle();
  s.expect_claims_at(s.rig.now() + 200ms);
}

TEST(Rule9, non_exclusive_claims_again_after_3_intervals_without_a_valid_record) {
  Superseded s(Mode::non_exclusive);
  s.renew_for(300ms);
  s.expect_claims_at(s.rig.now() - 100ms + 300ms);
}

// It leads another partition there, so it learns from its own records that the log is silent.
struct SupersededInSilence : Superseded {
  SupersededInSilence() : Superseded(Mode::non_exclusive, true, 60s) {
    rig.assign(*a, "0-1");
    renew_for(500ms, "0");
    claims = a->records(RecordType::claim).size();
  }
  void silence(milliseconds duration) {
    a->cut_off.insert(kLog);
    rig.run_for(duration);
    EXPECT_EQ(claimed(), 0u) << duration.count();
    a->cut_off.clear();
    rig.arrive(*a);
  }
};

TEST(Rule9, time_in_which_the_log_is_silent_does_not_count) {
  for (const milliseconds silence : {350ms, 5000ms}) {
    SupersededInSilence s;
    s.silence(silence);
    s.expect_claims_at(s.rig.now() + 300ms);
  }
}

TEST(Rule9, an_owner_that_led_through_a_silence_is_heard_first) {
  SupersededInSilence s;
  s.silence(5s);
  s.rig.run_for(250ms);
  s.renew_for(2s, "0");
  EXPECT_EQ(s.claimed(), 0u);
}

TEST(Rule9, exclusive_does_not) {
  Superseded s(Mode::exclusive);
  s.rig.run_for(900ms);
  EXPECT_EQ(s.claimed(), 0u);
}

TEST(Rule9, who_did_not_hold_the_epoch_before_the_newest_waits_2_intervals_more) {
  {
    Superseded s(Mode::exclusive, false);
    s.expect_claims_at(s.read + 1001001us + 200ms);
  }
  {
    Superseded s(Mode::exclusive, false);
    s.rig.run_for(30ms);
    s.rig.append(kLog, release_of(9, s.foreign, "0"));
    s.rig.settle();
    s.expect_claims_at(s.rig.now() + 200ms);
  }
}

TEST(Rule9, a_new_assignee_need_not_wait) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.append(kLog, claim_of(9, "0"));
  rig.assign(a, "0");
  EXPECT_EQ(a.records(RecordType::claim).size(), 1u);
}

TEST(Rule9, does_not_claim_when_not_assigned) {
  Superseded s(Mode::exclusive);
  s.rig.revoke(*s.a, "0");
  s.rig.run_for(5s);
  EXPECT_EQ(s.claimed(), 0u);
}

TEST(Rule9, two_assignees_do_not_take_it_from_each_other_for_ever) {
  for (const Mode mode : {Mode::exclusive, Mode::non_exclusive}) {
    RigOptions options;
    options.mode = mode;
    Rig rig(options);
    auto& a = rig.start(1, "a");
    auto& b = rig.start(2, "b");
    rig.assign(a, "0");
    rig.assign(b, "0");
    rig.run_for(20s);
    EXPECT_EQ(rig.leaders(0), 1u);
    EXPECT_LE(a.records(RecordType::claim).size() + b.records(RecordType::claim).size(), 3u);
  }
}

}  // namespace
}  // namespace neliroute
