// Where in a request its key is: `header:NAME`, `path:N`, `query:NAME`, `cookie:NAME` or `host`.
//
// A key is bytes: a path segment after one percent-decoding, a query value after form-decoding, a
// cookie's value, a host name in lower case and without its port. A request with no such key, an
// empty one or two of them is refused: two processes could each take another one. So is one in
// which the application could find another key than this proxy did: a key has only bytes that all
// servers read alike.
//
// Threads: values, any.   Units: path segments, counted from 1.
// Errors: parse() names what was expected; key_of() says why a request has no key.
#pragma once

#include <boost/beast/http/message.hpp>
#include <cstdint>
#include <neliroute/error.h>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "forward/rules/target.h"

namespace neliroute::forward {

using RequestHeader = boost::beast::http::request_header<>;

/// Why a request has no key.
struct NoKey {
  std::string text;
};

class KeySource {
 public:
  [[nodiscard]] static Result<KeySource> parse(std::string_view text);

  [[nodiscard]] std::variant<std::string, NoKey> key_of(const RequestHeader& request,
                                                        const Target& target) const;
  /// As parse() takes it.
  [[nodiscard]] std::string to_string() const;

 private:
  enum class Kind : std::uint8_t { header, path, query, cookie, host };
  KeySource(Kind kind, std::string name, std::size_t segment)
      : kind_(kind), name_(std::move(name)), segment_(segment) {}
  using Found = std::variant<std::string, NoKey>;
  [[nodiscard]] bool is_of_one_connection(const RequestHeader& request) const;
  [[nodiscard]] Found in_header(const RequestHeader& request) const;
  [[nodiscard]] Found in_path(const Target& target) const;
  [[nodiscard]] Found in_query(const Target& target) const;
  [[nodiscard]] Found in_cookie(const RequestHeader& request) const;
  [[nodiscard]] Found in_host(const RequestHeader& request, const Target& target) const;
  [[nodiscard]] NoKey refused(std::string_view why) const;
  [[nodiscard]] std::string_view allowed() const;
  [[nodiscard]] bool is_allowed(char c) const;
  [[nodiscard]] std::optional<NoKey> unfit(std::string_view key) const;

  Kind kind_;
  std::string name_;
  std::size_t segment_;
};

}  // namespace neliroute::forward
