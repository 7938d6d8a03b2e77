// Forwarder: the HTTP front of a process that owns slots. A request for a key of its own goes to
// the HTTP server behind it, and any other to the owner of its key.
//
//   neliroute::ForwarderOptions options;
//   options.key = "header:X-User";
//   options.application = "127.0.0.1:9000";                // your own HTTP server
//   auto bound = neliroute::Forwarder::bind(thread.get_executor(), *router, options);
//   if (!bound) { std::cerr << bound.error() << '\n'; return 2; }
//   neliroute::Forwarder& forwarder = **bound;
//   router->async_ready([&](auto error) { if (!error && !forwarder.listen()) fail(); });
//   ...                                                    // planned leave: first the slots
//   router->async_drain(router->timing().drain,
//                       [&](auto) { forwarder.async_drain(10s, [&](auto) { io.stop(); }); });
//
// docs/routing.md ("Over HTTP") says what clients see and what is sent again: it is the proxy of
// `neliroute run --upstream`. Bodies are passed on in parts as they come, in both directions. While
// a request is served here it holds a guard of work (neliroute/work.h), and the application gets
// the epoch in `Neliroute-Epoch`. The application should listen at a loopback address, as others
// must not reach it. With a Watcher it is a gateway: it serves nothing, and sends everything on.
//
// Threads: every member function may be called on any thread. Requests are served on one strand of
//   the given executor; give it a thread of its own, so that no client delays the protocol.
// Lifetimes: the Router or Watcher may be closed or destroyed before the Forwarder; then, once its
//   executor has run, requests go to the owners that the Router knew last, and others get 421, or
//   503 from a gateway. The executor of the Router or
//   Watcher must outlive the Forwarder; and that of the Forwarder must outlive the other executor,
//   which may still hold waits of requests. So declare the Forwarder's executor first, or share
//   one.
// Units: std::chrono.
// Errors: bind() and check() name the option or file, what was expected and what to do. Clients
//   get theirs as docs/routing.md lists them.
#pragma once

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/system/error_code.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <neliroute/error.h>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace prometheus {
class Collectable;
}  // namespace prometheus

