#include "tests/scenarios/director.h"

#include <charconv>
#include <sstream>
#include <utility>

#include "neli_core/timing.h"

namespace neliroute::scenario {
namespace {

Error bad(std::string what) { return {Errc::bad_option, std::move(what)}; }

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return {};
  return value;
}

// 500ms, 3s, 1m, 1h; with a sign where one makes sense.
std::optional<milliseconds> duration_of(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  for (const auto& [unit, factor] : {std::pair<std::string_view, std::int64_t>{"ms", 1},
                                     {"s", 1000},
                                     {"m", 60'000},
                                     {"h", 3'600'000}}) {
    if (!text.ends_with(unit)) continue;
    const auto number = number_of(text.substr(0, text.size() - unit.size()));
    if (number) return milliseconds{*number * factor};
  }
  return std::nullopt;
}

Result<milliseconds> duration(const std::optional<std::string>& text, milliseconds otherwise) {
  if (!text) return otherwise;
  if (const auto value = duration_of(*text)) return *value;
  return bad("no duration: " + *text);
}

Result<std::uint32_t> count(const std::optional<std::string>& text, std::uint32_t otherwise) {
  if (!text) return otherwise;
  const auto value = number_of(*text);
  if (value && *value >= 0 && *value <= 1'000'000) return static_cast<std::uint32_t>(*value);
  return bad("no count: " + *text);
}

std::string timing_text(const StageOptions& options) {
  const auto ms = [](milliseconds value) { return std::to_string(value.count()) + " ms"; };
  return "  interval " + ms(options.rig.interval) + ", lease " + ms(options.rig.lease) +
         ", clock error " + ms(options.rig.clock_error) + ", session " + ms(options.session);
}

}  // namespace

std::optional<std::string> Director::Words::take(const std::string& name) {
  const auto found = named.find(name);
  if (found == named.end()) return std::nullopt;
  std::string value = std::move(found->second);
  named.erase(found);
  return value;
}

Director::Words Director::words_of(const std::string& command) {
  Words words;
  std::istringstream stream(command);
  for (std::string word; stream >> word;) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) {
      words.plain.push_back(word);
    } else {
      words.named[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
  return words;
}

Result<Lines> Director::perform(const std::string& command) {
  Words words = words_of(command);
  if (words.plain.empty()) return bad("no command");
  const auto found = handlers().find(words.plain[0]);
  if (found == handlers().end()) return bad("unknown command");
  const auto& [count_of_words, handler] = found->second;
  if (words.plain.size() - 1 != count_of_words) {
    return bad("takes " + std::to_string(count_of_words) + " words");
  }
  if (!stage_ && words.plain[0] != "ledger") return bad("a story begins with its ledger");
  auto lines = (this->*handler)(words);
  if (!lines) return lines.error();
  if (!words.named.empty()) return bad("knows no " + words.named.begin()->first + "=");
  Lines told = stage_->take_told();
  told.insert(told.end(), lines->begin(), lines->end());
  return told;
}

std::optional<Error> Director::verdict() const {
  if (wrong_) return wrong_;
  if (stage_ && stage_->overlapped()) {
    return bad("two processes led one partition at once in exclusive mode");
  }
  return std::nullopt;
}

Result<Actor*> Director::actor(const std::string& name) {
  if (Actor* found = stage_->find(name)) return found;
  return bad("nobody is called " + name);
}

Result<Actor*> Director::running(const std::string& name) {
  const auto found = actor(name);
  if (!found) return found.error();
  if (!(*found)->process) return bad(name + " only watches");
  if ((*found)->crashed) return bad(name + " has crashed");
  if ((*found)->process->stopped) return bad(name + " is paused");
  return found;
}

// A new stage: what a profile gives in this mode, unless the story says otherwise.
Result<Lines> Director::ledger(Words& words) {
  if (auto wrong = verdict()) wrong_ = wrong;
  const bool exclusive = words.plain[1] == to_string(Mode::exclusive);
  if (!exclusive && words.plain[1] != to_string(Mode::non_exclusive)) {
    return bad("the mode is exclusive or non_exclusive");
  }
  const auto profile = parse_profile(words.take("profile").value_or("balanced"));
  if (!profile) return bad("no such profile");
  const std::string source = words.take("assignment").value_or("group");
  const bool member = source == to_string(Assignment::assigner);
  if (!member && source != to_string(Assignment::group)) {
    return bad("the assignment is group or assigner");
  }
  StageOptions options = options_for(exclusive ? Mode::exclusive : Mode::non_exclusive, *profile,
                                     member ? Assignment::assigner : Assignment::group);
  const auto lease = duration(words.take("lease"), options.rig.lease);
  const auto partitions = count(words.take("partitions"), options.rig.partitions);
  const auto logs = count(words.take("logs"), options.rig.logs);
  const auto slots = count(words.take("slots"), options.rig.slots);
  const auto serve = duration(words.take("serve_stale"), options.rig.serve_stale);
  for (const Error& error :
       {lease.error(), partitions.error(), logs.error(), slots.error(), serve.error()}) {
    if (error.code() != Errc{}) return error;
  }
  options.rig.lease = *lease;
  options.rig.partitions = *partitions;
  options.rig.logs = *logs;
  options.rig.slots = *slots;
  options.rig.serve_stale = *serve;
  options.overlap_expected = words.take("overlap").value_or("") == "expected";
  stage_ = std::make_unique<Stage>(options);
  return Lines{timing_text(options)};
}

Result<Lines> Director::start(Words& words) {
  const std::string& name = words.plain[1];
  if (stage_->find(name)) return bad("there was a " + name + " already");
  CoreOptions options = stage_->rig().core_options(stage_->next_id(), name);
  const auto lane = count(words.take("lane"), 0);
  const auto slots = count(words.take("slots"), options.settings.slots);
  if (!lane) return lane.error();
  if (!slots) return slots.error();
  const auto weight = count(words.take("weight"), 1);
  if (!weight) return weight.error();
  if (*weight != 1 && stage_->options().assignment == Assignment::group) {
    return bad("a weight is of members, where one of them assigns");
  }
  if (const auto called = words.take("name")) {
    options.process = {*called, *called + ":1", {}};
  }
  options.lane = Lane{*lane};
  options.settings.slots = *slots;
  options.settings.hash = words.take("hash").value_or(options.settings.hash);
  const std::string mode = words.take("mode").value_or(std::string(to_string(options.mode)));
  options.mode = mode == to_string(Mode::exclusive) ? Mode::exclusive : Mode::non_exclusive;
  if (mode != to_string(options.mode)) return bad("the mode is exclusive or non_exclusive");
  std::set<Log> cut_off;
  if (const auto what = words.take("cut")) {
    const auto log = log_of(*what);
    if (!log) return bad("what is cut from the start is log0, log1, ...");
    cut_off.insert(*log);
  }
  stage_->start(name, std::move(options), *weight, std::move(cut_off));
  if (words.take("barriers").value_or("") == "kept") {
    stage_->find(name)->process->keep_barriers = true;
  }
  return Lines{};
}

Result<Lines> Director::watch(Words& words) {
  if (stage_->find(words.plain[1])) return bad("there was a " + words.plain[1] + " already");
  const auto lane = count(words.take("lane"), 0);
  if (!lane) return lane.error();
  stage_->watch(words.plain[1], Lane{*lane});
  return Lines{};
}

Result<Lines> Director::rebalance(Words& words, const std::string& what) {
  const auto found = running(words.plain[1]);
  if (!found) return found.error();
  if (!PartitionRanges::parse(words.plain[2])) return bad("no partitions: " + words.plain[2]);
  if ((*found)->coordinator_cut && what != "lost") {
    return bad("the coordinator cannot reach " + words.plain[1]);
  }
  if (stage_->options().assignment == Assignment::assigner) {
    return bad("a member assigns, not the group");
  }
  rig::Process& process = *(*found)->process;
  if (!process.subscribed) return bad(words.plain[1] + " is not in the group");
  if (what == "assign") {
    stage_->rig().assign(process, words.plain[2]);
  } else {
    stage_->rig().revoke(process, words.plain[2], what == "lost");
  }
  return Lines{};
}

Result<Lines> Director::assign(Words& words) { return rebalance(words, "assign"); }
Result<Lines> Director::revoke(Words& words) { return rebalance(words, "revoke"); }
Result<Lines> Director::lost(Words& words) { return rebalance(words, "lost"); }

Result<Lines> Director::run(Words& words) {
  const auto time = duration(words.plain[1], {});
  if (!time) return time.error();
  if (time->count() <= 0) return bad("time only goes forward");
  stage_->run_for(*time);
  return Lines{};
}

Result<Lines> Director::crash(Words& words) {
  const auto found = actor(words.plain[1]);
  if (!found) return found.error();
  if (!(*found)->process || (*found)->crashed) return bad("nothing there to crash");
  stage_->crash(**found);
  return Lines{};
}

Result<Lines> Director::pause(Words& words) {
  const auto found = running(words.plain[1]);
  if (!found) return found.error();
  (*found)->process->stopped = true;
  return Lines{};
}

Result<Lines> Director::lag(Words& words) {
  const auto found = running(words.plain[1]);
  if (!found) return found.error();
  const auto late = duration(words.plain[2], {});
  if (!late) return late.error();
  (*found)->process->late = *late;
  stage_->rig().settle();
  return Lines{};
}

Result<Lines> Director::resume(Words& words) {
  const auto found = actor(words.plain[1]);
  if (!found) return found.error();
  if (!(*found)->process || (*found)->crashed || !(*found)->process->stopped) {
    return bad("it was not paused");
  }
  stage_->rig().wake(*(*found)->process);
  return Lines{};
}

Result<Lines> Director::close(Words& words) {
  const auto found = running(words.plain[1]);
  if (!found) return found.error();
  const auto bound = duration(words.plain[2], {});
  if (!bound) return bound.error();
  stage_->rig().step(*(*found)->process,
                     CloseRequested{later(stage_->rig().now(), *bound)});
  stage_->rig().settle();
  return Lines{};
}

Result<std::vector<Actor*>> Director::those_running(const std::string& name) {
  std::vector<Actor*> all;
  if (name != "everyone") {
    const auto found = running(name);
    if (!found) return found.error();
    return std::vector<Actor*>{*found};
  }
  for (const auto& actor : stage_->actors()) {
    if (running(actor->name)) all.push_back(actor.get());
  }
  return all;
}

std::optional<Log> Director::log_of(const std::string& text) const {
  if (!text.starts_with("log")) return std::nullopt;
  const std::int64_t number = number_of(text.substr(3)).value_or(-1);
  if (number < 0 || number >= stage_->options().rig.logs) return std::nullopt;
  return Log{static_cast<std::uint32_t>(number)};
}

Result<Lines> Director::cut(Words& words) {
  const auto found = those_running(words.plain[1]);
  if (!found) return found.error();
  const std::string& what = words.plain[2];
  const auto log = log_of(what);
  const bool known = log || what == "log" || what == "writes" || what == "coordinator";
  if (!known) return bad("what is cut is log, log0, log1, ..., writes or coordinator");
  for (Actor* actor : *found) {
    if (log) {
      stage_->cut_log(*actor, *log);
    } else if (what == "log") {
      stage_->cut_log(*actor);
    } else if (what == "writes") {
      stage_->hold_writes(*actor);
    } else {
      actor->coordinator_cut = true;
    }
  }
  return Lines{};
}

Result<Lines> Director::heal(Words& words) {
  const auto found = those_running(words.plain[1]);
  if (!found) return found.error();
  for (Actor* actor : *found) stage_->heal(*actor);
  return Lines{};
}

Result<Lines> Director::arrive(Words& words) {
  const auto found = running(words.plain[1]);
  if (!found) return found.error();
  if ((*found)->process->in_flight.empty()) return bad("nothing is under way");
  stage_->rig().arrive(*(*found)->process);
  return Lines{};
}

Result<Lines> Director::finish_barrier(Words& words) {
  const auto found = running(words.plain[1]);
  if (!found) return found.error();
  const auto partition = count(words.plain[2], 0);
  if (!partition) return partition.error();
  const Transition* stopped = (*found)->process->last(TransitionKind::stopped, *partition);
  if (stopped == nullptr || !(*found)->process->keep_barriers) return bad("no barrier runs there");
  stage_->rig().step(*(*found)->process, BarrierDone{Partition{*partition}, stopped->epoch});
  stage_->rig().settle();
  return Lines{};
}

Result<Lines> Director::topic(Words& words) {
  if (words.plain[1] == "deleted" && stage_->topic_exists()) {
    stage_->delete_topic();
  } else if (words.plain[1] == "created" && !stage_->topic_exists()) {
    stage_->create_topic();
  } else {
    return bad("the topic is deleted, or then created");
  }
  return Lines{};
}

Result<Lines> Director::broker_clock(Words& words) {
  const auto step = duration(words.plain[1], {});
  if (!step) return step.error();
  stage_->rig().broker_offset += *step;
  return Lines{};
}

Result<Lines> Director::who(Words&) { return stage_->who(); }
Result<Lines> Director::tally(Words&) { return stage_->take_tally(); }

Result<Lines> Director::log(Words& words) {
  const auto log = count(words.plain[1], 0);
  const auto from = count(words.take("from"), 0);
  if (!log) return log.error();
  if (!from) return from.error();
  if (*log >= stage_->options().rig.logs) return bad("there is no such log");
  return stage_->log(Log{*log}, *from, words.take("as").value_or("") == "json");
}

Result<Lines> Director::route(Words& words) {
  const auto found = actor(words.plain[1]);
  if (!found) return found.error();
  const auto slot = count(words.plain[2], 0);
  if (!slot) return slot.error();
  if (*slot >= stage_->options().rig.slots) return bad("there is no such slot");
  return stage_->route(**found, Slot{*slot});
}

const std::map<std::string, std::pair<std::size_t, Director::Handler>>& Director::handlers() {
  static const std::map<std::string, std::pair<std::size_t, Handler>> all{
      {"ledger", {1, &Director::ledger}},
      {"start", {1, &Director::start}},
      {"watch", {1, &Director::watch}},
      {"assign", {2, &Director::assign}},
      {"revoke", {2, &Director::revoke}},
      {"lost", {2, &Director::lost}},
      {"run", {1, &Director::run}},
      {"crash", {1, &Director::crash}},
      {"pause", {1, &Director::pause}},
      {"resume", {1, &Director::resume}},
      {"lag", {2, &Director::lag}},
      {"close", {2, &Director::close}},
      {"cut", {2, &Director::cut}},
      {"heal", {1, &Director::heal}},
      {"arrive", {1, &Director::arrive}},
      {"finish-barrier", {2, &Director::finish_barrier}},
      {"topic", {1, &Director::topic}},
      {"broker-clock", {1, &Director::broker_clock}},
      {"who", {0, &Director::who}},
      {"tally", {0, &Director::tally}},
      {"log", {1, &Director::log}},
      {"route", {2, &Director::route}},
  };
  return all;
}

}  // namespace neliroute::scenario
