// What variation `broadcast` assumes in exclusive mode (docs/protocol.md section 6), and runs in
// which one of it does not hold. Then there must be two leaders: that is why `claimed` exists.
// And what `claimed` assumes (section 3): without it only a store that compares epochs is safe.
//
// Threads: values.   Units: none.   Errors: false, no value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace neliroute::sim {

enum class Beyond : std::uint8_t {
  expelled_unnoticed,  ///< who lost only its coordinator reads on, and is not told by a timer
  clocks,              ///< broker and process differ by more than e
  session,             ///< partitions are given away before the session is over
  grace,               ///< the same, of who is cut off from everything: the paper's case
  // Of `claimed`:
  broker_clocks,       ///< brokers' clocks differ by ten times clock_error
  lost_records,        ///< acknowledged records are lost
};
inline constexpr std::size_t kBeyondCount = static_cast<std::size_t>(Beyond::lost_records) + 1;

class BeyondSet {
 public:
  [[nodiscard]] bool has(Beyond what) const noexcept {
    return (bits_ >> static_cast<unsigned>(what) & 1U) != 0;
  }
  [[nodiscard]] bool empty() const noexcept { return bits_ == 0; }
  void add(Beyond what) noexcept { bits_ |= 1U << static_cast<unsigned>(what); }

 private:
  std::uint32_t bits_ = 0;
};

[[nodiscard]] std::string_view to_string(Beyond what) noexcept;
/// Names, joined by "+".
[[nodiscard]] std::optional<BeyondSet> parse_beyond(std::string_view names);
[[nodiscard]] std::string to_string(const BeyondSet& set);

/// Whether every line "BEYOND SEED" of the file still shows two leaders in exclusive mode.
[[nodiscard]] bool check_beyond(const std::string& file);

}  // namespace neliroute::sim
