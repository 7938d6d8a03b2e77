// A random walk: a few processes on a ledger that delays, drops, fails and duplicates, and a group
// that assigns what it likes. Not the simulator (tests/sim): small, for thousands of seeds a build.
//
// Time is true time in microseconds; each process has a clock of its own that starts elsewhere and
// drifts, so comparing two machines' clocks shows. After the chaos everything heals, and the
// assignees must lead within a bound.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "neli_core/claimed/claim_protocol.h"
#include "tests/memory_log.h"

namespace neliroute {
class Auditor;
}

namespace neliroute::walk {

/// True time, microseconds.
using Time = std::int64_t;
inline constexpr Time kMs = 1000;
inline constexpr Time kLease = 300 * kMs;

struct WalkOptions {
  std::uint64_t seed = 1;
  Mode mode = Mode::exclusive;
  /// Delays and planned moves only: then non-exclusive mode must have no unowned moment.
  bool calm = false;
  /// Topics are deleted and made again.
  bool topic_made_again = false;
  bool verbose = false;
};

class Walk {
 public:
  explicit Walk(WalkOptions options);
  /// Empty if nothing broke, else what and when.
  [[nodiscard]] std::string run();
  /// What the topic holds in the end (audit_walk_test.cc).
  void audit(Auditor& auditor) const;

 private:
  struct TopicLog : MemoryLog {
    std::int64_t skew_ms = 0;
  };
  struct Tail {
    bool running = false;
    Time fetch_at = 0;  ///< 0: none is planned
    std::int64_t next = 0;
    std::uint64_t version = 0;
    std::uint64_t topic = 0;  ///< which incarnation it reads
    Time cut_until = 0;
    Time last_append = 0;
  };
  struct Node {
    std::uint64_t id = 0;
    std::optional<ClaimProtocol> core;
    Time offset = 0;
    std::int64_t drift_ppm = 0;
    bool alive = true;
    bool member = false;
    bool closing = false;
    Time paused_until = 0;
    Time last_group_event = 0;
    std::deque<Event> group_events;  ///< on their way, in order
    std::uint64_t timer = 0;
    std::vector<Tail> tails;
    std::set<std::uint32_t> assigned;  ///< what the group has told it, or is telling it
    std::map<std::uint32_t, Epoch> acquired;
    std::set<std::uint32_t> holds;  ///< acquired, and not stopped since
  };
  using NodePtr = std::shared_ptr<Node>;
  struct Planned {
    Time at;
    std::uint64_t order;
    std::function<void()> run;
    friend bool operator<(const Planned& a, const Planned& b) {
      return a.at != b.at ? a.at > b.at : a.order > b.order;
    }
  };

  // Time and chance.
  void at(Time when, std::function<void()> run);
  void for_node(Time when, const NodePtr& node, std::function<void()> run);
  std::int64_t between(std::int64_t low, std::int64_t high);
  bool chance(int percent) { return between(1, 100) <= percent; }
  Time latency();
  [[nodiscard]] LocalTime local(const Node& node) const;
  [[nodiscard]] Time true_time(const Node& node, LocalTime local) const;

  // The processes.
  NodePtr start();
  void step(const NodePtr& node, const Event& event);
  void after(const NodePtr& node);
  void note(const NodePtr& node, const Transition& transition);
  void set_timer(const NodePtr& node);

  // The ledger.
  void send(const NodePtr& node, const Write& write);
  void append(std::uint32_t log, const std::shared_ptr<const Decoded>& value);
  void schedule_fetch(const NodePtr& node, std::uint32_t log, Time wait);
  void fetch(const NodePtr& node, std::uint32_t log);
  void restart_tail(const NodePtr& node, std::uint32_t log);
  void reread(const NodePtr& node, const RereadRequest& request);

  // What goes wrong, and how it heals.
  void mischief();
  void faults(const NodePtr& node);
  void group_event(const NodePtr& node, std::uint32_t partition, bool assigned);
  void move(std::uint32_t partition, const NodePtr& to);
  void make_topic_again();
  void odd_claim();
  void calm_step();
  void heal();
  void rebalance();
  [[nodiscard]] std::vector<NodePtr> members() const;

  // The oracle.
  void check();
  void check_healed();
  void broken(const std::string& what);
  void tell(const NodePtr& node, std::uint32_t partition, const std::string& what) const;

  WalkOptions options_;
  std::mt19937_64 random_;
  std::priority_queue<Planned> plan_;
  std::uint64_t order_ = 0;
  Time now_ = 0;
  std::vector<TopicLog> logs_;
  std::uint64_t topic_ = 1;
  std::vector<NodePtr> nodes_;
  std::uint64_t next_id_ = 1;
  std::uint32_t partitions_ = 2;
  bool believe_broker_time_ = true;
  bool healed_ = false;
  bool two_leases_ = false;
  int fault_percent_ = 10;
  Time latency_max_ = 20'000;
  std::vector<bool> led_;             ///< calm: once led, always led
  std::map<std::uint32_t, Epoch> last_acquired_;
  std::map<std::uint32_t, std::uint64_t> last_holder_;
  std::uint64_t events_ = 0;
  std::string broken_;
};

}  // namespace neliroute::walk
