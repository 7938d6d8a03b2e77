// A process as the admin port describes it, and the pieces that its larger answers are joined from.
// Private to it.
//
// Threads: pure functions, any.   Units: Unix seconds in the JSON.   Errors: none.
#pragma once

#include <boost/json/object.hpp>
#include <map>
#include <neliroute/time.h>
#include <string>
#include <string_view>

#include "router/view/directory.h"

namespace neliroute::admin {

/// {"name":..,"id":..,"endpoint":..,"tags":{..}}, as UTF-8 whatever the process's own names are.
[[nodiscard]] boost::json::object json_of(const Peer& peer);

/// Which endpoints several processes that live state: callers reach only one of them.
class StatedEndpoints {
 public:
  void add(const std::string& endpoint) { ++times_[endpoint]; }
  [[nodiscard]] bool shared(const std::string& endpoint) const {
    const auto at = times_.find(endpoint);
    return !endpoint.empty() && at != times_.end() && at->second > 1;
  }

 private:
  std::map<std::string, int> times_;
};

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
