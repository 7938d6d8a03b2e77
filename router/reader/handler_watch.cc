#include "router/reader/handler_watch.h"

namespace neliroute {
namespace {

// One line is enough for a handler that is always slow.
constexpr std::chrono::seconds kWarnEvery{10};

std::string in_ms(microseconds time) {
  return std::to_string(std::chrono::duration_cast<milliseconds>(time).count()) + " ms";
}

}  // namespace

void HandlerWatch::note(const char* name, std::optional<Partition> partition, microseconds held) {
  held_ += held;
  ++calls_;
  if (held <= longest_) return;
  longest_ = held;
  longest_is_ = name;
  if (partition) longest_is_ += " of partition " + std::to_string(partition->value());
}

std::optional<Notice> HandlerWatch::end_turn() {
  const microseconds held = std::exchange(held_, microseconds{0});
  const std::uint32_t calls = std::exchange(calls_, 0);
  const microseconds longest = std::exchange(longest_, microseconds{0});
  const std::string longest_is = std::exchange(longest_is_, {});
  if (bound_.count() <= 0 || held <= bound_) return std::nullopt;
  const LocalTime now = clock_();
  if (warned_ != kLongAgo && now < later(warned_, kWarnEvery)) {
    ++unsaid_;
    return std::nullopt;
  }
  warned_ = now;
  const std::uint64_t unsaid = std::exchange(unsaid_, 0);
  return Notice{Severity::warning,
                "the application's handlers held the strand for " + in_ms(held) +
                    ", longer than the interval of " + in_ms(bound_) + ": " +
                    std::to_string(calls) + " calls, the longest " + in_ms(longest) + " in " +
                    longest_is +
                    ". Nothing is read or renewed meanwhile, and leases lapse; do slow work "
                    "elsewhere, or raise `timing.interval` and `timing.lease`" +
                    (unsaid > 0 ? " (" + std::to_string(unsaid) + " more since the last warning)"
                                : "")};
}

}  // namespace neliroute
