// What expedite does for a whole group: a model of KIP-848's coordinator, whose members hear of
// their assignment at a slow heartbeat or when they want it sent early.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "tests/world/rig.h"

namespace neliroute {
namespace {

using rig::Onlooker;
using rig::Process;
using rig::Rig;
using rig::RigOptions;
using namespace std::chrono_literals;

constexpr milliseconds kSlowHeartbeat{4500};

// KIP-848 in brief: a member hears what it should have in the answer to its heartbeat, which comes
// at the interval, or when it was wanted early; what it must give up it gives up first.
class Coordinator : public Onlooker {
 public:
  Coordinator(Rig& rig, bool expedites) : rig_(rig), expedites_(expedites) {
    rig.set_onlooker(this);
  }
  void join(Process& process) {
    Member& m = members_[&process];
    m.next = rig_.now();
    ++requests_;
    aim();
    rig_.step(process, GroupJoined{});
    heartbeat(process);
  }
  void leave(Process& process) {
    members_.erase(&process);
    rig_.step(process, CloseRequested{rig_.now() + 60s});
    aim();
  }
  void on_ready(Process& process, const Ready& ready) override {
    if (!ready.expedite || !expedites_) return;
    const auto found = members_.find(&process);
    if (found == members_.end()) return;
    found->second.next = std::min(found->second.next, rig_.now() + *ready.expedite / 2);
  }
  void tick(LocalTime now) override {
    for (bool any = true; any;) {
      any = false;
      for (auto& [process, member] : members_) {
        if (member.next > now) continue;
        heartbeat(*process);
        any = true;
        break;
      }
    }
  }
  [[nodiscard]] LocalTime next_deadline() const override {
    LocalTime next = kNever;
    for (const auto& [process, member] : members_) next = std::min(next, member.next);
    return next;
  }
  [[nodiscard]] bool at_rest() const {
    for (const auto& [process, member] : members_) {
      if (member.has != member.target) return false;
      for (const std::uint32_t p : member.target) {
        if (!process->leads(p, rig_.now()) || rig_.leaders(p) != 1) return false;
      }
    }
    return true;
  }
  [[nodiscard]] std::size_t requests() const { return requests_; }

 private:
  struct Member {
    std::set<std::uint32_t> target;
    std::set<std::uint32_t> has;
    LocalTime next = kNever;
  };
  // Sticky, even.
  void aim() {
    if (members_.empty()) return;
    const std::size_t count = rig_.options.partitions;
    const std::size_t most = (count + members_.size() - 1) / members_.size();
    std::set<std::uint32_t> free;
    for (std::uint32_t p = 0; p < count; ++p) free.insert(p);
    for (auto& [process, member] : members_) {
      while (member.target.size() > most) member.target.erase(std::prev(member.target.end()));
      for (const std::uint32_t p : member.target) free.erase(p);
    }
    while (!free.empty()) {
      const auto least = std::min_element(
          members_.begin(), members_.end(), [](const auto& one, const auto& other) {
            return one.second.target.size() < other.second.target.size();
          });
      least->second.target.insert(*free.begin());
      free.erase(free.begin());
    }
  }
  void heartbeat(Process& process) {
    ++requests_;
    Member& m = members_.at(&process);
    m.next = rig_.now() + kSlowHeartbeat;
    std::string given_up;
    std::string given;
    for (const std::uint32_t p : m.has) {
      if (m.target.count(p) == 0) given_up += (given_up.empty() ? "" : ",") + std::to_string(p);
    }
    if (!given_up.empty()) {
      std::erase_if(m.has, [&](std::uint32_t p) { return m.target.count(p) == 0; });
      ++requests_;  // which says so
      rig_.step(process, GroupRevoked{*PartitionRanges::parse(given_up), false});
    }
    for (const std::uint32_t p : m.target) {
      const bool taken = std::any_of(members_.begin(), members_.end(), [&](const auto& other) {
        return other.second.has.count(p) != 0;
      });
      if (!taken) given += (given.empty() ? "" : ",") + std::to_string(p);
    }
    if (given.empty()) return;
    const PartitionRanges parts = *PartitionRanges::parse(given);
    parts.for_each(rig_.options.partitions, [&](Partition p) { m.has.insert(p.value()); });
    ++requests_;
    rig_.step(process, GroupAssigned{parts});
  }

