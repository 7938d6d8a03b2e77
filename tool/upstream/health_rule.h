// When an application counts as healthy, of what it answered: unhealthy once nothing has gone well
// for a time, and twice in a row; healthy again after a few good answers in a row.
//
// One bad answer is none: this process may have slept while it waited for it.
//
// Threads: one caller; no clock: the time is an argument.   Units: std::chrono.   Errors: none.
#pragma once

#include <neliroute/time.h>

#include <algorithm>

namespace neliroute::tool {

class HealthRule {
 public:
  /// Healthy until it is known otherwise.
  HealthRule(milliseconds after, LocalTime now) : after_(after), well_at_(now) {}

  [[nodiscard]] bool healthy() const noexcept { return healthy_; }
  /// From one answer to the next question.
  [[nodiscard]] milliseconds every() const noexcept {
    return std::clamp(after_ / 6, kEveryLeast, kEveryMost);
  }
  /// How long the answer to a question of now may take.
  [[nodiscard]] milliseconds within(LocalTime now) const noexcept {
    if (!healthy_) return after_ / 2;
    const auto left = std::chrono::duration_cast<milliseconds>(well_at_ + after_ - now);
    return std::clamp(left, after_ / 8, after_ / 2);
  }
  /// True: that changed it.
  [[nodiscard]] bool note(bool well, LocalTime now) noexcept {
    const bool before = healthy_;
    in_a_row_ = well == well_ ? in_a_row_ + 1 : 1;
    well_ = well;
    if (well) well_at_ = now;
    if (well && in_a_row_ >= kWellInARow) healthy_ = true;
    if (!well && in_a_row_ >= kIllInARow && now >= well_at_ + after_) healthy_ = false;
    return healthy_ != before;
  }

  static constexpr milliseconds kEveryLeast{50};
  static constexpr milliseconds kEveryMost{1000};
  static constexpr int kWellInARow = 3;
  static constexpr int kIllInARow = 2;

 private:
  milliseconds after_;
  LocalTime well_at_;
  bool healthy_ = true;
  bool well_ = true;
  int in_a_row_ = 0;
};

}  // namespace neliroute::tool
