#include "forward/upstream/upstreams.h"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "forward/rules/keep_alive.h"

namespace neliroute::forward {
namespace {

namespace error = boost::asio::error;
namespace ip = boost::asio::ip;
using boost::asio::ip::tcp;
using boost::system::error_code;

// gunicorn's are kept for 2 s, and it does not say so.
constexpr milliseconds kUnsaidIdle{1000};
constexpr milliseconds kSweep{1000};

struct Place {
  std::string host;  ///< an IPv6 address without its brackets
  std::uint16_t port = 0;
};

std::optional<Place> place_of(std::string_view endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  if (colon == endpoint.npos) return std::nullopt;
  const char* const end = endpoint.data() + endpoint.size();
  Place made;
  const auto [read, failed] = std::from_chars(endpoint.data() + colon + 1, end, made.port);
  if (failed != std::errc() || read != end) return std::nullopt;
  std::string_view host = endpoint.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  made.host = host;
  return made;
}

// It came behind an answer, and would be taken for the next one.
bool has_unasked(Upstream& upstream) {
  error_code ended;
  return upstream.input.received.size() > 0 || upstream.stream.socket().available(ended) > 0;
}

}  // namespace

/// A connection on its way.
struct Upstreams::Connecting : std::enable_shared_from_this<Connecting> {
  Connecting(const boost::asio::any_io_executor& executor, Handler to,
             std::shared_ptr<AllConnecting> listed)
      : all(std::move(listed)),
        upstream(std::make_shared<Upstream>(executor)),
        handler(std::move(to)),
        limit(executor) {
    all->insert(this);
  }
  ~Connecting() { all->erase(this); }
  Connecting(const Connecting&) = delete;
  Connecting& operator=(const Connecting&) = delete;

  std::shared_ptr<AllConnecting> all;
  UpstreamPtr upstream;
  Handler handler;
  std::function<void(const error_code&)> on_failure;
  TlsContextPtr tls;
  std::string host;
  std::uint16_t port = 0;
  boost::asio::steady_timer limit;
  bool has_address = false;
  bool done = false;
  bool cancelled = false;

  void end_after(milliseconds bound, const error_code& late) {
    limit.expires_after(bound);
    limit.async_wait([self = shared_from_this(), late](const error_code& ended) {
      if (ended) return;
      const bool is_lookup = !self->has_address && late == error::timed_out;
      self->finish(is_lookup ? error_code(error::host_not_found_try_again) : late);
    });
  }

  /// `refused` is called if nobody could be reached there.
  template <class Refused>
  void connect(const HostNames::Addresses& addresses, Refused refused) {
    has_address = true;
    std::vector<tcp::endpoint> ends;
    for (const ip::address& address : addresses) ends.emplace_back(address, port);
    upstream->stream.expires_never();  // `limit` bounds it
    upstream->stream.tcp().async_connect(
        ends, [self = shared_from_this(), refused](const error_code& failed, const tcp::endpoint&) {
          if (failed && !self->cancelled) refused();
          // What Asio says where it could open no socket.
          const bool scarce = failed == error::operation_aborted;
          if (!self->done) self->on_connected(scarce ? error_code(error::no_descriptors) : failed);
        });
  }

  void on_connected(error_code failed) {
    if (failed) return finish(failed);
    error_code ignored;
    upstream->stream.socket().set_option(tcp::no_delay(true), ignored);
    if (!tls) return finish(failed);
    if (!upstream->stream.use_tls_to(tls, host)) return finish(error::invalid_argument);
    upstream->stream.async_connect_tls([self = shared_from_this()](const error_code& refused) {
      if (!self->done) self->finish(refused);
    });
  }

  void cancel() {
    if (done) return;
    cancelled = true;
    finish(error::operation_aborted);
  }

