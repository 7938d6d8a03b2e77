// What a process says of itself to people and callers.
//
// Threads: values, any.   Units: none.   Errors: none.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace neliroute {

using Tags = std::vector<std::pair<std::string, std::string>>;

/// Stands in its records; never compared by the protocol.
struct ProcessInfo {
  std::string name;
  std::string endpoint;
  Tags tags;
  friend bool operator==(const ProcessInfo&, const ProcessInfo&) = default;
};

}  // namespace neliroute
