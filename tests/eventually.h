// Waits for what comes by itself, on other threads.
//
// Threads: any.   Units: std::chrono.   Errors: none.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace neliroute {

/// Whether the condition comes to hold in time.
[[nodiscard]] inline bool eventually(const std::function<bool()>& condition,
                                     std::chrono::seconds at_most = std::chrono::seconds{20}) {
  const auto give_up = std::chrono::steady_clock::now() + at_most;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return true;
}

}  // namespace neliroute
