// CPU time of this thread, and what reading it costs, which is to be taken off what is measured.
//
// Threads: any, each its own time.   Units: seconds.   Errors: none.
#pragma once

namespace neliroute::bench {

[[nodiscard]] double thread_cpu_seconds() noexcept;
/// Of one call of thread_cpu_seconds(), measured once.
[[nodiscard]] double cpu_clock_cost() noexcept;

}  // namespace neliroute::bench
