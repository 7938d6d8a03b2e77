// A broker on a thread of its own, with a topic of four partitions.
//
// Threads: that of the test.   Units: none.   Errors: the test aborts, and says why.
#pragma once

#include <memory>
#include <string>

#include "embedded_broker/embedded_broker.h"
#include "tests/unit/embedded_broker/io_thread.h"

namespace neliroute {

class BrokerOnThread {
 public:
  ~BrokerOnThread() { close(); }

  void close() {
    io_.run([&] { broker_.reset(); });
  }
  [[nodiscard]] std::string address() const { return broker_->address(); }

 private:
  IoThread io_;
  std::unique_ptr<EmbeddedBroker> broker_ = io_.run(
      [&] { return EmbeddedBroker::open(io_.executor(), {0, {{"neliroute", 4}}}).value(); });
};

}  // namespace neliroute
