// The outcomes of a simulation as a table, as JSON lines and as CSV.
//
// Threads: pure functions, any.   Units: in the names of the columns.   Errors: none.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "tool/simulate/simulate_run.h"

namespace neliroute::tool {

/// Columns of time and memory exist only if they were requested: the rest is the same in every run.
struct SimulateColumns {
  bool each_step = false;
  bool measured = false;
};

[[nodiscard]] std::vector<std::string> table_of(const std::vector<Outcome>& outcomes,
                                                SimulateColumns columns);
[[nodiscard]] boost::json::object json_of(const Outcome& outcome, SimulateColumns columns);
[[nodiscard]] std::string csv_header(SimulateColumns columns);
[[nodiscard]] std::string csv_of(const Outcome& outcome, SimulateColumns columns);

}  // namespace neliroute::tool
