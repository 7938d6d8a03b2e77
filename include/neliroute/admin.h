// The admin port: HTTP for operators, dashboards and Prometheus. It is read-only, unless
// AdminOptions::control lets callers and owners in other languages use the process as a sidecar.
//
//   auto admin = neliroute::AdminServer::open(io.get_executor(), router->observable(), {});
//   if (!admin) { std::cerr << admin.error().message() << '\n'; return 2; }
//   std::cout << "http://" << (*admin)->address() << '\n';
//
// openapi.json describes what it serves. AdminLimits bounds everything that a client may cost.
//
// Threads: all of it on one strand of the given executor; open() and the destructor on any thread.
// The router's executor will do for a few clients. With an executor and a thread of its own, no
// client delays the protocol. It must outlive handlers that the router's executor runs while the
// server is destroyed.
// Units: std::chrono, bytes.
// Errors: open() returns bad_option for an address that is malformed or cannot be listened on.
#pragma once

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <neliroute/admission.h>
#include <neliroute/error.h>
#include <neliroute/ids.h>
#include <neliroute/listener.h>
#include <neliroute/observable.h>
#include <neliroute/route.h>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <vector>

namespace prometheus {
class Collectable;
}  // namespace prometheus

namespace neliroute {

class Router;
class Watcher;

struct AdminLimits {
  /// At the limit, a new connection replaces the one whose header has taken longest, else the one
  /// that has been idle longest. If all are at work, it is served one request, within a second:
  /// health is answered, anything else gets a 503. One address has three quarters of them at most.
  /// At most half of the files that the process may open.
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
  /// Control calls: how many clients may wait for a newer owner at once; a further one gets 503.
  std::size_t waits = 1024;
  /// How many guards of work may be held that `POST /v1/admit` began; a further one gets 503.
  std::size_t works = 10'000;
  /// How long such a guard is held, unless `POST /v1/done` ends it.
  milliseconds work{30'000};
};

/// The control calls: `GET /v1/route` that waits for a newer owner, `POST /v1/admit`, `/v1/done`
/// and `/v1/drain`, and the stream `GET /v1/steps`. docs/routing.md describes them.
///
/// The Router or Watcher must outlive the AdminServer. Its functions are called on the server's
/// strand, under a lock that ~AdminServer() takes, too: none begins after that.
struct AdminControl {
  using RouteHandler = boost::asio::any_completion_handler<void(boost::system::error_code, Route)>;

  /// An owner's. `drain` answers `POST /v1/drain`: it should begin a planned leave, as
  /// Router::async_drain() does, and return at once. It may be called several times.
  [[nodiscard]] static AdminControl of(Router& router, std::function<void()> drain);
  /// A watcher's: it can be waited at, and nothing else.
  [[nodiscard]] static AdminControl of(Watcher& watcher);

  /// Every control call must carry it, as `Authorization: Bearer TOKEN`. Visible ASCII characters.
  /// Empty: none need; then open() returns bad_option unless only this machine can reach the port.
  std::string token;
  /// What of() fills in. All but `wait` are empty for a watcher.
  std::function<void(Slot, const Epoch&, milliseconds, RouteHandler)> wait;
  std::function<Admission(Slot, const Epoch&, std::uint32_t hops)> admit;
  std::function<Subscription(Listener&)> subscribe;
  std::function<void()> drain;
};

/// What a proxy in this process did with requests since it started.
struct ProxiedRequests {
  std::uint64_t served = 0;       ///< answered by the application behind this very process
  std::uint64_t forwarded = 0;    ///< answered by another owner, and passed on
  std::uint64_t misdirected = 0;  ///< 421 of a process that was no owner: sent again
  std::uint64_t waited = 0;       ///< how often one waited for an owner
  std::uint64_t refused = 0;      ///< by the proxy: malformed, without a key, sent on too often
  std::uint64_t unowned = 0;      ///< by the proxy: nobody owned the slot in time (503)
  std::uint64_t unreachable = 0;  ///< the same: an owner did, and could not be connected to (503)
  std::uint64_t failed = 0;       ///< by the proxy: the owner's answer was unfit or late (502, 504)
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
  /// For /v1/requests and the slot page: of a proxy in this process. Default: they show what a
  /// Router's admit() answered. Called on the strand.
  std::function<ProxiedRequests()> proxied;
  /// What this process still lacks before it is ready, besides known slots: /readyz answers 503
  /// with it. Empty: nothing. Default: nothing. Called on the strand.
  std::function<std::string()> lacks;
  /// Lets clients do more than read; none: they get 403.
  std::optional<AdminControl> control;
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
