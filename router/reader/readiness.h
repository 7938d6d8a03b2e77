// The handlers that wait until every slot is known. Private.
//
// Threads: one (the strand).   Units: none.   Errors: passed to those handlers.
#pragma once

#include <boost/system/error_code.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <neliroute/ids.h>
#include <utility>

namespace neliroute {

using ReadyHandler = std::function<void(boost::system::error_code)>;

class Readiness {
 public:
  [[nodiscard]] bool awaited() const noexcept { return !waiting_.empty(); }
  void add(std::uint64_t id, ReadyHandler handler) { waiting_.emplace(id, std::move(handler)); }
  /// Removes it; empty if it was called already.
  [[nodiscard]] ReadyHandler take(std::uint64_t id) {
    auto node = waiting_.extract(id);
    return node ? std::move(node.mapped()) : ReadyHandler{};
  }
  void complete_all(boost::system::error_code error) {
    for (auto& [id, handler] : std::exchange(waiting_, {})) handler(error);
  }
  /// Whether `known(Partition)` holds for all. Looks first at the one that was not known last time,
  /// so that waiting for thousands costs little.
  template <class Known>
  [[nodiscard]] bool all(std::uint32_t partitions, const Known& known) {
    for (std::uint32_t i = 0; i < partitions; ++i, next_ = (next_ + 1) % partitions) {
      if (!known(Partition{next_})) return false;
    }
    return true;
  }

 private:
  std::map<std::uint64_t, ReadyHandler> waiting_;
  std::uint32_t next_ = 0;
};

}  // namespace neliroute
