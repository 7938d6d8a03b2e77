// Which names Kafka accepts for a topic.
//
// Threads: any.   Units: none.   Errors: bad_option.
#pragma once

#include <cstddef>
#include <neliroute/error.h>
#include <string>
#include <string_view>

namespace neliroute {

/// The error does not say where it stands. Kafka makes folders of topics.
[[nodiscard]] inline Result<void> check_topic_name(std::string_view name) {
  constexpr std::size_t kMost = 249;
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  const bool fits = !name.empty() && name.size() <= kMost && name != "." && name != ".." &&
                    name.find_first_not_of(kAllowed) == std::string_view::npos;
  if (fits) return {};
  return Error{Errc::bad_option,
               "\"" + std::string(name) + "\" is no name of a topic; write 1 to " +
                   std::to_string(kMost) +
                   " of a-z, A-Z, 0-9, \".\", \"_\" and \"-\", but not \".\" or \"..\" alone"};
}

}  // namespace neliroute
