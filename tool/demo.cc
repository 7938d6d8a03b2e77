// neliroute demo: a broker or voters, three owners, all words of a dictionary, and a kill. It only
// looks up and shows: a Watcher finds out who owns what, as for any caller.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <chrono>
#include <csignal>
#include <map>
#include <set>
#include <utility>

#include "tool/command_line/commands.h"
#include "tool/command_line/take.h"
#include "tool/command_line/values.h"
#include "tool/demo/demo_cast.h"
#include "tool/demo/demo_screen.h"
#include "tool/keys.h"
#include "tool/print/output.h"
#include "tool/watcher_loop.h"

namespace neliroute::tool {
namespace {

namespace json = boost::json;

const std::vector<std::string> kNames = {"alpha", "beta", "gamma"};
constexpr std::size_t kVictim = 1;
constexpr std::string_view kQuorum = "quorum";
// How long an answer must stay the same to count as final: some renewals.
constexpr milliseconds kRest{600};
constexpr milliseconds kPatience{30'000};

volatile std::sig_atomic_t interrupted = 0;
void on_interrupt(int) { interrupted = 1; }

class Demo {
 public:
  Demo(DemoOptions options, Cast cast, std::vector<std::string> keys)
      : options_(std::move(options)),
        cast_(std::move(cast)),
        keys_(std::move(keys)),
        screen_(Terminal::of_stdout()) {}

  Result<void> play() {
    if (auto done = raise_curtain(); !done) return done;
    if (auto done = wait_owned({kNames.begin(), kNames.end()}); !done) return done;
    show_placement("2  Every key has an owner");
    if (auto done = kill_one(); !done) return done;
    show_placement("4  The same keys, routed again");
    if (options_.stay) return stay();
    return {};
  }

  void end() {
    lookup_.reset();
    cast_.end();
  }

  void say_good_bye() {
    if (options_.json) return;
    say("");
    say(options_.stay ? "  What it started is stopped."
                      : "  What it started is stopped. To keep it and try things: "
                        "neliroute demo --stay");
    say("");
  }

 private:
  Result<void> raise_curtain() {
    if (!options_.json) {
      screen_.title(options_);
      screen_.step("1  Three processes divide the slots");
      screen_.starting();
    }
    if (auto started = cast_.start_store(); !started) return started;
    if (auto started = cast_.start_owners(kNames); !started) return started;
    CommonOptions common;
    if (options_.quorum) {
      common.router.ledger = cast_.ledger();
    } else {
      common.router.kafka.brokers = cast_.brokers();
      common.router.kafka.topic = cast_.topic();
    }
    common.router.group = cast_.topic();
    common.router.slots = options_.slots;
    common.router.allow_uneven = options_.allow_uneven;
    common.router.assignment = options_.source();
    common.router.partitions = cast_.owned_partitions();
    common.router.timing.profile = parse_profile(options_.profile).value_or(Profile::fast);
    for (const std::string& text : options_.properties) {
      auto property = parse_property(text);
      if (!property) return property.error();
      common.router.kafka.properties.insert(std::move(*property));
    }
    auto lookup = WatcherLoop::open(common);
    if (!lookup) return lookup.error();
    lookup_ = std::move(*lookup);
    if (!options_.json) {
      screen_.started();
      screen_.cast(cast_, options_);
      return {};
    }
    json::array owners;
    for (Actor& actor : cast_.owners()) owners.push_back(json::value(actor.ready));
    say({{"step", "started"}, {options_.quorum ? "ledger" : "brokers",
                               options_.quorum ? cast_.ledger() : cast_.brokers()},
         {"embedded", options_.embedded()},
         {"assignment", to_string(options_.source())}, {"owners", std::move(owners)}});
    return {};
  }

  /// Whose clock notices a death.
  [[nodiscard]] std::string_view clock() const {
    if (options_.by_assigner()) return "assigner";
    return options_.embedded() ? "embedded broker" : "kafka";
  }

  /// Waits until each partition is owned by one of these, each of which owns some, and the view is
  /// steady. owned_at_ is when the first of that was so; a failover ends there.
  Result<void> wait_owned(const std::set<std::string>& names) {
    owned_at_.reset();
    Owners last;
    LocalTime last_change = boot_now();
    const LocalTime began = last_change;
    std::optional<Error> trouble;
    const auto at_rest = [&] {
      const LocalTime now = boot_now();
      Owners owners = owners_of(lookup_->watcher().view(now));
      if (owners != last) last_change = now;
      last = std::move(owners);
      trouble = cast_.casualty();
      if (trouble || interrupted) return true;
      const auto living = std::count_if(last.begin(), last.end(), [&](const std::string& owner) {
        return names.contains(owner);
      });
      const bool all = static_cast<std::size_t>(living) == last.size();
      if (all && !owned_at_) owned_at_ = now;
      if (!options_.json) show_progress(last, static_cast<std::size_t>(living), now - began);
      const std::set<std::string> seen(last.begin(), last.end());
      return all && seen.size() == names.size() && now - last_change >= kRest;
    };
    const bool rested = lookup_->run_until(at_rest, later(began, time_limit()));
    screen_.end_progress();
    if (trouble) return std::move(*trouble);
    if (interrupted) return Error{Errc::closed};
    if (lookup_->failure()) return *lookup_->failure();
    if (!rested) return strangers_or_silence(last, names);
    owners_ = std::move(last);
    return {};
  }

  [[nodiscard]] Error strangers_or_silence(const Owners& owners,
                                           const std::set<std::string>& names) const {
    for (const std::string& owner : owners) {
      if (!owner.empty() && std::find(kNames.begin(), kNames.end(), owner) == kNames.end()) {
        return {Errc::settings_conflict, "\"" + owner + "\" takes part in topic " + cast_.topic() +
                                             " as well; choose another --topic"};
      }
    }
    return {Errc::timed_out, fmt::format("not every slot was owned by {} processes within {}",
                                         names.size(), text_of(time_limit()))};
  }

  /// The session may be as long as the user's broker allows.
  [[nodiscard]] milliseconds time_limit() const { return kPatience + 3 * session(); }

  [[nodiscard]] milliseconds session() const {
    return milliseconds{
        const_cast<Cast&>(cast_).owner(0).ready.at("session_ms").to_number<std::int64_t>()};
  }

  void show_progress(const Owners& owners, std::size_t living, microseconds passed) {
    screen_.progress(owners, fmt::format("{:5.1f} s   {} of {} partitions have a living owner",
                                         static_cast<double>(passed.count()) / 1e6, living,
                                         owners.size()));
  }

  void show_placement(std::string_view title) {
    const Watcher& watcher = lookup_->watcher();
    std::map<std::string, std::uint64_t> counts;
    keys_on_.assign(owners_.size(), 0);
    const auto began = std::chrono::steady_clock::now();
    for (const std::string& key : keys_) ++keys_on_[watcher.route(key).partition.value()];
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
    for (std::size_t p = 0; p < owners_.size(); ++p) counts[owners_[p]] += keys_on_[p];
    const auto holdings = holdings_of(watcher.view(boot_now()), options_.slots);
    if (options_.json) {
      json::array owners;
      for (const Holding& one : holdings) {
        owners.push_back({{"owner", one.owner}, {"endpoint", one.endpoint}, {"slots", one.slots},
                          {"partitions", one.partitions.to_string()},
                          {"keys", counts[one.owner]}});
      }
      say({{"step", "routed"}, {"keys", keys_.size()}, {"owners", std::move(owners)}});
      return;
    }
    screen_.step(title);
    if (samples_.empty()) {
      screen_.strip("now", owners_);
      screen_.line("");
      choose_samples();
    }
    screen_.holdings(holdings, counts);
    screen_.line("");
    screen_.line(fmt::format("{} lookups took {:.1f} ms: {:.0f} ns each. Among them:",
                             text_of(keys_.size()), took.count() / 1e6,
                             took.count() / static_cast<double>(std::max<std::size_t>(
                                                keys_.size(), 1))));
    const LocalTime now = boot_now();
    for (Sample& sample : samples_) sample.route = watcher.route(sample.key, now).copy();
    screen_.samples(samples_);
  }

  /// A key of each owner, from the middle of the list, where the words are pleasant.
  void choose_samples() {
    std::set<std::string> wanted(kNames.begin(), kNames.end());
    for (std::size_t i = 0; i < keys_.size() && !wanted.empty(); ++i) {
      const std::string& key = keys_[(keys_.size() / 2 + i) % keys_.size()];
      const Route route = lookup_->watcher().route(key);
      if (key.size() <= 14 && wanted.erase(std::string(route.owner())) > 0) {
        samples_.push_back({key, route.copy()});
      }
    }
  }

  Result<void> kill_one() {
    Actor& victim = cast_.owner(kVictim);
    if (!options_.json) {
      screen_.step(fmt::format("3  kill -9 {}  ({})", victim.pid, victim.name));
    }
    const Owners before = owners_;
    const LocalTime killed_at = boot_now();
    cast_.kill(kVictim);
    std::set<std::string> left(kNames.begin(), kNames.end());
    left.erase(victim.name);
    if (auto done = wait_owned(left); !done) return done;
    const auto after = std::chrono::duration_cast<milliseconds>(*owned_at_ - killed_at);
    const auto went = moved(before, owners_);
    const std::size_t least = least_moves(before, left);
    const std::uint64_t slots =
        slots_on(went, options_.slots, static_cast<std::uint32_t>(owners_.size()));
    if (options_.json) {
      say({{"step", "killed"}, {"owner", victim.name}, {"owned_again_ms", after.count()},
           {"clock", clock()}, {"session_ms", session().count()},
           {"moved_partitions", went.size()},
           {"moved_slots", slots}, {"least_partitions", least}});
      return {};
    }
    screen_.strip("before", before);
    screen_.strip("after", owners_);
    screen_.marks("moved", went, owners_.size());
    screen_.failover(after, options_, session());
    std::uint64_t keys = 0;
    for (const std::uint32_t p : went) keys += keys_on_[p];
    screen_.moves(went.size(), slots, least, keys);
    return {};
  }

  /// Shows every new placement, until Ctrl-C.
  Result<void> stay() {
    if (!options_.json) screen_.stay(cast_, options_);
    std::optional<Error> trouble;
    Owners shown = owners_;
    LocalTime last_change = boot_now();
    lookup_->run_until(
        [&] {
          const LocalTime now = boot_now();
          Owners owners = owners_of(lookup_->watcher().view(now));
          if (owners != owners_) last_change = now;
          owners_ = std::move(owners);
          // Not every step of a move, only its result.
          if (owners_ != shown && now - last_change >= kRest / 2 && !options_.json) {
            screen_.strip("now", owners_);
            shown = owners_;
          }
          trouble = cast_.casualty();
          return trouble || interrupted;
        },
        kNever);
    if (trouble) return std::move(*trouble);
    if (lookup_->failure()) return *lookup_->failure();
    return {};
  }

  DemoOptions options_;
  Cast cast_;
  std::vector<std::string> keys_;
  Screen screen_;
  std::unique_ptr<WatcherLoop> lookup_;
  Owners owners_;
  std::optional<LocalTime> owned_at_;
  std::vector<std::uint64_t> keys_on_;  ///< by partition
  std::vector<Sample> samples_;
};

/// Who assigns, and by which variation.
void add_protocol_options(CommandLine& line, DemoOptions& options) {
  const auto handed_on = [&options](const char* option, auto parse) {
    return [&options, option, parse](const std::string& text) -> Result<void> {
      const auto value = parse(text);
      if (!value) return value.error();
      options.variation.insert(options.variation.end(), {option, text});
      return {};
    };
  };
  line.add({.flag = "--assignment", .type = "NAME", .choices = "assigner group",
            .help = "Who decides which process should own what: assigner, one of the three; or "
                    "group, Kafka's consumer group (default assigner)"},
           into(options.assignment, parse_assignment_option));
  line.add({.flag = "--variation", .type = "NAME", .choices = "claimed broadcast",
            .help = "claimed; or broadcast, the NELI paper's own, which needs the group (default "
                    "claimed)"},
           [&](const std::string& text) -> Result<void> {
             const auto variation = parse_variation_option(text);
             if (!variation) return variation.error();
             options.broadcast = *variation == Variation::broadcast;
             options.variation.insert(options.variation.end(), {"--variation", text});
             return {};
           });
  line.add({.flag = "--local-clock-error", .type = "TIME",
            .help = "broadcast: bound on the error between the clocks"},
           handed_on("--local-clock-error", parse_duration));
  line.add({.flag = "--roles", .type = "N",
            .help = "How many roles there are (default: one per slot)"},
           handed_on("--roles", [](const std::string& text) {
             return parse_number(text, 1, kSlotCountMax);
           }));
}

void add_demo_options(CommandLine& line, DemoOptions& options) {
  line.add({.field = "kafka.brokers", .flag = "--brokers", .takes = OptionText::Takes::list,
            .type = "HOST:PORT,...", .help = "Your Kafka (default: the embedded broker)"},
           into(options.brokers));
  // Another address in the environment or a settings file is ignored, as these serve all commands.
  line.add({.field = "ledger", .flag = "--ledger", .type = "NAME", .choices = "quorum",
            .help = "quorum: three voters instead of the embedded broker"},
           [&options](const std::string& text) -> Result<void> {
             options.quorum = text == kQuorum;
             return {};
           });
  line.add({.field = "kafka.topic", .flag = "--topic", .type = "NAME",
            .help = "Topic and group (default neliroute; on your Kafka neliroute-demo, which is "
                    "created and kept)"},
           into(options.topic));
  line.add({.field = "slots", .flag = "--slots", .type = "N",
            .help = "How many slots there are (default 1024)"},
           into(options.slots, parse_slots));
  line.add({.field = "partitions", .flag = "--partitions", .type = "N",
            .help = "How many partitions the slots are grouped into (default 64)"},
           into(options.partitions,
                [](const std::string& text) { return parse_number(text, 1, 10'000); }));
  add_flag(line, "--allow-uneven",
           "Slots need not be a multiple of partitions", options.allow_uneven);
  line.add({.flag = "--profile", .type = "NAME", .choices = "fast balanced steady",
            .help = "fast, balanced or steady (default fast)"},
           into_if(options.profile, parse_profile_option));
  add_protocol_options(line, options);
  line.add({.field = "kafka.properties", .flag = "-X", .takes = OptionText::Takes::each,
            .type = "KEY=VALUE",
            .help = "Any librdkafka property, for TLS and SASL; may be repeated"},
           [&](const std::string& text) -> Result<void> {
             options.properties.push_back(text);
             return {};
           });
  line.add({.flag = "--keys", .type = "FILE",
            .help = "The keys, one per line (default /usr/share/dict/words)"},
           into(options.keys));
  add_flag(line, "--stay",
           "Keep it running until Ctrl-C, to try things in another terminal", options.stay);
  add_json_flag(line, options.json);
}

/// On the command line.
bool names_other_ledger(const std::vector<std::string>& given) {
  constexpr std::string_view kFlag = "--ledger";
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string_view one = given[i];
    if (one == kFlag && (i + 1 == given.size() || given[i + 1] != kQuorum)) return true;
    if (one.starts_with("--ledger=") && one.substr(kFlag.size() + 1) != kQuorum) return true;
  }
  return false;
}

}  // namespace

int demo_command(const Arguments& arguments) {
  CommandLine line({"demo",
                    "Starts a broker, or voters, and three processes that divide hash slots, "
                    "routes every word of a dictionary, kills one of the three and shows what "
                    "moves, and how soon. Stops everything that it started.", "", ""});
  if (names_other_ledger(arguments.given)) {
    return fail(line.name(),
                "it runs on Kafka: its own, or yours by --brokers; or on voters of its own by "
                "--ledger quorum. On an etcd or a PostgreSQL start a few `neliroute run --ledger "
                "ADDRESS --name NAME --endpoint HOST:PORT`",
                kExitUsage);
  }
  DemoOptions options;
  add_demo_options(line, options);
  if (const auto code = line.parse(arguments)) return *code;
  if (options.quorum && !(options.own_store() && options.by_assigner())) {
    return fail(line.name(),
                "--ledger quorum is in place of --brokers, and has no group; leave --brokers, "
                "--assignment and --variation out", kExitUsage);
  }
  const auto even = check_even(options.slots, options.partitions.value_or(kDemoPartitions),
                               options.allow_uneven);
  if (!even) return fail(line.name(), even.error());
  auto keys = read_keys(options.keys);
  if (!keys) {
    return fail(line.name(), keys.error().message() +
                                 " (/usr/share/dict/words comes with Debian's wamerican)",
                kExitUsage);
  }
  start_log(LogLevel::error);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, on_interrupt);
  std::signal(SIGPIPE, SIG_IGN);
  auto cast = Cast::make(options);
  if (!cast) return fail(line.name(), cast.error());
  Demo demo(options, std::move(*cast), std::move(*keys));
  const auto played = demo.play();
  demo.end();
  if (interrupted && !options.stay) return kExitKilled;
  if (!played && !interrupted) return fail(line.name(), played.error());
  demo.say_good_bye();
  return kExitYes;
}

}  // namespace neliroute::tool
