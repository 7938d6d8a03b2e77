// What the newest records of a log say of the lane's settings: for who starts, and must know with
// how many partitions the lane runs.
//
// Threads: one.   Units: none.   Errors: none.
#pragma once

#include <optional>

#include "neli_core/record/judgement.h"
#include "neli_core/record/record.h"

namespace neliroute {

class NewestSettings {
 public:
  /// In the order of the log.
  void take(const Decoded& value) {
    const auto* record = std::get_if<Record>(&value);
    if (record == nullptr) return;
    // Who leads was not refused.
    if (const Settings* theirs = settings_in_force(*record)) leading_ = *theirs;
    if (const Settings* theirs = readable_settings(*record)) found_ = *theirs;
  }
  [[nodiscard]] const std::optional<Settings>& found() const noexcept {
    return leading_ ? leading_ : found_;
  }

 private:
  std::optional<Settings> leading_;
  std::optional<Settings> found_;
};

}  // namespace neliroute
