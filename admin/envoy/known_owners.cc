#include "admin/envoy/known_owners.h"

#include <neliroute/clock.h>

#include <algorithm>
#include <set>
#include <utility>

namespace neliroute::admin {
namespace {

using boost::system::error_code;

std::uint64_t unix_now() {
  return static_cast<std::uint64_t>(wall_now().time_since_epoch().count());
}

// IPv4 first, as most services listen there.
const boost::asio::ip::address& preferred(const HostNames::Addresses& addresses) {
  const auto v4 = std::find_if(addresses.begin(), addresses.end(),
                               [](const auto& address) { return address.is_v4(); });
  return v4 == addresses.end() ? addresses.front() : *v4;
}

}  // namespace

// Nothing is kept here: a failure is reported at once, and KnownOwners keeps what it had.
FindHost find_by_system(boost::asio::any_io_executor executor) {
  const auto names = std::make_shared<HostNames>(std::move(executor),
                                                 HostNameLimits{.kept = milliseconds{0}});
  return [names](const std::string& host, HostNames::Found found) {
    names->find(host, std::move(found));
  };
}

KnownOwners::KnownOwners(const boost::asio::any_io_executor& executor, std::uint32_t partitions,
                         KnownOwnersEvents events, FindHost find, OwnerTimes times)
    : sweeper_(executor),
      events_(std::move(events)),
      find_(std::move(find)),
      times_(times),
      addresses_(partitions),
      partitions_(partitions),
      unknown_(partitions),
      version_(unix_now()) {}

void KnownOwners::remember(OwnerAddresses owners) {
  addresses_ = std::move(owners);
  for (std::size_t p = 0; p < partitions_.size(); ++p) {
    if (addresses_[p] && !std::exchange(partitions_[p].is_known, true)) --unknown_;
  }
}

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
  for (auto& [text, endpoint] : endpoints_) endpoint.limit.reset();
  find_ = nullptr;
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

// A resolver that never answers must hold up nothing for longer than the limit; and it is not asked
// again meanwhile, or those questions would hold up others.
void KnownOwners::look_up(const std::string& text, Endpoint& endpoint) {
  if (!*alive_) return;
  endpoint.limit = std::make_unique<boost::asio::steady_timer>(sweeper_.get_executor());
  endpoint.limit->expires_after(times_.limit);
  endpoint.limit->async_wait([this, alive = alive_, text](const error_code& error) {
    if (error || !*alive) return;
    const auto at = endpoints_.find(text);
    if (at == endpoints_.end() || !at->second.looking) return;
    if (Clock::now() < at->second.limit->expiry()) return;  // this is of the lookup before
    fail(text, at->second,
         "its host's name was not resolved within " + std::to_string(times_.limit.count()) + " ms");
  });
  endpoint.looking = true;
  find_(endpoint.text.host, [this, text](const error_code& error, const auto& addresses) {
    found(text, error, addresses);
  });
  sweep();
}

void KnownOwners::found(const std::string& text, const error_code& error,
                        const HostNames::Addresses& addresses) {
  const auto at = endpoints_.find(text);
  if (at == endpoints_.end()) return;  // nobody uses it any more
  Endpoint& endpoint = at->second;
  endpoint.looking = false;
  endpoint.limit.reset();
  auto ip = error ? std::nullopt : ip_of(preferred(addresses).to_string());
  endpoint.due = Clock::now() + (ip ? times_.fresh : times_.again);
  if (error) return fail(text, endpoint, error.message());
  if (!ip) return fail(text, endpoint, "its address means something on this machine only");
  const bool was_settled = settled();
  endpoint.address = SocketAddress{std::move(*ip), endpoint.text.port};
  endpoint.trouble.clear();
  endpoint.reported = false;
  bool moved = false;
  for (std::size_t p = 0; p < partitions_.size(); ++p) {
    if (partitions_[p].endpoint == text) moved = adopt(p) || moved;
  }
  if (moved || settled() != was_settled) changed();
}

void KnownOwners::fail(const std::string& text, Endpoint& endpoint, std::string why) {
  const bool was_settled = settled();
  endpoint.trouble = std::move(why);
  report(text, endpoint);
  if (settled() != was_settled) changed();
}

bool KnownOwners::adopt(std::size_t partition) {
  const auto& address = endpoints_.find(partitions_[partition].endpoint)->second.address;
  if (!address) return false;
  const bool first = !std::exchange(has_owner_, true);
  auto& told = addresses_[partition];
  if (told == address) return first;
  partitions_[partition].former = std::exchange(told, address);
  partitions_[partition].moved = Clock::now();
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

std::optional<SocketAddress> KnownOwners::former_of(Partition partition,
                                                    const SocketAddress& owner) const {
  const auto& told = addresses_[partition.value()];
  if (told && *told != owner) return told;  // the owner is newer than what was taken
  const Held& held = partitions_[partition.value()];
  if (!held.former || Clock::now() - held.moved >= times_.former) return std::nullopt;
  return held.former;
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
      if (endpoint.is_name && !endpoint.looking && now >= endpoint.due) look_up(text, endpoint);
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
