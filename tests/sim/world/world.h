// A run: processes, ledger, group, and what goes wrong with them, under one clock of true time.
//
// The processes are production's ClaimProtocol and Directory, the records go through production's
// codec. First chaos, judged by the oracle; then everything heals, and must lead within a bound.
//
// Threads: one (many runs at once are fine).   Units: true time, microseconds.
// Errors: run() returns what broke.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/sim/met.h"
#include "tests/sim/oracle.h"
#include "tests/sim/plan.h"
#include "tests/sim/world/event_queue.h"
#include "tests/sim/world/fenced_store.h"
#include "tests/sim/world/group.h"
#include "tests/sim/world/node.h"
#include "tests/sim/world/request.h"
#include "tests/world/memory_log.h"

namespace neliroute {
struct Finding;
}
namespace neliroute::sim {

struct Outcome {
  std::string broken;  ///< empty: nothing
  Time broken_at = 0;
  FaultCounts faults{};
  JudgedCounts judged{};
  std::uint64_t events = 0;
  std::uint64_t records = 0;
  std::uint64_t splits = 0;     ///< of what did not fit into one record
  std::uint64_t starts = 0;
  std::uint64_t transitions = 0;
  std::uint64_t gaps = 0;       ///< of the tail, noticed by processes
  std::uint64_t lapses = 0;
  std::uint64_t refusals = 0;   ///< of settings that are not the group's
  std::uint64_t withdrawals = 0;  ///< for a while, of who could not lead
  std::uint64_t expelled = 0;
  std::uint64_t rebalances = 0;
  MetCounts met{};              ///< where a member assigns
  std::uint64_t expedites = 0;  ///< heartbeats sent early
  std::uint64_t unowned = 0;    ///< times that a led partition had no leader
  Time longest_unowned = 0;
  Time simulated = 0;
};

/// What brokers' clocks show at the true time 0, milliseconds.
inline constexpr std::int64_t kBrokerEpochMs = 1'700'000'000'000;

class World {
 public:
  explicit World(const Plan& plan);
  [[nodiscard]] Outcome run();

 private:
  struct TopicLog : MemoryLog {
    std::size_t broker = 0;  ///< its leader
    Time away_until = 0;
    /// Until then readers see no record from there on, and no writer gets an answer.
    Time stuck_until = 0;
    std::int64_t stuck_at = 0;
    /// By position: how many records of its kind stand before it in its writer's batch, if any do.
    std::map<std::int64_t, std::uint32_t> places;
    std::int64_t compacted_below = 0;
    [[nodiscard]] std::int64_t visible_end(Time now) const {
      return stuck_until > now ? std::min(stuck_at, end()) : end();
    }
  };
  struct WriteOnItsWay {
    std::uint32_t log = 0;
    std::uint64_t seq = 0;
    std::shared_ptr<const Decoded> value;
    std::uint32_t place = 0;   ///< among the records of its kind in its batch
    Time give_up_at = 0;
    std::uint64_t topic = 0;
    bool answered = false;
    bool copy = false;  ///< nobody waits for an answer
  };

  // world.cc: time and processes.
  void handle(const Planned& event);
  void handle_for(Node& node, const Planned& event);
  void plan_at(Time at, Happening what, std::uint32_t a = 0, std::int64_t b = 0,
               std::int64_t c = 0);
  void plan_for(const Node& node, Time at, Happening what, std::uint32_t a = 0,
                std::int64_t b = 0, std::int64_t c = 0);
  Time latency(Node& node);
  void start_process(Node& node);
  [[nodiscard]] std::unique_ptr<Core> make_core(const Node& node, const CoreOptions& options);
  template <class Made>
  [[nodiscard]] std::unique_ptr<Core> own(Made made) {
    if (made) return std::make_unique<std::decay_t<decltype(*made)>>(std::move(*made));
    oracle_.broken("the options are refused: " + made.error().message(), now_);
    return nullptr;
  }
  void end_process(Node& node);
  void step(Node& node, const Event& event);
  void step_at(Node& node, const Event& event, LocalTime now);
  [[nodiscard]] bool stops_inside(Node& node);
  void finish_step(Node& node);
  void on_timer(Node& node);
  void carry_out(Node& node);
  void act(Node& node, Ready ready);
  void note(Node& node, const Transition& transition);
  void watch(Node& node);
  void tell_oracle(const Node& node, std::uint32_t p);
  void watch_hints(Node& node, const std::vector<Partition>& changed);
  [[nodiscard]] bool may_fall(const Hint& hint, const Epoch& known);
  void arm(Node& node);
  void finish(Outcome& outcome);
  void note_rebalances();

