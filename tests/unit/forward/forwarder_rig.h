// A Forwarder whose directions are what a test says, between callers and owners of one io_context.
//
// Threads: one, that of the test; it runs the io_context.   Units: bytes.   Errors: none.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <neliroute/forwarder.h>
#include <optional>
#include <string>
#include <utility>

#include "forward/api/forwarder_maker.h"
#include "router/text/listen_address.h"
#include "tests/unit/forward/gateway_rig.h"

namespace neliroute::testing_forward {

/// Asks those of a test, until it ends.
class BorrowedDirections : public forward::Directions {
 public:
  BorrowedDirections(ToldDirections& told, std::shared_ptr<bool> ended)
      : told_(told), ended_(std::move(ended)) {}
  ~BorrowedDirections() override { *ended_ = true; }
  BorrowedDirections(const BorrowedDirections&) = delete;
  BorrowedDirections& operator=(const BorrowedDirections&) = delete;

  [[nodiscard]] forward::Direction direct(const forward::Visit& visit) override {
    return told_.direct(visit);
  }
  void wait(Slot slot, const Epoch& after, milliseconds limit, RouteHandler handler) override {
    told_.wait(slot, after, limit, std::move(handler));
  }
  void suspect(std::string_view endpoint) override { told_.suspect(endpoint); }
  void reached(std::string_view endpoint) override { told_.reached(endpoint); }
  void redirected(Slot slot, std::string_view endpoint, const Epoch& epoch) override {
    told_.redirected(slot, endpoint, epoch);
  }

 private:
  ToldDirections& told_;
  std::shared_ptr<bool> ended_;
};

/// Of key X-Key, at any free port.
[[nodiscard]] inline ForwarderOptions usual_options() {
  ForwarderOptions made;
  made.listen = "127.0.0.1:0";
  made.key = "header:X-Key";
  return made;
}

struct ForwarderRig {
  explicit ForwarderRig(const ForwarderOptions& options = usual_options())
      : ForwarderRig(options, std::nullopt) {}
  ForwarderRig(const ForwarderOptions& options,
               std::optional<boost::asio::any_io_executor> executor)
      : forwarder(forward::ForwarderMaker::bind(
                      executor.value_or(io.get_executor()),
                      std::make_unique<BorrowedDirections>(directions, asks_no_more),
                      SlotSpace{SlotCount{64}}, options)
                      .value()) {}

  /// Runs until it holds; false: it never did within 30 s.
  [[nodiscard]] bool run_until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{30};
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return Caller::print_all(), false;
      io.restart();
      io.run_one_for(std::chrono::milliseconds{20});
    }
    return true;
  }
  [[nodiscard]] Caller call() { return Caller(io, *resolve_listen(forwarder->address())); }
  [[nodiscard]] bool answered(const Caller& caller) {
    return run_until(has_answers(caller));
  }
  /// How it ended; none: not yet.
  [[nodiscard]] std::shared_ptr<std::optional<boost::system::error_code>> drain(
      milliseconds bound) {
    auto told = std::make_shared<std::optional<boost::system::error_code>>();
    forwarder->async_drain(bound, [told](boost::system::error_code error) { *told = error; });
    return told;
  }

  std::shared_ptr<bool> asks_no_more = std::make_shared<bool>(false);
  boost::asio::io_context io;
  ToldDirections directions{io};
  std::unique_ptr<Forwarder> forwarder;
};

}  // namespace neliroute::testing_forward
