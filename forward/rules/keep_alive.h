// How long a connection may be kept for the next request, by the Keep-Alive of an answer (RFC 2068,
// section 19.7.1.1; Node, Apache and nginx send it).
//
// Threads: pure functions, any.   Units: milliseconds.   Errors: what is malformed says nothing.
#pragma once

#include <boost/beast/http/fields.hpp>
#include <neliroute/time.h>
#include <optional>

namespace neliroute::forward {

/// A second less than its `timeout`, or half of it if that is more, as the server began earlier.
[[nodiscard]] std::optional<milliseconds> kept_by(const boost::beast::http::fields& answer);

}  // namespace neliroute::forward
