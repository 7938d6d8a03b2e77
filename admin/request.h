// A request of the admin port's client: one HTTP request, read from bytes. Boost.Beast parses.
//
// Threads: pure functions, any.   Units: bytes.
// Errors: a Refusal, which says what was wrong, what was expected and what to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace neliroute::admin {

inline constexpr std::size_t kHeaderBytesMax = 16 * 1024;
inline constexpr std::size_t kTargetBytesMax = 8 * 1024;
/// How long a request to /v1/route may wait for a newer owner.
inline constexpr milliseconds kRouteWaitMax{60'000};

struct Request {
  bool head = false;  ///< HEAD
  bool keep_alive = true;
  std::string path;
  std::string query;  ///< what follows the '?', still encoded
  std::string host;   ///< as the client names this server; empty: it did not
  std::string kept;   ///< the tags of what the client has kept, as the field If-None-Match has them
  bool post = false;  ///< POST: neither GET nor HEAD
  std::string body = {};           ///< of a POST
  std::string type = {};           ///< the field Content-Type
  std::string origin = {};         ///< the field Origin: whose page a browser shows
  std::string fetch_site = {};     ///< the field Sec-Fetch-Site: the same of a request without one
  std::string authorization = {};  ///< the field of that name
  std::vector<std::string> keys = {};  ///< the fields x-neli-key
};

/// Whether it requests only health.
[[nodiscard]] inline bool is_probe(const Request& request) {
  return request.path == "/healthz" || request.path == "/readyz";
}

/// Below it Envoy asks about requests of others, with their methods and paths
/// (admin/envoy/envoy_answers.h).
inline constexpr std::string_view kAuthorizePath = "/v1/authorize";
[[nodiscard]] inline bool is_authorize(std::string_view path) {
  return path.starts_with(kAuthorizePath) &&
         (path.size() == kAuthorizePath.size() || path[kAuthorizePath.size()] == '/');
}

/// A refusal. If the request was not understood, or is not read to its end, the connection is of no
/// more use.
struct Refusal {
  unsigned status = 400;
  std::string error;
  std::string_view allow = "GET, HEAD";  ///< of a 405: what is answered there
};

struct NeedMore {};

/// How far a header that is still arriving was searched for its end: a client may send one byte at
/// a time, and none is searched again for each.
struct Searched {
  std::size_t bytes = 0;
  bool line_ended = false;  ///< within those
  std::size_t needed = 0;   ///< with the body, once the header has ended
};

/// Of a POST whose header has ended: how many bytes its body may have, or why it is not read.
using PostRule = std::function<std::variant<std::size_t, Refusal>(const Request& header)>;

/// The request at the front of `bytes`; `used` is how many of them it takes. GET and HEAD have no
/// body; POST is refused without a rule for it. After NeedMore, call it with these bytes and more,
/// and the same `searched`; for another request with a new one.
[[nodiscard]] std::variant<NeedMore, Request, Refusal> read_request(std::string_view bytes,
                                                                    std::size_t& used,
                                                                    Searched& searched,
                                                                    const PostRule& may_post = {});

using Parameters = std::vector<std::pair<std::string, std::string>>;
/// "a=1&b=x%20y" decoded; a '+' is a space. No value: a % without two hexadecimal digits.
[[nodiscard]] std::optional<Parameters> read_query(std::string_view query);

/// The question to /v1/route: about a key, or about a slot.
struct RouteQuestion {
  std::optional<std::string> key;
  std::uint32_t slot = 0;
  /// Answer when the slot has an owner with a greater epoch than `after`, or this process owns it;
  /// after this time in any case. None: at once.
  std::optional<milliseconds> wait = std::nullopt;
  Epoch after = kNoEpoch;
};
[[nodiscard]] std::variant<RouteQuestion, Refusal> read_route_question(std::string_view query,
                                                                       std::uint32_t slots);

/// A bit for each kind of step that a client of /v1/steps may await; 0: that is none.
[[nodiscard]] unsigned step_bit(std::string_view step) noexcept;
/// The bits of those that it awaits.
[[nodiscard]] std::variant<unsigned, Refusal> read_steps_question(std::string_view query);

}  // namespace neliroute::admin
