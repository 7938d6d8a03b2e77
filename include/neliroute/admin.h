// The admin port: HTTP for operators, dashboards and Prometheus. It is read-only.
//
//   auto admin = neliroute::AdminServer::open(io.get_executor(), router->observable(), {});
//   if (!admin) { std::cerr << admin.error().message() << '\n'; return 2; }
//   std::cout << "http://" << (*admin)->address() << '\n';
//
// openapi.json describes what it serves. AdminLimits bounds everything that a client may cost.
//
// Threads: all of it on one strand of the given executor; open() and the destructor on any thread.
// Give it an executor with a thread of its own, so that no client delays the protocol. That
// executor must outlive whatever the router's executor is running when the server is destroyed.
// Units: std::chrono, bytes.
// Errors: open() returns bad_option for an address that is malformed or cannot be listened on.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <neliroute/error.h>
#include <neliroute/observable.h>
#include <neliroute/time.h>
#include <string>
#include <vector>

namespace prometheus {
class Collectable;
}  // namespace prometheus

namespace neliroute {

struct AdminLimits {
  /// For a further one, the connection that has been idle longest is closed. If none is idle, the
  /// further one is served one request, within a second: health is answered, anything else gets a
  /// 503. At most half of the files that the process may open.
  std::size_t connections = 2048;
  /// From connecting, or from a request's first byte, to the end of its header.
  milliseconds header{10'000};
  /// Between two requests of a connection.
  milliseconds idle{60'000};
  /// Until a client has read its answer, or any of what is queued for its stream.
  milliseconds write{30'000};
  /// Between two events that report changes; what changes meanwhile is merged.
  milliseconds merge{100};
  /// Between two events while nothing changes.
  milliseconds age{1'000};
  /// How much is kept for a stream whose client reads slowly, at least two whole views; a stream
  /// that exceeds it is closed.
  std::size_t stream_bytes = std::size_t{1} << 20;
  /// Total size of the answers that clients have requested and not read yet; above it, 503.
  std::size_t answer_bytes = std::size_t{256} << 20;
  /// SO_SNDBUF of a connection, of which Linux takes twice as much; 0: the system's, which grows to
  /// megabytes for each client that does not read.
  int send_buffer = 64 << 10;
};

struct AdminOptions {
  /// HOST:PORT, :PORT or PORT. Without a host, and by default, only this machine can reach it.
  /// Port 0: any free one, see address().
  std::string listen = "127.0.0.1:0";
  AdminLimits limits;
  /// Served at /metrics beside neliroute's own: a registry of the application, for instance.
  std::vector<std::weak_ptr<prometheus::Collectable>> collectables;
  /// A series for each slot, too: see docs/metrics.md.
  bool per_slot_metrics = false;
  /// Called on the strand with each line that an operator should read. Default: they are dropped.
  std::function<void(const Notice&)> on_notice;
  /// Rewords a failure's message before readers see it. The message names options as in
  /// `kafka.brokers`; the command puts its flags there. Default: unchanged. Called on the strand.
  std::function<std::string(const std::string&)> wording;
};

class AdminServer {
 public:
  /// Listens from now on, and answers as soon as the executor runs. Resolves a host name, which
  /// blocks.
  [[nodiscard]] static Result<std::unique_ptr<AdminServer>> open(
      boost::asio::any_io_executor executor, Observable observable, AdminOptions options);
  /// Closes all connections, as soon as the executor runs.
  ~AdminServer();
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  /// HOST:PORT where it listens, with the port that was chosen.
  [[nodiscard]] const std::string& address() const noexcept { return address_; }
  /// Whether only this machine can reach it.
  [[nodiscard]] bool is_local() const noexcept { return local_; }

 private:
  class Impl;
  AdminServer() = default;

  std::string address_;
  bool local_ = true;
  std::shared_ptr<Impl> impl_;
};

}  // namespace neliroute
