#include "admin/request.h"

#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <charconv>

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
  return {413, "the request has a body; this port is read-only: send the request without one"};
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
  // Not beast::iequals(): in Boost 1.81 it reads a byte beyond both where a case differs.
  if (!boost::algorithm::iequals(target.substr(0, kScheme.size()), kScheme)) return target;
  const auto path = std::min(target.find('/', kScheme.size()), target.size());
  if (path > kScheme.size()) host = target.substr(kScheme.size(), path - kScheme.size());
  return path == target.size() ? "/" : target.substr(path);
}

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

std::optional<std::string> decoded(std::string_view text) {
  std::string made;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      const auto high = i + 1 < text.size() ? hex_digit(text[i + 1]) : std::nullopt;
      const auto low = i + 2 < text.size() ? hex_digit(text[i + 2]) : std::nullopt;
      if (!high || !low) return std::nullopt;
      made += static_cast<char>(*high << 4 | *low);
      i += 2;
    } else {
      made += text[i] == '+' ? ' ' : text[i];
    }
  }
  return made;
}

Refusal misasked(std::string what) {
  return {400, std::move(what) + "; ask /v1/route?key=KEY (URL-encoded) or /v1/route?slot=N"};
}

std::variant<RouteQuestion, Refusal> slot_question(const std::string& text, std::uint32_t slots) {
  std::uint32_t slot = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), slot);
  if (error != std::errc{} || end != text.data() + text.size() || slot >= slots) {
    return misasked("slot is not a number from 0 to " + std::to_string(slots - 1));
  }
  return RouteQuestion{std::nullopt, slot};
}

}  // namespace

std::variant<NeedMore, Request, Refusal> read_request(std::string_view bytes, std::size_t& used,
                                                      Searched& searched) {
  used = 0;
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
  parser.eager(false);
  boost::beast::error_code error;
  used = parser.put(boost::asio::buffer(bytes.data(), end + kHeaderEnd.size()), error);
  if (error == http::error::body_limit) return has_body();
  if (error || !parser.is_header_done()) {
    return Refusal{400, "the request cannot be parsed" +
                            (error ? ": " + error.message() : std::string()) +
                            "; send HTTP/1.1, as `curl` does"};
  }
  const auto& header = parser.get();
  const std::string_view target(header.target().data(), header.target().size());
  if (target.size() > kTargetBytesMax) return too_long_target();
  if (header.method() != http::verb::get && header.method() != http::verb::head) {
    return Refusal{405, "only GET and HEAD are answered here; nothing can be changed"};
  }
  if (header.version() >= 11 && header.find(http::field::host) == header.end()) {
    return Refusal{400, "the Host field, which HTTP/1.1 requires, is missing"};
  }
  const bool coded = header.find(http::field::transfer_encoding) != header.end();
  if (coded || parser.content_length().value_or(0) > 0) return has_body();
  const auto field = header[http::field::host];
  std::string_view host(field.data(), field.size());
  const std::string_view asked = without_authority(target, host);
  const auto mark = std::min(asked.find('?'), asked.size());
  return Request{header.method() == http::verb::head, parser.keep_alive(),
                 std::string(asked.substr(0, mark)),
                 std::string(asked.substr(std::min(mark + 1, asked.size()))),
                 std::string(host), std::string(header[http::field::if_none_match])};
}

std::optional<Parameters> read_query(std::string_view query) {
  Parameters made;
  while (!query.empty()) {
    const std::string_view one = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(one.size() + 1, query.size()));
    if (one.empty()) continue;
    const auto equals = std::min(one.find('='), one.size());
    auto name = decoded(one.substr(0, equals));
    auto value = decoded(one.substr(std::min(equals + 1, one.size())));
    if (!name || !value) return std::nullopt;
    made.emplace_back(std::move(*name), std::move(*value));
  }
  return made;
}

std::variant<RouteQuestion, Refusal> read_route_question(std::string_view query,
                                                         std::uint32_t slots) {
  const auto parameters = read_query(query);
  if (!parameters) return misasked("a % is not followed by two hexadecimal digits");
  if (parameters->size() != 1) {
    return misasked("expected exactly one parameter, key or slot, not " +
                    std::to_string(parameters->size()));
  }
  const auto& [name, value] = parameters->front();
  if (name == "slot") return slot_question(value, slots);
  if (name == "key") return RouteQuestion{value, 0};
  return misasked("there is no such parameter");
}

}  // namespace neliroute::admin
