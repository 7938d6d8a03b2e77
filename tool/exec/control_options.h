// --control: whether clients of the admin port may use this process as a sidecar, and the token
// that they must show.
//
// Threads: one.   Units: none.
// Errors: bad_option, naming the option or the file, what was expected and what to do.
#pragma once

#include <neliroute/error.h>
#include <optional>
#include <string>

#include "tool/command_line/command_line.h"

namespace neliroute::tool {

struct ControlOptions {
  bool wanted = false;
  std::optional<std::string> token_file;
  std::string secret;  ///< of this process alone, in place of the file; empty: there is none

  /// Checks them together with --http, and reads the file. Empty: there is no token.
  [[nodiscard]] Result<std::string> token(const std::optional<std::string>& http) const;
};
void add_control_options(CommandLine& line, ControlOptions& options);

/// Of 128 random bits.
[[nodiscard]] std::string random_token();

/// The token in a file that not everybody can read. Spaces and line ends around it do not count.
[[nodiscard]] Result<std::string> read_token(const std::string& path);

}  // namespace neliroute::tool
