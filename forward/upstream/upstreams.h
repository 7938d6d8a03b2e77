// Connections to owners: kept after a request for the next one, made where none is left.
//
// Threads: one (an executor of its own).   Units: std::chrono.   Errors: passed to handlers.
#pragma once

#include <neliroute/time.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/http/fields.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/host_names.h"
#include "forward/input.h"
#include "net/stream.h"
#include "forward/upstream/connect_failure.h"

namespace neliroute::forward {

struct UpstreamLimits {
  milliseconds connect{1000};
  /// How long a connection is kept for the next request: shorter than the other side does, so that
  /// a request rarely meets one that is being closed. What an answer's Keep-Alive says is heeded.
  milliseconds idle{15'000};
  /// The same to the application of this process. No value: as its Keep-Alive says, else the least
  /// that servers are known to keep theirs for, less a second.
  std::optional<milliseconds> own_idle;
  /// A request that must not be sent again takes no connection that was unused for longer.
  milliseconds recent{100};
  std::size_t idle_each = 64;  ///< connections, to one owner
  std::size_t idle_all = 10'000;
  TlsContextPtr tls;  ///< null: owners are spoken to without
  std::function<void(const Notice&)> on_notice{};  ///< of those that cannot be reached
};

/// One connection to an owner. What reads or writes it keeps it; so it must be closed to end.
struct Upstream {
  explicit Upstream(const boost::asio::any_io_executor& executor) : stream(executor) {}
  Stream stream;
  Input input{stream};
  std::string endpoint;
  bool own = false;       ///< to the application of this process
  milliseconds idle{0};   ///< for which it may be kept
};
using UpstreamPtr = std::shared_ptr<Upstream>;

class Upstreams {
  struct Connecting;

 public:
  using Handler = std::function<void(boost::system::error_code, UpstreamPtr)>;
  /// An attempt that is under way, or was.
  class Attempt {
   public:
    Attempt() = default;
    explicit Attempt(std::weak_ptr<Connecting> of) : of_(std::move(of)) {}
    /// Ends it with operation_aborted, from inside; nothing if it has ended.
    void cancel();

   private:
    std::weak_ptr<Connecting> of_;
  };

  Upstreams(boost::asio::any_io_executor executor, UpstreamLimits limits);
  ~Upstreams();
  Upstreams(const Upstreams&) = delete;
  Upstreams& operator=(const Upstreams&) = delete;

  /// One that was kept; null: there is none. `once`: for a request that must not be sent again.
  [[nodiscard]] UpstreamPtr take_kept(const std::string& endpoint, bool once);
  /// A new one. `own`: of the application of this process, which is spoken to without TLS. `within`
  /// ends the attempt, too: with operation_aborted. Never calls the handler from inside.
  Attempt connect(const std::string& endpoint, bool own, Handler handler,
                  milliseconds within = milliseconds::max());
  /// This came on it: how long it may be kept.
  void heed(Upstream& upstream, const boost::beast::http::fields& answer) const;
  /// Nothing is on its way on it. It is dropped when something comes all the same, or its end.
  void give_back(UpstreamPtr upstream);
  /// Closes those that were kept, and ends attempts with operation_aborted, from inside.
  void close();
  [[nodiscard]] std::size_t idle() const noexcept { return count_; }
  [[nodiscard]] const boost::asio::any_io_executor& executor() const noexcept { return executor_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Idle {
    UpstreamPtr upstream;
    Clock::time_point since;
    [[nodiscard]] Clock::time_point until() const { return since + upstream->idle; }
  };
  using AllConnecting = std::set<Connecting*>;

  void note_failure(const Connecting& one, const boost::system::error_code& failed);
  /// Closes those of the endpoint of which `is_over` is true.
  template <class IsOver>
  void drop(const std::string& endpoint, const IsOver& is_over);
  void sweep();

  boost::asio::any_io_executor executor_;
  UpstreamLimits limits_;
  HostNames names_;
  ConnectNotices notices_;
  std::shared_ptr<AllConnecting> connecting_ = std::make_shared<AllConnecting>();
  std::map<std::string, std::list<Idle>> idle_;  ///< of each endpoint, the newest first
  std::size_t count_ = 0;
  bool closed_ = false;
  bool sweeping_ = false;
  boost::asio::steady_timer sweeper_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace neliroute::forward
