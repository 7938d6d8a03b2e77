// The outcomes of a simulation as a table, as JSON lines and as CSV.
//
// Threads: pure functions, any.   Units: in the names of the columns.   Errors: none.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "bench/placements/program/run.h"

namespace neliroute::placement {

/// Columns of time and memory exist only if they were requested: the rest is the same in every run.
struct Columns {
  bool each_step = false;
  bool measured = false;
};

[[nodiscard]] std::vector<std::string> table_of(const std::vector<Outcome>& outcomes,
                                                Columns columns);
[[nodiscard]] boost::json::object json_of(const Outcome& outcome, Columns columns);
[[nodiscard]] std::string csv_header(Columns columns);
[[nodiscard]] std::string csv_of(const Outcome& outcome, Columns columns);

}  // namespace neliroute::placement
