// An embedded broker that takes what it is sent, as far as there is room, and answers nothing.
//
// Threads: any but the broker's.   Units: none.   Errors: none.
#pragma once

#include <boost/asio/post.hpp>
#include <future>

#include "tests/unit/embedded_broker/io_thread.h"

namespace neliroute {

/// For as long as it lives.
class Silence {
 public:
  explicit Silence(IoThread& broker) {
    boost::asio::post(broker.executor(), [over = over_.get_future().share()] { over.wait(); });
  }
  ~Silence() { over_.set_value(); }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  std::promise<void> over_;
};

}  // namespace neliroute
