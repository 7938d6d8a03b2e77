// --xds-dir and what goes with it: the files by which an Envoy follows the owners.
//
// Threads: one.   Units: none.
// Errors: bad_option, naming the option, what was expected and what to do.
#pragma once

#include <neliroute/error.h>

#include <optional>
#include <string>

#include "admin/envoy/eds_json.h"
#include "tool/command_line/command_line.h"

namespace neliroute::tool {

struct XdsOptions {
  std::optional<std::string> folder;
  bool sample = false;
  std::string cluster = std::string(admin::kEdsCluster);

  /// Checks them together, that the folder is one, and that the files in it may be replaced; makes
  /// its path absolute.
  [[nodiscard]] Result<void> settle();
};
void add_xds_options(CommandLine& line, XdsOptions& options);

}  // namespace neliroute::tool
