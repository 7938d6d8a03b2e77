// Starts a voter of the quorum that an address names. The address also names the voter's folder.
//
// Threads: as voter/voter_server.h says.   Units: std::chrono.
// Errors: bad_option: no quorum's address, or not one of its voters; those of VoterServer.
#pragma once

#include <cstdint>
#include <memory>
#include <neliroute/error.h>
#include <neliroute/time.h>
#include <string>

#include "ledgers/ledger_address.h"
#include "voter/voter_server.h"

namespace neliroute {

/// What the address does not say.
struct VoterSettings {
  std::string address;  ///< HOST:PORT, one of the address's; without a port the quorum's own
  std::uint32_t logs = 1;
  milliseconds election{300};
  milliseconds kept{1'200'000};
};

/// It listens when this returns, until it is destroyed.
[[nodiscard]] Result<std::unique_ptr<VoterServer>> start_voter(const LedgerAddress& address,
                                                               const VoterSettings& settings,
                                                               VoterServer::Handlers handlers);

}  // namespace neliroute
