#include "admin/request.h"

#include <algorithm>
#include <boost/algorithm/string/split.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/none.hpp>
#include <charconv>
#include <set>
#include <utility>

#include "router/options/option_text.h"
#include "router/text/ascii.h"
#include "router/text/percent.h"

namespace neliroute::admin {
namespace {

namespace http = boost::beast::http;

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kHeaderEnd = "\r\n\r\n";
// The request line without its target: "GET", " HTTP/1.1", and room for odd ones.
constexpr std::size_t kStartLineRest = 64;

Refusal too_long_target() {
  return {414, "the target is longer than 8 KiB; a key that long cannot be looked up here: use "
               "`neliroute route`"};
}

Refusal too_long_header() {
  return {431, "the header is longer than 16 KiB; send fewer or shorter fields (cookies?)"};
}

Refusal has_body() {
  return {413, "the request has a body; send GET and HEAD without one"};
}

/// Where the text is, of which no part was in what was searched already, or only its beginning.
std::size_t find_on(std::string_view bytes, std::string_view text, const Searched& searched) {
  return bytes.find(text, searched.bytes - std::min(searched.bytes, text.size() - 1));
}

/// What can be judged before the header has ended.
std::variant<NeedMore, Request, Refusal> judge_beginning(std::string_view bytes,
                                                         bool line_ended) {
  if (!line_ended && bytes.size() > kTargetBytesMax + kStartLineRest) return too_long_target();
  if (bytes.size() + kHeaderEnd.size() > kHeaderBytesMax) return too_long_header();
  if (!bytes.empty() && (bytes.front() < 'A' || bytes.front() > 'Z')) {
    return Refusal{400, "this is no HTTP request (TLS, perhaps?); speak plain HTTP/1.1 here"};
  }
  return NeedMore{};
}

/// "http://HOST/PATH", as a proxy asks, taken apart; the host counts more than the field Host.
std::string_view without_authority(std::string_view target, std::string_view& host) {
  constexpr std::string_view kScheme = "http://";
  if (!is_same_name(target.substr(0, kScheme.size()), kScheme)) return target;
  const auto path = std::min(target.find('/', kScheme.size()), target.size());
  if (path > kScheme.size()) host = target.substr(kScheme.size(), path - kScheme.size());
  return path == target.size() ? "/" : target.substr(path);
}

Refusal misfollowed(std::string_view what) {
  std::string text(what);
  text += "; ask /v1/steps, and to be waited for with ?await= and some of prepare,warm_up,stopped";
  return {400, std::move(text)};
}

Refusal misasked(std::string what) {
  return {400, std::move(what) + "; ask /v1/route?key=KEY (URL-encoded) or /v1/route?slot=N, and "
                                 "to wait for a newer owner with &after=INC:OFFSET&wait=1s"};
}

std::optional<Refusal> take_slot(RouteQuestion& question, const std::string& text,
                                 std::uint32_t slots) {
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), question.slot);
  if (error != std::errc{} || end != text.data() + text.size() || question.slot >= slots) {
    return misasked("slot is not a number from 0 to " + std::to_string(slots - 1));
  }
  return std::nullopt;
}

std::optional<Refusal> take_wait(RouteQuestion& question, const std::string& text) {
  const auto read = parse_duration(text);
  if (!read) return misasked("wait: " + read.error().message());
  if (*read > kRouteWaitMax) return misasked("wait is longer than 60s; ask again instead");
  question.wait = *read;
  return std::nullopt;
}

std::optional<Refusal> take_after(RouteQuestion& question, std::string text) {
  const auto point = text.find('.');
  if (point != std::string::npos) text[point] = ':';
  const auto read = parse_epoch(text);
  if (!read) return misasked("after is not an epoch as in 1763690000123:4711");
  question.after = *read;
  return std::nullopt;
}

/// A request's header, taken apart.
template <class Header>
Request request_of(const Header& header, bool keep_alive) {
  const auto text = [&header](http::field name) { return std::string(header[name]); };
  const std::string_view target(header.target().data(), header.target().size());
  const std::string field = text(http::field::host);
  std::string_view host = field;
  const std::string_view asked = without_authority(target, host);
  const auto mark = std::min(asked.find('?'), asked.size());
  std::vector<std::string> keys;
  const auto [first, last] = header.equal_range("x-neli-key");
  for (auto one = first; one != last; ++one) keys.emplace_back(one->value());
  return Request{header.method() == http::verb::head,
                 keep_alive,
                 std::string(asked.substr(0, mark)),
                 std::string(asked.substr(std::min(mark + 1, asked.size()))),
                 std::string(host),
                 text(http::field::if_none_match),
                 header.method() == http::verb::post,
                 {},
                 text(http::field::content_type),
                 text(http::field::origin),
                 std::string(header["Sec-Fetch-Site"]),
                 text(http::field::authorization),
                 std::move(keys)};
}

/// Whether its method does not count: it is that of a request of which Envoy tells.
bool may_have_any_method(const Request& header, http::verb method) {
  return is_authorize(header.path) && method != http::verb::connect &&
         method != http::verb::trace;
}

/// Whether the path is one that is POSTed to, whether this request may or not.
bool is_posted_to(const Request& header, const PostRule& may_post) {
  if (!may_post) return false;
  const auto rule = may_post(header);
  const auto* const refused = std::get_if<Refusal>(&rule);
  return refused == nullptr || refused->status != 405;
}

/// A method that is answered nowhere, or no POST where only that is.
Refusal wrong_method(const Request& header, const PostRule& may_post) {
  if (is_posted_to(header, may_post)) return {405, "only POST is answered here", "POST"};
  return {405, "only GET and HEAD are answered here"};
}