  // world_stores.cc: what other stores than Kafka do.
  [[nodiscard]] static std::optional<int> kind_of(const Decoded& value);
  [[nodiscard]] BrokerTime stamp_of(const TopicLog& log, Time clock_offset) const;
  void leave_positions_out(TopicLog& log);
  [[nodiscard]] static std::vector<std::int64_t> newest_of_each(const TopicLog& log,
                                                                std::int64_t end);
  [[nodiscard]] Below start_at_the_newest(Reader& reader, std::uint32_t log,
                                          std::int64_t end) const;
  [[nodiscard]] static bool is_left_out(const Reader& reader, std::int64_t position);
  void compact(std::uint32_t log);
  [[nodiscard]] Reread read_again(const RereadRequest& request) const;

  // world_log.cc: the ledger.
  using Batch = std::map<std::pair<std::uint32_t, int>, std::uint32_t>;
  void send(Node& node, Write& write, Batch& batch);
  void note_split(const WriteOnItsWay& write);
  void land(Node& node, std::uint32_t index, bool alive);
  void answer_write(Node& node, const WriteOnItsWay& write, bool stored, Time at);
  /// `clock_offset`: of its writer's clock from true time.
  void append(std::uint32_t log, std::shared_ptr<const Decoded> value, Time clock_offset = 0,
              std::uint32_t place = 0);
  void note_word(std::uint32_t log, const Record& record);
  void schedule_fetch(Node& node, std::uint32_t log, Time when);
  void fetch(Node& node, std::uint32_t log);
  void try_logs_again(Node& node);
  void restart_reader(Node& node, std::uint32_t log, Time wait);
  void probe(Node& node, std::uint32_t log);
  [[nodiscard]] std::int64_t start_of_reading(Node& node, const TopicLog& log) const;
  [[nodiscard]] static bool nothing_lies_below(const TopicLog& log, std::int64_t offset);
  void begin_reading(Node& node, const Planned& event);
  void ask_again(Node& node, const RereadRequest& request);
  void stick(std::uint32_t log, Random& random);
  void reread_lands(Node& node, std::uint32_t index);
  [[nodiscard]] Time unreachable_until(const Node& node, std::uint32_t log) const;

  // world_group.cc: the group's clients.
  void join_group(Node& node);
  void leave_group(Node& node);
  void withdraw(Node& node, const Withdrawal::Leave& why);
  void heartbeat(Node& node);
  void expedite(Node& node);
  void beat_in(Node& node, Time wait);
  void ask(Node& node, GroupRequest request);
  void request_lands(const Planned& event);
  void reply_to(std::vector<Addressed>& replies);
  void on_reply(Node& node, const GroupReply& reply);
  void take_assignment(Node& node, PartitionBits assigned);
  void lose_membership(Node& node);
  void announce(Node& node);
  void finish_rebalances(Node& node, std::uint32_t count);

  // world_faults.cc: what goes wrong, and how it heals.
  void plan_faults();
  void strike(Fault fault);
  void strike_node(Fault fault, Node& node, Random& random);
  void pause(Node& node, Time over);
  void hang(Node& node, Time over);
  void be_sick();
  [[nodiscard]] LocalTime leave_bound(const Node& node) const;
  [[nodiscard]] bool client_handles(Node& node, const Planned& event);
  void strike_log(Fault fault, std::uint32_t log, Random& random);
  void strike_group(Fault fault, Random& random);
  void make_topic_again(Random& random);
  void await_as_long(Node& node, Time at_least, bool coordinator_too);
  void cut_until(Node& node, std::size_t link, Time when);
  void on_topic_lost(Node& node, const Planned& event);
  void odd_claim(std::uint32_t log, Random& random);
  void noise(std::uint32_t log, Random& random);
  void truncate(std::uint32_t log, Random& random, Time noticed);
  void expire_log(std::uint32_t log);
  void lie(Random& random);
  void heal();
  void check_alive();
  void check_alive(std::uint8_t lane, std::uint32_t partition);

