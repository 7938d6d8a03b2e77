#include "tool/operate/override_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <memory>
#include <neliroute/clock.h>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "neli_core/options.h"
#include "tool/command_line/values.h"
#include "tool/operate/lane_link.h"
#include "tool/operate/override_input.h"
#include "tool/operate/override_text.h"
#include "tool/print/log.h"
#include "tool/print/output.h"
#include "tool/print/progress.h"

namespace neliroute::tool {
namespace {

// Without --timeout: moves take a few rounds through the log, and a process's barriers.
constexpr milliseconds kCarriedOut{30'000};
// A busy machine may take so long to let a process write, or this one read.
constexpr milliseconds kSilentLeast{2'000};
// Thousands of members write more records in that time than there is time to look at all of them.
constexpr milliseconds kLookAgain{10};
// A plan of 65,536 partitions takes tens of milliseconds.
constexpr milliseconds kPlanAgain{50};

// Ends the process as the signal would have, but not before it has said what remains.
void end_waiting(int signal) {
  constexpr std::string_view kText =
      "\nneliroute: no longer waiting; the override stands if it was stored, and `neliroute "
      "overrides` says so\n";
  write_last_words(kText);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

std::string assignment_hint(const CommonOptions& options) {
  return fmt::format("{}, lane {}", options.where(), options.router.lane.value());
}

/// What a lane is read for.
enum class Purpose { list, foresee, write };

class LaneRun {
 public:
  LaneRun(std::string command, const CommonOptions& options)
      : command_(std::move(command)),
        options_(options),
        progress_(options.connecting(), OffTerminal::lines) {}

  /// Until members, assigner and overrides are known, and owners unless it is for the list. To
  /// write one that is for no name, or for `name` if that lives, others need not be known: the list
  /// that takes it in has all. A value: exit with it.
  std::optional<int> begin(Purpose purpose, const std::string& name = "");
  [[nodiscard]] LaneLink& link() { return *link_; }
  [[nodiscard]] const KnownLane& known() const { return link_->reader().known(); }
  [[nodiscard]] ShownLane lane() const { return link_->reader().lane(); }
  [[nodiscard]] SlotPlan plan() const { return {link_->settings()->slots, link_->partitions()}; }
  [[nodiscard]] std::set<std::string> names() const;
  [[nodiscard]] LocalTime began() const noexcept { return began_; }
  /// Every member that lives is among those that were heard.
  [[nodiscard]] bool has_heard_all() const;
  Progress& progress() { return progress_; }
  /// What stopped it; `silent`: nothing did but time.
  [[nodiscard]] int fail_with(const std::string& silent) const;

 private:
  [[nodiscard]] bool is_known(Purpose purpose, const std::string& name) const;
  [[nodiscard]] bool are_owners_known(LocalTime now) const;
  [[nodiscard]] bool is_waited_for() const;
  [[nodiscard]] std::optional<int> refuse() const;

  std::string command_;
  const CommonOptions& options_;
  LocalTime began_ = boot_now();
  Progress progress_;
  std::unique_ptr<LaneLink> link_;
};

std::set<std::string> LaneRun::names() const {
  std::set<std::string> names;
  for (const ShownMember& member : lane().members) names.insert(member.process.name);
  return names;
}

// A member that lives writes every interval, and a list of overrides comes every half a lease.
bool LaneRun::is_known(Purpose purpose, const std::string& name) const {
  if (link_->caught_up_at() == kNever) return false;
  if (link_->settings() && link_->settings()->variation != kAssignedVariation) return true;
  const ShownLane shown = lane();
  if (shown.members.empty() || !known().members.lives(shown.assigner)) return false;
  const LocalTime now = boot_now();
  const bool named = name.empty() || std::any_of(shown.members.begin(), shown.members.end(),
                                                 [&name](const ShownMember& member) {
                                                   return member.process.name == name;
                                                 });
  if (purpose == Purpose::write && named && are_owners_known(now)) return true;
  const LocalTime listed = later(link_->caught_up_at(), link_->lease());
  const bool overrides_matter = purpose != Purpose::write || !named;
  return has_heard_all() && (!overrides_matter || shown.overrides_known || now >= listed);
}

// Who lives and owns nothing says so once an interval, and nothing else tells of it.
bool LaneRun::has_heard_all() const {
  return boot_now() >=
         later(link_->caught_up_at(), std::max(2 * known().options.interval, kSilentLeast));
}

// Each log tells of its own partitions, some later than others.
bool LaneRun::are_owners_known(LocalTime now) const {
  for (std::uint32_t p = 0; p < link_->partitions(); ++p) {
    if (!link_->directory().is_known(Partition{p}, now)) return false;
  }
  return true;
}

// A member that lives has written in a lease.
bool LaneRun::is_waited_for() const {
  return link_->caught_up_at() == kNever ||
         boot_now() < later(link_->caught_up_at(), link_->lease()) || !lane().members.empty();
}

std::optional<int> LaneRun::begin(Purpose purpose, const std::string& name) {
  auto link = LaneLink::open(options_, purpose == Purpose::write);
  if (!link) return fail(command_, link.error());
  link_ = std::move(*link);
  progress_.now("reading who lives");
  // How long it may take to know follows from the members' sessions, and so from their leases.
  const LocalTime from = options_.timed_from(began_, boot_now());
  milliseconds limit{0};
  bool known = false;
  LocalTime look_at = kLongAgo;
  const auto ends = [&] {
    if (boot_now() < look_at) return false;
    look_at = later(boot_now(), kLookAgain);
    known = is_known(purpose, name) || !is_waited_for();
    limit = options_.timeout_or_default(link_->lease());
    return known || boot_now() >= later(from, limit);
  };
  static_cast<void>(link_->run_until(ends, kNever));
  if (link_->failure() || link_->caught_up_at() == kNever) {
    return fail_with(
        fmt::format("the ledger has not answered within {}; raise --timeout if it is "
                    "slow, try again later if it cannot be reached",
                    text_of(limit)));
  }
  if (const auto no = refuse()) return no;
  if (known) return std::nullopt;
  return fail_with(fmt::format(
      "could not read members, owners and overrides within {}; raise --timeout", text_of(limit)));
}

int LaneRun::fail_with(const std::string& silent) const {
  const auto& failure = link_->failure();
  if (!failure) return fail(command_, silent, kExitUnreachable);
  // Without the right to write, the command is wrong, and stays so.
  if (failure->code() == Errc::ledger_refused) {
    return fail(command_,
                failure->message() + "; an override is a record, so it takes an owner's rights",
                kExitUsage);
  }
  return fail(command_, *failure);
}

std::optional<int> LaneRun::refuse() const {
  const auto no = [this](const std::string& text) { return fail(command_, text, kExitUsage); };
  const std::string where = assignment_hint(options_);
  const auto& settings = link_->settings();
  if (settings && settings->variation != kAssignedVariation) {
    return no(where +
              ": Kafka's group assigns there, and knows no cordons, weights or pins. Start "
              "the processes without `--assignment group`; docs/operating.md says how to change "
              "a running lane");
  }
  const ShownLane shown = lane();
  if (shown.members.empty()) {
    return no(where +
              ": no member lives, so nobody would carry it out. Start processes, or say another "
              "--topic, --ledger or --lane");
  }
  if (!known().members.lives(shown.assigner)) {
    return no(
        fmt::format("{}: {} members live, but none assigns now. One takes over within about "
                    "a session; try again, and see what the members' logs say",
                    where, shown.members.size()));
  }
  if (settings &&
      (settings->partitions != link_->partitions() || settings->logs != link_->logs())) {
    return no(
        fmt::format("{}: the members run with {} partitions in {} {}, but {} in {} were "
                    "read; say --partitions {} --logs {}",
                    where, settings->partitions, settings->logs,
                    settings->logs == 1 ? "log" : "logs", link_->partitions(), link_->logs(),
                    settings->partitions, settings->logs));
  }
  return std::nullopt;
}

// --- One override --------------------------------------------------------------------------------

class OverrideRun {
 public:
  OverrideRun(std::string command, OverrideRequest request)
      : command_(std::move(command)),
        request_(std::move(request)),
        lane_(command_, request_.common) {}

  int run();

 private:
  [[nodiscard]] std::optional<int> check();
  [[nodiscard]] int say_what_would_move();
  [[nodiscard]] int carry_out();
  [[nodiscard]] bool has_settled();
  [[nodiscard]] bool stands() const;
  [[nodiscard]] OverrideOutcome outcome(const std::vector<ProcessId>& before);
  [[nodiscard]] int tell_undone(const OverrideOutcome& outcome);
  void warn_if_nobody_takes(const StandingOverrides& standing) const;
  [[nodiscard]] PartitionRanges pending() const;
  [[nodiscard]] std::vector<ProcessId> owners();
  /// The assigner has taken in the overrides before that offset.
  [[nodiscard]] std::int64_t known_upto() const { return lane_.known().overrides.listed_upto(); }
  void note_names();
  void note_gaps();
  [[nodiscard]] std::string name_of(ProcessId id) const {
    const auto at = names_.find(id);
    return at == names_.end() ? (id == kNobody ? "" : to_string(id)) : at->second;
  }
  [[nodiscard]] int tell(const OverrideOutcome& outcome, int code) const {
    request_.common.json ? say(json_of(outcome)) : say(text_of(outcome));
    return code;
  }

  std::string command_;
  OverrideRequest request_;
  LaneRun lane_;
  std::map<ProcessId, std::string> names_;
  microseconds unowned_{0};
  std::vector<Partition> unled_;  ///< when it was ordered, and since
  LocalTime ordered_ = kLongAgo;
  LocalTime planned_ = kLongAgo;
};

int OverrideRun::run() {
  const Purpose purpose = request_.dry_run ? Purpose::foresee : Purpose::write;
  const std::string name = request_.absent ? "" : request_.override.name;
  if (const auto code = lane_.begin(purpose, name)) return *code;
  if (const auto code = check()) return *code;
  note_names();
  return request_.dry_run ? say_what_would_move() : carry_out();
}

std::optional<int> OverrideRun::check() {
  Override& override = request_.override;
  const StandingOverrides standing = lane_.lane().overrides;
  if (!override.name.empty()) {
    // What stands for a name may be withdrawn after its processes have gone.
    const bool stands = standing.cordoned.contains(override.name) ||
                        standing.weights.contains(override.name) ||
                        standing.pins.contains(override.name);
    const auto fits = check_name(override.name, lane_.names(), request_.absent || stands);
    if (!fits) return fail(command_, fits.error());
    if (is_default_name(override.name) && !request_.dry_run) {
      warn(command_,
           fmt::format("{} looks like the name of a process without --name, which ends "
                       "with the process: after its restart the override is for nobody. Give "
                       "processes names of their own",
                       tool::shown(override.name)));
    }
  }
  if (!request_.slots.empty()) {
    const auto slots = parse_slot_ranges(request_.slots);
    if (!slots) return fail(command_, slots.error());
    auto partitions = whole_partitions(*slots, lane_.plan(), request_.whole);
    if (!partitions) return fail(command_, partitions.error());
    override.partitions = std::move(*partitions);
  }
  StandingOverrides after = standing;
  if (apply(override, after) == OverrideEffect::too_much) {
    return fail(command_,
                "the overrides that stand would not fit into a record of 64 KiB; withdraw "
                "others first (`neliroute overrides` lists them), or pin longer ranges",
                kExitUsage);
  }
  if (request_.dry_run) warn_if_nobody_takes(after);
  return std::nullopt;
}

// There is no way to name nobody, so who leads something keeps it.
void OverrideRun::warn_if_nobody_takes(const StandingOverrides& standing) const {
  if (!nobody_takes(lane_.lane(), standing)) return;
  warn(command_,
       "every process that lives is then cordoned or of weight 0: what they lead stays with them, "
       "and nobody is named for the rest, until a process may own something again");
}

void OverrideRun::note_names() {
  for (const ShownMember& member : lane_.lane().members) {
    names_[member.id] = member.process.name;
  }
}

int OverrideRun::say_what_would_move() {
  const auto name = [this](ProcessId id) { return name_of(id); };
  OverrideOutcome outcome;
  outcome.override = request_.override;
  outcome.dry_run = true;
  outcome.moves = moves_of(lane_.link().reader().would_move({request_.override}, boot_now()), name);
  return tell(outcome, kExitYes);
}

std::vector<ProcessId> OverrideRun::owners() {
  std::vector<ProcessId> ids(lane_.link().partitions(), kNobody);
  for (std::uint32_t p = 0; p < ids.size(); ++p) {
    const Hint& hint = lane_.link().directory().hint(Partition{p});
    if (hint.owner) ids[p] = hint.owner->id;
  }
  return ids;
}

/// Partitions that are not led as they are designated.
PartitionRanges OverrideRun::pending() const {
  const KnownLane& known = lane_.known();
  const LocalTime now = boot_now();
  std::vector<Partition> waiting;
  for (std::uint32_t p = 0; p < known.designations.count(); ++p) {
    const Partition partition{p};
    const ProcessId designee = known.designations.at(partition).id;
    const Owner owner = known.owners.at(partition, now);
    const bool named = designee != kNobody && known.members.lives(designee);
    if (named && (owner.id != designee || owner.draining)) waiting.push_back(partition);
  }
  return PartitionRanges::of(waiting);
}

void OverrideRun::note_gaps() {
  for (const microseconds gap : lane_.link().directory().take_gaps()) {
    unowned_ = std::max(unowned_, gap);
  }
  // Of those that nobody led before, the directory does not know since when.
  const LocalTime now = boot_now();
  std::erase_if(unled_, [&](Partition partition) {
    if (!lane_.link().directory().hint(partition).owner) return false;
    unowned_ = std::max(unowned_, now - ordered_);
    return true;
  });
}

/// It is as it was ordered, and no later override says otherwise.
bool OverrideRun::stands() const {
  StandingOverrides standing = lane_.known().overrides.standing();
  return apply(request_.override, standing) == OverrideEffect::nothing_new;
}

/// An assigner has taken it in, and all is where it should be.
bool OverrideRun::has_settled() {
  note_gaps();
  const auto offset = lane_.link().offset();
  const LocalTime now = boot_now();
  if (!offset || known_upto() <= *offset || now < later(planned_, kPlanAgain)) return false;
  if (!lane_.has_heard_all()) return false;
  planned_ = now;
  note_names();
  return pending().empty() && lane_.link().reader().would_move({}, now).empty();
}

int OverrideRun::carry_out() {
  lane_.progress().now("waiting until it is carried out");
  const std::vector<ProcessId> before = owners();
  note_gaps();
  unowned_ = microseconds{0};
  for (std::uint32_t p = 0; p < before.size(); ++p) {
    if (before[p] == kNobody) unled_.push_back(Partition{p});
  }
  ordered_ = boot_now();
  for (const int signal : {SIGINT, SIGTERM}) {
    if (std::signal(signal, end_waiting) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
  lane_.link().append(request_.override);
  const auto& timeout = request_.common.timeout;
  const LocalTime deadline =
      timeout ? later(lane_.began(), *timeout) : later(ordered_, kCarriedOut);
  const bool settled = lane_.link().run_until([this] { return has_settled(); }, deadline);
  OverrideOutcome made = outcome(before);
  made.carried_out = settled && made.stands;
  if (!made.carried_out) return tell_undone(made);
  if (!made.moves_paused) warn_if_nobody_takes(lane_.known().overrides.standing());
  return tell(made, kExitYes);
}

OverrideOutcome OverrideRun::outcome(const std::vector<ProcessId>& before) {
  OverrideOutcome made;
  made.override = request_.override;
  made.id = to_string(lane_.link().id());
  made.offset = lane_.link().offset().value_or(-1);
  made.taken_in = made.offset >= 0 && known_upto() > made.offset;
  made.stands = made.offset >= 0 && stands();
  made.moves_paused = lane_.lane().overrides.moves_paused;
  made.took = std::chrono::duration_cast<milliseconds>(boot_now() - ordered_);
  made.moves = moves_between(before, owners(), [this](ProcessId id) { return name_of(id); });
  made.unowned = unowned_;
  return made;
}

int OverrideRun::tell_undone(const OverrideOutcome& outcome) {
  if (lane_.link().failure() || outcome.offset < 0) {
    return lane_.fail_with(
        "the override could not be written: the ledger does not answer. It may "
        "have been stored all the same; `neliroute overrides` says so");
  }
  if (request_.common.json) say(json_of(outcome));
  PartitionRanges astray = pending();
  for (const WouldMove& move : lane_.link().reader().would_move({}, boot_now())) {
    astray.insert(move.partition);
  }
  return fail(command_, undone_text(outcome, astray.size()), kExitNo);
}

}  // namespace

int run_override(const std::string& command, OverrideRequest request) {
  return OverrideRun(command, std::move(request)).run();
}

int list_overrides(const std::string& command, const CommonOptions& options) {
  LaneRun lane(command, options);
  if (const auto code = lane.begin(Purpose::list)) return *code;
  const std::vector<StandingOverride> list = list_of(lane.lane());
  for (const StandingOverride& override : list) {
    const bool said = options.json ? say(json_of(override, lane.plan()))
                                   : say(text_of(override, lane.plan()));
    if (!said) break;
  }
  if (list.empty() && !options.json) say("no overrides stand");
  return kExitYes;
}

}  // namespace neliroute::tool
