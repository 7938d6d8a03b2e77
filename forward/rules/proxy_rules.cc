#include "forward/rules/proxy_rules.h"

#include <algorithm>
#include <array>
#include <boost/beast/http/rfc7230.hpp>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <limits>
#include <vector>

#include "forward/rules/authority.h"
#include "forward/rules/beast_text.h"
#include "forward/rules/forwarded.h"
#include "forward/rules/peer_fields.h"

namespace neliroute::forward {
namespace {

namespace http = boost::beast::http;
using http::field;

constexpr std::array kOfOneConnection{
    field::connection, field::keep_alive, field::proxy_connection, field::te, field::trailer,
    field::transfer_encoding, field::upgrade, field::proxy_authenticate,
    field::proxy_authorization, field::http2_settings};

std::size_t count_of(const http::fields& fields, field name) {
  const auto [first, last] = fields.equal_range(name);
  return static_cast<std::size_t>(std::distance(first, last));
}

// Servers differ in what they make of "5, 5", of a sign, of no digit at all, and of what exceeds
// their signed numbers.
std::optional<std::uint64_t> length_of(std::string_view text) {
  std::uint64_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && length <= std::numeric_limits<std::int64_t>::max() ? std::optional(length)
                                                                     : std::nullopt;
}

bool is_only_chunked(const http::fields& fields) {
  return count_of(fields, field::transfer_encoding) == 1 &&
         is_same_name(view_of(fields[field::transfer_encoding]), "chunked");
}

std::optional<Refusal> framing_refusal(const RequestHeader& request) {
  const bool coded = count_of(request, field::transfer_encoding) > 0;
  const std::size_t lengths = count_of(request, field::content_length);
  if (coded && lengths > 0) {
    return Refusal{400, "the request has both Content-Length and Transfer-Encoding; send one"};
  }
  if (lengths > 1) return Refusal{400, "the request has two Content-Lengths; send one"};
  if (lengths == 1 && !length_of(view_of(request[field::content_length]))) {
    return Refusal{400, "Content-Length: expected one number below 2^63"};
  }
  if (!coded) return std::nullopt;
  if (request.version() < 11) {
    return Refusal{400, "HTTP/1.0 knows no Transfer-Encoding; send a Content-Length"};
  }
  if (!is_only_chunked(request)) {
    return Refusal{400, "Transfer-Encoding: expected chunked alone"};
  }
  return std::nullopt;
}

// HTTP, in the clear or in TLS: a connection over which more requests come.
bool is_http(std::string_view protocol) {
  constexpr std::array<std::string_view, 4> kNames{"h2c", "h2", "http", "tls"};
  const std::string_view name = protocol.substr(0, protocol.find('/'));
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view one) { return is_same_name(one, name); });
}

// Without it nobody would know where the body ends.
bool is_framing_field(std::string_view name) {
  return is_same_name(name, "Content-Length") || is_same_name(name, "Transfer-Encoding");
}

}  // namespace

std::vector<std::string> connection_options(const http::fields& fields) {
  std::vector<std::string> options;
  const auto [first, last] = fields.equal_range(field::connection);
  for (auto one = first; one != last; ++one) {
    for (const auto option : http::token_list{one->value()}) {
      options.emplace_back(option.data(), option.size());
    }
  }
  return options;
}

std::optional<Refusal> refusal_of(const RequestHeader& request) {
  if (request.version() != 10 && request.version() != 11) {
    return Refusal{505, "expected HTTP/1.1 or HTTP/1.0"};
  }
  if (request.method() == http::verb::connect || request.method() == http::verb::trace) {
    return Refusal{405, std::string(view_of(request.method_string())) + " is not passed on"};
  }
  const std::size_t hosts = count_of(request, field::host);
  if (hosts > 1) return Refusal{400, "the request has two Hosts; send one"};
  if (hosts == 0 && request.version() == 11) {
    return Refusal{400, "the request has no Host; HTTP/1.1 demands one"};
  }
  if (hosts == 1 && !host_of(view_of(request[field::host]))) {
    return Refusal{400, "Host: expected HOST or HOST:PORT"};
  }
  for (const std::string& option : connection_options(request)) {
    if (is_same_name(option, "Host") || is_framing_field(option) || is_peer_field(option)) {
      return Refusal{400, "Connection names " + option + ", which a proxy must not remove"};
    }
  }
  return framing_refusal(request);
}

