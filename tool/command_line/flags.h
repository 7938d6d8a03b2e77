// The library's texts name its options, in backquotes: `timing.lease`. The command says --lease.
//
// Threads: pure functions, any.   Units: none.   Errors: none.
#pragma once

#include <string>
#include <string_view>

namespace neliroute::tool {

/// The text with the command's flags in place of the options' names.
[[nodiscard]] std::string with_flags(std::string_view text);

}  // namespace neliroute::tool
