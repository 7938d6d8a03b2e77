// The HTTP side of `gateway`, and of `run --upstream`, on a thread of its own: its clients delay
// the reading of records no more than another process would.
//
// Threads: any, one at a time.   Units: std::chrono.
// Errors: bind() and listen(): the address cannot be listened on.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <neliroute/error.h>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "forward/directions.h"
#include "forward/gateway.h"
#include "tool/command_line/command_line.h"

namespace neliroute::tool {

/// What both commands take.
struct FrontOptions {
  std::optional<forward::KeySource> key;
  milliseconds deadline{10'000};
  std::uint32_t waiting = 20'000;  ///< requests, for an owner
  milliseconds stop{10'000};  ///< how long requests under way may take after SIGTERM
  [[nodiscard]] const char* scheme() const noexcept { return tls_certificate ? "https" : "http"; }
  std::optional<std::string> tls_certificate;
  std::optional<std::string> tls_key;
  bool tls_to_owners = false;
  std::optional<std::string> authorities;  ///< whose certificates owners must have
  std::shared_ptr<forward::ProxyCounters> counters = std::make_shared<forward::ProxyCounters>();
  /// What it runs on. Lives as long as these options do, which must outlive the Router or Watcher:
  /// that one may still have waits whose handlers belong here.
  std::shared_ptr<boost::asio::io_context> io = std::make_shared<boost::asio::io_context>(1);
};
void add_front_options(CommandLine& line, FrontOptions& options);
/// Those of its options that go together.
[[nodiscard]] Result<void> check_front(const FrontOptions& options);

class HttpFront {
 public:
  /// Has the address; whoever connects is refused until listen(). `listen`: HOST:PORT. `slots`: of
  /// the group.
  [[nodiscard]] static Result<std::unique_ptr<HttpFront>> bind(
      const FrontOptions& options, const std::string& listen, SlotSpace slots,
      std::unique_ptr<forward::Directions> directions,
      std::function<bool(const boost::asio::ip::address&)> trusts = {});
  /// Ends it at once.
  ~HttpFront();
  HttpFront(const HttpFront&) = delete;
  HttpFront& operator=(const HttpFront&) = delete;

  /// Accepts connections from now on. Once.
  [[nodiscard]] Result<void> listen();
  /// HOST:PORT
  [[nodiscard]] std::string address() const;
  /// Stops accepting; `done` is called on its thread when what is under way has ended, at most
  /// after FrontOptions::stop.
  void drain(std::function<void()> done);

 private:
  explicit HttpFront(std::shared_ptr<boost::asio::io_context> io)
      : io_(std::move(io)), work_(boost::asio::make_work_guard(*io_)) {}

  std::shared_ptr<boost::asio::io_context> io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::unique_ptr<forward::Directions> directions_;
  std::shared_ptr<forward::Gateway> gateway_;
  milliseconds stop_{0};
  std::thread thread_;
};

}  // namespace neliroute::tool
