
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
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
#include "router/text/event_line.h"
#include "router/text/listen_address.h"

namespace neliroute {
namespace {

namespace asio = boost::asio;
using admin::Connection;
using admin::KeptChange;
using admin::Place;
using asio::ip::tcp;

// Connections that are refused with an answer, at once; further ones are just closed.
constexpr std::size_t kRefusedMax = 64;
// After a failed accept, most likely for lack of file descriptors.
constexpr milliseconds kAcceptPause{100};

/// The other file descriptors are for the ledger and the application.
std::size_t connections_of(const AdminLimits& limits) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return limits.connections;
  return std::min<std::size_t>(limits.connections, std::max<rlim_t>(files.rlim_cur / 2, 1));
}

/// Counts one more until the Place is released.
Place place(const std::shared_ptr<std::size_t>& count) {
  ++*count;
  return {count.get(), [count](std::size_t*) { --*count; }};
}

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
        acceptor_(std::move(acceptor)),
        again_(strand),
        options_(std::move(options)),
        most_(connections_of(options_.limits)),
        calls_(std::make_shared<admin::Calls>(std::move(options_.control))),
        control_(strand, observable, calls_, options_.limits, options_.on_notice),
        envoy_(strand, observable, options_.on_notice),
        site_(observable,
              {observable, {options_.per_slot_metrics}, collectables_of(options_, control_),
               options_.proxied},
              is_for_here(acceptor_) ? options_.listen : "", options_.lacks, control_, envoy_),
        budget_(options_.limits.answer_bytes),
        hub_(std::make_shared<admin::EventHub>(strand, site_, options_.limits)) {}

  admin::Site& site() override { return site_; }
  admin::EventHub& hub() override { return *hub_; }
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
  void accept();
  void on_accept(const boost::system::error_code& error, tcp::socket socket);
  void admit(tcp::socket socket);
  void close_longest_idle();

  asio::any_io_executor strand_;
  tcp::acceptor acceptor_;
  asio::steady_timer again_;
  AdminOptions options_;
  std::size_t most_;
  std::shared_ptr<admin::Calls> calls_;
  admin::Control control_;
  admin::EnvoyAnswers envoy_;
  admin::Site site_;
  admin::AnswerBudget budget_;
  std::shared_ptr<admin::EventHub> hub_;
  std::shared_ptr<Observer> bridge_;
  std::unordered_set<Connection*> connections_;
  std::shared_ptr<std::size_t> open_ = std::make_shared<std::size_t>(0);
  std::shared_ptr<std::size_t> refused_ = std::make_shared<std::size_t>(0);
  bool accept_failed_ = false;
  bool closed_ = false;
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
  asio::post(strand_, [self = shared_from_this()] { self->accept(); });
}

void AdminServer::Impl::close() {
  closed_ = true;
  bridge_.reset();
  again_.cancel();
  boost::system::error_code ignored;
  acceptor_.close(ignored);
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

void AdminServer::Impl::accept() {
  if (closed_) return;
  acceptor_.async_accept(strand_, [self = shared_from_this()](
                                      const boost::system::error_code& error, tcp::socket socket) {
    self->on_accept(error, std::move(socket));
  });
}

void AdminServer::Impl::on_accept(const boost::system::error_code& error, tcp::socket socket) {
  if (closed_) return;
  if (!error) {
    accept_failed_ = false;
    try {
      admit(std::move(socket));
    } catch (...) {  // no memory for one more client, which is closed
    }
    return accept();
  }
  if (!std::exchange(accept_failed_, true) && options_.on_notice) {
    options_.on_notice({Severity::warning, "the admin port cannot accept connections: " +
                                         error.message() + "; it tries again"});
  }
  again_.expires_after(kAcceptPause);
  again_.async_wait([self = shared_from_this()](const boost::system::error_code& cancelled) {
    if (!cancelled) self->accept();
  });
}

// Or clients that ask for nothing would keep others out.
void AdminServer::Impl::close_longest_idle() {
  const auto longest =
      std::min_element(connections_.begin(), connections_.end(),
                       [](const Connection* a, const Connection* b) {
                         return a->idle_since() < b->idle_since();
                       });
  if (longest == connections_.end() || (*longest)->idle_since() == Connection::Time::max()) return;
  (*longest)->close();  // it is destroyed, and leaves connections_, later
}

void AdminServer::Impl::admit(tcp::socket socket) {
  if (*open_ >= most_) close_longest_idle();
  const bool full = *open_ >= most_;
  if (full && *refused_ >= kRefusedMax) return;
  boost::system::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  if (options_.limits.send_buffer > 0) {
    socket.set_option(asio::socket_base::send_buffer_size(options_.limits.send_buffer), ignored);
  }
  const auto connection = std::make_shared<Connection>(std::move(socket), shared_from_this(),
                                                       place(full ? refused_ : open_));
  connections_.insert(connection.get());
  connection->start(full);
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
