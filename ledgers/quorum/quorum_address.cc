#include "ledgers/quorum/quorum_address.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <vector>

#include "base/host_and_port.h"
#include "ledgers/parameters.h"
#include "ledgers/topic_name.h"

namespace neliroute {
namespace {

constexpr const char* kPortDefault = "7100";
constexpr std::size_t kKeyBytesLeast = 16;
constexpr const char* kVotersExpected =
    "expected voters and a name, as in quorum://HOST:7100,HOST:7100,HOST:7100/NAME";

Error unfit_address(const std::string& why) { return {Errc::bad_option, why}; }

/// HOST:PORT, with brackets around an address of IPv6; no value: that is none.
std::optional<std::string> voter_in(std::string_view text) {
  constexpr std::size_t kMost = 240;
  constexpr std::string_view kInNames =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  constexpr std::string_view kInAddresses = "abcdefABCDEF0123456789:.";
  const auto bracket = text.rfind(']');
  const auto colon = text.rfind(':');
  std::string_view host = text;
  std::string_view port = kPortDefault;
  if (colon != std::string_view::npos && (bracket == std::string_view::npos || bracket < colon)) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
  }
  std::string_view named = host;
  std::string_view allowed = kInNames;
  if (host.starts_with('[') && host.ends_with(']')) {
    named = host.substr(1, host.size() - 2);
    allowed = kInAddresses;
  }
  std::uint16_t number = 0;
  const auto [read_to, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (named.empty() || host.size() > kMost ||
      named.find_first_not_of(allowed) != std::string_view::npos || error != std::errc{} ||
      read_to != port.data() + port.size() || number == 0) {
    return std::nullopt;
  }
  return std::string(host) + ":" + std::to_string(number);
}

bool is_loopback(const std::string& voter) {
  const std::string host = host_and_port(voter).value_or(HostAndPort{}).host;
  const bool is_number = host.find_first_not_of("0123456789.") == std::string::npos;
  return host == "localhost" || (is_number && host.starts_with("127.")) || host == "::1";
}

/// The file's text, without the end of its line.
Result<std::string> key_in(const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::perms may = fs::status(file, error).permissions();
  if (!error && (may & fs::perms::others_all) != fs::perms::none) {
    return unfit_address("anybody may read or change the key in " + file + "; chmod o= " + file);
  }
  std::ifstream in(file, std::ios::binary);
  std::string key{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in.is_open() || in.bad()) {
    return unfit_address("the key cannot be read from " + file +
                         "; name a file that this process may read");
  }
  while (key.ends_with('\n') || key.ends_with('\r')) key.pop_back();
  if (key.size() < kKeyBytesLeast) {
    return unfit_address("the key in " + file + " has " + std::to_string(key.size()) +
                         " bytes; write at least " + std::to_string(kKeyBytesLeast) +
                         ", as `openssl rand -base64 32` prints them");
  }
  return key;
}

struct QuorumQuery {
  std::string key_file;
  bool insecure = false;
};

/// ?NAME=VALUE&NAME=VALUE
Result<QuorumQuery> take_quorum_query(std::string_view query, QuorumConnection& found) {
  QuorumQuery taken;
  std::string insecure;
  const auto read = take_parameters(query, [&](std::string_view name,
                                               std::string_view value) -> Result<void> {
    std::string* const of_tls = name == "authorities"   ? &found.authorities
                                : name == "certificate" ? &found.certificate
                                : name == "key"         ? &found.private_key
                                                        : nullptr;
    std::string* const target = name == "dir"        ? &found.folder
                                : name == "key-file" ? &taken.key_file
                                : name == "insecure" ? &insecure
                                                     : of_tls;
    if (of_tls != nullptr && !found.tls) {
      return unfit_address("authorities=, certificate= and key= are files of TLS; with it the "
                           "address begins with quorums://");
    }
    if (target == nullptr || value.empty() || (target == &insecure && value != "1")) {
      return unfit_address("`" + std::string(name) + "=" + std::string(value) +
                           "` is no parameter here; expected ?dir=FOLDER, key-file=FILE or "
                           "insecure=1, or with quorums:// authorities=FILE, certificate=FILE or "
                           "key=FILE");
    }
    *target = value;
    return {};
  });
  if (!read) return read.error();
  taken.insecure = !insecure.empty();
  if (found.certificate.empty() == found.private_key.empty()) return taken;
  return unfit_address("a certificate and a key go together");
}

Result<void> take_voters(std::string_view rest, QuorumConnection& found) {
  for (bool more = true; more;) {
    const auto comma = std::min(rest.find(','), rest.size());
    more = comma < rest.size();
    auto voter = voter_in(rest.substr(0, comma));
    if (!voter) return unfit_address(kVotersExpected);
    found.voters.push_back(std::move(*voter));
    if (more) rest.remove_prefix(comma + 1);
  }
  std::sort(found.voters.begin(), found.voters.end());
  const auto twice = std::adjacent_find(found.voters.begin(), found.voters.end());
  if (twice != found.voters.end()) {
    return unfit_address("it names " + *twice + " twice; name each voter once");
  }
  constexpr std::size_t kMost = 7;
  const std::size_t count = found.voters.size();
  if (count % 2 == 1 && count <= kMost) return {};
  return unfit_address("it names " + std::to_string(count) +
                       " voters; name 1, 3, 5 or 7: an even number survives no more failures than "
                       "the odd one below it, and of more than 7 each write waits for too many");
}

}  // namespace

Result<QuorumConnection> quorum_connection(std::string_view ledger) {
  QuorumConnection found;
  found.tls = ledger.starts_with(kQuorumTlsScheme);
  const std::string_view scheme = found.tls ? kQuorumTlsScheme : kQuorumScheme;
  std::string_view rest = ledger.substr(scheme.size());
  const auto query = std::min(rest.find('?'), rest.size());
  const auto taken =
      take_quorum_query(rest.substr(std::min(query + 1, rest.size())), found);
  if (!taken) return taken.error();
  rest = rest.substr(0, query);
  const auto slash = rest.find('/');
  if (slash == std::string_view::npos) return unfit_address(kVotersExpected);
  found.name = rest.substr(slash + 1);
  if (auto fits = check_topic_name(found.name); !fits) return fits.error();
  if (auto voters = take_voters(rest.substr(0, slash), found); !voters) return voters.error();
  for (const std::string& voter : found.voters) {
    found.shown += (found.shown.empty() ? std::string(scheme) : ",") + voter;
  }
  found.shown += "/" + found.name;
  if (!taken->key_file.empty()) {
    auto key = key_in(taken->key_file);
    if (!key) return key.error();
    found.key = std::move(*key);
  }
  const bool proved = !found.key.empty() || (!found.authorities.empty() &&
                                             !found.certificate.empty());
  const bool alone = std::all_of(found.voters.begin(), found.voters.end(), is_loopback);
  if (proved || alone || taken->insecure) return found;
  return unfit_address(
      "whoever reaches these voters could write to the logs; add key-file=FILE with a secret that "
      "they all share, or use quorums:// with authorities=, certificate= and key=; insecure=1 "
      "allows that");
}

}  // namespace neliroute
