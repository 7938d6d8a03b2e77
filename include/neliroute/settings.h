// What a process says of itself in its records: the settings that all processes of a topic must
// agree on (the mode, the variation and the hash among them), and what is for people and callers.
//
// Threads: values, any.   Units: none.   Errors: none.
// Paper: "Protocol definition", "Exclusivity of role assignment".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace neliroute {

enum class Mode {
  non_exclusive,  ///< at least one leader: overlaps during a move rather than gaps
  exclusive,      ///< at most one leader: gaps during a move rather than overlaps
};

[[nodiscard]] std::string_view to_string(Mode mode) noexcept;

enum class Variation {
  claimed,    ///< the order of claims in a log decides
  broadcast,  ///< the NELI paper's own: every process writes to all partitions
};

[[nodiscard]] std::string_view to_string(Variation variation) noexcept;

/// Who names which process should claim what. Who leads, claims decide all the same.
enum class Assignment {
  group,     ///< Kafka's consumer group
  assigner,  ///< one of the processes; no setting of the broker bounds how soon one is replaced
};

[[nodiscard]] std::string_view to_string(Assignment assignment) noexcept;

/// Which function turns the bytes of a key into a number (neliroute/hash.h).
enum class Hash : std::uint8_t {
  xxh3,     ///< XXH3_64bits, seed 0: the default, and the only one that is good at any slot count
  crc16,    ///< Redis Cluster's. It has 65536 values: with more slots, the rest get no key
  murmur2,  ///< Kafka's default partitioner's, so slots can match a topic's partitions
};

/// "xxh3", "crc16" or "murmur2".
[[nodiscard]] std::string_view to_string(Hash hash) noexcept;
[[nodiscard]] std::optional<Hash> parse_hash(std::string_view name) noexcept;

/// Whether only what stands in {braces} is hashed (neliroute/hash.h).
enum class HashTags : bool { off, on };

/// What is hashed, and how. This and the slot count determine the slot of a key.
struct HashScheme {
  Hash hash = Hash::xxh3;
  HashTags tags = HashTags::off;

  [[nodiscard]] friend constexpr bool operator==(HashScheme, HashScheme) noexcept = default;
};

/// The name on the wire: "xxh3", "crc16" or "murmur2", with "+tags" appended when tags are on.
[[nodiscard]] std::string_view to_string(HashScheme scheme) noexcept;

/// What all processes of a topic must agree on (group and mode: within a lane).
struct Settings {
  std::string group;
  std::uint32_t slots = 0;
  std::uint32_t partitions = 0;
  std::uint32_t logs = 0;
  std::string hash;
  std::string mode;
  /// Records carry it only if it is not this one.
  std::string variation = "claimed";
  friend bool operator==(const Settings&, const Settings&) = default;
};

using Tags = std::vector<std::pair<std::string, std::string>>;

/// For people and callers; the protocol never compares it.
struct ProcessInfo {
  std::string name;      ///< several processes may share one
  std::string endpoint;  ///< where callers connect, HOST:PORT; empty: they cannot
  Tags tags;             ///< opaque
  friend bool operator==(const ProcessInfo&, const ProcessInfo&) = default;
};

}  // namespace neliroute
