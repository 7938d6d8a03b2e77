// quorum://HOST:PORT,HOST:PORT,HOST:PORT/NAME?dir=FOLDER&key-file=FILE, or with TLS quorums://.
//
// Threads: pure functions, any; the key is read from its file.   Units: none.
// Errors: bad_option, with no secret in it.
#pragma once

#include <neliroute/error.h>
#include <string>
#include <string_view>

#include "ledgers/ledger_address.h"

namespace neliroute {

inline constexpr std::string_view kQuorumScheme = "quorum://";
inline constexpr std::string_view kQuorumTlsScheme = "quorums://";

/// `ledger` begins with one of these.
[[nodiscard]] Result<QuorumConnection> quorum_connection(std::string_view ledger);

}  // namespace neliroute
