// Owners of partitions as Envoy's endpoint discovery (EDS) has them: a DiscoveryResponse in JSON,
// which Envoy takes from a file and from a REST server alike.
//
// Each endpoint lists its partitions in the metadata `envoy.lb`, key `partition`, as strings: a
// subset load balancer compares types, too, and the field of a request is a string.
//
// Threads: pure functions, any.   Units: none.   Errors: no value.
#pragma once

#include <neliroute/observable.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "admin/envoy/socket_address.h"

namespace neliroute::admin {

/// The type of the resource, as Envoy names it.
inline constexpr std::string_view kEdsType =
    "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";
/// What the cluster is called if nobody says otherwise.
inline constexpr std::string_view kEdsCluster = "neliroute";

/// By partition. None: no owner was ever known.
using OwnerAddresses = std::vector<std::optional<SocketAddress>>;

/// Whose owners they are: the topic, the lane, and what gives a key its partition. Owners of
/// another origin are of no use.
[[nodiscard]] std::string origin_of(const ObservedFacts& facts);

/// Compact, and the same text for the same owners. The same assignment under each of the names. The
/// origin is the control plane's identifier.
[[nodiscard]] std::string eds_json(std::span<const std::string> clusters,
                                   const OwnerAddresses& owners, std::string_view version,
                                   std::string_view origin);

struct ReadOwners {
  OwnerAddresses owners;
  std::string origin;  ///< empty: it has none
};
/// The owners of the partitions below `partitions` in such a text. No value: it is not one, or not
/// of this cluster.
[[nodiscard]] std::optional<ReadOwners> read_eds_json(std::string_view text,
                                                      std::string_view cluster,
                                                      std::uint32_t partitions);

}  // namespace neliroute::admin
