// What a leader reads from its log for clients.
//
// Threads: pure, any.   Units: indices.   Errors: none.
#pragma once

#include <cstddef>
#include <vector>

#include "quorum/client_message.h"
#include "quorum/entry_log.h"

namespace neliroute {

/// Of the entries below `end` the first that was stamped then or later; `end`: there is none.
[[nodiscard]] quorum::Index first_since(const quorum::EntryLog& log, quorum::Index end,
                                        BrokerTime stamp);
/// From there on, as many as one message may have.
[[nodiscard]] std::vector<quorum::Entry> chunk(const quorum::EntryLog& log, quorum::Index from,
                                               quorum::Index end, std::size_t most);
/// `end`: of what is committed.
[[nodiscard]] quorum::Answer answer_to(const quorum::Ask& ask, quorum::LogId id,
                                       const quorum::EntryLog& log, quorum::Index end);

}  // namespace neliroute
