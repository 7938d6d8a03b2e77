#include "base/side_threads.h"

#include <boost/asio/post.hpp>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace neliroute {

/// The threads share it, as they may be the last ones.
struct SideThreads::State {
  State(boost::asio::any_io_executor given, std::size_t limit)
      : executor(std::move(given)), most(limit) {}

  [[nodiscard]] bool is_closed() {
    const std::lock_guard lock(mutex);
    return closed;
  }

  boost::asio::any_io_executor executor;  ///< empty once closed: it may be of what is gone then
  const std::size_t most;
  std::mutex mutex;
  std::condition_variable ended;
  std::deque<Job> jobs;
  std::size_t threads = 0;
  bool closed = false;
};

SideThreads::SideThreads(boost::asio::any_io_executor executor, std::size_t most)
    : state_(std::make_shared<State>(std::move(executor), most)) {}

bool SideThreads::run(Job job) {
  const std::lock_guard lock(state_->mutex);
  if (state_->closed) return true;
  if (state_->threads < state_->most) {
    try {
      std::thread([state = state_] { work(state); }).detach();
      ++state_->threads;
    } catch (const std::system_error&) {
      if (state_->threads == 0) return false;
    }
  }
  state_->jobs.push_back(std::move(job));
  return true;
}

void SideThreads::work(const std::shared_ptr<State>& state) {
  for (;;) {
    Job job;
    {
      const std::lock_guard lock(state->mutex);
      if (state->jobs.empty()) {
        --state->threads;
        state->ended.notify_all();
        return;
      }
      job = std::move(state->jobs.front());
      state->jobs.pop_front();
    }
    Then then = job();
    job = nullptr;  // who waits for the end may count on all that it held
    const std::lock_guard lock(state->mutex);
    if (state->closed) continue;
    boost::asio::post(state->executor, [state, then = std::move(then)] {
      if (!state->is_closed()) then();
    });
  }
}

void SideThreads::close(milliseconds patience) {
  std::deque<Job> forgotten;
  std::unique_lock lock(state_->mutex);
  state_->closed = true;
  state_->executor = {};
  forgotten.swap(state_->jobs);
  state_->ended.wait_for(lock, patience, [this] { return state_->threads == 0; });
}

}  // namespace neliroute
