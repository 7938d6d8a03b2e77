// Lines on stderr that tell a person what takes so long: after the first second, every ten seconds,
// and when it is over.
//
// Threads: one; another writes the lines, as the slow work blocks.   Units: none.   Errors: none.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <thread>

namespace neliroute::tool {

enum class OffTerminal { silent, lines };

class Progress {
 public:
  /// "connecting to 127.0.0.1:9092"
  explicit Progress(std::string what, OffTerminal elsewhere = OffTerminal::silent);
  ~Progress() { end(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Whether anybody is told.
  [[nodiscard]] bool shown() const noexcept { return shown_; }
  /// Something else from now on; its time starts again.
  void now(std::string what);
  /// So many of these are done: "1,024 records". Cheap enough for each.
  void count(std::uint64_t done, const char* of_what) noexcept;

 private:
  void begin(std::string what);
  void end();
  void tell(const std::stop_token& stop);
  [[nodiscard]] double elapsed() const;

  const bool shown_;
  // While `thread_` runs, it reads these and writes `told_`.
  std::string what_;
  std::chrono::steady_clock::time_point began_;
  bool told_ = false;
  std::atomic<std::uint64_t> done_{0};
  std::atomic<const char*> of_what_{nullptr};
  std::jthread thread_;
};

}  // namespace neliroute::tool
