#include "forward/rules/key_source.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "forward/rules/authority.h"
#include "forward/rules/beast_text.h"
#include "forward/rules/forwarded.h"
#include "forward/rules/proxy_rules.h"
#include "router/text/ascii.h"
#include "router/text/json_text.h"
#include "router/text/percent.h"

namespace neliroute::forward {
namespace {

namespace http = boost::beast::http;

constexpr std::string_view kExpected =
    "expected header:NAME, path:N, query:NAME, cookie:NAME or host";
constexpr std::size_t kSegmentMax = 100;

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// RFC 9110, section 5.6.2.
bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter_or_digit(c) || kMarks.find(c) != std::string_view::npos;
  });
}

// What a server that normalises paths removes, and what goes up: "..;x" is ".." to some.
bool goes_elsewhere(std::string_view decoded) {
  while (true) {
    const std::size_t end = decoded.find_first_of("/\\");
    std::string_view part = decoded.substr(0, end);
    part = part.substr(0, part.find(';'));
    if (part == "." || part == "..") return true;
    if (end == decoded.npos) return false;
    decoded.remove_prefix(end + 1);
  }
}

// What shifts the segments behind it, or is decoded once more, in one server or another.
bool has_separator(std::string_view decoded) {
  constexpr std::string_view kSeparators("/\\;%\0", 5);
  return decoded.find_first_of(kSeparators) != decoded.npos;
}

// What some parser or other drops around the name of a cookie.
bool is_blank(char c) { return !(c > ' ' && c < '\x7f'); }

// Without a '=': an empty value to some parsers, none to others.
bool is_bare(std::string_view cookie, std::string_view name) {
  while (!cookie.empty() && is_blank(cookie.front())) cookie.remove_prefix(1);
  while (!cookie.empty() && is_blank(cookie.back())) cookie.remove_suffix(1);
  return cookie == name;
}

// How often a cookie of this name may be in there, to whichever parser: as a whole word before a
// '=', whatever ends the cookie before it.
std::size_t mentions(std::string_view cookies, std::string_view name) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = cookies.find(name, at)) != cookies.npos; ++at) {
    if (at > 0 && is_token(cookies.substr(at - 1, 1))) continue;
    std::size_t end = at + name.size();
    while (end < cookies.size() && is_blank(cookies[end])) ++end;
    if (end < cookies.size() && cookies[end] == '=') ++found;
  }
  return found;
}

}  // namespace

Result<KeySource> KeySource::parse(std::string_view text) {
  const auto unfit = [&](std::string_view why) {
    return Error(Errc::bad_option,
                 "key " + std::string(text) + ": " + std::string(why) + std::string(kExpected));
  };
  if (text == "host") return KeySource(Kind::host, "", 0);
  const std::size_t colon = text.find(':');
  if (colon == text.npos) return unfit("");
  const std::string_view kind = text.substr(0, colon);
  const std::string_view name = text.substr(colon + 1);
  if (kind == "path") {
    std::size_t segment = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), segment);
    const bool number = error == std::errc() && end == name.data() + name.size();
    if (!number || segment < 1 || segment > kSegmentMax) {
      return unfit("N counts path segments from 1, up to " + std::to_string(kSegmentMax) + "; ");
    }
    return KeySource(Kind::path, "", segment);
  }
  if (name.empty()) return unfit("NAME is empty; ");
  if (kind == "query") return KeySource(Kind::query, std::string(name), 0);
  if (kind != "header" && kind != "cookie") return unfit("");
  if (!is_token(name)) return unfit("NAME has characters that no such name may have; ");
  if (kind == "cookie") return KeySource(Kind::cookie, std::string(name), 0);
  if (is_alike(name, "Host") || is_alike(name, "X-Forwarded-Host")) {
    return unfit("a proxy changes this field: take host instead; ");
  }
  if (is_changed(name)) {
    return unfit("a proxy changes or removes this field: have callers send the key in one of "
                 "their own, as header:X-User; ");
  }
  return KeySource(Kind::header, std::string(name), 0);
}

