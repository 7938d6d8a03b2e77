// --http: the admin port of a command, on a thread of its own: its clients delay the
// protocol no more than another process would, and /healthz can report a protocol that hangs.
//
// Threads: one; destroy it before the Router or Watcher, and before their executor.
// Units: none.   Errors: bad_option, naming the address and what to do.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <neliroute/admin.h>
#include <neliroute/error.h>
#include <neliroute/forwarder.h>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "admin/probe/probe_server.h"
#include "tool/command_line/command_line.h"

namespace neliroute::tool {

/// As many as the system permits, for this process: connections are files. The soft limit is for
/// programs that use select(2); one that is started later inherits it.
void raise_file_limit();

/// `help`: what is served there; it must live as long as the program.
void add_http_option(CommandLine& line, std::optional<std::string>& http,
                     std::string_view help =
                         "Serve the slot page, the view and its events, metrics and health there; "
                         "a port alone: for this machine only, 0: any free one");

class AdminPort {
 public:
  /// Checks that it could listen there now: reports an error before waiting for a broker. `flag`
  /// is for the message.
  [[nodiscard]] static Result<void> check(const std::optional<std::string>& at,
                                          const std::string& flag = "--http");
  /// Null if it is not requested. Otherwise logs where it listens, and raises the process's limit
  /// of open files as far as the system allows. `control`: of the Router or Watcher. `proxy`: whose
  /// counts are shown, and are metrics, too. `lacks`: as in AdminOptions; called on its thread.
  /// `more`: what is served at /metrics, too.
  [[nodiscard]] static Result<std::unique_ptr<AdminPort>> open(
      const Observable& observable, const std::optional<std::string>& http,
      std::optional<AdminControl> control = std::nullopt,
      const std::optional<ForwarderCounts>& proxy = std::nullopt,
      std::function<std::string()> lacks = {},
      std::vector<std::weak_ptr<prometheus::Collectable>> more = {});
  /// The same without a view of slots: metrics and health. `options` without an address.
  [[nodiscard]] static Result<std::unique_ptr<AdminPort>> open_probes(
      const std::optional<std::string>& http, admin::ProbeOptions options);
  /// Closes all connections.
  ~AdminPort();
  AdminPort(const AdminPort&) = delete;
  AdminPort& operator=(const AdminPort&) = delete;

  [[nodiscard]] const std::string& address() const noexcept {
    return server_ ? server_->address() : probes_->address();
  }

 private:
  AdminPort() : work_(boost::asio::make_work_guard(io_)) {}
  /// `shown`: what clients can read there.
  void run(bool is_local, const char* shown);

  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::shared_ptr<prometheus::Collectable> proxy_;
  /// One of them.
  std::unique_ptr<AdminServer> server_;
  std::unique_ptr<admin::ProbeServer> probes_;
  std::thread thread_;
};

}  // namespace neliroute::tool
