// The slot page: what the admin port serves at "/". One page without outside resources, joined from
// the files beside this one when neliroute is built.
//
// Threads: any.   Units: bytes of UTF-8.   Errors: none.
// Paper: none; it shows what the rest does.
#pragma once

#include <string_view>

namespace neliroute {

/// HTML, to be sent as `text/html; charset=utf-8`. It asks for `v1/events` and `v1/route`, relative
/// to its own address, and for nothing else.
[[nodiscard]] std::string_view slot_page() noexcept;

/// The Content-Security-Policy to send with it: its own script and style and this server, no more.
[[nodiscard]] std::string_view slot_page_policy() noexcept;

}  // namespace neliroute