std::string KeySource::to_string() const {
  switch (kind_) {
    case Kind::header:
      return "header:" + name_;
    case Kind::path:
      return "path:" + std::to_string(segment_);
    case Kind::query:
      return "query:" + name_;
    case Kind::cookie:
      return "cookie:" + name_;
    case Kind::host:
      break;
  }
  return "host";
}

NoKey KeySource::refused(std::string_view why) const {
  return {"the request's key, " + to_string() + ", " + std::string(why)};
}

// What every parser takes as it is: Django, Flask, aiohttp and Node's were asked
// (tests/gateway/keys_test.py).
std::string_view KeySource::allowed() const {
  switch (kind_) {
    case Kind::header:
      return "printable ASCII";
    case Kind::path:
      return "UTF-8 without control characters and any of / \\ ; % ? #";
    case Kind::query:
      return "UTF-8 without control characters";
    case Kind::cookie:
      return "printable ASCII without spaces and any of \" , ; \\ %";
    case Kind::host:
      break;
  }
  return "letters, digits and any of - . _, or an IPv6 address in brackets";
}

bool KeySource::is_allowed(char c) const {
  const auto code = static_cast<unsigned char>(c);
  const bool is_wide = code >= 0x80;  // of UTF-8
  const bool is_printable = code >= ' ' && code < 0x7f;
  const auto is_one_of = [c](std::string_view some) { return some.find(c) != some.npos; };
  switch (kind_) {
    case Kind::header:
      return is_printable;
    case Kind::path:
      return is_wide || (is_printable && !is_one_of("/\\;%?#"));
    case Kind::query:
      return is_wide || is_printable;
    case Kind::cookie:
      return is_printable && !is_one_of(" \",;\\%");
    case Kind::host:
      break;
  }
  return is_letter_or_digit(c) || is_one_of("-._[:]");
}

std::optional<NoKey> KeySource::unfit(std::string_view key) const {
  if (key.empty()) return refused("is empty");
  const bool allows = std::all_of(key.begin(), key.end(), [this](char c) { return is_allowed(c); });
  if (allows && is_utf8(key)) return std::nullopt;
  return refused("has bytes that servers read differently: expected " + std::string(allowed()));
}

// A proxy removes the field that holds it, and the application finds none.
bool KeySource::is_of_one_connection(const RequestHeader& request) const {
  if (kind_ != Kind::header && kind_ != Kind::cookie) return false;
  const std::string_view holder = kind_ == Kind::header ? std::string_view(name_) : "Cookie";
  const auto options = connection_options(request);
  return std::any_of(options.begin(), options.end(),
                     [&](const std::string& one) { return is_alike(one, holder); });
}

KeySource::Found KeySource::key_of(const RequestHeader& request, const Target& target) const {
  if (is_of_one_connection(request)) {
    return refused("is named by Connection, and so would not be passed on");
  }
  Found found = [&] {
    switch (kind_) {
      case Kind::header:
        return in_header(request);
      case Kind::path:
        return in_path(target);
      case Kind::query:
        return in_query(target);
      case Kind::cookie:
        return in_cookie(request);
      case Kind::host:
        break;
    }
    return in_host(request, target);
  }();
  const auto* key = std::get_if<std::string>(&found);
  if (key == nullptr) return found;
  if (auto none = unfit(*key)) return std::move(*none);
  return found;
}

KeySource::Found KeySource::in_header(const RequestHeader& request) const {
  std::optional<std::string_view> key;
  std::size_t alike = 0;
  for (const auto& one : request) {
    const std::string_view name = view_of(one.name_string());
    if (!is_alike(name, name_)) continue;
    ++alike;
    if (is_same_name(name, name_)) key = trimmed(view_of(one.value()));
  }
  if (!key) return refused("is missing");
  if (alike > 1) return refused("is there twice, with '_' counted as '-'");
  return std::string(*key);
}