/// How a header says what follows it.
struct BodyLength {
  bool coded = false;  ///< by Transfer-Encoding
  std::uint64_t bytes = 0;
};

/// `used`: its header.
std::variant<NeedMore, Request, Refusal> with_body(Request header, const BodyLength& length,
                                                   std::string_view bytes, std::size_t& used,
                                                   Searched& searched, const PostRule& may_post) {
  const auto allowed = may_post(header);
  if (const auto* refusal = std::get_if<Refusal>(&allowed)) return *refusal;
  if (length.coded) {
    return Refusal{411, "the body has no length; send Content-Length, and no Transfer-Encoding"};
  }
  const std::size_t most = std::get<std::size_t>(allowed);
  if (length.bytes > most) {
    return Refusal{413, "the body is longer than " + std::to_string(most) + " bytes"};
  }
  if (bytes.size() - used < length.bytes) {
    searched.needed = used + length.bytes;
    used = 0;
    return NeedMore{};
  }
  header.body = bytes.substr(used, length.bytes);
  used += length.bytes;
  return header;
}

}  // namespace

std::variant<NeedMore, Request, Refusal> read_request(std::string_view bytes, std::size_t& used,
                                                      Searched& searched,
                                                      const PostRule& may_post) {
  used = 0;
  if (bytes.size() < searched.needed) return NeedMore{};
  const auto end = find_on(bytes, kHeaderEnd, searched);
  if (end == std::string_view::npos || end + kHeaderEnd.size() > kHeaderBytesMax) {
    const std::string_view beginning = bytes.substr(0, end);
    searched.line_ended =
        searched.line_ended || find_on(beginning, kLineEnd, searched) != std::string_view::npos;
    searched.bytes = bytes.size();
    return judge_beginning(beginning, searched.line_ended);
  }
  http::request_parser<http::empty_body> parser;
  parser.header_limit(kHeaderBytesMax + kHeaderEnd.size());
  parser.body_limit(boost::none);  // ours is told by may_post
  parser.eager(false);
  boost::beast::error_code error;
  used = parser.put(boost::asio::buffer(bytes.data(), end + kHeaderEnd.size()), error);
  if (error || !parser.is_header_done()) {
    return Refusal{400, "the request cannot be parsed" +
                            (error ? ": " + error.message() : std::string()) +
                            "; send HTTP/1.1, as `curl` does"};
  }
  const auto& header = parser.get();
  const std::string_view target(header.target().data(), header.target().size());
  if (target.size() > kTargetBytesMax) return too_long_target();
  Request made = request_of(header, parser.keep_alive());
  const bool any = may_have_any_method(made, header.method());
  const bool post = made.post && may_post && !any;
  if (!post && !any && header.method() != http::verb::get && !made.head) {
    return wrong_method(made, may_post);
  }
  if (header.version() >= 11 && header.find(http::field::host) == header.end()) {
    return Refusal{400, "the Host field, which HTTP/1.1 requires, is missing"};
  }
  const BodyLength length{header.find(http::field::transfer_encoding) != header.end(),
                          parser.content_length().value_or(0)};
  if (post) return with_body(std::move(made), length, bytes, used, searched, may_post);
  if (!length.coded && length.bytes == 0) return made;
  return is_posted_to(made, may_post) ? wrong_method(made, may_post) : has_body();
}

std::optional<Parameters> read_query(std::string_view query) {
  Parameters made;
  while (!query.empty()) {
    const std::string_view one = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(one.size() + 1, query.size()));
    if (one.empty()) continue;
    const auto equals = std::min(one.find('='), one.size());
    auto name = percent_decoded(one.substr(0, equals), /*form=*/true);
    auto value = percent_decoded(one.substr(std::min(equals + 1, one.size())), /*form=*/true);
    if (!name || !value) return std::nullopt;
    made.emplace_back(std::move(*name), std::move(*value));
  }
  return made;
}

std::variant<RouteQuestion, Refusal> read_route_question(std::string_view query,
                                                         std::uint32_t slots) {
  const auto parameters = read_query(query);
  if (!parameters) return misasked("a % is not followed by two hexadecimal digits");
  RouteQuestion made;
  std::set<std::string_view> given;
  for (const auto& [name, value] : *parameters) {
    if (!given.insert(name).second) return misasked("a parameter is given twice");
    std::optional<Refusal> refusal;
    if (name == "key") {
      made.key = value;
    } else if (name == "slot") {
      refusal = take_slot(made, value, slots);
    } else if (name == "wait") {
      refusal = take_wait(made, value);
    } else if (name == "after") {
      refusal = take_after(made, value);
    } else {
      refusal = misasked("there is no such parameter");
    }
    if (refusal) return *refusal;
  }
  if (given.contains("key") == given.contains("slot")) {
    return misasked("expected exactly one of key and slot");
  }
  if (given.contains("after") && !made.wait) return misasked("after is given without wait");
  return made;
}

unsigned step_bit(std::string_view step) noexcept {
  return step == "prepare" ? 1U : step == "warm_up" ? 2U : step == "stopped" ? 4U : 0U;
}

std::variant<unsigned, Refusal> read_steps_question(std::string_view query) {
  const auto parameters = read_query(query);
  if (!parameters) return misfollowed("a % is not followed by two hexadecimal digits");
  unsigned made = 0;
  for (const auto& [name, value] : *parameters) {
    if (name != "await") return misfollowed("there is no such parameter");
    std::vector<std::string> steps;
    boost::algorithm::split(steps, value, [](char c) { return c == ','; });
    for (const std::string& step : steps) {
      const unsigned bit = step_bit(step);
      if (bit == 0) return misfollowed("there is no such step to wait in");
      made |= bit;
    }
  }
  return made;
}

}  // namespace neliroute::admin
