// Whether an error of the system says that it has no more files or memory for this process. Then
// what was asked for may be right, and other words help.
//
// Threads: any.   Units: none.   Errors: this makes one.
#pragma once

#include <algorithm>
#include <array>
#include <boost/system/errc.hpp>
#include <boost/system/error_code.hpp>
#include <neliroute/error.h>
#include <optional>
#include <string>

namespace neliroute {

inline constexpr const char* kLookAtLimits =
    "look at the limits of this process, as `ulimit -n` (files) and `ulimit -v` (memory)";

/// `what` failed with it; no value: for another reason.
[[nodiscard]] inline std::optional<Error> system_refusal(const std::string& what,
                                                         const boost::system::error_code& error) {
  namespace errc = boost::system::errc;
  constexpr std::array kScarce{errc::too_many_files_open, errc::too_many_files_open_in_system,
                               errc::not_enough_memory, errc::no_buffer_space};
  if (std::find(kScarce.begin(), kScarce.end(), error) == kScarce.end()) return std::nullopt;
  return Error{Errc::system_refused, what + ": " + error.message() + "; " + kLookAtLimits};
}

}  // namespace neliroute
