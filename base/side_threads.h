// Threads for what may block for as long as it likes: a lookup of a name, a write to a disk.
//
// There are at most so many, each only as long as it has something to do. What blocks cannot be
// stopped; so nobody waits for it at the end, unless they ask to, and then not for long.
//
// Threads: one (that of the given executor); jobs run on others.   Units: std::chrono.
// Errors: run() says whether the system has a thread left.
#pragma once

#include <neliroute/time.h>

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <functional>
#include <memory>

namespace neliroute {

class SideThreads {
 public:
  /// Called on the executor, unless this is closed by then.
  using Then = std::function<void()>;
  /// It may outlive whatever it does not hold itself.
  using Job = std::function<Then()>;

  SideThreads(boost::asio::any_io_executor executor, std::size_t most);
  ~SideThreads() { close(milliseconds{0}); }
  SideThreads(const SideThreads&) = delete;
  SideThreads& operator=(const SideThreads&) = delete;

  /// In the order of the calls, as soon as a thread is free. False: there is none, and the system
  /// has none left; the job is not run.
  [[nodiscard]] bool run(Job job);
  /// No job begins any more. Those that run may end, within so long.
  void close(milliseconds patience);

 private:
  struct State;
  static void work(const std::shared_ptr<State>& state);
  std::shared_ptr<State> state_;
};

}  // namespace neliroute