  void finish(error_code failed) {
    if (std::exchange(done, true)) return;
    limit.cancel();
    if (failed && on_failure) on_failure(failed);
    if (failed) upstream->stream.close();
    std::exchange(handler, nullptr)(failed, failed ? nullptr : std::move(upstream));
  }
};

Upstreams::Upstreams(boost::asio::any_io_executor executor, UpstreamLimits limits)
    : executor_(std::move(executor)),
      limits_(std::move(limits)),
      names_(executor_),
      notices_(limits_.on_notice),
      sweeper_(executor_) {}

Upstreams::~Upstreams() { close(); }

void Upstreams::close() {
  closed_ = true;
  *alive_ = false;
  names_.close();
  std::vector<std::shared_ptr<Connecting>> ending;
  for (Connecting* one : *connecting_) {
    if (auto alive = one->weak_from_this().lock()) ending.push_back(std::move(alive));
  }
  for (const auto& one : ending) one->cancel();
  for (const auto& [endpoint, kept] : idle_) {
    for (const Idle& one : kept) one.upstream->stream.close();
  }
  idle_.clear();
  count_ = 0;
  sweeper_.cancel();
}

void Upstreams::Attempt::cancel() {
  if (const auto one = of_.lock()) one->cancel();
}

UpstreamPtr Upstreams::take_kept(const std::string& endpoint, bool once) {
  const auto kept = idle_.find(endpoint);
  if (kept == idle_.end()) return nullptr;
  const auto now = Clock::now();
  UpstreamPtr found;
  while (!found && !kept->second.empty()) {
    if (once && now > kept->second.front().since + limits_.recent) break;  // others may have it
    Idle newest = std::move(kept->second.front());
    kept->second.pop_front();
    --count_;
    Upstream& upstream = *newest.upstream;
    if (now < newest.until() && upstream.input.is_reading() && !has_unasked(upstream)) {
      found = std::move(newest.upstream);
    } else {
      newest.upstream->stream.close();
    }
  }
  if (kept->second.empty()) idle_.erase(kept);
  return found;
}

Upstreams::Attempt Upstreams::connect(const std::string& endpoint, bool own, Handler handler,
                                      milliseconds within) {
  const auto one = std::make_shared<Connecting>(executor_, std::move(handler), connecting_);
  one->on_failure = [this, alive = alive_, one = one.get()](const error_code& failed) {
    if (*alive) note_failure(*one, failed);
  };
  one->upstream->endpoint = endpoint;
  one->upstream->own = own;
  one->upstream->idle = own ? limits_.own_idle.value_or(kUnsaidIdle) : limits_.idle;
  if (!own) one->tls = limits_.tls;
  auto place = place_of(endpoint);
  if (closed_ || !place) {
    const error_code none = closed_ ? error::operation_aborted : error_code(error::host_not_found);
    boost::asio::post(executor_, [one, none] { one->finish(none); });
    return Attempt(one);
  }
  one->host = std::move(place->host);
  one->port = place->port;
  const bool is_short = within < limits_.connect;
  one->end_after(is_short ? within : limits_.connect,
                 is_short ? error::operation_aborted : error_code(error::timed_out));
  error_code is_name;
  const auto address = ip::make_address(one->host, is_name);
  if (!is_name) {
    one->connect({address}, [] {});
    return Attempt(one);
  }
  // Its limit keeps it, and the executor that: the handler may own this, and so its names.
  names_.find(one->host, [this, alive = alive_, weak = std::weak_ptr(one)](
                             const error_code& failed, const HostNames::Addresses& found) {
    const auto self = weak.lock();
    if (!self) return;
    if (failed || self->done) return self->finish(failed);
    self->connect(found, [this, alive, host = self->host] {
      if (*alive) names_.doubt(host);
    });
  });
  return Attempt(one);
}

void Upstreams::note_failure(const Connecting& one, const error_code& failed) {
  if (failed == error::operation_aborted) return;  // who wanted it could wait no longer
  const ConnectFault fault = fault_of(failed);
  const std::string why = fault == ConnectFault::tls ? one.upstream->stream.refusal() : "";
  notices_.note(one.upstream->endpoint, one.upstream->own, fault,
                why.empty() ? failed.message() : why, Clock::now());
}

void Upstreams::heed(Upstream& upstream, const boost::beast::http::fields& answer) const {
  if (upstream.own && limits_.own_idle) return;
  const auto said = kept_by(answer);
  if (!said) return;
  upstream.idle = upstream.own ? *said : std::min(*said, limits_.idle);
}

void Upstreams::give_back(UpstreamPtr upstream) {
  Input& input = upstream->input;
  const bool is_full = count_ >= limits_.idle_all;
  const bool ends = upstream->idle.count() <= 0;
  if (closed_ || is_full || ends || has_unasked(*upstream)) return upstream->stream.close();
  std::list<Idle>& kept = idle_[upstream->endpoint];
  if (kept.size() >= limits_.idle_each) {
    kept.back().upstream->stream.close();
    kept.pop_back();
    --count_;
  }
  // The read that the next answer will come by.
  input.more(upstream, std::nullopt, [this, alive = alive_, of = upstream.get()](error_code) {
    if (*alive) drop(of->endpoint, [of](const Idle& one) { return one.upstream.get() == of; });
  });
  kept.push_front({std::move(upstream), Clock::now()});
  ++count_;
  if (!std::exchange(sweeping_, true)) sweep();
}

template <class IsOver>
void Upstreams::drop(const std::string& endpoint, const IsOver& is_over) {
  const auto of = idle_.find(endpoint);
  if (of == idle_.end()) return;
  count_ -= std::erase_if(of->second, [&](const Idle& one) {
    if (!is_over(one)) return false;
    one.upstream->stream.close();
    return true;
  });
  if (of->second.empty()) idle_.erase(of);
}

// Those that nobody takes are closed, or owners that left would be remembered for ever.
void Upstreams::sweep() {
  sweeper_.expires_after(std::min(limits_.idle, kSweep));
  sweeper_.async_wait([this, alive = alive_](const error_code& error) {
    if (error || !*alive) return;
    const auto now = Clock::now();
    for (auto next = idle_.begin(); next != idle_.end();) {
      const auto of = next++;
      drop(of->first, [now](const Idle& one) { return now >= one.until(); });
    }
    sweeping_ = count_ > 0;
    if (sweeping_) sweep();
  });
}

}  // namespace neliroute::forward
