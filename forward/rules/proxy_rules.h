// What a proxy must refuse, and must change, in the header of a request or an answer that it passes
// on: RFC 9110 section 7.6, RFC 9112 sections 3, 6 and 11.
//
// Two servers that disagree about where a request ends can be made to take a part of one client's
// request for another's. So whatever is ambiguous is refused, and what is passed on is framed anew.
//
// Threads: pure functions, any.   Units: none.   Errors: Refusal.
#pragma once

#include <boost/beast/http/message.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "forward/rules/key_source.h"
#include "forward/rules/target.h"

namespace neliroute::forward {

using ResponseHeader = boost::beast::http::response_header<>;

struct Refusal {
  unsigned status = 400;
  std::string text;
};

/// Of a header that Beast has parsed. No value: it may be passed on.
[[nodiscard]] std::optional<Refusal> refusal_of(const RequestHeader& request);
/// Why an answer is malformed; no value: it may be passed on. `head`: its request was a HEAD.
[[nodiscard]] std::optional<std::string> fault_of(const ResponseHeader& answer);

/// What every Connection field names.
[[nodiscard]] std::vector<std::string> connection_options(const boost::beast::http::fields& fields);
/// `Connection: upgrade` to protocols that are tunnelled; empty: none. HTTP is not, as h2c or in
/// TLS: it would carry requests past the gateway.
[[nodiscard]] std::string upgrade_of(const RequestHeader& request);
/// RFC 9110, section 9.2.2: repeating it does no more than sending it once.
[[nodiscard]] bool is_idempotent(const RequestHeader& request);

/// Whether an application gets another field of this name than was sent, or none; also with '_' for
/// '-'.
[[nodiscard]] bool is_changed(std::string_view name);
/// Removes what concerns one connection only, and what `Connection` names.
void strip_hop_by_hop(boost::beast::http::fields& fields);
struct Passed {
  std::string_view by;         ///< this proxy's name in Via
  std::string_view client;     ///< the client's address
  std::string_view protocol;   ///< "http" or "https", as the client came
};
/// Adds Via, and the client to what proxies before this one say.
void note_passed(RequestHeader& request, const Passed& passed);
void note_passed(ResponseHeader& answer, std::string_view by);

}  // namespace neliroute::forward
