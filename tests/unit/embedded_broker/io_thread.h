// An io_context on a thread of its own, for tests whose own thread blocks.
//
// Threads: any but its own.   Units: none.   Errors: none.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <thread>
#include <utility>

namespace neliroute {

class IoThread {
 public:
  IoThread() : thread_([this] { io_.run(); }) {}
  ~IoThread() { join(); }

  boost::asio::any_io_executor executor() { return io_.get_executor(); }

  /// Carries it out on the thread and waits for its result.
  template <class Work>
  auto run(Work work) {
    std::packaged_task<decltype(work())()> task(std::move(work));
    auto result = task.get_future();
    boost::asio::post(io_, std::move(task));
    return result.get();
  }

  /// Returns when nothing is left to do: hangs if anything is not let go of.
  void join() {
    work_.reset();
    if (thread_.joinable()) thread_.join();
  }

 private:
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  std::thread thread_;
};

/// Keeps the thread from carrying out anything, from the constructor's return to the destructor.
class Hang {
 public:
  explicit Hang(IoThread& io) {
    std::promise<void> hangs;
    auto begun = hangs.get_future();
    auto over = over_.get_future();
    boost::asio::post(io.executor(),
                      [hangs = std::move(hangs), over = std::move(over)]() mutable {
                        hangs.set_value();
                        over.wait();
                      });
    begun.wait();
  }
  ~Hang() { over_.set_value(); }
  Hang(const Hang&) = delete;
  Hang& operator=(const Hang&) = delete;

 private:
  std::promise<void> over_;
};

}  // namespace neliroute
