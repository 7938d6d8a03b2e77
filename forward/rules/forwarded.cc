#include "forward/rules/forwarded.h"

#include <algorithm>
#include <array>

#include "forward/rules/beast_text.h"

namespace neliroute::forward {
namespace {

namespace http = boost::beast::http;

constexpr const char* kFor = "X-Forwarded-For";
constexpr const char* kProto = "X-Forwarded-Proto";
constexpr const char* kHost = "X-Forwarded-Host";
constexpr const char* kForwarded = "Forwarded";
constexpr std::array<std::string_view, 6> kForwardedFields{
    kFor, kProto, kHost, "X-Forwarded-Port", "X-Real-IP", kForwarded};

// RFC 7239, section 4: an IPv6 address is in brackets, and so in quotes.
std::string node_of(std::string_view client) {
  const std::string text(client);
  return client.find(':') == client.npos ? text : "\"[" + text + "]\"";
}

}  // namespace

bool is_forwarded_field(std::string_view name) noexcept {
  return std::any_of(kForwardedFields.begin(), kForwardedFields.end(),
                     [&](std::string_view one) { return is_alike(one, name); });
}

void strip_forwarded(http::fields& fields, bool trusted) {
  erase_fields(fields, [&](std::string_view name) {
    return std::any_of(kForwardedFields.begin(), kForwardedFields.end(), [&](std::string_view one) {
      return is_alike(one, name) && !(trusted && is_same_name(one, name));
    });
  });
}

void append_forwarded(http::fields& fields, std::string_view client, std::string_view protocol) {
  std::string chain;
  const auto [first, last] = fields.equal_range(kFor);
  for (auto one = first; one != last; ++one) chain.append(view_of(one->value())).append(", ");
  fields.set(kFor, chain.append(client));
  if (fields.find(kProto) == fields.end()) fields.set(kProto, to_beast(protocol));
  if (fields.find(kForwarded) != fields.end()) {
    fields.insert(kForwarded, "for=" + node_of(client) + ";proto=" + std::string(protocol));
  }
}

std::vector<std::string> forwarded_hosts(const http::fields& fields) {
  constexpr std::string_view kParameter = "host=";
  std::vector<std::string> hosts;
  const auto [first, last] = fields.equal_range(kHost);
  for (auto one = first; one != last; ++one) {
    for (const std::string_view host : split(view_of(one->value()), ',')) {
      hosts.emplace_back(trimmed(host));
    }
  }
  const auto [begin, end] = fields.equal_range(kForwarded);
  for (auto one = begin; one != end; ++one) {
    for (const std::string_view hop : split(view_of(one->value()), ',')) {
      for (std::string_view parameter : split(hop, ';')) {
        parameter = trimmed(parameter);
        if (!is_same_name(parameter.substr(0, kParameter.size()), kParameter)) continue;
        parameter.remove_prefix(kParameter.size());
        const bool quoted = parameter.size() > 1 && parameter.starts_with('"') &&
                            parameter.ends_with('"');
        hosts.emplace_back(quoted ? parameter.substr(1, parameter.size() - 2) : parameter);
      }
    }
  }
  return hosts;
}

}  // namespace neliroute::forward
