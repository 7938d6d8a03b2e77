// A process as the admin port describes it, and the pieces that its larger answers are joined from.
// Private to it.
//
// Threads: pure functions, any.   Units: Unix seconds in the JSON.   Errors: none.
#pragma once

#include <boost/json/object.hpp>
#include <neliroute/time.h>
#include <string>
#include <string_view>

#include "router/view/directory.h"

namespace neliroute::admin {

/// {"name":..,"id":..,"endpoint":..,"tags":{..}}, as UTF-8 whatever the process's own names are.
[[nodiscard]] boost::json::object json_of(const Peer& peer);

/// Unix seconds; Boost.JSON would write them as 1.7E9.
[[nodiscard]] std::string at_text(LocalTime now);

/// ,"name":[..]: `each` appends its values, a comma after each.
template <class Each>
void put_list(std::string& out, std::string_view name, const Each& each) {
  out += ",\"";
  out += name;
  out += "\":[";
  const std::size_t begin = out.size();
  each();
  if (out.size() > begin) out.pop_back();  // the last comma
  out += ']';
}

}  // namespace neliroute::admin
