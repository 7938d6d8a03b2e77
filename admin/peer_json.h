// A process as the admin port describes it. Private to it.
//
// Threads: pure function, any.   Units: none.   Errors: none.
#pragma once

#include <boost/json/object.hpp>

#include "router/view/directory.h"

namespace neliroute::admin {

/// {"name":..,"id":..,"endpoint":..,"tags":{..}}, as UTF-8 whatever the process's own names are.
[[nodiscard]] boost::json::object json_of(const Peer& peer);

}  // namespace neliroute::admin
