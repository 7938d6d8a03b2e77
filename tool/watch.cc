// neliroute watch: who owns what, now and from now on.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <clocale>
#include <csignal>
#include <functional>
#include <memory>
#include <neliroute/clock.h>
#include <neliroute/observable.h>
#include <optional>
#include <utility>

#include "slots/partition.h"
#include "tool/admin_port.h"
#include "tool/command_line/commands.h"
#include "tool/command_line/options.h"
#include "tool/command_line/take.h"
#include "tool/command_line/values.h"
#include "tool/exec/control_options.h"
#include "tool/print/event_log.h"
#include "tool/print/output.h"
#include "tool/print/progress.h"
#include "tool/watch/watch_live.h"
#include "tool/watch/watch_model.h"
#include "tool/watch/watch_once.h"
#include "tool/watcher_loop.h"
#include "tool/xds/xds_folder.h"

namespace neliroute::tool {
namespace {

/// The parts of an answer that a line shows: another value is a change.
bool same_answer(const Route& a, const Route& b) {
  return a.verdict == b.verdict && a.owner() == b.owner() && a.endpoint() == b.endpoint() &&
         a.epoch == b.epoch && a.stale == b.stale;
}

bool is_owned(const Route& route) {
  return route.verdict == Verdict::remote || route.verdict == Verdict::local;
}

boost::json::object json_of(const Route& route, std::uint32_t slots) {
  boost::json::object row{{"partition", route.partition.value()},
                          {"slots", slots},
                          {"verdict", to_string(route.verdict)}};
  if (is_owned(route)) {
    put_text(row, "owner", route.owner());
    put_text(row, "endpoint", route.endpoint());
    row["epoch"] = neliroute::json_of(route.epoch);
    row["valid_for_ms"] = std::chrono::duration_cast<milliseconds>(route.valid_for).count();
    if (route.stale) row["stale"] = true;
  }
  return row;
}

/// Prints a line. False: nobody reads it any more.
using Print = std::function<bool(const std::string&)>;

/// For one whom others ask: it waits for nobody who reads its lines, and outlives them.
Result<Print> print_without_waiting() {
  auto opened = LineWriter::open("-");
  if (!opened) return opened.error();
  return Print([writer = std::shared_ptr<LineWriter>(std::move(*opened))](const std::string& line) {
    writer->write(line);
    return true;
  });
}

/// Prints every change of a view, one per line.
class Changes {
 public:
  Changes(const Watcher& watcher, bool as_json, Print print)
      : watcher_(watcher), json_(as_json), print_(std::move(print)) {}

  /// False: nobody reads it any more.
  bool look() {
    std::vector<Route> now = watcher_.view(boot_now());
    bool read = true;
    for (std::size_t p = 0; p < now.size() && read; ++p) {
      const Route before = last_.empty() ? Route{} : last_[p];
      if (!same_answer(before, now[p])) read = tell(now[p], before);
    }
    last_ = std::move(now);
    return read;
  }

 private:
  bool tell(const Route& now, const Route& before) const {
    const Settings& settings = watcher_.settings();
    const std::uint32_t slots =
        slots_on_partition(now.partition.value(), SlotCount{settings.slots}, settings.partitions);
    if (json_) {
      boost::json::object row = json_of(now, slots);
      if (is_owned(before)) put_text(row, "before", before.owner());
      const microseconds at = unix_minus_boot_now() + boot_now().time_since_epoch();
      // Boost.JSON would write the time as 1.7E9.
      return print_(fmt::format("{{\"at\":{},{}", seconds_text(at),
                                boost::json::serialize(row).substr(1)));
    }
    std::string who = std::string(to_string(now.verdict));
    if (is_owned(now)) {
      who = fmt::format("{}  {}  epoch {}{}", shown(now.owner()), shown(now.endpoint()),
                        to_string(now.epoch), now.stale ? "  stale" : "");
    }
    if (is_owned(before) && before.owner() != now.owner()) who += "  was " + shown(before.owner());
    return print_(fmt::format("{}  partition {:<4} {:>4} slots  {}", clock_text(),
                              now.partition.value(), slots, who));
  }

