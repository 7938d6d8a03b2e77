// A whole configuration of Envoy for a folder of `watch --xds-dir`.
//
// Threads: pure functions, any.   Units: none.   Errors: none.
#pragma once

#include <string>

namespace neliroute::tool {

/// What its text begins with, in each version.
inline constexpr const char* kSampleHead = "# `neliroute watch --xds-dir --xds-sample` writes this";

/// `folder`: as an absolute path.
[[nodiscard]] std::string envoy_sample(const std::string& folder, const std::string& cluster);

}  // namespace neliroute::tool
