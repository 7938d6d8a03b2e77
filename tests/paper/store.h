// A store that keeps the epoch with the data and refuses a lower one: the receiving end of fencing.
//
// Threads: one.   Units: none.   Errors: a refused write answers false and changes nothing.
#pragma once

#include <neliroute/ids.h>
#include <string>
#include <utility>

namespace neliroute::paper {

class Store {
 public:
  /// An owner writes many times under one epoch.
  [[nodiscard]] bool write(const Epoch& epoch, std::string value) {
    if (epoch < newest_) return false;
    newest_ = epoch;
    value_ = std::move(value);
    return true;
  }
  /// What a store does that knows nothing of epochs.
  void write_unchecked(std::string value) { value_ = std::move(value); }

  [[nodiscard]] const std::string& value() const { return value_; }

 private:
  Epoch newest_ = kNoEpoch;
  std::string value_;
};

}  // namespace neliroute::paper
