// What a proxy did with requests, for metrics.
//
// Threads: written by one, read by any.   Units: std::chrono.   Errors: none.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <neliroute/time.h>
#include <string_view>

#include "base/histogram.h"

namespace neliroute::forward {

enum class ProxyCount : std::uint8_t {
  forwarded,     ///< answers of other owners that were passed on
  served,        ///< the same of the application behind this very process
  misdirected,   ///< 421 of a process that was no owner: sent again
  resent,        ///< after a connection broke before an answer
  unreachable,   ///< owners that could not be connected to, once for each try
  waited,        ///< requests that had to wait for an owner
  refused,       ///< answered by this proxy: malformed, without a key, too often sent on, disowned
  unowned,       ///< answered by this proxy: nobody owned the slot in time
  unreached,     ///< the same: an owner did, and it or its application could not be connected to
  failed,        ///< answered by this proxy: 502 or 504
  broken,        ///< an answer or a request that ended in the middle; that answer was passed on
  end,
};

/// In metrics, and of one request: empty if requests do not end by it.
[[nodiscard]] constexpr std::string_view result_of(ProxyCount count) noexcept {
  switch (count) {
    case ProxyCount::served:
      return "served";
    case ProxyCount::forwarded:
      return "forwarded";
    case ProxyCount::refused:
      return "refused";
    case ProxyCount::unowned:
      return "unowned";
    case ProxyCount::unreached:
      return "unreachable";
    case ProxyCount::failed:
      return "failed";
    case ProxyCount::broken:
      return "broken";
    default:
      return "";
  }
}

class ProxyCounters {
 public:
  /// Whether the caller is the first proxy to count here: there must be no other.
  [[nodiscard]] bool take() noexcept { return !taken_.exchange(true); }
  void add(ProxyCount what) noexcept {
    auto& count = counts_[static_cast<std::size_t>(what)];
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t count(ProxyCount what) const noexcept {
    return counts_[static_cast<std::size_t>(what)].load(std::memory_order_relaxed);
  }
  /// Of an answer that is passed on: how long after its request's header.
  void note_answer(microseconds after) noexcept { answers_.note(after); }
  void note_connections(std::size_t count) noexcept {
    connections_.store(count, std::memory_order_relaxed);
  }
  [[nodiscard]] const Histogram& answers() const noexcept { return answers_; }
  [[nodiscard]] std::size_t connections() const noexcept {
    return connections_.load(std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(ProxyCount::end)> counts_{};
  Histogram answers_;
  std::atomic<std::size_t> connections_{0};
  std::atomic<bool> taken_{false};
};

}  // namespace neliroute::forward
