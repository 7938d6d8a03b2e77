#include "tool/http_front.h"

#include <boost/system/error_code.hpp>
#include <utility>

#include "forward/rules/trusted_peers.h"
#include "router/text/listen_address.h"
#include "tool/admin_port.h"
#include "tool/command_line/flags.h"
#include "tool/command_line/take.h"
#include "tool/command_line/values.h"
#include "tool/print/log.h"

namespace neliroute::tool {

void add_front_options(CommandLine& line, FrontOptions& options) {
  line.add({.field = "key", .flag = "--key", .type = "FROM",
            .help = "Where in a request its key is: header:NAME, path:N (segments from 1), "
                    "query:NAME, cookie:NAME or host",
            .first_day = true},
           into(options.key, forward::KeySource::parse));
  line.add({.field = "trusted_forwarded", .flag = "--trust-forwarded", .type = "CIDR,...",
            .help = "Other proxies before this one, whose X-Forwarded-For, -Proto, -Host and "
                    "-Port, X-Real-IP and Forwarded are kept (default: nobody's)"},
           into_if(options.trusted_forwarded, forward::TrustedPeers::parse));
  line.add({.field = "limits.deadline", .flag = "--deadline", .type = "TIME",
            .help = "From the end of a request to the first byte of its answer, at most (default "
                    "10s)"},
           into(options.deadline, parse_duration));
  line.add({.field = "limits.waits", .flag = "--waiting-limit", .type = "N",
            .help = "How many requests may wait for an owner at a time; others get 503 (default "
                    "20000)"},
           into(options.waiting,
                [](const std::string& text) { return parse_number(text, 1, 100'000); }));
  line.add({.flag = "--stop-timeout", .type = "TIME",
            .help = "How long requests under way may take after SIGTERM (default 10s)"},
           into(options.stop, parse_duration));
  line.add({.field = "tls.certificate", .flag = "--tls-cert", .type = "FILE",
            .help = "Clients speak TLS: the certificate and its chain, PEM. It is read anew when "
                    "it changes"},
           into(options.tls_certificate));
  line.add({.field = "tls.key", .flag = "--tls-key", .type = "FILE",
            .help = "Its private key, PEM"},
           into(options.tls_key));
  line.add({.field = "tls.to_owners", .flag = "--upstream-tls", .takes = OptionText::Takes::flag,
            .help = "Owners' endpoints speak TLS"},
           into(options.tls_to_owners, parse_flag));
  line.add({.field = "tls.authorities", .flag = "--upstream-ca", .type = "FILE",
            .help = "Whose certificates owners must have, PEM (default: those that the system "
                    "trusts)"},
           into(options.authorities));
  line.add({.flag = "--access-log", .type = "FILE",
            .help = "Append a JSON line for each request that has ended; - is stdout. SIGHUP opens "
                    "it anew"},
           into(options.access_log));
}

namespace {

ForwarderOptions forwarder_options(const FrontOptions& options) {
  ForwarderOptions made;
  if (options.key) made.key = options.key->to_string();
  made.trusted_forwarded = options.trusted_forwarded.value_or("");
  made.tls = {options.tls_certificate.value_or(""), options.tls_key.value_or(""),
              options.tls_to_owners, options.authorities.value_or("")};
  made.limits.deadline = options.deadline;
  made.limits.waits = options.waiting;
  made.one_thread = true;
  made.shares_port = options.shares_port;
  made.on_notice = notice_log();
  made.counts = options.counts;
  return made;
}

Error in_flags(const Error& error) { return {error.code(), with_flags(error.message())}; }

}  // namespace

// Before anybody joins, or waits for a broker.
Result<void> check_front(const FrontOptions& options) {
  if (const auto fits = forwarder_options(options).check(); !fits) return in_flags(fits.error());
  if (!options.access_log) return {};
  if (const auto opens = LineWriter::open(*options.access_log); !opens) {
    return Error{opens.error().code(), "--access-log: " + opens.error().message()};
  }
  return {};
}

Result<std::unique_ptr<HttpFront>> HttpFront::bind(const FrontOptions& options,
                                                   const std::string& listen,
                                                   const Bind& bind_forwarder) {
  const auto endpoint = resolve_listen(listen);
  if (!endpoint) return endpoint.error();
  raise_file_limit();
  std::unique_ptr<HttpFront> front(new HttpFront(options.io));
  front->stop_ = options.stop;
  ForwarderOptions made = forwarder_options(options);
  made.listen = address_text(*endpoint);
  if (options.access_log) {
    auto opened = AccessLog::open(*front->io_, *options.access_log);
    if (!opened) return opened.error();
    front->access_log_ = std::move(*opened);
    made.on_request = [log = front->access_log_](const ForwardedRequest& ended) {
      log->write(ended);
    };
  }
  auto bound = bind_forwarder(front->io_->get_executor(), std::move(made));
  if (!bound) return in_flags(bound.error());
  front->forwarder_ = std::move(*bound);
  return front;
}

Result<void> HttpFront::listen() {
  if (auto listens = forwarder_->listen(); !listens) return listens;
  io_->restart();  // another one may have ended on it
  thread_ = std::thread([this] { io_->run(); });
  return {};
}

HttpFront::~HttpFront() {
  forwarder_.reset();
  io_->stop();
  if (thread_.joinable()) thread_.join();
  io_->restart();
  io_->poll();  // whatever is under way ends
}

void HttpFront::drain(std::function<void()> done) {
  if (!thread_.joinable()) return done();  // it never listened
  forwarder_->async_drain(stop_, [done = std::move(done)](boost::system::error_code) { done(); });
}

}  // namespace neliroute::tool
