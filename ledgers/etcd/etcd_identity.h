// Which logs are below a prefix: an id that was drawn when they were made, and how many they are.
//
// Threads: pure functions, any; make_identity() draws a number.   Units: none.   Errors: no value.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ledgers/etcd/etcd_keys.h"

namespace neliroute {

/// The transaction that makes the logs, if they are not there, and answers with what is there else.
[[nodiscard]] boost::json::object make_identity(const EtcdKeys& keys, std::uint32_t logs);
/// How many there are, by the value of their key.
[[nodiscard]] std::optional<std::uint32_t> logs_in(std::string_view identity);

}  // namespace neliroute
