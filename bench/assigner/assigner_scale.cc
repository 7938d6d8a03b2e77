// What a large lane costs where one of its members assigns: whole members on a ledger in memory, in
// simulated time. Every record is written and read by the codec, and every member reads them all.
//
//     assigner_scale [--members 1000] [--partitions 4096] [--logs 4] [--interval-ms 500]
//                    [--session-ms 2500] [--deaths 1,10,100] [--json FILE]
//
// Records and bytes a second are exact. Times until everything is led again are simulated, with so
// many milliseconds from a write to its readers (--delay-ms). CPU time is this machine's: of all
// members together, divided by members and simulated seconds.
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "neli_core/assigner/assigned_core.h"
#include "neli_core/timing.h"

namespace neliroute {
namespace {

constexpr milliseconds kStep{1};
constexpr LocalTime kStart{milliseconds{10'000}};
constexpr std::int64_t kBrokerEpochMs = 1'700'000'000'000;

struct Options {
  std::uint32_t members = 1000;
  std::uint32_t partitions = 4096;
  std::uint32_t logs = 4;
  std::int64_t interval_ms = 500;
  std::int64_t session_ms = 2500;
  std::int64_t delay_ms = 3;
  std::int64_t rest_ms = 5000;
  std::vector<std::uint32_t> deaths{1, 10, 100};
  std::string json;
};

double cpu_seconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

struct Stored {
  LocalTime written;
  BrokerTime stamped;
  std::shared_ptr<const Decoded> value;
};

struct LogOfLane {
  std::vector<Stored> records;
  std::uint64_t bytes = 0;
};

struct Answer {
  LocalTime due;
  WriteAcknowledged event;
};

struct Member {
  std::unique_ptr<AssignedCore> core;
  bool alive = true;
  bool stepped = false;
  std::vector<std::size_t> next;  ///< per log
  std::deque<Answer> answers;
};

/// Records and bytes a second, per log, and CPU time a member.
struct Rates {
  std::vector<double> records;
  std::vector<double> bytes;
  double cpu_percent = 0;
};

struct Healed {
  std::uint32_t deaths = 0;
  std::uint32_t unowned = 0;
  std::optional<milliseconds> after;  ///< no value: not within a minute
};

class Lane {
 public:
  Lane(const Options& options, milliseconds lease)
      : options_(options), lease_(lease), logs_(options.logs) {
    for (std::uint32_t i = 0; i < options.members; ++i) start(i);
  }

  /// False: not all was led within a minute.
  [[nodiscard]] bool run_until_led() {
    const LocalTime give_up = now_ + std::chrono::minutes{1};
    for (std::vector<Partition> left = unowned(); !left.empty();) {
      if (now_ >= give_up) return false;
      run_for(kStep);
      std::erase_if(left, [this](Partition partition) { return is_led(partition); });
      if (left.empty()) left = unowned();  // all of them at once
    }
    return true;
  }

  void run_for(milliseconds duration) {
    for (const LocalTime end = now_ + duration; now_ < end;) {
      now_ += kStep;
      for (Member& member : members_) {
        if (member.alive) turn(member);
      }
    }
  }

  [[nodiscard]] Rates at_rest() {
    std::vector<std::pair<std::size_t, std::uint64_t>> before;
    for (const LogOfLane& log : logs_) before.emplace_back(log.records.size(), log.bytes);
    const double cpu = cpu_seconds();
    const milliseconds length{options_.rest_ms};
    run_for(length);
    const double seconds = static_cast<double>(length.count()) / 1000;
    Rates rates;
    for (std::size_t l = 0; l < logs_.size(); ++l) {
      rates.records.push_back(
          static_cast<double>(logs_[l].records.size() - before[l].first) / seconds);
      rates.bytes.push_back(static_cast<double>(logs_[l].bytes - before[l].second) / seconds);
    }
    rates.cpu_percent = 100 * (cpu_seconds() - cpu) / seconds / living();
    return rates;
  }

  /// So many die at once, none of them the assigner; until others lead what they led.
  [[nodiscard]] Healed kill(std::uint32_t deaths) {
    Healed healed;
    for (Member& member : members_) {
      if (healed.deaths == deaths) break;
      if (!member.alive || member.core->seat().held_by_own()) continue;
      member.alive = false;
      ++healed.deaths;
    }
    healed.unowned = static_cast<std::uint32_t>(unowned().size());
    const LocalTime killed = now_;
    if (run_until_led()) healed.after = std::chrono::duration_cast<milliseconds>(now_ - killed);
    return healed;
  }

  [[nodiscard]] double living() const {
    return static_cast<double>(std::count_if(members_.begin(), members_.end(),
                                             [](const Member& member) { return member.alive; }));
  }

 private:
  [[nodiscard]] bool is_led(Partition partition) const {
    return std::any_of(members_.begin(), members_.end(), [&](const Member& member) {
      return member.alive && member.core->leads(partition, now_);
    });
  }

  [[nodiscard]] std::vector<Partition> unowned() const {
    std::vector<Partition> found;
    for (std::uint32_t p = 0; p < options_.partitions; ++p) {
      if (!is_led(Partition{p})) found.push_back(Partition{p});
    }
    return found;
  }

  void start(std::uint32_t index) {
    const std::string name = "member-" + std::to_string(index);
    AssignedOptions options;
    options.session = milliseconds{options_.session_ms};
    options.core.id = ProcessId{std::uint64_t{index} + 1};
    options.core.interval = milliseconds{options_.interval_ms};
    options.core.lease = lease_;
    options.core.settings = {"group", options_.partitions, options_.partitions, options_.logs,
                             "xxh3", ""};
    options.core.process = {name, name + ":7000", {}};
    auto made = AssignedCore::make(std::move(options));
    if (!made) {
      std::fprintf(stderr, "assigner_scale: error: %s\n", made.error().message().c_str());
      std::exit(1);
    }
    Member& member = members_.emplace_back();
    member.core = std::make_unique<AssignedCore>(std::move(*made));
    member.next.assign(logs_.size(), 0);
    // Members do not beat at the same instants.
    member.core->tick(now_ + milliseconds{index % options_.interval_ms});
    for (std::uint32_t l = 0; l < logs_.size(); ++l) {
      member.core->step(TailStarted{Log{l}, 0, 0, true},
                        now_ + milliseconds{index % options_.interval_ms});
    }
    carry_out(member);
  }

  void turn(Member& member) {
    if (now_ < kStart + milliseconds{options_.interval_ms}) return;  // not all have started
    for (std::uint32_t l = 0; l < logs_.size(); ++l) read(member, l);
    while (!member.answers.empty() && member.answers.front().due <= now_) {
      step(member, member.answers.front().event);
      member.answers.pop_front();
    }
    if (member.core->next_deadline() <= now_) {
      member.core->tick(now_);
      member.stepped = true;
    }
    if (std::exchange(member.stepped, false)) carry_out(member);
  }

  void read(Member& member, std::uint32_t l) {
    const std::vector<Stored>& records = logs_[l].records;
    std::size_t& next = member.next[l];
    while (next < records.size() &&
           records[next].written + milliseconds{options_.delay_ms} <= now_) {
      const Stored& stored = records[next];
      step(member, Received{Log{l}, static_cast<std::int64_t>(next++), stored.stamped, true,
                            stored.value.get()});
    }
  }

  void step(Member& member, const Event& event) {
    member.core->step(event, now_);
    member.stepped = true;
  }

  void carry_out(Member& member) {
    Ready ready = member.core->take_ready();
    for (const Transition& transition : ready.transitions) {
      if (transition.kind != TransitionKind::stopped) continue;
      step(member, BarrierDone{transition.partition, transition.epoch});
    }
    for (const RereadRequest& request : ready.rereads) {
      step(member, Reread{request.log, request.question, request.offset, std::nullopt});
    }
    for (const Write& write : ready.writes) {
      LogOfLane& log = logs_[write.log.value()];
      const auto since = std::chrono::duration_cast<milliseconds>(now_.time_since_epoch());
      log.records.push_back({now_, BrokerTime{since + milliseconds{kBrokerEpochMs}},
                             std::make_shared<const Decoded>(decode_record(write.value))});
      log.bytes += write.value.size();
      member.answers.push_back(
          {now_ + milliseconds{options_.delay_ms},
           {write.seq, static_cast<std::int64_t>(log.records.size() - 1)}});
    }
    if (ready.refused) {
      std::fprintf(stderr, "assigner_scale: error: %s\n", ready.refused->message().c_str());
      std::exit(1);
    }
  }

  Options options_;
  milliseconds lease_;
  std::vector<LogOfLane> logs_;
  std::vector<Member> members_;
  LocalTime now_ = kStart;
};

boost::json::object to_json(const Rates& rates) {
  boost::json::array logs;
  for (std::size_t l = 0; l < rates.records.size(); ++l) {
    logs.push_back(boost::json::object{{"records_per_s", rates.records[l]},
                                       {"bytes_per_s", rates.bytes[l]}});
  }
  return {{"logs", logs}, {"cpu_percent_of_a_core_per_member", rates.cpu_percent}};
}

Options parse(int argc, char** argv) {
  Options options;
  CLI::App app{"The cost of an assigner's lane, and how long it takes to heal, in simulated time."};
  app.add_option("--members", options.members)->check(CLI::Range(1, 20'000));
  app.add_option("--partitions", options.partitions)->check(CLI::Range(1, 65'536));
  app.add_option("--logs", options.logs)->check(CLI::Range(1, 64));
  app.add_option("--interval-ms", options.interval_ms)->check(CLI::Range(1, 60'000));
  app.add_option("--session-ms", options.session_ms)->check(CLI::Range(300, 600'000));
  app.add_option("--delay-ms", options.delay_ms, "from a write to its readers")
      ->check(CLI::Range(0, 1000));
  app.add_option("--rest-ms", options.rest_ms, "measured at rest")->check(CLI::Range(1, 600'000));
  app.add_option("--deaths", options.deaths, "at once, one after the other")->delimiter(',');
  app.add_option("--json", options.json, "also write all figures there");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return options;
}

int run(const Options& options) {
  TimingRequest request;
  request.assignment = Assignment::assigner;
  request.session = milliseconds{options.session_ms};
  request.interval = milliseconds{options.interval_ms};
  const auto timing = derive_timing(request, {});
  if (!timing) {
    std::fprintf(stderr, "assigner_scale: error: %s\n", timing.error().message().c_str());
    return 1;
  }
  Lane lane(options, timing->lease);
  const double cpu = cpu_seconds();
  if (!lane.run_until_led()) {
    std::fprintf(stderr, "assigner_scale: error: not everything was led within a minute\n");
    return 1;
  }
  std::printf("%u members, %u partitions, %u logs, interval %lld ms, session %lld ms: all led; "
              "%.1f s of CPU time\n",
              options.members, options.partitions, options.logs,
              static_cast<long long>(options.interval_ms),
              static_cast<long long>(options.session_ms), cpu_seconds() - cpu);
  lane.run_for(milliseconds{2 * options.session_ms});
  const Rates rates = lane.at_rest();
  for (std::size_t l = 0; l < rates.records.size(); ++l) {
    std::printf("  log %zu: %7.0f records a second, %9.0f bytes\n", l, rates.records[l],
                rates.bytes[l]);
  }
  std::printf("  a member: %.3f %% of a core in the state machine\n", rates.cpu_percent);
  boost::json::array healed;
  bool all = true;
  for (const std::uint32_t deaths : options.deaths) {
    if (deaths + 1 >= lane.living()) break;
    const Healed found = lane.kill(deaths);
    all = all && found.after.has_value();
    const std::int64_t ms = found.after ? found.after->count() : -1;
    std::printf("  %u died at once, %u partitions unowned: led again after %lld ms, "
                "%.2f x session\n",
                found.deaths, found.unowned, static_cast<long long>(ms),
                static_cast<double>(ms) / static_cast<double>(options.session_ms));
    healed.push_back(boost::json::object{
        {"deaths", found.deaths}, {"unowned", found.unowned}, {"led_again_ms", ms}});
    lane.run_for(milliseconds{3 * options.session_ms});
  }
  if (!options.json.empty()) {
    std::ofstream(options.json) << boost::json::serialize(boost::json::object{
        {"members", options.members}, {"partitions", options.partitions},
        {"logs", options.logs}, {"interval_ms", options.interval_ms},
        {"session_ms", options.session_ms}, {"at_rest", to_json(rates)}, {"healed", healed}})
                                << '\n';
  }
  return all ? 0 : 1;
}

}  // namespace
}  // namespace neliroute

int main(int argc, char** argv) { return neliroute::run(neliroute::parse(argc, argv)); }
