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
#include <neliroute/forwarder.h>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "forward/rules/key_source.h"
#include "tool/command_line/command_line.h"
#include "tool/print/access_log.h"

namespace neliroute::tool {

/// What both commands take.
struct FrontOptions {
  std::optional<forward::KeySource> key;
  std::optional<std::string> trusted_forwarded;  ///< addresses and networks of other proxies
  milliseconds deadline{10'000};
  std::uint32_t waiting = 20'000;  ///< requests, for an owner
  milliseconds stop{10'000};  ///< how long requests under way may take after SIGTERM
  [[nodiscard]] const char* scheme() const noexcept { return tls_certificate ? "https" : "http"; }
  std::optional<std::string> tls_certificate;
  std::optional<std::string> tls_key;
  bool tls_to_owners = false;
  std::optional<std::string> authorities;  ///< whose certificates owners must have
  std::optional<std::string> access_log;
  bool shares_port = false;
  ForwarderCounts counts;
  /// What it runs on. Lives as long as these options do, which must outlive the Router or Watcher:
  /// that one may still have waits whose handlers belong here.
  std::shared_ptr<boost::asio::io_context> io = std::make_shared<boost::asio::io_context>(1);
};
void add_front_options(CommandLine& line, FrontOptions& options);
/// Those of its options that go together.
[[nodiscard]] Result<void> check_front(const FrontOptions& options);

class HttpFront {
 public:
  /// Of a Router or a Watcher. It gets what both commands have the same.
  using Bind = std::function<Result<std::unique_ptr<Forwarder>>(boost::asio::any_io_executor,
                                                                ForwarderOptions)>;
  /// Has the address; whoever connects is refused until listen(). `listen`: HOST:PORT.
  [[nodiscard]] static Result<std::unique_ptr<HttpFront>> bind(
      const FrontOptions& options, const std::string& listen, const Bind& bind_forwarder);
  /// Ends it at once.
  ~HttpFront();
  HttpFront(const HttpFront&) = delete;
  HttpFront& operator=(const HttpFront&) = delete;

  /// Accepts connections from now on. Once.
  [[nodiscard]] Result<void> listen();
  /// HOST:PORT
  [[nodiscard]] const std::string& address() const noexcept { return forwarder_->address(); }
  /// Stops accepting; `done` is called on its thread when what is under way has ended, at most
  /// after FrontOptions::stop.
  void drain(std::function<void()> done);

 private:
  explicit HttpFront(std::shared_ptr<boost::asio::io_context> io)
      : io_(std::move(io)), work_(boost::asio::make_work_guard(*io_)) {}

  std::shared_ptr<boost::asio::io_context> io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::unique_ptr<Forwarder> forwarder_;
  milliseconds stop_{0};
  std::shared_ptr<AccessLog> access_log_;
  std::thread thread_;
};

}  // namespace neliroute::tool
