#include "admin/envoy/known_owners.h"

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <neliroute/clock.h>
#include <set>
#include <utility>

namespace neliroute::admin {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

std::uint64_t unix_now() {
  return static_cast<std::uint64_t>(wall_now().time_since_epoch().count());
}

}  // namespace

FindIp system_names(boost::asio::any_io_executor executor) {
  return [executor = std::move(executor)](const std::string& host, FoundIp found) {
    const auto resolver = std::make_shared<tcp::resolver>(executor);
    resolver->async_resolve(
        host, "",
        [resolver, found = std::move(found)](const error_code& error,
                                             const tcp::resolver::results_type& results) {
          if (error || results.empty()) return found(std::nullopt, error.message());
          const auto v4 = std::find_if(results.begin(), results.end(), [](const auto& one) {
            return one.endpoint().address().is_v4();
          });
          const auto& first = v4 == results.end() ? *results.begin() : *v4;
          found(ip_of(first.endpoint().address().to_string()),
                "its address means something on this machine only");
        });
  };
}

KnownOwners::KnownOwners(const boost::asio::any_io_executor& executor, std::uint32_t partitions,
                         KnownOwnersEvents events, FindIp find, NameTimes times)
    : sweeper_(executor),
      events_(std::move(events)),
      find_(std::move(find)),
      times_(times),
      addresses_(partitions),
      partitions_(partitions),
      unknown_(partitions),
      version_(unix_now()) {}

void KnownOwners::begin() {
  if (std::exchange(begun_, true)) return;
  for (auto& [text, endpoint] : endpoints_) {
    if (!endpoint.trouble.empty()) report(text, endpoint);
    if (endpoint.is_name) look_up(text, endpoint);
  }
}

void KnownOwners::close() {
  *alive_ = false;
  events_ = {};
  sweeper_.cancel();
}

void KnownOwners::take(std::span<const ChangedRoute> routes) {
  const bool was_settled = settled();
  bool moved = false;
  for (const ChangedRoute& one : routes) {
    Held& partition = partitions_[one.partition.value()];
    const ObservedRoute& route = one.route;
    if (route.verdict != Verdict::unknown && !std::exchange(partition.is_known, true)) --unknown_;
    if (!route.owner) continue;  // it keeps the one that it had
    const std::string& endpoint = route.owner->info.endpoint;
    // The first one may be empty.
    if (partition.endpoint == endpoint && endpoints_.contains(endpoint)) continue;
    partition.endpoint = endpoint;
    listed(endpoint);
    moved = adopt(one.partition.value()) || moved;
  }
  if (endpoints_.size() > forget_at_) forget_unused();
  if (moved || settled() != was_settled) changed();
}

KnownOwners::Endpoint& KnownOwners::listed(const std::string& text) {
  const auto [at, added] = endpoints_.try_emplace(text);
  Endpoint& endpoint = at->second;
  if (!added) return endpoint;
  const auto parsed = parse_endpoint(text);
  if (!parsed) {
    endpoint.trouble = parsed.error().message();
    report(text, endpoint);
    return endpoint;
  }
  endpoint.text = *parsed;
  if (const auto ip = ip_of(parsed->host)) {
    endpoint.address = SocketAddress{*ip, parsed->port};
    return endpoint;
  }
  endpoint.is_name = true;
  if (begun_) look_up(text, endpoint);
  return endpoint;
}

// A resolver that never answers must hold up nothing for longer than the limit.
void KnownOwners::look_up(const std::string& text, Endpoint& endpoint) {
  endpoint.attempt = ++attempts_;
  const auto answer = [this, alive = alive_, text, attempt = endpoint.attempt](
                          std::optional<std::string> ip, std::string why) {
    if (*alive) found(text, attempt, std::move(ip), std::move(why));
  };
  const auto limit = std::make_shared<boost::asio::steady_timer>(sweeper_.get_executor());
  limit->expires_after(times_.limit);
  limit->async_wait([limit, answer, bound = times_.limit](const error_code& error) {
    if (error) return;
    answer(std::nullopt,
           "its host's name was not resolved within " + std::to_string(bound.count()) + " ms");
  });
  find_(endpoint.text.host, [limit, answer](std::optional<std::string> ip, std::string why) {
    limit->cancel();
    answer(std::move(ip), std::move(why));
  });
  sweep();
}

