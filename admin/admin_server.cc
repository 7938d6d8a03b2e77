#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <neliroute/admin.h>
#include <neliroute/clock.h>
#include <unordered_set>
#include <utility>
#include <vector>

#include "admin/answer_budget.h"
#include "admin/connection.h"
#include "admin/control/control.h"
#include "admin/envoy/envoy_answers.h"
#include "admin/event_hub.h"
#include "admin/pending_view.h"
#include "admin/site.h"
#include "neli_core/settings_mode.h"
#include "router/listen/accept_gate.h"
#include "router/text/event_line.h"
#include "router/text/listen_address.h"

namespace neliroute {
namespace {

namespace asio = boost::asio;
using admin::Connection;
using admin::KeptChange;
using asio::ip::tcp;

/// What the application wants to be served, and what the control calls count.
std::vector<std::weak_ptr<prometheus::Collectable>> collectables_of(const AdminOptions& options,
                                                                    const admin::Control& control) {
  auto all = options.collectables;
  if (control.metrics()) all.push_back(control.metrics());
  return all;
}

bool is_for_here(const tcp::acceptor& acceptor) {
  boost::system::error_code error;
  return acceptor.local_endpoint(error).address().is_loopback();
}

}  // namespace

/// Runs everything on its strand.
class AdminServer::Impl : public admin::Service, public std::enable_shared_from_this<Impl> {
 public:
  Impl(asio::any_io_executor strand, tcp::acceptor acceptor, Observable observable,
       AdminOptions options)
      : strand_(strand),
        options_(std::move(options)),
        calls_(std::make_shared<admin::Calls>(std::move(options_.control))),
        control_(strand, observable, calls_, options_.limits, options_.on_notice),
        envoy_(strand, observable, options_.on_notice),
        site_(observable,
              {observable, {options_.per_slot_metrics}, collectables_of(options_, control_),
               options_.proxied},
              is_for_here(acceptor) ? options_.listen : "", options_.lacks, control_, envoy_),
        budget_(options_.limits.answer_bytes),
        hub_(std::make_shared<admin::EventHub>(strand, site_, options_.limits)),
        // The other file descriptors are for the ledger and the application.
        gate_(std::move(acceptor),
              {places_for(options_.limits.connections, 2), "the admin port", {},
               options_.on_notice},
              [this](tcp::socket socket, AcceptGate::PlacePtr place, bool refused) {
                take(std::move(socket), std::move(place), refused);
              }) {}

  admin::Site& site() override { return site_; }
  admin::EventHub& hub() override { return *hub_; }
  admin::Steps& steps() override { return control_.steps(); }
  [[nodiscard]] const AdminLimits& limits() const override { return options_.limits; }
  admin::AnswerBudget& budget() override { return budget_; }
  void left(Connection& connection) override { connections_.erase(&connection); }

  void start();
  void close();
  /// No control call begins from now on. Any thread.
  void detach() { calls_->close(); }
  [[nodiscard]] const asio::any_io_executor& strand() const noexcept { return strand_; }
  void take(const KeptChange& change) {
    site_.view().take(change);
    envoy_.take(change);
    hub_->changed();
  }
  void take(const Transition& transition);
  void give_up(const Error& error) {
    const std::string& text = error.message();
    site_.view().give_up(options_.wording ? options_.wording(text) : text);
  }
  void recover() { site_.view().recover(); }

 private:
  class Bridge;
  void take(tcp::socket socket, AcceptGate::PlacePtr place, bool refused);

  asio::any_io_executor strand_;
  AdminOptions options_;
  std::shared_ptr<admin::Calls> calls_;
  admin::Control control_;
  admin::EnvoyAnswers envoy_;
  admin::Site site_;
  admin::AnswerBudget budget_;
  std::shared_ptr<admin::EventHub> hub_;
  std::shared_ptr<Observer> bridge_;
  std::unordered_set<Connection*> connections_;
  AcceptGate gate_;
};

/// From the router's strand to the server's.
class AdminServer::Impl::Bridge : public Observer {
 public:
  explicit Bridge(const std::shared_ptr<Impl>& impl) : strand_(impl->strand_), impl_(impl) {}

