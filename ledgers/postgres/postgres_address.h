// postgres://USER@HOST:PORT,.../DATABASE?topic=NAME, or any other URI of libpq: what of it is ours.
//
// Threads: pure functions, any; libpq reads its environment.   Units: none.
// Errors: bad_option, with no secret in it.
#pragma once

#include <cstddef>
#include <neliroute/error.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ledgers/ledger_address.h"

namespace neliroute {

[[nodiscard]] Result<PostgresConnection> postgres_connection(std::string_view ledger);

/// How many hosts it names.
[[nodiscard]] std::size_t libpq_hosts(const PostgresConnection& connection);
/// Which of them that is; 0: none.
[[nodiscard]] std::size_t libpq_host_index(const PostgresConnection& connection,
                                           std::string_view host, std::string_view port);
/// What libpq is to be given: these of the hosts, in this order.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> libpq_parameters(
    const PostgresConnection& connection, const std::vector<std::size_t>& hosts);

}  // namespace neliroute
