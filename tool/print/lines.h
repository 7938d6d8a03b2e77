// Lines of JSON for a file, a pipe or stdout, written as its reader takes them: a slow one delays
// nobody (event_log.h).
//
// Threads: that of the executor.   Units: std::chrono.   Errors: as LineWriter.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "tool/print/event_log.h"

namespace neliroute::tool {

class Lines {
 public:
  Lines(boost::asio::any_io_executor executor, std::shared_ptr<LineWriter> writer)
      : timer_(std::move(executor)), writer_(std::move(writer)) {}

  void write(std::string line) {
    writer_->write(std::move(line));
    await_reader();
  }

 private:
  static constexpr std::chrono::milliseconds kAgain{100};

  void await_reader() {
    if (waiting_ || writer_->flush()) return;
    waiting_ = true;
    timer_.expires_after(kAgain);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      waiting_ = false;
      await_reader();
    });
  }

  boost::asio::steady_timer timer_;
  std::shared_ptr<LineWriter> writer_;
  bool waiting_ = false;
};

}  // namespace neliroute::tool
