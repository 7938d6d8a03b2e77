// What 100,000 callers that wait for owners cost: memory, and time on the strand to add them, to
// wake them, to cancel them and to let their time end.
//
//   waiters_bench [WAITERS]      a table
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "bench/assigner/heap_meter.h"
#include "router/engine/route_waiters.h"

namespace neliroute::bench {
namespace {

constexpr std::uint32_t kPartitions = 1024;
constexpr std::size_t kDefault = 100'000;

double seconds_of(const std::function<void()>& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void add_all(RouteWaiters& waiters, std::size_t count, std::size_t& told) {
  for (std::size_t i = 0; i < count; ++i) {
    const Slot slot{static_cast<std::uint32_t>(i % kPartitions)};
    waiters.add(i, Partition{slot.value()},
                {slot, kNoEpoch, LocalTime{std::chrono::milliseconds{1000 + i % 30'000}},
                 [&told](boost::system::error_code, const Route&) { ++told; }});
  }
}

void tell(const char* what, double seconds, std::size_t count) {
  std::printf("%-34s %8.1f ms %8.0f ns each\n", what, seconds * 1e3,
              seconds * 1e9 / static_cast<double>(count));
}

Route led_elsewhere(Slot slot) {
  static const ProcessInfo owner{"owner", "10.0.0.1:7000", {}};
  Route route;
  route.slot = slot;
  route.verdict = Verdict::remote;
  route.owner_info = &owner;
  route.epoch = {1, 1};
  return route;
}

int run(std::size_t count) {
  std::size_t told = 0;
  std::int64_t bytes = 0;
  const scale::HeapScope scope(bytes);
  RouteWaiters waiters(count);
  const std::int64_t before = bytes;
  tell("add", seconds_of([&] { add_all(waiters, count, told); }), count);
  std::printf("%-34s %8.1f MiB %7.0f bytes each\n", "memory",
              static_cast<double>(bytes - before) / (1 << 20),
              static_cast<double>(bytes - before) / static_cast<double>(count));
  const auto wake = [&](std::uint32_t partition) {
    for (const auto& [waiter, route] : waiters.take_content(Partition{partition}, led_elsewhere)) {
      waiter.handler({}, route);
    }
  };
  tell("wake those of one partition", seconds_of([&] { wake(0); }), told);
  tell("wake all", seconds_of([&] {
         for (std::uint32_t p = 1; p < kPartitions; ++p) wake(p);
       }),
       count);
  add_all(waiters, count, told);
  tell("cancel", seconds_of([&] {
         for (std::size_t i = 0; i < count; ++i) static_cast<void>(waiters.take(i));
       }),
       count);
  add_all(waiters, count, told);
  tell("time out", seconds_of([&] {
         for (const RouteWaiter& late :
              waiters.take_late(LocalTime{std::chrono::seconds{100}})) {
           late.handler({}, Route{});
         }
       }),
       count);
  std::printf("%-34s %8.1f MiB\n", "left, when all are gone",
              static_cast<double>(bytes - before) / (1 << 20));
  return waiters.empty() && told == 2 * count ? 0 : 1;
}

}  // namespace
}  // namespace neliroute::bench

int main(int argc, char** argv) {
  const long long wanted = argc > 1 ? std::atoll(argv[1]) : 0;
  return neliroute::bench::run(wanted > 0 ? static_cast<std::size_t>(wanted)
                                          : neliroute::bench::kDefault);
}
