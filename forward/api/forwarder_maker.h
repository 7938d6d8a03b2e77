// A Forwarder that gets its directions from anywhere: what both Forwarder::bind() come to, and
// tests that have no broker.
//
// Threads: any.   Units: none.   Errors: as Forwarder::bind().
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <neliroute/error.h>
#include <neliroute/forwarder.h>
#include <neliroute/slot_space.h>

#include "forward/directions.h"
#include "forward/gateway.h"

namespace neliroute::forward {

struct ForwarderMaker {
  /// `options`: with `listen`, and with `trusted_peers`, if anybody is to be trusted. No
  /// `handover_grace`: no hand-over waits for requests.
  [[nodiscard]] static Result<std::unique_ptr<Forwarder>> bind(
      boost::asio::any_io_executor executor, std::unique_ptr<Directions> directions,
      const SlotSpace& slots, const ForwarderOptions& options,
      std::optional<milliseconds> handover_grace = std::nullopt);
  /// Of checked options: what a gateway has of them. It does not know the slots, nor where to
  /// listen.
  [[nodiscard]] static Result<GatewayOptions> gateway_options(const ForwarderOptions& options);
};

/// HOST:PORT, as connections are made to it.
[[nodiscard]] Result<std::string> application_of(const ForwarderOptions& options);

}  // namespace neliroute::forward