std::optional<std::string> fault_of(const ResponseHeader& answer) {
  if (answer.version() != 10 && answer.version() != 11) return "its HTTP version is unknown";
  if (answer.result_int() < 100 || answer.result_int() > 999) return "its status is no number";
  const bool coded = count_of(answer, field::transfer_encoding) > 0;
  const std::size_t lengths = count_of(answer, field::content_length);
  if (coded && lengths > 0) return "it has both Content-Length and Transfer-Encoding";
  if (lengths > 1) return "it has two Content-Lengths";
  const auto length = length_of(lengths == 1 ? view_of(answer[field::content_length]) : "0");
  if (!length) return "its Content-Length is no number below 2^63";
  if (coded && !is_only_chunked(answer)) return "its Transfer-Encoding is not chunked alone";
  if (coded && answer.version() < 11) return "HTTP/1.0 knows no Transfer-Encoding";
  if (answer.result_int() < 200 && (coded || *length > 0)) return "its status is that of no body";
  for (const std::string& option : connection_options(answer)) {
    if (is_framing_field(option)) return "its Connection names " + option;
  }
  return std::nullopt;
}

std::string upgrade_of(const RequestHeader& request) {
  const auto options = connection_options(request);
  const bool asked = std::any_of(options.begin(), options.end(), [](const std::string& one) {
    return is_same_name(one, "upgrade");
  });
  if (!asked || count_of(request, field::upgrade) != 1 || request.version() < 11) return {};
  std::string wanted;
  for (const std::string_view listed : split(view_of(request[field::upgrade]), ',')) {
    const std::string_view protocol = trimmed(listed);
    if (protocol.empty() || is_http(protocol)) continue;
    wanted += (wanted.empty() ? "" : ", ") + std::string(protocol);
  }
  return wanted;
}

bool is_idempotent(const RequestHeader& request) {
  switch (request.method()) {
    case http::verb::get:
    case http::verb::head:
    case http::verb::options:
    case http::verb::put:
    case http::verb::delete_:
      return true;
    default:
      return request.find("Idempotency-Key") != request.end();
  }
}

bool is_changed(std::string_view name) {
  constexpr std::string_view kOurs = "Neliroute-";
  constexpr std::array kOfAMessage{field::host, field::content_length, field::expect, field::via};
  const auto is_one = [name](field one) { return is_alike(view_of(http::to_string(one)), name); };
  return std::any_of(kOfAMessage.begin(), kOfAMessage.end(), is_one) ||
         std::any_of(kOfOneConnection.begin(), kOfOneConnection.end(), is_one) ||
         is_forwarded_field(name) || is_alike(name.substr(0, kOurs.size()), kOurs);
}

void strip_hop_by_hop(http::fields& fields) {
  for (const std::string& option : connection_options(fields)) fields.erase(option);
  for (auto one = fields.begin(); one != fields.end();) {
    const bool unwanted = std::find(kOfOneConnection.begin(), kOfOneConnection.end(),
                                    one->name()) != kOfOneConnection.end();
    one = unwanted ? fields.erase(one) : std::next(one);
  }
}

void note_passed(RequestHeader& request, const Passed& passed) {
  const std::string version = request.version() == 10 ? "1.0 " : "1.1 ";
  request.insert(field::via, version + std::string(passed.by));
  append_forwarded(request, passed.client, passed.protocol);
}

void note_passed(ResponseHeader& answer, std::string_view by) {
  const std::string version = answer.version() == 10 ? "1.0 " : "1.1 ";
  answer.insert(field::via, version + std::string(by));
}

}  // namespace neliroute::forward