  void on_view(const ViewChange& change) override {
    if (!pending_->add(change)) return;
    pass([pending = pending_](Impl& impl) { impl.take(pending->take()); });
  }
  void on_assignment(const AssignmentNews& news) override {
    if (!pending_->add(news)) return;
    pass([pending = pending_](Impl& impl) { impl.take(pending->take()); });
  }
  void on_transition(const Transition& transition) override {
    pass([transition](Impl& impl) { impl.take(transition); });
  }
  void on_failure(const Error& error) override {
    pass([error](Impl& impl) { impl.give_up(error); });
  }
  void on_recovery() override {
    pass([](Impl& impl) { impl.recover(); });
  }

 private:
  template <class Call>
  void pass(Call call) {
    asio::post(strand_, [weak = impl_, call = std::move(call)] {
      if (const auto impl = weak.lock()) call(*impl);
    });
  }

  asio::any_io_executor strand_;
  std::weak_ptr<Impl> impl_;
  std::shared_ptr<admin::PendingView> pending_ = std::make_shared<admin::PendingView>();
};

void AdminServer::Impl::start() {
  bridge_ = std::make_shared<Bridge>(shared_from_this());
  site_.view().observable().observe(bridge_);
  asio::post(strand_, [self = shared_from_this()] { self->gate_.start(); });
}

void AdminServer::Impl::close() {
  bridge_.reset();
  gate_.stop();
  hub_->close();
  std::vector<std::shared_ptr<Connection>> open;
  for (Connection* one : connections_) open.push_back(one->shared_from_this());
  for (const auto& connection : open) connection->close();
  control_.close();
  envoy_.close();
}

void AdminServer::Impl::take(const Transition& transition) {
  const ObservedFacts& facts = site_.view().observable().facts();
  if (!facts.id) return;
  hub_->transition(event_line({facts.process.name, *facts.id, facts.lane, mode_of(facts.settings)},
                              transition, unix_minus_boot_now()));
}

void AdminServer::Impl::take(tcp::socket socket, AcceptGate::PlacePtr place, bool refused) {
  boost::system::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  if (options_.limits.send_buffer > 0) {
    socket.set_option(asio::socket_base::send_buffer_size(options_.limits.send_buffer), ignored);
  }
  const auto connection =
      std::make_shared<Connection>(std::move(socket), shared_from_this(), std::move(place));
  connections_.insert(connection.get());
  connection->start(refused);
}

Result<std::unique_ptr<AdminServer>> AdminServer::open(asio::any_io_executor executor,
                                                       Observable observable,
                                                       AdminOptions options) {
  const asio::any_io_executor strand = asio::make_strand(executor);
  auto acceptor = listen_at(strand, options.listen);
  if (!acceptor) return acceptor.error();
  if (options.control && options.control->token.empty() && !is_for_here(*acceptor)) {
    return Error{Errc::bad_option,
                 "everybody who can reach " + options.listen + " could make control calls; set "
                 "AdminControl::token (`--control-token`), or listen at a loopback address"};
  }
  boost::system::error_code ignored;
  const tcp::endpoint bound = acceptor->local_endpoint(ignored);
  std::unique_ptr<AdminServer> server(new AdminServer);
  server->address_ = address_text(bound);
  server->local_ = is_for_here(*acceptor);
  server->impl_ = std::make_shared<Impl>(strand, std::move(*acceptor), std::move(observable),
                                         std::move(options));
  server->impl_->start();
  return server;
}

AdminServer::~AdminServer() {
  if (!impl_) return;
  impl_->detach();
  asio::post(impl_->strand(), [impl = impl_] { impl->close(); });
}

}  // namespace neliroute
