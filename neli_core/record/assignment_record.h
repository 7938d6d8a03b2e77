// The JSON of the records by which an assigner is chosen and assigns. Private to the codec.
//
// Threads: pure functions, any.   Units: milliseconds on the wire.
// Errors: what cannot be used is named by `Ignored`.
#pragma once

#include <boost/json/object.hpp>

#include "neli_core/record/json_fields.h"
#include "neli_core/record/record.h"

namespace neliroute {

/// A record whose `t` is none of a claim's, renewal's or release's.
[[nodiscard]] Decoded decode_assignment(const json::object& object);
/// "incarnation:offset" of a seat claim.
[[nodiscard]] std::optional<Epoch> seat_of(const json::value* value);

}  // namespace neliroute
