// Lines for a file that must not hold up who writes them: what a stalled reader or a full disk does
// not take is kept, up to a bound, and written later in order.
//
// Threads: one at a time.   Units: bytes.   Errors: see flush().
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

namespace neliroute::tool {

/// An open file, as one writes to it without blocking.
struct PromptFile {
  int file = -1;
  bool blocks = false;  ///< a write could block: write_now() does what else can be done
  bool owned = false;   ///< to be closed
  std::size_t least = 0;  ///< bytes that fit once it is ready

  /// stdout or stderr: opened again as non-blocking where a write could block, since that flag on
  /// the inherited file would affect every process that shares it.
  [[nodiscard]] static PromptFile of_standard(int file) noexcept;
  /// At most what fits now. -1 with errno; EAGAIN: nothing does. For signal handlers, too.
  ssize_t write_now(std::string_view bytes) const noexcept;
  void close() const noexcept;  ///< errno stays
};

/// How long who ends gives a slow reader to take the rest.
inline constexpr std::chrono::milliseconds kReaderPatience{1000};
/// Waits until more fits. False: the time was up before.
bool await_reader(int file, std::chrono::steady_clock::time_point end);

class LineQueue {
 public:
  static constexpr std::size_t kKeptMost = 1U << 20U;  ///< bytes: some thousands of events

  /// False: it is lost, as too much is kept.
  bool push(std::string line);
  /// Writes what is kept, as far as possible now. True: nothing is left; false: see errno.
  bool flush(const PromptFile& file);

  [[nodiscard]] bool empty() const noexcept { return lines_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return lines_.size(); }
  [[nodiscard]] bool fits(std::size_t bytes) const noexcept { return kept_ + bytes <= kKeptMost; }
  void clear();
  /// What of the first line was written stays behind in another file.
  void rewind() noexcept { begun_ = 0; }

 private:
  std::deque<std::string> lines_;  ///< not written yet
  std::size_t begun_ = 0;          ///< bytes of the first line that are written
  std::size_t kept_ = 0;           ///< bytes of all lines
};

}  // namespace neliroute::tool
