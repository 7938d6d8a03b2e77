// Waits for what comes by itself, on other threads.
//
// Threads: any.   Units: std::chrono.   Errors: in the result, with what was there instead.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>
#include <type_traits>

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

/// Whether what `get` returns comes to be `wanted` in time.
template <typename Get>
[[nodiscard]] testing::AssertionResult eventually_is(
    const std::type_identity_t<std::invoke_result_t<Get>>& wanted, const Get& get) {
  auto seen = get();
  if (eventually([&] { return (seen = get()) == wanted; })) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "it still is " << testing::PrintToString(seen) << ", not "
                                     << testing::PrintToString(wanted);
}

}  // namespace neliroute
