// The options that subcommands share, and what they mean for a Router or Watcher.
//
// Threads: one.   Units: std::chrono.   Errors: bad_option, naming the option and what to do.
#pragma once

#include <neliroute/error.h>
#include <neliroute/options.h>
#include <optional>
#include <string>

#include "tool/command_line/command_line.h"
#include "tool/keys.h"
#include "tool/print/log.h"

namespace neliroute::tool {

struct CommonOptions {
  RouterOptions router;
  std::optional<milliseconds> timeout;
  std::optional<milliseconds> drain_timeout;
  MissingTopic missing_topic = MissingTopic::wait_for_timeout;
  LogLevel log_level = LogLevel::info;
  bool json = false;

  /// Checks the options together: whether slots and partitions fit. Call it after parse().
  [[nodiscard]] Result<void> check() const;
  /// --timeout, or the larger of 10 s and the lease + 1 s.
  [[nodiscard]] milliseconds timeout_or_default(milliseconds lease) const;
  /// When that time begins: --timeout includes connecting; a default does not, and beside --wait
  /// neither does --timeout.
  [[nodiscard]] LocalTime timed_from(LocalTime began, LocalTime connected) const;
  /// For people: which logs, and where.
  [[nodiscard]] std::string where() const;
  /// The text of a Progress meanwhile.
  [[nodiscard]] std::string connecting() const;
  /// For open(): with the timeout and the log filled in.
  [[nodiscard]] RouterOptions for_router() const;
  [[nodiscard]] WatcherOptions for_watcher() const;

 private:
  [[nodiscard]] milliseconds timeout_at_start() const;
};

/// Adds them all. Options that a reader does not use are accepted and hidden, so that the same
/// variables and flags serve every subcommand.
void add_common_options(CommandLine& line, CommonOptions& options, Part part);

/// --slots, --hash, --hash-tags and --allow-uneven.
void add_slot_options(CommandLine& line, RouterOptions& router);
/// --wait
void add_wait_flag(CommandLine& line, CommonOptions& options);
void add_json_flag(CommandLine& line, bool& json);
void add_log_level(CommandLine& line, LogLevel& level);
/// --keys FILE, --base64
void add_key_options(CommandLine& line, KeyOptions& keys);

}  // namespace neliroute::tool
