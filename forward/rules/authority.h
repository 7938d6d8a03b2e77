// HOST or HOST:PORT: what a field Host says, and the target of a request to a proxy.
//
// Threads: pure functions, any.   Units: none.   Errors: no value: it is no authority.
// RFC 9112, section 3.2; RFC 9110, section 4.2.
#pragma once

#include <optional>
#include <string_view>

namespace neliroute::forward {

/// The host, as it was written, without its port. Nobody is named by an empty host or by a user.
[[nodiscard]] std::optional<std::string_view> host_of(std::string_view authority);

}  // namespace neliroute::forward
