#include <neliroute/forwarder.h>
#include <neliroute/observable.h>
#include <neliroute/router.h>
#include <neliroute/watcher.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "forward/api/closable_directions.h"
#include "forward/api/forwarder_maker.h"
#include "forward/api/reader_calls.h"
#include "forward/gateway.h"
#include "router/reader/completion.h"
#include "router/reader/watching_reader.h"
#include "router/text/listen_address.h"

namespace neliroute {

using boost::system::error_code;
using forward::ClosableDirections;
using forward::Gateway;

/// Lives until it was closed on its strand.
class Forwarder::Impl : public std::enable_shared_from_this<Impl> {
 public:
  using Drained = std::function<void(error_code)>;

  Impl(CompletionExecutors executors, std::shared_ptr<ClosableDirections> directions,
       std::shared_ptr<Gateway> gateway)
      : executors_(std::move(executors)),
        directions_(std::move(directions)),
        gateway_(std::move(gateway)) {}

  [[nodiscard]] const CompletionExecutors& executors() const { return executors_; }

  [[nodiscard]] Result<void> listen() {
    const std::lock_guard lock(mutex_);
    if (ending_) return Error{Errc::closed, "the Forwarder is ending, and listens no more"};
    if (listens_) return {};
    auto listening = gateway_->listen();
    listens_ = listening.has_value();
    return listening;
  }

  void drain(milliseconds bound, Drained done) {
    end_listening();
    boost::asio::post(executors_.strand,
                      [self = shared_from_this(), bound, done = std::move(done)] {
                        self->drain_by(bound, done);
                      });
  }

  /// Nothing is asked of the Router once this has returned. The strand has the last reference: what
  /// is destroyed with this belongs to the strand.
  static void end(std::shared_ptr<Impl> self) {
    self->directions_->close();
    self->end_listening();
    const auto strand = self->executors_.strand;
    boost::asio::post(strand, [self = std::move(self)] { self->close(); });
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr milliseconds kBoundMax{std::chrono::hours{24}};

  // The acceptor is the strand's from now on.
  void end_listening() {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }

  void drain_by(milliseconds bound, const Drained& done) {
    if (closed_) return done(boost::asio::error::operation_aborted);
    if (drained_) return done({});
    waiting_.push_back(done);
    bound = std::clamp(bound, milliseconds{0}, kBoundMax);
    const auto by = Clock::now() + bound;
    if (by >= drained_by_) return;
    drained_by_ = by;
    gateway_->drain(bound, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      self->drained_ = true;
      self->tell({});
    });
  }

  void close() {
    closed_ = true;
    gateway_->close();
    tell(boost::asio::error::operation_aborted);
  }

  void tell(error_code error) {
    for (const Drained& done : std::exchange(waiting_, {})) done(error);
  }

  const CompletionExecutors executors_;
  const std::shared_ptr<ClosableDirections> directions_;
  const std::shared_ptr<Gateway> gateway_;
  std::mutex mutex_;
  bool listens_ = false;
  bool ending_ = false;
  // The strand's.
  std::vector<Drained> waiting_;
  Clock::time_point drained_by_ = Clock::time_point::max();
  bool drained_ = false;
  bool closed_ = false;
};

namespace {

void warn_if_few(const Gateway& gateway, const ForwarderOptions& options) {
  const std::size_t wanted = options.limits.connections;
  if (gateway.most_connections() >= wanted || !options.on_notice) return;
  options.on_notice({Severity::warning,
                     "serves at most " + std::to_string(gateway.most_connections()) +
                         " connections at a time: for " + std::to_string(wanted) +
                         ", let the process open " + std::to_string(3 * wanted) +
                         " files (LimitNOFILE, or ulimit -Hn)"});
}

}  // namespace

Result<std::unique_ptr<Forwarder>> forward::ForwarderMaker::bind(
    boost::asio::any_io_executor executor, std::unique_ptr<Directions> directions,
    const SlotSpace& slots, const ForwarderOptions& options,
    std::optional<milliseconds> handover_grace) {
  auto made = gateway_options(options);
  if (!made) return made.error();
  const auto listen = resolve_listen(options.listen);
  if (!listen) return Error{listen.error().code(), "`listen`: " + listen.error().message()};
  CompletionExecutors executors{executor, std::move(executor)};
  if (!options.one_thread) executors.strand = boost::asio::make_strand(executors.outside);
  const auto kept = std::make_shared<ClosableDirections>(std::move(directions));
  made->listen = *listen;
  made->slots = slots;
  made->exchange.handover_grace = handover_grace;
  made->keeps = kept;
  auto gateway = Gateway::bind(executors.strand, std::move(*made), *kept);
  if (!gateway) return gateway.error();
  if (!options.counts.counters_->take()) {
    return Error{Errc::bad_option, "`counts`: another Forwarder counts there; give each its own"};
  }
  warn_if_few(**gateway, options);
  std::unique_ptr<Forwarder> forwarder(new Forwarder);
  forwarder->address_ = address_text((*gateway)->endpoint());
  forwarder->impl_ =
      std::make_shared<Forwarder::Impl>(std::move(executors), kept, std::move(*gateway));
  return forwarder;
}

Result<std::unique_ptr<Forwarder>> Forwarder::bind(boost::asio::any_io_executor executor,
                                                   const Router& router,
                                                   ForwarderOptions options) {
  if (options.application.empty()) {
    return Error{Errc::bad_option, "`application`: it is missing; give HOST:PORT of the HTTP "
                                   "server that serves what this process owns"};
  }
  auto application = forward::application_of(options);
  if (!application) return application.error();
  if (options.listen.empty()) options.listen = router.process().endpoint;
  if (!options.trusted_peers) options.trusted_peers = "127.0.0.0/8,::1";
  auto directions = std::make_unique<forward::AdmittedDirections<forward::OwnerCalls>>(
      forward::OwnerCalls(router.owner_, router.mode_, router.hop_limit_),
      std::move(*application));
  // In the other mode a successor leads already, and waits for nobody.
  const auto grace = router.mode_ == Mode::exclusive
                         ? std::optional(options.limits.handover_grace) : std::nullopt;
  return forward::ForwarderMaker::bind(std::move(executor), std::move(directions),
                                       router.observable().facts().space, options, grace);
}

Result<std::unique_ptr<Forwarder>> Forwarder::bind(boost::asio::any_io_executor executor,
                                                   const Watcher& watcher,
                                                   ForwarderOptions options) {
  if (!options.application.empty()) {
    return Error{Errc::bad_option, "`application`: a Watcher owns nothing, so that nothing is "
                                   "served here; leave it empty, or give a Router"};
  }
  if (options.listen.empty()) {
    return Error{Errc::bad_option, "`listen`: it is missing; say where clients connect, as in "
                                   "0.0.0.0:8080"};
  }
  auto directions = std::make_unique<forward::WatchedDirections<forward::ReaderCalls>>(
      forward::ReaderCalls(watcher.reader_));
  return forward::ForwarderMaker::bind(std::move(executor), std::move(directions),
                                       watcher.observable().facts().space, options, std::nullopt);
}

Forwarder::~Forwarder() {
  if (impl_) Impl::end(std::move(impl_));
}

Result<void> Forwarder::listen() { return impl_->listen(); }

void Forwarder::drain(
    milliseconds bound,
    boost::asio::any_completion_handler<void(boost::system::error_code)> handler) {
  impl_->drain(bound, completion_of(impl_->executors(), std::move(handler)));
}

}  // namespace neliroute