namespace neliroute {

class Observable;
class Router;
class Watcher;
struct ProxiedRequests;

namespace forward {
class ProxyCounters;
struct ForwarderMaker;
}  // namespace forward

struct ForwarderLimits {
  /// From the end of a request to the first byte of its answer; waiting for an owner included.
  milliseconds deadline{10'000};
  /// For which neither side sends or takes anything of a body; of an upgraded connection: `tunnel`.
  milliseconds progress{30'000};
  milliseconds tunnel{300'000};
  /// Exclusive mode, of a Router: how long a request may hold up the hand-over of its partition. It
  /// is sent to the next owner then, if it can be, or else its connection is cut.
  milliseconds handover_grace{1000};
  /// From a request's first byte to the end of its header.
  milliseconds header{10'000};
  /// Between two requests of a connection. Other proxies keep theirs for 15 s: give more.
  milliseconds idle{60'000};
  /// How long a connection to the application is kept for the next request; 0: it is not. Less than
  /// the application keeps it for. No value: a second less than its answers' `Keep-Alive: timeout`
  /// says, else 1 s.
  std::optional<milliseconds> application_idle;
  /// At the limit, a new connection replaces the one whose TLS handshake or header has taken
  /// longest, else the one that has been idle longest. If all are at work, it gets 503. An address
  /// that nobody trusts has three quarters of them at most. At most a third of the files that the
  /// process may open.
  std::uint32_t connections = 10'000;
  /// How many requests may wait for an owner at once; a further one gets 503.
  std::uint32_t waits = 20'000;
};

/// Files are PEM.
struct ForwarderTls {
  /// Clients speak TLS: the certificate with its chain, and its private key. They are read anew
  /// when they change.
  std::string certificate;
  std::string key;
  /// The owners' endpoints speak TLS. Their certificates must name the endpoint's host.
  bool to_owners = false;
  /// By whom they must be signed; empty: by one that the system trusts.
  std::string authorities;
};

/// What one Forwarder did with requests. A handle: copies show the same, also after the Forwarder.
class ForwarderCounts {
 public:
  ForwarderCounts();
  // There is none that shows nothing, so that a move is a copy.
  ForwarderCounts(const ForwarderCounts&) = default;
  ForwarderCounts& operator=(const ForwarderCounts&) = default;
  /// For AdminOptions::proxied.
  [[nodiscard]] ProxiedRequests requests() const;
  /// The metrics neliroute_proxy_… of docs/metrics.md, for AdminOptions::collectables or an
  /// exposer; those keep a weak_ptr only. `observable`: of the Router or Watcher, for the labels.
  [[nodiscard]] std::shared_ptr<prometheus::Collectable> metrics(
      const Observable& observable) const;

 private:
  friend struct forward::ForwarderMaker;
  std::shared_ptr<forward::ProxyCounters> counters_;
};

/// A request that has ended, for an access log.
struct ForwardedRequest {
  std::string client;  ///< its address
  std::string method;
  std::string path;  ///< without the query, which may carry secrets
  std::optional<Slot> slot;  ///< no value: it had no key
  std::string owner;         ///< HOST:PORT to which it was sent last; empty: to nobody
  std::uint32_t tries = 0;   ///< how often it was sent
  unsigned status = 0;       ///< 0: the client got no answer
  /// As in `neliroute_proxy_requests_total`; "broken": it, or its answer, ended in the middle.
  std::string_view result;
  std::uint64_t bytes = 0;  ///< of the answer's body, or of what a tunnel carried to the client
  microseconds took{0};     ///< since its header was read
};

struct ForwarderOptions {
  /// HOST:PORT, :PORT or PORT; without a host only this machine can reach it. Port 0: any free one.
  /// Empty: the Router's endpoint; a Watcher has none.
  std::string listen;
  /// Other processes may listen there as well (SO_REUSEPORT): to add one. Where one of them ends,
  /// clients that the kernel had given to it and that it had not accepted are reset.
  bool shares_port = false;
  /// Where in a request its key is: header:NAME, path:N (segments from 1), query:NAME, cookie:NAME
  /// or host. Required.
  std::string key;
  /// HOST:PORT of the HTTP server that serves what this process owns, without TLS. Required for a
  /// Router, and empty for a Watcher.
  std::string application;
  /// Whose Neliroute- fields count: addresses and networks, separated by commas, of all gateways
  /// and owners. No value: a Router's Forwarder trusts this machine, a Watcher's nobody.
  std::optional<std::string> trusted_peers;
  /// Whose X-Forwarded-For, -Proto, -Host and -Port, X-Real-IP and Forwarded are kept, as those of
  /// trusted peers are: addresses and networks of other proxies before this one. Empty: nobody's.
  std::string trusted_forwarded;
  ForwarderTls tls;
  ForwarderLimits limits;
  /// Whether the executor runs one handler at a time: then no strand is made of it.
  bool one_thread = false;
  /// Called on the strand, and by bind() on its thread; also after ~Forwarder, until the strand has
  /// ended what was under way. Default: notices are dropped.
  std::function<void(const Notice&)> on_notice;
  /// Called on the strand when a request has ended. Must not block.
  std::function<void(const ForwardedRequest&)> on_request;
  /// Where it counts, and no other Forwarder does.
  ForwarderCounts counts;

  /// What can be known to be wrong before there is a Router. Reads the files of `tls`.
  [[nodiscard]] Result<void> check() const;
};

class Forwarder {
 public:
  /// Takes the address, where connections are refused until listen(). Resolves a host name, which
  /// blocks. Errors: bad_option.
  [[nodiscard]] static Result<std::unique_ptr<Forwarder>> bind(
      boost::asio::any_io_executor executor, const Router& router, ForwarderOptions options);
  [[nodiscard]] static Result<std::unique_ptr<Forwarder>> bind(
      boost::asio::any_io_executor executor, const Watcher& watcher, ForwarderOptions options);
  /// Ends whatever is under way, as soon as the executor runs; does not wait for that. Guards of
  /// work end then, too. So let the executor run once more (restart() and poll()) before you
  /// destroy it: otherwise connections, guards and the address are kept until the process ends.
  ~Forwarder();
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;

  /// Accepts connections from now on: call it when the Router or Watcher is ready, as requests
  /// could only wait before. Calling it again does nothing. Errors: bad_option if another process
  /// listens there, closed after async_drain().
  [[nodiscard]] Result<void> listen();
  /// HOST:PORT where it listens, with the port that was chosen.
  [[nodiscard]] const std::string& address() const noexcept { return address_; }

  /// Stops accepting, and completes with no error when every request that is under way has ended;
  /// after `bound` those that have not are cut off. For half a second requests on open connections
  /// are still taken. Of several calls the earliest bound counts. Not cancellable; completes with
  /// operation_aborted if the Forwarder is destroyed, and not while its executor hangs.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(boost::system::error_code)) Token>
  auto async_drain(milliseconds bound, Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code)>(
        [this, bound](auto handler) { drain(bound, std::move(handler)); }, token);
  }

 private:
  friend struct forward::ForwarderMaker;
  class Impl;
  Forwarder() = default;
  void drain(milliseconds bound,
             boost::asio::any_completion_handler<void(boost::system::error_code)> handler);

  std::string address_;
  std::shared_ptr<Impl> impl_;
};

}  // namespace neliroute