  // world_views.cc: lookups and writes to a store.
  void publish(Node& node, const std::vector<Transition>& transitions);
  void look_around();
  void look(Node& node, std::uint32_t p);
  void wrong_answer(const Node& node, std::uint32_t p, const std::string& what);
  [[nodiscard]] bool reads_well(const Node& node, std::uint32_t log) const;
  void judge_remote(const Node& node, std::uint32_t p, const Route& route);
  void judge_unowned(Node& node, std::uint32_t p);
  [[nodiscard]] static bool serves_unread(const Node& owner, std::uint32_t p);
  void judge_unknown(const Node& node, std::uint32_t p);
  [[nodiscard]] Node* process_of(ProcessId id);
  [[nodiscard]] bool loses_records() const;
  [[nodiscard]] bool was_lost(const StoreWrite& write) const;
  void write_to_store(Node& node, std::uint32_t p, const Epoch& epoch);
  void store_lands(const Node& node, const Planned& event);
  void on_store_refused(Node& node, const Planned& event);
  [[nodiscard]] bool may_be_ahead() const;
  [[nodiscard]] bool may_be_refused(const Node& node, const StoreWrite& write) const;
  void raise_store(Random& random);

  // world_preparing.cc: applications that prepare and warm up.
  void let_prepare(Node& node, const Ready& ready);
  void on_prepared(Node& node, const Planned& event);
  void check_ready(Node& node, Partition partition);

  // world_requests.cc: what callers send to owners, and processes make of it.
  void send_requests();
  [[nodiscard]] CallerHint& hint_of(const CallerRequest& request);
  void send_on(std::uint32_t index, Time pause = 0);
  void request_arrives(std::uint32_t index);
  void admit(const Node& node, std::uint32_t index);
  void serve(const Node& node, CallerRequest& request, const Epoch& epoch);
  void redirect(const Node& node, std::uint32_t index, const Route& route);
  void admit_waiting(const Node& node);
  void request_given_up(std::uint32_t index);

  // world_assigner.cc: a member assigns.
  void note_assignment(const AssignmentRecord& record);
  void note_unread(const Record& record);
  void note_seat(const StoredRecord& stored, std::int64_t offset);
  void note_assigner(const StoredRecord& stored, std::int64_t offset);
  void look_for_seats();
  [[nodiscard]] bool names_others(const AssignmentRecord& record);
  [[nodiscard]] bool is_moving() const;
  [[nodiscard]] bool leader_of(std::uint8_t lane, std::uint32_t p, std::uint8_t& owner,
                               std::uint16_t& life) const;
  void check_assigner(std::uint8_t lane);
  void judge_member(const Node& node, const Ready& ready);
  void count_met(const AssignedCore& core);
  void meet(Met what, std::uint64_t times = 1) { met_[static_cast<std::size_t>(what)] += times; }
  void judge_deaths(const Node& node);
  void judge_agreement(const Node& node);
  void judge_preference(std::size_t lane, ProcessId before);
  void judge_leave(const Node& node, const std::vector<Transition>& transitions);

  // world_overrides.cc: operators' overrides.
  void order();
  [[nodiscard]] Override next_override(std::uint8_t lane);
  void note_override(const AssignmentRecord& record);
  void note_list(const AssignmentRecord& record);
  void judge_pause(std::uint8_t lane, Partition partition, ProcessId before);
  void check_overrides(const Node& holder);
  [[nodiscard]] bool may_own(const Node& node) const;
  [[nodiscard]] std::string name_of(const Node& node) const;

  // world_broadcast.cc: variation `broadcast`.
  [[nodiscard]] std::unique_ptr<Core> make_broadcast(const CoreOptions& options);
  [[nodiscard]] bool is_beside(const Node& node) const {
    return plan_.has(Fault::broadcast_beside) && node.lane == 1;
  }
  [[nodiscard]] bool broadcasts(const Node& node) const {
    return plan_.broadcast() || is_beside(node);
  }
  void choose_beside(CoreOptions& core) const;
  void note_beside(Node& node, const Transition& transition);
  void set_wall_clocks();
  void broadcast(Node& node);
  void beat_lands(Node& node, const Planned& event);
  void start_hearing(Node& node, PartitionBits parts);
  void schedule_hearing(Node& node, std::uint32_t partition, Time when);
  void hear(Node& node, std::uint32_t partition);
  [[nodiscard]] bool notices_expulsion(Node& node);
  void forget_while_cut_off(Random& random);

  // world_withdrawal.cc: who cannot lead what the group gives it.
  void start_withdrawal(Node& node);
  void handle_of_withdrawal(Node& node, const Planned& event);
  void forbid(Fault fault, Node& node, Random& random);
  void still_unable();
  [[nodiscard]] bool anybody_unable() const;
  void note_for_withdrawal(Node& node, const Event& event);
  void look_whether_able(Node& node);
  void join_again(Node& node);
  void tell_leaders(Node& node);
  void count_others(Node& node);
  void write_forbidden(Node& node, const Planned& event);
  [[nodiscard]] bool reaches_anybody(const Node& node) const;
  [[nodiscard]] Time withdrawn_by(Fault fault) const;
  [[nodiscard]] Time given_up_by() const;

