// What is in the folder of --xds-dir already, and whether it is ours to replace.
//
// Threads: any.   Units: none.
// Errors: bad_option, naming the file, what was expected and what to do.
#pragma once

#include <neliroute/error.h>

#include <string>
#include <string_view>

#include "tool/xds/xds_options.h"

namespace neliroute::tool {

inline constexpr const char* kEdsFile = "eds.json";
inline constexpr const char* kLuaFile = "neliroute.lua";
inline constexpr const char* kSampleFile = "envoy.yaml";

/// Empty: there is no file, or nothing is in it.
[[nodiscard]] Result<std::string> found_text(const std::string& path);

/// Whether each file that is to be written may be: it is not there, is empty, or is one of ours.
/// The folder is given.
[[nodiscard]] Result<void> check_found(const XdsOptions& options);

}  // namespace neliroute::tool
