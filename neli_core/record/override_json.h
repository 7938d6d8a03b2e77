// The JSON of overrides and of the list of those that stand. Private to the codec.
//
// Threads: pure functions, any.   Units: partitions.   Errors: no value: it cannot be read.
#pragma once

#include <boost/json/object.hpp>
#include <optional>

#include "neli_core/record/object_writer.h"
#include "neli_core/record/override.h"

namespace neliroute {

/// Of a record whose `t` is "wish".
[[nodiscard]] std::optional<Override> override_of(const boost::json::object& object);
void write_override(ObjectWriter& out, const Override& override);

/// Of one whose `t` is "wishes". What is not there stands empty; more than fits is not read.
[[nodiscard]] std::optional<StandingOverrides> standing_of(const boost::json::object& object);
void write_standing(ObjectWriter& out, const StandingOverrides& standing);

}  // namespace neliroute