  Rig& rig_;
  bool expedites_;
  std::map<Process*, Member> members_;
  std::size_t requests_ = 0;
};

Process& start(Rig& rig, std::uint64_t id) {
  CoreOptions options = rig.core_options(id, "p" + std::to_string(id));
  options.heartbeat = kSlowHeartbeat;
  return rig.start(options);
}

RigOptions large() {
  RigOptions options;
  options.slots = 64;
  options.partitions = 64;
  options.logs = 4;
  options.interval = 500ms;
  options.lease = 30s;
  return options;
}

milliseconds rest_after(Rig& rig, const Coordinator& group) {
  const LocalTime from = rig.now();
  EXPECT_TRUE(rig.run_until([&] { return group.at_rest(); }, 60s));
  return std::chrono::duration_cast<milliseconds>(rig.now() - from);
}

TEST(ExpediteGroup, a_group_with_slow_heartbeats_is_at_rest_soon_after_a_leave_and_a_join) {
  for (const bool expedites : {true, false}) {
    Rig rig(large());
    Coordinator group(rig, expedites);
    std::vector<Process*> all;
    for (std::uint64_t id = 1; id <= 4; ++id) {
      all.push_back(&start(rig, id));
      group.join(*all.back());
      rest_after(rig, group);
      rig.run_for(700ms);  // not in step with each other
    }
    rig.run_for(7s);
    group.leave(*all[0]);
    const milliseconds leave = rest_after(rig, group);
    rig.run_for(7s);
    Process& newcomer = start(rig, 9);
    group.join(newcomer);
    const milliseconds join = rest_after(rig, group);
    if (expedites) {
      EXPECT_LE(leave, 300ms);
      EXPECT_LE(join, 300ms);
    } else {
      EXPECT_GE(leave, 1s) << "a heartbeat comes at the interval";
      EXPECT_GE(join, 1s);
    }
  }
}

constexpr std::size_t kCount = 30;

/// All start within 300 ms.
void start_thirty(Rig& rig, Coordinator& group) {
  for (std::uint64_t id = 1; id <= kCount; ++id) {
    group.join(start(rig, id));
    rig.run_for(10ms);
  }
}

TEST(ExpediteGroup, thirty_at_once_make_at_most_twice_the_requests_that_they_make_without) {
  std::array<std::size_t, 2> requests{};
  for (const bool expedites : {false, true}) {
    Rig rig(large());
    Coordinator group(rig, expedites);
    start_thirty(rig, group);
    rig.run_for(10 * kSlowHeartbeat);
    EXPECT_TRUE(group.at_rest());
    requests[expedites ? 1 : 0] = group.requests();
    RecordProperty(expedites ? "requests" : "requests_without", std::to_string(group.requests()));
  }
  EXPECT_GT(requests[1], requests[0]) << "they do ask";
  EXPECT_LE(requests[1], 2 * requests[0]);
}

TEST(ExpediteGroup, thirty_that_start_at_once_are_no_storm) {
  Rig rig(large());
  Coordinator group(rig, true);
  const LocalTime from = rig.now();
  start_thirty(rig, group);
  rest_after(rig, group);
  rig.run_for(2 * kSlowHeartbeat);
  const auto heartbeats = static_cast<std::size_t>((rig.now() - from) / kSlowHeartbeat) + 1;
  std::size_t expedites = 0;
  for (const auto& process : rig.processes()) {
    expedites += process->expedites.size();
    EXPECT_LE(process->expedites.size(), ExpeditePacing::kMost * heartbeats);
  }
  EXPECT_GT(expedites, kCount) << "they do ask";
  EXPECT_LE(expedites, ExpeditePacing::kMost * kCount * 2) << "and come to rest";
  const std::size_t settled = expedites;
  rig.run_for(4 * kSlowHeartbeat);
  expedites = 0;
  for (const auto& process : rig.processes()) expedites += process->expedites.size();
  EXPECT_EQ(expedites, settled) << "nothing is asked at rest";
}

}  // namespace
}  // namespace neliroute
