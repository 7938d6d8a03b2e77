#include "forward/rules/key_source.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "forward/rules/beast_text.h"

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

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(by);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
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

KeySource::Found KeySource::key_of(const RequestHeader& request, const Target& target) const {
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
  const auto [first, last] = request.equal_range(name_);
  if (first == last) return refused("is missing");
  if (std::next(first) != last) return refused("is there twice");
  return std::string(trimmed(view_of(first->value())));
}

KeySource::Found KeySource::in_path(const Target& target) const {
  if (!target.path.starts_with('/')) return refused("is missing");
  const auto segments = split(target.path.substr(1), '/');
  if (segments.size() < segment_) return refused("is missing");
  auto key = percent_decoded(segments[segment_ - 1], /*form=*/false);
  if (!key) return refused("has a % without two hexadecimal digits");
  return std::move(*key);
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
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return key;
}

}  // namespace neliroute::forward
