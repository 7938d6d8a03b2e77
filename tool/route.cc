// neliroute route: who owns keys.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <chrono>
#include <csignal>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tool/command_line/commands.h"
#include "tool/command_line/options.h"
#include "tool/command_line/take.h"
#include "tool/command_line/values.h"
#include "tool/keys.h"
#include "tool/print/explain.h"
#include "tool/print/output.h"
#include "tool/print/progress.h"
#include "tool/watcher_loop.h"

namespace neliroute::tool {
namespace {

struct RouteOptions {
  CommonOptions common;
  KeyOptions keys;
  bool count = false;
  bool explain = false;
};

std::string text_of_route(const std::string& key, const Route& route, std::size_t width) {
  std::string text = fmt::format("{:<{}}  slot {:<6} ", shown(key), width, route.slot.value());
  if (route.verdict == Verdict::remote || route.verdict == Verdict::local) {
    const auto valid = std::chrono::duration_cast<milliseconds>(route.valid_for);
    text += fmt::format("{}  {}  epoch {}  {} {}", shown(route.owner()), shown(route.endpoint()),
                        to_string(route.epoch), route.stale ? "stale" : "valid", text_of(valid));
  } else {
    text += to_string(route.verdict);
  }
  if (!route.next_owner().empty()) text += fmt::format("  next {}", shown(route.next_owner()));
  return text;
}

/// Prints a line for each key.
std::vector<Verdict> say_each(const Watcher& watcher, const std::vector<std::string>& keys,
                              bool as_json) {
  std::size_t width = 0;
  for (const std::string& key : keys) width = std::max(width, shown(key).size());
  width = std::min<std::size_t>(width, 32);
  const LocalTime now = boot_now();
  std::vector<Verdict> verdicts;
  bool read = true;
  for (const std::string& key : keys) {
    const Route route = watcher.route(key, now);
    verdicts.push_back(route.verdict);
    if (!read) continue;  // for the exit code only
    if (as_json) {
      boost::json::object row;
      put_text(row, "key", key);
      put_route(row, route);
      read = say(row);
    } else {
      read = say(text_of_route(key, route, width));
    }
  }
  return verdicts;
}

/// Prints a line for each owner: how many of the keys are its.
std::vector<Verdict> say_counts(const Watcher& watcher, const std::vector<std::string>& keys,
                                bool as_json) {
  const LocalTime now = boot_now();
  std::vector<Verdict> verdicts;
  std::map<std::pair<std::string, std::string>, std::uint64_t> counts;
  for (const std::string& key : keys) {
    const Route route = watcher.route(key, now);
    verdicts.push_back(route.verdict);
    const bool owned = route.verdict == Verdict::remote || route.verdict == Verdict::local;
    const std::string_view who = owned ? route.owner() : to_string(route.verdict);
    ++counts[{std::string(who), std::string(route.endpoint())}];
  }
  for (const auto& [who, count] : counts) {
    const auto& [owner, endpoint] = who;
    bool read = true;
    if (!as_json) {
      read = say(fmt::format("{:<24} {:<24} {:>12} keys", shown(owner),
                             endpoint.empty() ? "" : shown(endpoint), text_of(count)));
    } else if (endpoint.empty()) {
      read = say({{"verdict", owner}, {"keys", count}});
    } else {
      boost::json::object row;
      put_text(row, "owner", owner);
      put_text(row, "endpoint", endpoint);
      row["keys"] = count;
      read = say(row);
    }
    if (!read) break;
  }
  return verdicts;
}

/// Each key from its hash to the rule that gave its verdict; as JSON, what /v1/route answers.
std::vector<Verdict> say_why(const Watcher& watcher, const Explainer& explainer,
                             const std::vector<std::string>& keys, bool as_json) {
  const LocalTime now = boot_now();
  std::vector<Verdict> verdicts;
  for (const std::string& key : keys) {
    verdicts.push_back(watcher.route(key, now).verdict);
    const std::string gap = verdicts.size() > 1 ? "\n" : "";
    if (!say(as_json ? explainer.json(key, now) : gap + explainer.text(key, now))) break;
  }
  return verdicts;
}

std::vector<Verdict> say_routes(const Watcher& watcher, const RouteOptions& options,
                                const std::vector<std::string>& keys) {
  const bool as_json = options.common.json;
  return options.count ? say_counts(watcher, keys, as_json) : say_each(watcher, keys, as_json);
}

bool nobody_leads(const Watcher& watcher) {
  const std::vector<Route> view = watcher.view(boot_now());
  return std::all_of(view.begin(), view.end(), [](const Route& route) {
    return route.verdict == Verdict::unowned || route.verdict == Verdict::unknown;
  });
}

int answer(const std::string& command, const RouteOptions& options,
           const std::vector<std::string>& keys, WatcherLoop& lookup) {
  std::optional<Progress> progress(std::in_place, "waiting for every owner", OffTerminal::lines);
  const Watcher& watcher = lookup.watcher();
  std::set<Partition> partitions;
  for (const std::string& key : keys) {
    partitions.insert(watcher.partition_of(watcher.slot_of(key)));
  }
  const auto explainer =
      options.explain ? std::make_shared<Explainer>(watcher.observable()) : nullptr;
  if (explainer) watcher.observable().observe(explainer);
  lookup.run_until_known([&] {
    const LocalTime now = boot_now();
    return std::none_of(partitions.begin(), partitions.end(), [&](Partition p) {
      return watcher.route(p, now).verdict == Verdict::unknown;
    });
  });
  if (explainer) {
    lookup.run_until_observed([&] { return explainer->told(); },
                              [&] { return explainer->knows_assigner(); });
  }
  progress.reset();
  if (lookup.failure()) return lookup.fail(command);
  const auto verdicts = explainer ? say_why(watcher, *explainer, keys, options.common.json)
                                  : say_routes(watcher, options, keys);
  const int code = exit_code_of(verdicts);
  if (code == kExitUnreachable) fail(command, lookup.silence(), code);
  if (code == kExitNo && nobody_leads(watcher)) {
    warn(command, fmt::format("no process leads anything in lane {} of {}: is one running there "
                              "(neliroute run)?",
                              options.common.router.lane.value(), options.common.where()));
  }
  return code;
}

}  // namespace

int route_command(const Arguments& arguments) {
  CommandLine line({"route",
                    "Prints who owns keys: owner, endpoint, epoch, and how long to believe it. "
                    "Owns nothing and joins no group. Exit code 0: all are owned; 1: one is not; "
                    "3: one is unknown.", "KEY...",
                    "Example: neliroute route user:1000 user:1001 --json | jq -r .endpoint"});
  RouteOptions options;
  options.common.log_level = LogLevel::warning;
  add_common_options(line, options.common, Part::reader);
  add_wait_flag(line, options.common);
  line.heading("General");
  add_key_options(line, options.keys);
  add_flag(line, "--count", "Print how many keys each owner has, not every key", options.count);
  add_flag(line, "--explain",
           "Explain each answer: hash, slot, partition, and which rule gave the verdict",
           options.explain);
  if (const auto code = line.parse(arguments)) return *code;
  if (options.count && options.explain) {
    return fail(line.name(), "--count tells of no single key, and --explain of nothing else: leave "
                             "one of them out", kExitUsage);
  }
  const auto keys = gather_keys(line.positionals(), options.keys);
  if (!keys) return fail(line.name(), keys.error());
  start_log(options.common.log_level);
  std::signal(SIGPIPE, SIG_IGN);
  return run_with_watcher(line.name(), options.common, [&](WatcherLoop& lookup) {
    return answer(line.name(), options, *keys, lookup);
  });
}

}  // namespace neliroute::tool
