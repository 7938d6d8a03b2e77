#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <neliroute/admin.h>
#include <neliroute/clock.h>
#include <utility>
#include <vector>

#include "admin/connection.h"
#include "admin/control/control.h"
#include "admin/envoy/envoy_answers.h"
#include "admin/event_hub.h"
#include "admin/pending_view.h"
#include "admin/site.h"
#include "neli_core/settings_mode.h"
#include "router/text/event_line.h"
#include "router/text/listen_address.h"

namespace neliroute {
namespace {

namespace asio = boost::asio;
using admin::is_for_here;
using admin::KeptChange;
using asio::ip::tcp;

/// What the application wants to be served, and what the control calls count.
std::vector<std::weak_ptr<prometheus::Collectable>> collectables_of(const AdminOptions& options,
                                                                    const admin::Control& control) {
  auto all = options.collectables;
  if (control.metrics()) all.push_back(control.metrics());
  return all;
}

}  // namespace

/// Runs everything on its strand.
class AdminServer::Impl final : public admin::Service {
 public:
  Impl(asio::any_io_executor strand, tcp::acceptor acceptor, bool only_here,
       Observable observable, AdminOptions options)
      : Service(std::move(acceptor), options.limits, options.on_notice),
        strand_(strand),
        options_(std::move(options)),
        calls_(std::make_shared<admin::Calls>(std::move(options_.control))),
        control_(strand, observable, calls_, options_.limits, options_.on_notice),
        envoy_(strand, observable, options_.on_notice),
        site_(observable,
              {observable, {options_.per_slot_metrics}, collectables_of(options_, control_),
               options_.proxied},
              only_here ? options_.listen : "", options_.lacks, control_, envoy_),
        hub_(std::make_shared<admin::EventHub>(strand, site_, options_.limits)) {}

  admin::Pages& pages() override { return site_; }
  admin::EventHub& hub() override { return *hub_; }
  admin::Steps& steps() override { return control_.steps(); }

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

  asio::any_io_executor strand_;
  AdminOptions options_;
  std::shared_ptr<admin::Calls> calls_;
  admin::Control control_;
  admin::EnvoyAnswers envoy_;
  admin::Site site_;
  std::shared_ptr<admin::EventHub> hub_;
  std::shared_ptr<Observer> bridge_;
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
  const auto self = std::static_pointer_cast<Impl>(shared_from_this());
  bridge_ = std::make_shared<Bridge>(self);
  site_.view().observable().observe(bridge_);
  asio::post(strand_, [self] { self->accept(); });
}

void AdminServer::Impl::close() {
  bridge_.reset();
  hub_->close();
  close_connections();
  control_.close();
  envoy_.close();
}

void AdminServer::Impl::take(const Transition& transition) {
  const ObservedFacts& facts = site_.view().observable().facts();
  if (!facts.id) return;
  hub_->transition(event_line({facts.process.name, *facts.id, facts.lane, mode_of(facts.settings)},
                              transition, unix_minus_boot_now()));
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
  server->impl_ = std::make_shared<Impl>(strand, std::move(*acceptor), server->local_,
                                         std::move(observable), std::move(options));
  server->impl_->start();
  return server;
}

AdminServer::~AdminServer() {
  if (!impl_) return;
  impl_->detach();
  asio::post(impl_->strand(), [impl = impl_] { impl->close(); });
}

}  // namespace neliroute
