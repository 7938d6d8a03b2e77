#include <neliroute/admin.h>
#include <neliroute/forwarder.h>
#include <prometheus/collectable.h>

#include <array>
#include <utility>

#include "forward/api/forwarder_maker.h"
#include "forward/proxy_metrics.h"
#include "forward/rules/trusted_peers.h"
#include "router/text/listen_address.h"

namespace neliroute {
namespace {

Error unfit_option(const std::string& option, const std::string& why) {
  return {Errc::bad_option, "`" + option + "`: " + why};
}

Result<void> check_limits(const ForwarderLimits& limits) {
  struct Bound {
    const char* name;
    milliseconds value;
  };
  const std::array bounds = {
      Bound{"limits.deadline", limits.deadline}, Bound{"limits.progress", limits.progress},
      Bound{"limits.tunnel", limits.tunnel}, Bound{"limits.header", limits.header},
      Bound{"limits.idle", limits.idle}, Bound{"limits.handover_grace", limits.handover_grace}};
  constexpr milliseconds kMost{std::chrono::hours{24}};
  for (const Bound& one : bounds) {
    if (one.value.count() > 0 && one.value <= kMost) continue;
    return unfit_option(one.name, std::to_string(one.value.count()) +
                                      " ms; expected more than 0, and at most a day");
  }
  if (const auto idle = limits.application_idle; idle && (idle->count() < 0 || *idle > kMost)) {
    return unfit_option("limits.application_idle", std::to_string(idle->count()) +
                                                       " ms; expected 0 to a day");
  }
  if (limits.connections == 0) return unfit_option("limits.connections", "0; allow at least 1");
  if (limits.waits == 0) return unfit_option("limits.waits", "0; allow at least 1");
  return {};
}

struct Certificates {
  std::shared_ptr<TlsIdentity> own;
  TlsContextPtr of_owners;
};

Result<Certificates> certificates_of(const ForwarderOptions& options) {
  const ForwarderTls& tls = options.tls;
  if (tls.certificate.empty() != tls.key.empty()) {
    return Error{Errc::bad_option,
                 "`tls.certificate` and `tls.key` belong together: give both"};
  }
  if (!tls.authorities.empty() && !tls.to_owners) {
    return Error{Errc::bad_option, "`tls.authorities` needs `tls.to_owners`"};
  }
  Certificates made;
  if (!tls.certificate.empty()) {
    auto own = TlsIdentity::make(
        {tls.certificate, tls.key, {}}, [tell = options.on_notice](const std::string& text) {
          if (tell) tell({Severity::warning, text});
        });
    if (!own) return own.error();
    made.own = std::move(*own);
  }
  if (tls.to_owners) {
    auto trusted = trusting({tls.authorities, {}, {}});
    if (!trusted) return trusted.error();
    made.of_owners = std::move(*trusted);
  }
  return made;
}

}  // namespace

namespace forward {

Result<std::string> application_of(const ForwarderOptions& options) {
  const auto parsed = parse_listen(options.application);
  if (!parsed) return unfit_option("application", parsed.error().message());
  if (parsed->port == 0) {
    return unfit_option("application", options.application + " has port 0; give the port at which "
                                                             "the HTTP server listens");
  }
  const bool bare = parsed->host.find(':') != std::string::npos;
  return (bare ? "[" + parsed->host + "]" : parsed->host) + ":" + std::to_string(parsed->port);
}

Result<GatewayOptions> ForwarderMaker::gateway_options(const ForwarderOptions& options) {
  if (options.key.empty()) {
    return unfit_option("key", "it is missing; say where in a request its key is, as in "
                               "header:X-User or path:1");
  }
  auto key = KeySource::parse(options.key);
  if (!key) return unfit_option("key", key.error().message());
  auto trusted = TrustedPeers::parse(options.trusted_peers.value_or(""));
  if (!trusted) return unfit_option("trusted_peers", trusted.error().message());
  auto proxies = TrustedPeers::parse(options.trusted_forwarded);
  if (!proxies) return unfit_option("trusted_forwarded", proxies.error().message());
  if (const auto fits = check_limits(options.limits); !fits) return fits.error();
  auto certificates = certificates_of(options);
  if (!certificates) return certificates.error();
  GatewayOptions made{{}, std::move(*key), SlotSpace{SlotCount{1}}, {}, {}, {}, "neliroute",
                      {}, {}};
  made.front.header = options.limits.header;
  made.front.idle = options.limits.idle;
  made.front.connections = options.limits.connections;
  made.exchange.deadline = options.limits.deadline;
  made.exchange.progress = options.limits.progress;
  made.exchange.tunnel = options.limits.tunnel;
  made.exchange.waits = options.limits.waits;
  made.shares_port = options.shares_port;
  made.on_notice = made.upstream.on_notice = options.on_notice;
  made.upstream.own_idle = options.limits.application_idle;
  made.upstream.tls = std::move(certificates->of_owners);
  made.tls = std::move(certificates->own);
  made.trusts = [peers = std::move(*trusted)](const auto& address) {
    return peers.contains(address);
  };
  made.trusts_forwarded = [peers = std::move(*proxies)](const auto& address) {
    return peers.contains(address);
  };
  made.on_request = options.on_request;
  made.counters = options.counts.counters_;
  return made;
}

}  // namespace forward

ForwarderCounts::ForwarderCounts() : counters_(std::make_shared<forward::ProxyCounters>()) {}

ProxiedRequests ForwarderCounts::requests() const {
  const auto count = [this](forward::ProxyCount what) { return counters_->count(what); };
  using forward::ProxyCount;
  return {count(ProxyCount::served),      count(ProxyCount::forwarded),
          count(ProxyCount::misdirected), count(ProxyCount::waited),
          count(ProxyCount::refused),     count(ProxyCount::unowned),
          count(ProxyCount::unreached),   count(ProxyCount::failed)};
}

std::shared_ptr<prometheus::Collectable> ForwarderCounts::metrics(
    const Observable& observable) const {
  return std::make_shared<forward::ProxyMetrics>(observable, counters_);
}

Result<void> ForwarderOptions::check() const {
  if (!listen.empty()) {
    const auto parsed = parse_listen(listen);
    if (!parsed) return unfit_option("listen", parsed.error().message());
  }
  if (!application.empty()) {
    if (const auto fits = forward::application_of(*this); !fits) return fits.error();
  }
  if (const auto fits = forward::ForwarderMaker::gateway_options(*this); !fits) return fits.error();
  return {};
}

}  // namespace neliroute
