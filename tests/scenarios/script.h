// A story in a file: prose, commands, and the events that are expected of them.
//
//   # Prose: any line that starts with # or is blank.
//   run 500ms              one or more commands,
//   pause a
//   ----                   this line,
//     500      a  ...      and what they tell, up to the first blank line.
//
// After etcd raft's datadriven tests: the expected text is never written by hand. A flag has it
// rewritten, and whoever changes the protocol reviews the difference.
//
// Threads: one.   Units: lines.   Errors: a file that cannot be run is an Error; a difference is a
// value.
#pragma once

#include <functional>
#include <neliroute/error.h>
#include <string>
#include <string_view>
#include <vector>

namespace neliroute::scenario {

struct Block {
  std::size_t line = 0;  ///< of the first command, from 1
  std::vector<std::string> before;
  std::vector<std::string> commands;
  std::vector<std::string> expected;
};

struct Script {
  std::vector<Block> blocks;
  std::vector<std::string> after;

  [[nodiscard]] static Result<Script> parse(std::string_view text);
  [[nodiscard]] std::string to_string() const;
};

/// Where the story had another result.
struct Difference {
  std::size_t line = 0;
  std::string text;
};

/// Carries out one command; what happened, a line each.
using Perform = std::function<Result<std::vector<std::string>>(const std::string& command)>;

/// Runs all blocks, puts what they told into `script`, and tells where that is something new.
[[nodiscard]] Result<std::vector<Difference>> perform(Script& script, const Perform& command);

}  // namespace neliroute::scenario