  const Watcher& watcher_;
  bool json_;
  Print print_;
  std::vector<Route> last_;
};

int follow(const std::string& command, WatcherLoop& lookup, bool as_json, Print print) {
  Changes changes(lookup.watcher(), as_json, std::move(print));
  // Shared: the handler may be called once more while the watcher closes.
  const auto changed = std::make_shared<bool>(true);
  bool read = true;
  lookup.watcher().on_change([changed](Partition) { *changed = true; });
  lookup.run_until_told(
      [&] {
        if (std::exchange(*changed, false)) read = changes.look();
        return !read;
      },
      kNever);
  if (lookup.failure()) return lookup.fail(command);
  return kExitYes;
}

// A member that owns nothing is known by its renewals only, of which it writes three a session at
// the least: of two, one may be late. Long sessions are for long pauses, not for rare renewals.
void hear_all_members(WatcherLoop& lookup, const WatchModel& model) {
  constexpr milliseconds kMost{5000};
  milliseconds session{0};
  for (const auto& [id, member] : model.members()) session = std::max(session, member.session);
  lookup.run_until_told([] { return false; }, later(boot_now(), std::min(2 * session / 3, kMost)));
}

void say_rows(const std::vector<Route>& view, const WatchModel& model) {
  const auto count = static_cast<std::uint32_t>(view.size());
  for (const Route& route : view) {
    const std::uint32_t p = route.partition.value();
    boost::json::object row = json_of(route, slots_on_partition(p, model.slots(), count));
    const PartitionRow& known = model.partitions()[p];
    if (is_owned(route)) {
      row["age_ms"] = std::chrono::duration_cast<milliseconds>(known.heard).count();
    }
    if (const PeerPtr& designee = known.route.designee) {
      put_text(row, "designee", designee->info.name);
    }
    say(row);
  }
}

int once(const std::string& command, WatcherLoop& lookup, bool as_json) {
  const Observable observable = lookup.watcher().observable();
  const Settings& settings = lookup.watcher().settings();
  lookup.run_until_known([&] {
    const std::vector<Route> view = lookup.watcher().view(boot_now());
    return std::none_of(view.begin(), view.end(), [](const Route& route) {
      return route.verdict == Verdict::unknown;
    });
  });
  if (lookup.failure()) return lookup.fail(command);
  // Only now: an observer is told of all partitions when it joins, and later of each change only
  // when the reader comes to it.
  const auto model =
      std::make_shared<WatchModel>(SlotCount{settings.slots}, settings.partitions);
  observable.observe(model);
  lookup.run_until_observed([&] { return model->version() > 0; },
                            [&] { return model->assigner() != nullptr; });
  if (!as_json) hear_all_members(lookup, *model);
  if (lookup.failure()) return lookup.fail(command);
  const LocalTime now = boot_now();
  const std::vector<Route> view = lookup.watcher().view(now);
  hear(*model, observable, now);
  as_json ? say_rows(view, *model) : static_cast<void>(say(once_text(*model)));
  std::vector<Verdict> verdicts;
  for (const Route& route : view) verdicts.push_back(route.verdict);
  const int code = exit_code_of(verdicts);
  if (code == kExitUnreachable) fail(command, lookup.silence(), code);
  return code;
}

/// For the admin port, which closes before the folder.
std::function<std::string()> missing_files(const XdsFolder* folder) {
  if (!folder) return {};
  return [folder] { return folder->lacks(); };
}

struct WatchCommand {
  CommonOptions common;
  bool once = false;
  std::optional<std::string> http;
  ControlOptions control;
  XdsOptions xds;

