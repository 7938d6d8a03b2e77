// The admin port of a process that has no view of slots, such as a voter: /metrics, /healthz and
// /readyz, and nothing else.
//
// Threads: all of it on one strand of the given executor; open() and the destructor on any thread.
// Units: std::chrono.   Errors: open() returns bad_option, as AdminServer does.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <neliroute/admin.h>
#include <neliroute/error.h>
#include <neliroute/time.h>
#include <string>

#include "admin/exposition.h"

namespace neliroute::admin {

struct ProbeOptions {
  /// As in AdminOptions.
  std::string listen = "127.0.0.1:0";
  AdminLimits limits;
  Collectables collectables;
  std::function<void(const Notice&)> on_notice;
  /// Why the process is not ready (/readyz), and why it should be started again (/healthz). Empty:
  /// no reason. Called on the strand.
  std::function<std::string()> lacks;
  std::function<std::string(LocalTime now)> trouble;
};

class ProbeServer {
 public:
  [[nodiscard]] static Result<std::unique_ptr<ProbeServer>> open(
      boost::asio::any_io_executor executor, ProbeOptions options);
  /// Closes all connections, as soon as the executor runs.
  ~ProbeServer();
  ProbeServer(const ProbeServer&) = delete;
  ProbeServer& operator=(const ProbeServer&) = delete;

  /// HOST:PORT where it listens, with the port that was chosen.
  [[nodiscard]] const std::string& address() const noexcept { return address_; }
  /// Whether only this machine can reach it.
  [[nodiscard]] bool is_local() const noexcept { return local_; }

 private:
  class Impl;
  ProbeServer() = default;

  std::string address_;
  bool local_ = true;
  std::shared_ptr<Impl> impl_;
};

}  // namespace neliroute::admin
