#include "tool/print/explain.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>

namespace neliroute::tool {
namespace {

using namespace std::chrono_literals;

/// user:1000, which alpha owns since its claim at offset 17 of log 1; last renewal 200 ms ago.
Explained owned() {
  Explained e;
  e.key = "user:1000";
  e.hash = "xxh3";
  e.hashed = e.key;
  e.value = 0x1234abcd;
  e.settings = {"g", 1024, 64, 4, "xxh3", "non_exclusive"};
  e.lease = 3s;
  e.now = LocalTime{100s};
  e.answers = true;
  e.route = {Slot{397}, Partition{13}, Verdict::remote, false, false, "alpha", "h:1", "", "",
             {9, 17}, 1300ms, {}};
  e.seen.verdict = Verdict::remote;
  e.seen.owner = std::make_shared<const Peer>(Peer{ProcessId{0xab}, {"alpha", "h:1", {}}});
  e.seen.epoch = e.route.epoch;
  e.seen.lease = 1500ms;
  return e;
}

Explained nobodys(Verdict verdict) {
  Explained e = owned();
  e.seen = {};
  e.route = {Slot{397}, Partition{13}, verdict, false, false, "", "", "", "", kNoEpoch, 0us,
             LocalTime{93s}};
  return e;
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ExplainTest, FromTheHashToTheRule) {
  EXPECT_EQ(text_of(owned()),
            "key        user:1000\n"
            "hash       000000001234abcd, xxh3 of the key\n"
            "slot       397, the hash modulo 1,024 slots\n"
            "partition  13, the slot modulo 64 partitions; log 1 of 4 has its records\n"
            "verdict    remote\n"
            "owner      alpha at h:1, id 00000000000000ab\n"
            "epoch      " + to_string(Epoch{9, 17}) + "\n"
            "why        alpha claimed it at offset 17, and its renewals name that epoch and\n"
            "           say that it leads (rule 3). The last one was read 200 ms ago and\n"
            "           entitles it for 1.5 s: believe it for 1.3 s more, and longer with\n"
            "           each renewal.");
}

TEST(ExplainTest, ATagIsWhatIsHashed) {
  Explained e = owned();
  e.key = "{user1000}.cart";
  e.hashed = "user1000";
  EXPECT_TRUE(says(text_of(e), "xxh3 of the tag user1000\n")) << text_of(e);
}

TEST(ExplainTest, HandingOverAndWhoComesNext) {
  Explained e = owned();
  e.seen.draining = true;
  e.route.next_owner = "beta";
  e.route.next_endpoint = "h:2";
  EXPECT_TRUE(says(reason_of(e), "It hands over")) << reason_of(e);
  EXPECT_TRUE(says(reason_of(e), "(rules 4 and 7)"));
  EXPECT_TRUE(says(reason_of(e), "beta has claimed it since"));
  EXPECT_TRUE(says(text_of(e), "\nnext       beta at h:2\n"));
}

TEST(ExplainTest, WhatObserversHeardOfAnotherEpochIsNotTold) {
  Explained e = owned();
  e.seen.epoch = {9, 3};
  e.seen.draining = true;
  EXPECT_FALSE(says(text_of(e), "id ")) << text_of(e);
  EXPECT_FALSE(says(reason_of(e), "hands over"));
}

TEST(ExplainTest, NobodysOrBeingClaimed) {
  const Explained e = nobodys(Verdict::unowned);
  EXPECT_TRUE(says(reason_of(e), "for 7 s at least")) << reason_of(e);
  EXPECT_TRUE(says(reason_of(e), "(rules 4 and 5)"));
  EXPECT_FALSE(says(text_of(e), "\nowner"));
  Explained claimed = e;
  claimed.route.next_owner = "beta";
  EXPECT_TRUE(says(reason_of(claimed), "beta has claimed it, and does not lead yet"));
  EXPECT_TRUE(says(reason_of(claimed), "(rule 6)"));
}

PeerPtr peer(const std::string& name) {
  return std::make_shared<const Peer>(Peer{ProcessId{name.size()}, {name, name + ":1", {}}});
}

TEST(ExplainTest, WhoIsDesignatedAndWhoAssigns) {
  Explained e = owned();
  e.assigned = true;
  e.assigner = peer("gamma");
  e.takers = 3;
  EXPECT_TRUE(says(text_of(e), "\nassigner   gamma\n")) << text_of(e);
  EXPECT_FALSE(says(text_of(e), "named"));
  e.seen.designee = peer("beta");
  EXPECT_TRUE(says(text_of(e), "\ndesignated beta at beta:1\n")) << text_of(e);
  EXPECT_TRUE(says(reason_of(e), "The assigner gamma has named beta, which leads once"));
  e.route.next_owner = "beta";
  EXPECT_FALSE(says(reason_of(e), "named")) << "it has claimed it, which is said";
}

TEST(ExplainTest, WhyNobodyIsNamed) {
  Explained e = nobodys(Verdict::unowned);
  EXPECT_FALSE(says(reason_of(e), "assign")) << "of a group nothing is known here";
  e.assigned = true;
  EXPECT_TRUE(says(reason_of(e), "Nobody assigns now")) << reason_of(e);
  EXPECT_TRUE(says(text_of(e), "\nassigner   nobody now\n"));
  e.assigner = peer("gamma");
  EXPECT_TRUE(says(reason_of(e), "no living member may be given anything")) << reason_of(e);
  e.takers = 1;
  EXPECT_TRUE(says(reason_of(e), "has named nobody yet")) << reason_of(e);
  e.seen.designee = peer("beta");
  EXPECT_TRUE(says(reason_of(e), "has named beta, which claims it")) << reason_of(e);
}

TEST(ExplainTest, UnknownBySilenceOrForLackOfHistory) {
  Explained e = nobodys(Verdict::unknown);
  EXPECT_TRUE(says(reason_of(e), "less than the longest lease")) << reason_of(e);
  e.answers = false;
  e.silence = 12s;
  EXPECT_TRUE(says(reason_of(e), "has not answered for 12 s")) << reason_of(e);
  EXPECT_TRUE(says(reason_of(e), "after 3 s without an answer"));
}

TEST(ExplainTest, StrangersTextsAreEscaped) {
  Explained e = owned();
  e.key = "\x1b[2J";
  e.route.owner = "\x07";
  EXPECT_EQ(text_of(e).find('\x1b'), std::string::npos);
  EXPECT_EQ(text_of(e).find('\x07'), std::string::npos);
}

}  // namespace
}  // namespace neliroute::tool
