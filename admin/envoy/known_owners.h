// The last known owner of every partition, as addresses: what an Envoy is told.
//
// A partition keeps its owner when that dies or is suspected, until the next one is known: a
// request to a partition without an owner fails at once, and one that cannot be sent to a dead
// owner is tried again. Endpoints that name a host are resolved, and again from time to time. One
// that cannot be resolved is reported, and its partitions keep the owners that they had.
//
// Threads: one (the strand of the given executor).   Units: std::chrono.
// Errors: reported as text for an operator, once until the endpoint is of use.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <neliroute/observer.h>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "admin/envoy/eds_json.h"
#include "admin/envoy/socket_address.h"

namespace neliroute::admin {

/// Looks up a host's IP address, and calls back at most once, on the executor: with the address, or
/// with none and why.
using FoundIp = std::function<void(std::optional<std::string> ip, std::string why)>;
using FindIp = std::function<void(const std::string& host, FoundIp found)>;

/// As the system resolves names; IPv4 first, as most services listen there.
[[nodiscard]] FindIp system_names(boost::asio::any_io_executor executor);

struct NameTimes {
  milliseconds limit{2'000};   ///< for one lookup
  milliseconds again{5'000};   ///< after one that failed
  milliseconds fresh{30'000};  ///< after one that did not
};

struct KnownOwnersEvents {
  std::function<void()> changed;  ///< addresses() or settled()
  std::function<void(const std::string&)> report;
};

class KnownOwners {
 public:
  KnownOwners(const boost::asio::any_io_executor& executor, std::uint32_t partitions,
              KnownOwnersEvents events, FindIp find, NameTimes times = {});
  ~KnownOwners() { close(); }
  KnownOwners(const KnownOwners&) = delete;
  KnownOwners& operator=(const KnownOwners&) = delete;

  /// Of a time before this process; before anything else.
  void remember(OwnerAddresses owners) { addresses_ = std::move(owners); }
  /// Names are resolved from now on, and reports made: before, nobody is interested.
  void begin();
  void take(std::span<const ChangedRoute> routes);
  /// Nothing is resolved or called any more.
  void close();

  [[nodiscard]] const OwnerAddresses& addresses() const noexcept { return addresses_; }
  /// Whether every partition is known to have an owner or none, and each owner's name was looked
  /// up.
  [[nodiscard]] bool settled() const;
  /// Whether any owner is known that was not only remembered.
  [[nodiscard]] bool has_owner() const noexcept { return has_owner_; }
  /// Where that endpoint leads, if it is an address or was resolved.
  [[nodiscard]] std::optional<SocketAddress> address_of(std::string_view endpoint) const;
  /// Grows with each change of the addresses, also over restarts: microseconds since 1970.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Endpoint {
    EndpointText text;
    std::optional<SocketAddress> address;
    std::string trouble;  ///< why there is none; empty: none yet
    bool is_name = false;
    bool reported = false;
    std::uint64_t attempt = 0;  ///< under way; 0: none is
    Clock::time_point due = Clock::time_point::min();
  };
  using Endpoints = std::map<std::string, Endpoint, std::less<>>;
  struct Held {
    std::string endpoint;  ///< of the newest owner
    bool is_known = false;
  };

  Endpoint& listed(const std::string& text);
  void look_up(const std::string& text, Endpoint& endpoint);
  void found(const std::string& text, std::uint64_t attempt, std::optional<std::string> ip,
             std::string why);
  bool adopt(std::size_t partition);
  void report(const std::string& text, Endpoint& endpoint);
  void changed();
  void sweep();
  void forget_unused();

  boost::asio::steady_timer sweeper_;
  KnownOwnersEvents events_;
  FindIp find_;
  NameTimes times_;
  OwnerAddresses addresses_;
  std::vector<Held> partitions_;
  Endpoints endpoints_;
  std::size_t unknown_;
  std::size_t forget_at_ = 64;
  std::uint64_t attempts_ = 0;
  std::uint64_t version_;
  bool has_owner_ = false;
  bool begun_ = false;
  bool sweeping_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace neliroute::admin