  [[nodiscard]] bool serves() const { return http || xds.folder; }
  [[nodiscard]] bool on_screen() const {
    return !once && !common.json && FullScreen::possible();
  }
  /// What does not go together.
  [[nodiscard]] std::optional<std::string> unfit() const {
    if (once && (http || xds.folder)) {
      return "--once prints a table and exits, and --http and --xds-dir need a process that stays: "
             "leave --once out";
    }
    return std::nullopt;
  }
};

void add_watch_options(CommandLine& line, WatchCommand& options) {
  add_common_options(line, options.common, Part::reader);
  add_wait_flag(line, options.common);
  line.heading("General");
  add_flag(line, "--once", "Print a table of owners and exit", options.once);
  add_http_option(line, options.http);
  add_control_options(line, options.control);
  add_xds_options(line, options.xds);
}

/// Until Ctrl-C.
int stay(const std::string& command, const WatchCommand& asked, const std::string& token,
         WatcherLoop& lookup) {
  const CommonOptions& options = asked.common;
  const Watcher& watcher = lookup.watcher();
  // Before the admin port, which says whether this is ready.
  const auto folder = XdsFolder::open(lookup.executor(), watcher.observable(), asked.xds);
  if (!folder) return fail(command, folder.error());
  std::optional<AdminControl> calls;
  if (asked.control.wanted) {
    calls = AdminControl::of(lookup.watcher());
    calls->token = token;
  }
  const auto admin = AdminPort::open(watcher.observable(), asked.http, std::move(calls), {},
                                     missing_files(folder->get()));
  if (!admin) return fail(command, admin.error());
  if (asked.on_screen()) {
    auto screen = FullScreen::open();
    if (screen) {
      return watch_live(command, lookup, options, *admin ? (*admin)->address() : "",
                        std::move(*screen));
    }
    warn(command, screen.error().message() + "; here is a line for every change");
  }
  log(Severity::info, fmt::format("watching {} partitions of {}; Ctrl-C ends it",
                                  watcher.settings().partitions, options.where()));
  if (!asked.serves()) {
    return follow(command, lookup, options.json, [](const auto& text) { return say(text); });
  }
  auto print = print_without_waiting();
  if (!print) return fail(command, print.error());
  return follow(command, lookup, options.json, std::move(*print));
}

}  // namespace

int watch_command(const Arguments& arguments) {
  CommandLine line({"watch",
                    "Shows who owns what, until Ctrl-C: on a terminal a screen that can be "
                    "filtered, with moves and ages; elsewhere, and with --json, a line for every "
                    "change. Owns nothing and joins no group.", "",
                    "On the screen, HEARD is the age of an owner's last renewal, of several "
                    "partitions the oldest; NEXT has claimed a partition or is designated to; "
                    "SINCE is how long its owner, or nobody, has had it; UNOWNED is how long moved "
                    "partitions had no owner, at most. A filter (key /) shows the rows that "
                    "contain its text, or exactly its number. Exit codes of --once are those of "
                    "route: 0 all owned, 1 one is not, 3 one is unknown. With --http give --group, "
                    "too, because both show it."});
  WatchCommand asked;
  add_watch_options(line, asked);
  if (const auto code = line.parse(arguments)) return *code;
  if (const auto what = asked.unfit()) return fail(line.name(), *what, kExitUsage);
  const CommonOptions& options = asked.common;
  if (const auto settled = asked.xds.settle(); !settled) return fail(line.name(), settled.error());
  if (const auto free = AdminPort::check(asked.http); !free) {
    return fail(line.name(), free.error());
  }
  auto token = asked.control.token(asked.http);
  if (!token) return fail(line.name(), token.error());
  start_log(options.log_level);
  std::signal(SIGPIPE, SIG_IGN);
  std::setlocale(LC_CTYPE, "C.UTF-8");  // names are; for the width of their characters
  if (!asked.once) end_at_once_on_signals();  // it holds nothing, and being ended is how it stops
  return run_with_watcher(line.name(), options, [&](WatcherLoop& lookup) {
    if (!asked.once) return stay(line.name(), asked, *token, lookup);
    const Progress progress("hearing of every owner");
    return once(line.name(), lookup, options.json);
  });
}

}  // namespace neliroute::tool
