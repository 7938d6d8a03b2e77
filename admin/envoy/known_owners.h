// The last known owner of every partition, as addresses: what an Envoy is told.
//
// A partition keeps its owner when that dies or is suspected, until the next one is known: a
// request to a partition without an owner fails at once, and one that cannot be sent to a dead
// owner is tried again. Endpoints that name a host are resolved, and again from time to time. One
// that cannot be resolved is reported, and its partitions keep the owners that they had; an answer
// that comes late counts all the same.
//
// Threads: one (the strand of the given executor).   Units: std::chrono.
// Errors: reported as text for an operator, once until the endpoint is of use.
#pragma once

#include <neliroute/observer.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "admin/envoy/eds_json.h"
#include "admin/envoy/socket_address.h"
#include "base/host_names.h"

namespace neliroute::admin {

struct OwnerTimes {
  milliseconds limit{2'000};    ///< for one lookup, until it is reported and not waited for
  milliseconds again{5'000};    ///< after one that failed
  milliseconds fresh{30'000};   ///< after one that did not
  milliseconds former{10'000};  ///< an owner is told of beside its successor
};

struct KnownOwnersEvents {
  std::function<void()> changed;  ///< addresses() or settled()
  std::function<void(const std::string&)> report;
};

/// As HostNames::find(); nothing is called once its last copy is destroyed.
using FindHost = std::function<void(const std::string& host, HostNames::Found found)>;

/// What KnownOwners calls but in tests.
[[nodiscard]] FindHost find_by_system(boost::asio::any_io_executor executor);

class KnownOwners {
 public:
  KnownOwners(const boost::asio::any_io_executor& executor, std::uint32_t partitions,
              KnownOwnersEvents events, FindHost find, OwnerTimes times = {});
  ~KnownOwners() { close(); }
  KnownOwners(const KnownOwners&) = delete;
  KnownOwners& operator=(const KnownOwners&) = delete;

  /// Of a time before this process; before anything else. Partitions in it are not unknown.
  void remember(OwnerAddresses owners);
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
  /// Whom an Envoy that asks from time to time may still take for the owner of a partition that is
  /// at that address by now. None: the last move was longer ago.
  [[nodiscard]] std::optional<SocketAddress> former_of(Partition partition,
                                                       const SocketAddress& owner) const;
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
    bool looking = false;
    std::unique_ptr<boost::asio::steady_timer> limit;
    Clock::time_point due = Clock::time_point::min();
  };
  using Endpoints = std::map<std::string, Endpoint, std::less<>>;
  struct Held {
    std::string endpoint;  ///< of the newest owner
    bool is_known = false;
    std::optional<SocketAddress> former;  ///< where it was before
    Clock::time_point moved = Clock::time_point::min();
  };

  Endpoint& listed(const std::string& text);
  void look_up(const std::string& text, Endpoint& endpoint);
  void found(const std::string& text, const boost::system::error_code& error,
             const HostNames::Addresses& addresses);
  void fail(const std::string& text, Endpoint& endpoint, std::string why);
  bool adopt(std::size_t partition);
  void report(const std::string& text, Endpoint& endpoint);
  void changed();
  void sweep();
  void forget_unused();

  boost::asio::steady_timer sweeper_;
  KnownOwnersEvents events_;
  FindHost find_;
  OwnerTimes times_;
  OwnerAddresses addresses_;
  std::vector<Held> partitions_;
  Endpoints endpoints_;
  std::size_t unknown_;
  std::size_t forget_at_ = 64;
  std::uint64_t version_;
  bool has_owner_ = false;
  bool begun_ = false;
  bool sweeping_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace neliroute::admin
