// What the proxies before this one say of a client: X-Forwarded-For, -Proto, -Host and -Port,
// X-Real-IP, and Forwarded (RFC 7239).
//
// They count only from addresses that the operator trusts: anybody can write them.
//
// Threads: pure functions, any.   Units: none.   Errors: none.
#pragma once

#include <boost/beast/http/fields.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace neliroute::forward {

/// Also with '_' for '-', which many applications take for the same.
[[nodiscard]] bool is_forwarded_field(std::string_view name) noexcept;
/// Removes them, but those of a trusted sender, unless they are written with '_', which no proxy
/// does.
void strip_forwarded(boost::beast::http::fields& fields, bool trusted);
/// Adds this hop to those that there are, and to X-Forwarded-For and -Proto in any case.
void append_forwarded(boost::beast::http::fields& fields, std::string_view client,
                      std::string_view protocol);
/// The hosts that they name, as they stand there.
[[nodiscard]] std::vector<std::string> forwarded_hosts(const boost::beast::http::fields& fields);

}  // namespace neliroute::forward
