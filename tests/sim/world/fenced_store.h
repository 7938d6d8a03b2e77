// A store that refuses whoever comes with a lower epoch than it has seen, and what is to be said of
// that: docs/protocol.md promises that such a store is safe whatever else happens.
//
// Threads: one.   Units: none.   Errors: none.
#pragma once

#include <array>
#include <cstdint>
#include <neliroute/ids.h>

#include "tests/sim/oracle.h"

namespace neliroute::sim {

/// What a process wants to write, as it was when it asked whether it may.
struct StoreWrite {
  std::uint32_t part = 0;
  Epoch epoch;
  /// Which acquisition of the part it belongs to, counted in true time.
  std::uint64_t ownership = 0;
};

class FencedStore {
 public:
  /// Whether it is taken.
  [[nodiscard]] bool put(const StoreWrite& write) {
    Cell& cell = cells_[write.part];
    if (write.epoch < cell.greatest) return false;
    cell.greatest = write.epoch;
    if (write.ownership > cell.newest) cell.newest = write.ownership;
    return true;
  }
  /// Somebody who acquired the part later has written already.
  [[nodiscard]] bool is_late(const StoreWrite& write) const {
    return write.ownership < cells_[write.part].newest;
  }
  /// It was restored, or serves another topic, too: it knows an epoch that nobody here was given.
  void raise(std::uint32_t part, std::int64_t incarnations) {
    cells_[part].greatest.incarnation += incarnations;
  }
  [[nodiscard]] const Epoch& greatest(std::uint32_t part) const { return cells_[part].greatest; }

 private:
  struct Cell {
    Epoch greatest = kNoEpoch;
    std::uint64_t newest = 0;
  };
  std::array<Cell, kPartsMax> cells_{};
};

}  // namespace neliroute::sim
