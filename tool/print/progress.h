// A line on stderr that tells a person what takes so long: from the first second on, on a terminal
// only, and gone without a trace when it is over.
//
// Threads: any; one Progress at a time. A thread of its own draws it, since what takes long blocks.
// Units: none.   Errors: none; what cannot be drawn is left out.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace neliroute::tool {

class Progress {
 public:
  /// "connecting to 127.0.0.1:9092"
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Whether anybody sees it.
  [[nodiscard]] bool shown() const noexcept { return drawing_ != nullptr; }
  /// Something else now; its time begins anew.
  void now(std::string what);
  /// So many of these are done: "1,024 records". Cheap enough for each.
  void count(std::uint64_t done, const char* of_what) noexcept;

 private:
  struct Drawing;
  std::unique_ptr<Drawing> drawing_;  ///< null: nobody would see it
};

/// While it lives, no Progress is on the terminal: for who writes there.
class ProgressAside {
 public:
  ProgressAside();

 private:
  std::scoped_lock<std::mutex> lock_;
};

/// For a signal handler that ends the process.
void erase_progress_from_handler() noexcept;

}  // namespace neliroute::tool