  // world_audit.cc: what the logs show.
  void audit();
  [[nodiscard]] bool may_be_found(const Finding& finding) const;

  // world_settings.cc: who starts with other settings than the group's.
  void choose_settings(Node& node, CoreOptions& core);
  void note_mismatched(const Record& record, BrokerTime stamped);
  [[nodiscard]] bool reads_of_the_dead(const Node& node) const;
  void on_refusal(Node& node, const Error& error);
  /// Somebody there has other settings than the others.
  [[nodiscard]] bool is_mixed(std::uint8_t lane) const;
  void check_harmless(const Node& node, Partition partition);
  bool happens(Fault fault, Random& random);
  void count(Fault fault) { ++faults_[static_cast<std::size_t>(fault)]; }
  [[nodiscard]] Time until(Time length) const;
  [[nodiscard]] bool chaos() const { return now_ < chaos_end_; }
  [[nodiscard]] Node* some_node(Random& random);
  [[nodiscard]] std::uint32_t part_of(const Node& node, std::uint32_t partition) const {
    return node.lane * plan_.partitions + partition;
  }
  [[nodiscard]] Group& group_of(const Node& node) { return groups_[node.lane]; }

  void tell(const Node& node, const std::string& what) const;
  void tell(const std::string& what) const;

  Plan plan_;
  EventQueue queue_;
  Oracle oracle_;
  std::vector<Group> groups_;  ///< by lane
  std::array<std::uint64_t, kLanesMax> rebalances_{};
  std::vector<Node> nodes_;
  std::vector<TopicLog> logs_;
  std::vector<std::vector<BrokerTime>> beats_;  ///< by partition: stamps by offset
  std::array<Time, 3> broker_skew_{};
  Random positions_;
  std::uint64_t topic_ = 1;
  Time topic_made_at_ = 0;  ///< the last time that it was made again
  Time topic_away_until_ = 0;
  Time coordinator_down_until_ = 0;
  Time slow_until_ = 0;
  std::vector<WriteOnItsWay> writes_;
  std::vector<Reread> rereads_;
  std::vector<GroupRequest> requests_;
  std::vector<GroupReply> replies_;
  std::vector<Addressed> addressed_;
  FencedStore store_;
  std::vector<StoreWrite> store_writes_;
  Random chance_of_looks_;
  Random chance_of_requests_;
  std::vector<CallerRequest> callers_requests_;
  std::vector<std::uint32_t> open_requests_;
  std::vector<CallerHint> hints_;  ///< by caller and part
  std::array<Random, kFaultCount> chance_;
  FaultCounts faults_{};
  Time now_ = 0;
  Time start_ = 0;
  Time chaos_end_ = 0;
  Time recovered_by_ = 0;
  Time end_ = 0;
  std::uint64_t next_id_ = 1;
  std::uint64_t events_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t splits_ = 0;
  std::uint64_t starts_ = 0;
  std::uint64_t gaps_ = 0;
  std::uint64_t expedites_ = 0;
  std::uint64_t lapses_ = 0;
  std::uint64_t refusals_ = 0;
  std::uint64_t withdrawals_ = 0;
  MetCounts met_{};
  enum class Sickness : std::uint8_t { stalls, reads_late, writes_late, one_way };
  std::optional<Sickness> sickness_;  ///< of process 0, for good
  Time sick_by_ = 0;
  std::uint64_t assignments_after_ = 0;  ///< the recovery, that named others
  Time last_assignment_ = 0;
  /// How far each had read log 0 when it was last compared with the others.
  std::array<std::int64_t, kNodesMax> compared_{};
  std::vector<Overrides> overrides_;      ///< by lane: what log 0 says
  std::array<Time, kLanesMax> listed_{};  ///< the last valid list of overrides; 0: none yet
  std::array<Epoch, kLanesMax> seats_{};  ///< the newest seat claims
  std::array<ProcessId, kLanesMax> seated_{};  ///< and whose they are
  std::array<Time, kLanesMax> paused_since_{};    ///< moves; 0: they are not
  std::array<Time, kLanesMax> disobeyed_since_{};  ///< healed, but not as ordered; 0: as ordered
  /// By part: whom the newest assignment in log 0 names.
  std::array<ProcessId, kPartsMax> named_{};
  Time last_override_ = 0;
  std::vector<ProcessId> mismatched_;
  BrokerTime mismatched_stamp_{};  ///< of the last record that one of them wrote
  Time mismatched_until_ = 0;  ///< records of one with other settings may still count
};

}  // namespace neliroute::sim
