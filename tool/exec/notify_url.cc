#include "tool/exec/notify_url.h"

#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>

#include "router/text/listen_address.h"

namespace neliroute::tool {
namespace {

constexpr std::string_view kHttp = "http://";
constexpr std::size_t kUrlMost = 2048;

Error unfit_url(std::string_view url, std::string_view what) {
  return {Errc::bad_option, '"' + std::string(url.substr(0, 200)) + "\" " + std::string(what) +
                                "; give a server on this machine, as in "
                                "http://127.0.0.1:9000/events"};
}

/// Whether it may stand in a request line as it is.
bool is_written_out(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

/// HOST:PORT of what may be a host alone.
std::string with_port(std::string_view authority) {
  const bool bare = authority.starts_with('[') ? authority.ends_with(']')
                                               : authority.find(':') == std::string_view::npos;
  return std::string(authority) + (bare ? ":80" : "");
}

}  // namespace

std::string NotifyUrl::address() const { return address_text(at); }

Result<NotifyUrl> parse_notify_url(std::string_view text) {
  if (text.size() > kUrlMost) return unfit_url(text, "is longer than 2 KiB");
  if (!is_written_out(text)) return unfit_url(text, "has a character that a URL must encode");
  if (!boost::algorithm::istarts_with(text, kHttp)) return unfit_url(text, "is no http:// URL");
  const std::string_view rest = text.substr(kHttp.size());
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  std::string_view path = rest.substr(authority.size());
  if (authority.empty() || authority.starts_with(':')) return unfit_url(text, "names no host");
  if (authority.find('@') != std::string_view::npos) return unfit_url(text, "names a user");
  if (path.find('#') != std::string_view::npos) return unfit_url(text, "has a fragment (#)");
  const auto at = resolve_listen(with_port(authority));
  if (!at || at->port() == 0) return unfit_url(text, "names no host and port that there are");
  if (!at->address().is_loopback()) {
    return unfit_url(text, "is not on this machine: what is sent there is not encrypted");
  }
  NotifyUrl made{std::string(text), *at, std::string(authority), std::string(path)};
  if (!path.starts_with('/')) made.target.insert(0, "/");
  return made;
}

}  // namespace neliroute::tool