void KnownOwners::found(const std::string& text, std::uint64_t attempt,
                        std::optional<std::string> ip, std::string why) {
  const auto at = endpoints_.find(text);
  if (at == endpoints_.end() || at->second.attempt != attempt) return;  // too late
  Endpoint& endpoint = at->second;
  const bool was_settled = settled();
  endpoint.attempt = 0;
  endpoint.due = Clock::now() + (ip ? times_.fresh : times_.again);
  bool moved = false;
  if (ip) {
    endpoint.address = SocketAddress{std::move(*ip), endpoint.text.port};
    endpoint.trouble.clear();
    endpoint.reported = false;
    for (std::size_t p = 0; p < partitions_.size(); ++p) {
      if (partitions_[p].endpoint == text) moved = adopt(p) || moved;
    }
  } else {
    endpoint.trouble = std::move(why);
    report(text, endpoint);
  }
  if (moved || settled() != was_settled) changed();
}

bool KnownOwners::adopt(std::size_t partition) {
  const auto& address = endpoints_.find(partitions_[partition].endpoint)->second.address;
  if (!address) return false;
  const bool first = !std::exchange(has_owner_, true);
  if (addresses_[partition] == address) return first;
  addresses_[partition] = address;
  return true;
}

void KnownOwners::report(const std::string& text, Endpoint& endpoint) {
  if (!begun_ || !events_.report || std::exchange(endpoint.reported, true)) return;
  events_.report("the endpoint \"" + text + "\" is of no use to Envoy: " + endpoint.trouble +
                 "; give its process IP:PORT, or a name that resolves here. Until then its "
                 "partitions stay with their owners of before");
}

void KnownOwners::changed() {
  version_ = std::max(version_ + 1, unix_now());
  if (events_.changed) events_.changed();
}

bool KnownOwners::settled() const {
  return unknown_ == 0 && std::none_of(endpoints_.begin(), endpoints_.end(), [](const auto& one) {
           const Endpoint& endpoint = one.second;
           return endpoint.is_name && !endpoint.address && endpoint.trouble.empty();
         });
}

std::optional<SocketAddress> KnownOwners::address_of(std::string_view endpoint) const {
  const auto known = endpoints_.find(endpoint);
  if (known != endpoints_.end()) return known->second.address;
  // It may be newer than what was taken.
  const auto parsed = parse_endpoint(endpoint);
  const auto ip = parsed ? ip_of(parsed->host) : std::nullopt;
  if (!ip) return std::nullopt;
  return SocketAddress{*ip, parsed->port};
}

// The address behind a name may change while its owner stays.
void KnownOwners::sweep() {
  if (std::exchange(sweeping_, true)) return;
  sweeper_.expires_after(times_.again);
  sweeper_.async_wait([this, alive = alive_](const error_code& error) {
    if (error || !*alive) return;
    sweeping_ = false;
    forget_unused();
    const auto now = Clock::now();
    bool names = false;
    for (auto& [text, endpoint] : endpoints_) {
      names = names || endpoint.is_name;
      if (endpoint.is_name && endpoint.attempt == 0 && now >= endpoint.due) look_up(text, endpoint);
    }
    if (names) sweep();
  });
}

void KnownOwners::forget_unused() {
  std::set<std::string_view> used;
  for (const Held& partition : partitions_) used.insert(partition.endpoint);
  std::erase_if(endpoints_, [&](const auto& one) { return !used.contains(one.first); });
  forget_at_ = std::max<std::size_t>(64, 2 * endpoints_.size());
}

}  // namespace neliroute::admin
