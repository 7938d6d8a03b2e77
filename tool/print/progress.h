// A line on stderr that tells a person what takes so long: after the first second, and erased when
// it is over. Where stderr is no terminal, nothing; or, if that is asked for, one line after the
// first second, and one when it is over.
//
// Threads: any; one Progress at a time. A thread of its own draws it, since the slow work blocks.
// Units: none.   Errors: none; what cannot be drawn is left out.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace neliroute::tool {

enum class OffTerminal { silent, lines };

class Progress {
 public:
  /// "connecting to 127.0.0.1:9092"
  explicit Progress(std::string what, OffTerminal elsewhere = OffTerminal::silent);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Whether it is drawn, on a terminal.
  [[nodiscard]] bool shown() const noexcept;
  /// Something else from now on; its time starts again.
  void now(std::string what);
  /// So many of these are done: "1,024 records". Cheap enough for each.
  void count(std::uint64_t done, const char* of_what) noexcept;

 private:
  struct Drawing;
  std::unique_ptr<Drawing> drawing_;  ///< null: nobody would see it
};

/// While it lives, no Progress is on the terminal: for code that writes there.
class ProgressAside {
 public:
  ProgressAside();

 private:
  std::scoped_lock<std::mutex> lock_;
};

/// For a signal handler that ends the process.
void erase_progress_from_handler() noexcept;

}  // namespace neliroute::tool
