// The library's texts name its options, in backquotes: `timing.lease`. The command says --lease.
//
// Threads: any.   Units: none.   Errors: none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "router/options/option_table.h"

namespace neliroute::tool {

/// Of the command that runs. Before any other thread uses with_flags().
void use_flags_of(const std::vector<OptionText>& options);

/// The text with the command's flags in place of the options' names.
[[nodiscard]] std::string with_flags(std::string_view text);

}  // namespace neliroute::tool
