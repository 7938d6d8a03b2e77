// The flow of a log: how much time the stamps of its records show, whoever reads them, and when.
//
// From record to record it advances by the difference of their stamps, at least 0 and at most a
// cap. A greater difference is a gap: nobody wrote, so nobody's silence shows there. Every reader
// of the same records comes to the same flow: its own stalls, lag and bursts change nothing. Who
// asks states the cap, half of the silence that is to be shown: a clock is kept for each.
//
// Threads: one.   Units: stamps and flow in microseconds, since any time.   Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <neliroute/time.h>
#include <optional>

namespace neliroute {

class Flow {
 public:
  /// A place in the log, as the clock of one cap shows it.
  struct Mark {
    milliseconds cap{0};
    microseconds at{0};
    std::uint64_t gaps = 0;
  };

  /// The next record that counts was stamped then.
  void read(microseconds stamp);
  /// The next record need not be the next one that was written.
  void lost() noexcept { lost_ = true; }

  /// After the record that was read last. A silence of that length is to be asked for.
  [[nodiscard]] Mark mark(milliseconds silence);
  [[nodiscard]] microseconds since(const Mark& mark) const;
  /// Since the end of the last gap behind the mark. No value: there is none.
  [[nodiscard]] std::optional<microseconds> since_gap(const Mark& mark) const;
  /// How much must flow yet, at least, until who wrote last at the mark was silent for that long:
  /// in flow without a gap, or after the last one, or three times as long in all. Zero: it was.
  [[nodiscard]] microseconds until_silent(const Mark& mark, milliseconds silence) const;

  /// How many gaps there were for that silence, since it was first asked for.
  [[nodiscard]] std::uint64_t gaps(milliseconds silence) const;
  /// All of it, with the greatest cap: no clock advances by more.
  [[nodiscard]] microseconds total() const noexcept { return total_; }

 private:
  struct Clock {
    microseconds at{0};
    microseconds gap_end{0};
    std::uint64_t gaps = 0;
  };
  [[nodiscard]] const Clock& clock_of(const Mark& mark) const;

  std::map<milliseconds, Clock> clocks_;  ///< by their caps
  std::optional<microseconds> last_;      ///< the stamp of the record that was read last
  microseconds total_{0};
  bool lost_ = false;
};

}  // namespace neliroute
