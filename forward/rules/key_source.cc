#include "forward/rules/key_source.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "forward/rules/beast_text.h"
#include "forward/rules/proxy_rules.h"

namespace neliroute::forward {
namespace {

namespace http = boost::beast::http;

constexpr std::string_view kExpected =
    "expected header:NAME, path:N, query:NAME, cookie:NAME or host";
constexpr std::size_t kSegmentMax = 100;

int hex_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// RFC 9110, section 5.6.2.
bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return letter || (c >= '0' && c <= '9') || kMarks.find(c) != std::string_view::npos;
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

bool has_slash_or_nul(std::string_view decoded) {
  return decoded.find('/') != decoded.npos || decoded.find('\0') != decoded.npos;
}

}  // namespace

std::optional<std::string> percent_decoded(std::string_view text, bool form) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && form) {
      decoded += ' ';
    } else if (text[i] != '%') {
      decoded += text[i];
    } else {
      const int high = i + 2 < text.size() ? hex_of(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_of(text[i + 2]) : -1;
      if (high < 0 || low < 0) return std::nullopt;
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return decoded;
}

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
  return KeySource(kind == "header" ? Kind::header : Kind::cookie, std::string(name), 0);
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
  if (key != nullptr && key->empty()) return refused("is empty");
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
    if (has_slash_or_nul(*decoded)) return refused("cannot be told: the path has a %2F or %00");
    if (number < segment_ && decoded->empty()) {
      return refused("cannot be told: an empty segment is before it");
    }
    if (number == segment_) key = std::move(*decoded);
  }
  return key;
}

KeySource::Found KeySource::in_query(const Target& target) const {
  std::optional<std::string> key;
  for (const std::string_view part : split(target.query, '&')) {
    const std::size_t equals = part.find('=');
    const auto name = percent_decoded(part.substr(0, equals), /*form=*/true);
    if (!name) return refused("cannot be found: the query has a % without two hexadecimal digits");
    if (*name != name_) continue;
    if (key) return refused("is there twice");
    key = percent_decoded(equals == part.npos ? std::string_view() : part.substr(equals + 1),
                          /*form=*/true);
    if (!key) return refused("has a % without two hexadecimal digits");
  }
  if (!key) return refused("is missing");
  return std::move(*key);
}

// RFC 6265, section 4.2.1. Names are case-sensitive.
KeySource::Found KeySource::in_cookie(const RequestHeader& request) const {
  std::optional<std::string> key;
  const auto [first, last] = request.equal_range(http::field::cookie);
  for (auto field = first; field != last; ++field) {
    for (const std::string_view pair : split(view_of(field->value()), ';')) {
      const std::size_t equals = pair.find('=');
      if (equals == pair.npos || trimmed(pair.substr(0, equals)) != name_) continue;
      if (key) return refused("is there twice");
      std::string_view value = trimmed(pair.substr(equals + 1));
      const bool quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
      if (quoted) value = value.substr(1, value.size() - 2);
      key = value;
    }
  }
  if (!key) return refused("is missing");
  return std::move(*key);
}

KeySource::Found KeySource::in_host(const RequestHeader& request, const Target& target) const {
  std::string_view host = target.authority;
  if (host.empty()) {
    const auto [first, last] = request.equal_range(http::field::host);
    if (first == last) return refused("is missing");
    if (std::next(first) != last) return refused("is there twice");
    host = trimmed(view_of(first->value()));
  }
  // An IPv6 address has colons of its own, in brackets.
  const std::size_t bracket = host.rfind(']');
  const std::size_t colon = host.rfind(':');
  if (colon != host.npos && (bracket == host.npos || colon > bracket)) {
    host = host.substr(0, colon);
  }
  std::string key(host);
  for (char& c : key) {
    c = ascii_lower(c);
  }
  return key;
}

}  // namespace neliroute::forward
