// Fields of ours in requests and answers: what a gateway and owners say to each other.
//
// They count only from addresses that the operator trusts, and are stripped from all others: a
// stranger's epoch would make a request wait, and its hops would have it refused. An address in a
// field is connected to only if records have named it, too.
//
// Threads: pure functions, any.   Units: milliseconds.   Errors: text: which field is malformed.
#pragma once

#include <boost/beast/http/fields.hpp>
#include <cstdint>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace neliroute::forward {

inline constexpr std::string_view kOwnerField = "Neliroute-Owner";        ///< HOST:PORT; in 421
/// With a proxy's own answers, while Kafka is silent and the last owner serves on.
inline constexpr std::string_view kStaleField = "Neliroute-Stale";
inline constexpr std::string_view kEpochField = "Neliroute-Epoch";        ///< INC:OFFSET
inline constexpr std::string_view kHopsField = "Neliroute-Hops";          ///< from 0
inline constexpr std::string_view kTimeoutField = "Neliroute-Timeout-Ms"; ///< what is left
inline constexpr std::string_view kSlotField = "Neliroute-Slot";
/// 1: the sender cannot reach the owner of this epoch.
inline constexpr std::string_view kDetourField = "Neliroute-Detour";

struct PeerFields {
  Epoch epoch = kNoEpoch;
  std::uint32_t hops = 0;
  std::optional<milliseconds> timeout;
  std::optional<Slot> slot;
  bool detour = false;
  friend bool operator==(const PeerFields&, const PeerFields&) = default;
};

/// Also with '_' for '-', which many applications take for the same.
[[nodiscard]] bool is_peer_field(std::string_view name) noexcept;
/// Of a trusted sender. A text: what is malformed, with what was expected.
[[nodiscard]] std::variant<PeerFields, std::string> read_peer_fields(
    const boost::beast::http::fields& fields);
void strip_peer_fields(boost::beast::http::fields& fields);
/// Instead of what there is.
void write_peer_fields(boost::beast::http::fields& fields, const PeerFields& said);

}  // namespace neliroute::forward