// An application may normalise the path first, and so find the key in another segment: whatever
// could shift it is refused, behind it as well.
KeySource::Found KeySource::in_path(const Target& target) const {
  if (!target.path.starts_with('/')) return refused("is missing");
  const auto segments = split(target.path.substr(1), '/');
  if (segments.size() < segment_) return refused("is missing");
  std::string key;
  for (std::size_t number = 1; number <= segments.size(); ++number) {
    auto decoded = percent_decoded(segments[number - 1], /*form=*/false);
    if (!decoded) return refused("cannot be told: the path has a % without two hexadecimal digits");
    if (goes_elsewhere(*decoded)) return refused("cannot be told: the path has a segment . or ..");
    if (number > segment_) continue;
    if (number == segment_) {
      key = std::move(*decoded);
      continue;
    }
    if (decoded->empty()) return refused("cannot be told: an empty segment is before it");
    if (has_separator(*decoded)) {
      return refused("cannot be told: the path has one of / \\ ; % or NUL in a segment before it");
    }
  }
  return key;
}

// Some servers end a parameter at a ';', and some take "name[]" for "name".
KeySource::Found KeySource::in_query(const Target& target) const {
  const std::string list = name_ + "[";
  std::optional<std::string> key;
  for (const std::string_view part : split(target.query, '&')) {
    for (const std::string_view piece : split(part, ';')) {
      const std::size_t equals = piece.find('=');
      const auto name = percent_decoded(piece.substr(0, equals), /*form=*/true);
      if (!name) {
        return refused("cannot be found: the query has a % without two hexadecimal digits");
      }
      const bool is_list = name->starts_with(list);
      if (*name != name_ && !is_list) continue;
      if (key) return refused("is there twice");
      if (is_list || piece.size() != part.size()) {
        return refused("cannot be told: the query has a list of this name, or a ; beside it");
      }
      key = percent_decoded(equals == piece.npos ? std::string_view() : piece.substr(equals + 1),
                            /*form=*/true);
      if (!key) return refused("has a % without two hexadecimal digits");
    }
  }
  if (!key) return refused("is missing");
  return std::move(*key);
}

// RFC 6265, section 4.2.1. Names are case-sensitive. Servers differ in how they join two fields, in
// whether quotes hide a ';' and in what else ends a cookie.
KeySource::Found KeySource::in_cookie(const RequestHeader& request) const {
  const auto [first, last] = request.equal_range(http::field::cookie);
  if (first == last) return refused("is missing");
  if (std::next(first) != last) return refused("cannot be told: there are two fields Cookie");
  const std::string_view cookies = view_of(first->value());
  std::optional<std::string_view> key;
  for (const std::string_view pair : split(cookies, ';')) {
    const std::size_t equals = pair.find('=');
    if (is_bare(pair, name_)) return refused("is there without a value");
    if (equals == pair.npos) continue;
    const std::string_view value = trimmed(pair.substr(equals + 1));
    const bool is_open = value == "\"" || (value.starts_with('"') && !value.ends_with('"'));
    if (is_open) return refused("cannot be told: a cookie has a quote without its end");
    const std::string_view name = trimmed(pair.substr(0, equals));
    if (name == name_) {
      key = value;
    } else if (percent_decoded(name, /*form=*/false) == name_) {
      return refused("is there twice, with names percent-decoded");
    }
  }
  if (mentions(cookies, name_) > 1) return refused("is there twice");
  if (!key) return refused("is missing");
  return std::string(*key);
}

// An application may believe the proxy that says by which name its client came.
KeySource::Found KeySource::in_host(const RequestHeader& request, const Target& target) const {
  std::string_view authority = target.authority;
  if (authority.empty()) {
    const auto [first, last] = request.equal_range(http::field::host);
    if (first == last) return refused("is missing");
    if (std::next(first) != last) return refused("is there twice");
    authority = view_of(first->value());
  }
  const auto host = host_of(authority);
  if (!host) return refused("is malformed: expected HOST or HOST:PORT");
  if (host->ends_with('.')) return refused("ends with a dot, which some servers drop");
  for (const std::string_view named : forwarded_hosts(request)) {
    const auto other = host_of(named);
    if (!other || !is_same_name(*other, *host)) {
      return refused("cannot be told: X-Forwarded-Host or Forwarded names another one");
    }
  }
  std::string key(*host);
  std::transform(key.begin(), key.end(), key.begin(), ascii_lower);
  return key;
}

}  // namespace neliroute::forward
