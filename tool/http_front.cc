#include "tool/http_front.h"

#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <utility>

#include "router/text/listen_address.h"
#include "tool/admin_port.h"
#include "tool/command_line/take.h"
#include "tool/command_line/values.h"
#include "tool/print/log.h"

namespace neliroute::tool {

void add_front_options(CommandLine& line, FrontOptions& options) {
  line.value("--key", "FROM", "Where in a request its key is: header:NAME, path:N (segments from "
             "1), query:NAME, cookie:NAME or host",
             into(options.key, forward::KeySource::parse));
  line.value("--deadline", "TIME", "From the end of a request to the first byte of its answer, "
             "at most (default 10s)", into(options.deadline, parse_duration));
  line.value("--waiting-limit", "N", "How many requests may wait for an owner at a time; others "
             "get 503 (default 20000)",
             into(options.waiting,
                  [](const std::string& text) { return parse_number(text, 1, 100'000); }));
  line.value("--stop-timeout", "TIME", "How long requests under way may take after SIGTERM "
             "(default 10s)", into(options.stop, parse_duration));
  line.value("--tls-cert", "FILE", "Clients speak TLS: the certificate and its chain, PEM. It is "
             "read anew when it changes", into(options.tls_certificate));
  line.value("--tls-key", "FILE", "Its private key, PEM", into(options.tls_key));
  line.flag("--upstream-tls", "Owners' endpoints speak TLS", options.tls_to_owners);
  line.value("--upstream-ca", "FILE", "Whose certificates owners must have, PEM (default: those "
             "that the system trusts)", into(options.authorities));
}

namespace {

void warn_if_few(std::size_t connections) {
  const std::size_t most = forward::FrontLimits{}.connections;
  if (connections >= most) return;
  log(Severity::warning, fmt::format("serves at most {} connections at a time: for {}, let the "
                                     "process open {} files (LimitNOFILE, or ulimit -Hn)",
                                     connections, most, 3 * most));
}

struct FrontTls {
  std::shared_ptr<forward::TlsIdentity> clients;
  forward::TlsContextPtr owners;
};

Result<FrontTls> tls_of(const FrontOptions& options) {
  FrontTls made;
  if (options.tls_certificate) {
    auto identity = forward::TlsIdentity::make(
        *options.tls_certificate, *options.tls_key,
        [](const std::string& text) { log(Severity::warning, text); });
    if (!identity) return identity.error();
    made.clients = std::move(*identity);
  }
  if (options.tls_to_owners) {
    auto trusted = forward::trusting(options.authorities.value_or(""));
    if (!trusted) return trusted.error();
    made.owners = std::move(*trusted);
  }
  return made;
}

}  // namespace

Result<void> check_front(const FrontOptions& options) {
  if (options.tls_certificate.has_value() != options.tls_key.has_value()) {
    return Error{Errc::bad_option, "--tls-cert and --tls-key belong together: give both"};
  }
  if (options.authorities && !options.tls_to_owners) {
    return Error{Errc::bad_option, "--upstream-ca needs --upstream-tls"};
  }
  // Before anybody joins, or waits for a broker.
  const auto tls = tls_of(options);
  if (!tls) return tls.error();
  return {};
}

Result<std::unique_ptr<HttpFront>> HttpFront::bind(
    const FrontOptions& options, const std::string& listen, SlotSpace slots,
    std::unique_ptr<forward::Directions> directions,
    std::function<bool(const boost::asio::ip::address&)> trusts) {
  const auto endpoint = resolve_listen(listen);
  if (!endpoint) return endpoint.error();
  auto tls = tls_of(options);
  if (!tls) return tls.error();
  forward::GatewayOptions made{*endpoint, *options.key, slots, {}, {}, {}, "neliroute",
                               std::move(trusts), std::move(tls->clients), options.counters};
  made.exchange.deadline = options.deadline;
  made.exchange.waits = options.waiting;
  made.upstream.tls = std::move(tls->owners);
  raise_file_limit();
  std::unique_ptr<HttpFront> front(new HttpFront(options.io));
  front->stop_ = options.stop;
  front->directions_ = std::move(directions);
  auto opened =
      forward::Gateway::bind(front->io_->get_executor(), std::move(made), *front->directions_);
  if (!opened) return opened.error();
  front->gateway_ = std::move(*opened);
  warn_if_few(front->gateway_->most_connections());
  return front;
}

Result<void> HttpFront::listen() {
  if (auto listens = gateway_->listen(); !listens) return listens;
  thread_ = std::thread([this] { io_->run(); });
  return {};
}

HttpFront::~HttpFront() {
  io_->stop();
  if (thread_.joinable()) thread_.join();
  if (gateway_) gateway_->close();
}

std::string HttpFront::address() const { return address_text(gateway_->endpoint()); }

void HttpFront::drain(std::function<void()> done) {
  if (!thread_.joinable()) return done();  // it never listened
  boost::asio::post(*io_, [this, done = std::move(done)]() mutable {
    gateway_->drain(stop_, std::move(done));
  });
}

}  // namespace neliroute::tool
