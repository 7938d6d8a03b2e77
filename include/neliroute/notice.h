// A line for the log of an application.
//
// Threads: values, any.   Units: none.   Errors: none.
#pragma once

#include <string>

namespace neliroute {

enum class Severity { info, warning, error };

/// Something an operator should read.
struct Notice {
  Severity severity = Severity::info;
  std::string text;
};

}  // namespace neliroute
