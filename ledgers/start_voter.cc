#include "ledgers/start_voter.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace neliroute {
namespace {

constexpr const char* kPort = ":7100";

std::string list_of(const std::vector<std::string>& voters) {
  std::string list;
  for (const std::string& voter : voters) list += (list.empty() ? "" : ", ") + voter;
  return list;
}

/// As the quorum's address has it.
Result<std::string> voter_of(const QuorumConnection& quorum, const std::string& text) {
  for (const std::string& voter : {text, text + kPort}) {
    if (std::ranges::find(quorum.voters, voter) != quorum.voters.end()) return voter;
  }
  return Error{Errc::bad_option, "`voter` \"" + text + "\" is none of those that `ledger` names (" +
                                     list_of(quorum.voters) +
                                     "); give one of them, as it stands there"};
}

}  // namespace

Result<std::unique_ptr<VoterServer>> start_voter(const LedgerAddress& address,
                                                 const VoterSettings& settings,
                                                 VoterServer::Handlers handlers) {
  const auto* const quorum = std::get_if<QuorumConnection>(&address);
  if (quorum == nullptr) {
    return Error{Errc::bad_option,
                 "`voter`: " + describe(address) +
                     " has no voters; give a `ledger` as in "
                     "quorum://HOST:PORT,HOST:PORT,HOST:PORT/NAME?dir=FOLDER"};
  }
  auto voter = voter_of(*quorum, settings.address);
  if (!voter) return voter.error();
  if (quorum->folder.empty()) {
    return Error{Errc::bad_option, "`voter`: `ledger` " + describe(address) +
                                       " does not say where the voter keeps its files; add "
                                       "?dir=FOLDER"};
  }
  if (constexpr milliseconds kLeast{600'000}; settings.kept < kLeast) {
    return Error{Errc::bad_option, "`voter.kept` is " + std::to_string(settings.kept.count()) +
                                       " ms; expected 10m at least"};
  }
  VoterServerOptions options;
  options.name = quorum->name;
  options.voters = quorum->voters;
  options.address = std::move(*voter);
  options.folder = quorum->folder;
  options.logs = settings.logs;
  options.election = settings.election;
  options.kept = settings.kept;
  options.key = quorum->key;
  options.tls = quorum->tls;
  options.authorities = quorum->authorities;
  options.certificate = quorum->certificate;
  options.private_key = quorum->private_key;
  return VoterServer::start(std::move(options), std::move(handlers));
}

}  // namespace neliroute
