#include "voter/server_options.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <string_view>

#include "base/host_and_port.h"
#include "placement/priorities.h"
#include "quorum/bytes.h"

namespace neliroute {
namespace {

constexpr std::uint32_t kLogsMax = 1024;
constexpr milliseconds kElectionLeast{20};
constexpr milliseconds kElectionMost{60'000};

Error bad(const std::string& what) { return {Errc::bad_option, what}; }

Result<void> check_voters(const VoterServerOptions& options) {
  const auto& voters = options.voters;
  if (voters.empty() || voters.size() > quorum::kMembersMax) {
    return bad("the quorum has " + std::to_string(voters.size()) + " voters; expected 1 to " +
               std::to_string(quorum::kMembersMax));
  }
  for (const std::string& voter : voters) {
    if (!host_and_port(voter) || voter.size() > quorum::kAddressBytesMax) {
      return bad("a voter is `" + voter + "`; expected HOST:PORT");
    }
    if (std::ranges::count(voters, voter) != 1) return bad("`" + voter + "` is listed twice");
  }
  if (std::ranges::find(voters, options.address) == voters.end()) {
    return bad("`" + options.address + "` is none of the quorum's voters; expected one of them");
  }
  return {};
}

}  // namespace

Result<void> check(const VoterServerOptions& options) {
  if (auto checked = check_voters(options); !checked) return checked;
  const std::string& name = options.name;
  if (name.empty() || name.size() > quorum::kAddressBytesMax || !quorum::are_words(name) ||
      name == "." || name == ".." || name.find('/') != std::string::npos) {
    return bad("`" + name + "` is not a valid quorum name; expected one that a folder may have");
  }
  if (options.folder.empty()) return bad("a voter needs a folder for its files");
  if (options.logs == 0 || options.logs > kLogsMax) {
    return bad("`logs` is " + std::to_string(options.logs) + "; expected 1 to " +
               std::to_string(kLogsMax));
  }
  if (options.election < kElectionLeast || options.election > kElectionMost) {
    return bad("`voter.election` is " + std::to_string(options.election.count()) +
               " ms; expected " + std::to_string(kElectionLeast.count()) + " to " +
               std::to_string(kElectionMost.count()) + " ms");
  }
  if (options.kept <= milliseconds{0}) return bad("`voter.kept` is 0; expected a time, as in 20m");
  if (options.tls && (options.certificate.empty() || options.private_key.empty())) {
    return bad("with TLS a voter needs a certificate and its key");
  }
  return {};
}

std::vector<int> priorities_of(const VoterServerOptions& options, std::uint32_t log) {
  const auto count = static_cast<std::uint32_t>(options.voters.size());
  std::vector<int> made(count);
  for (const auto& one : placement::priorities(count, Partition(log), count)) {
    made[one.node] = static_cast<int>(one.priority);
  }
  return made;
}

std::vector<boost::asio::ip::tcp::endpoint> endpoints_for(const std::string& address) {
  namespace ip = boost::asio::ip;
  const auto to = host_and_port(address);
  if (!to) return {};
  boost::system::error_code error;
  const ip::address literal = ip::make_address(to->host, error);
  if (to->host == "localhost") return {{ip::address_v4::loopback(), to->port}};
  if (!error && literal.is_loopback()) return {{literal, to->port}};
  const ip::tcp::endpoint v4(ip::address_v4::any(), to->port);
  if (!error && literal.is_v4()) return {v4};
  // The first takes both kinds, where the system has the newer one.
  return {{ip::address_v6::any(), to->port}, v4};
}

}  // namespace neliroute
