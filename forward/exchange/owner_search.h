// Who takes a request: the owner of its key, and a connection to it. Waits for one where there is
// none, or none that can be reached, and takes a detour where others may reach it.
//
// Threads: one (an executor of its own).   Units: std::chrono.
// Errors: a Refusal, which the client is told.
#pragma once

#include <neliroute/ids.h>

#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "net/await.h"
#include "forward/exchange/proxy.h"

namespace neliroute::forward {

class OwnerSearch {
 public:
  struct Refusal {
    ProxyCount count = ProxyCount::refused;
    unsigned status = 503;
    std::string text;
    Direction owner{};  ///< 421: of the slot, as far as is known
  };
  using Result = std::variant<UpstreamPtr, Refusal>;

  OwnerSearch(Proxy& proxy, const Visit& visit, const Allowance& allowance);

  /// Who owns it now.
  [[nodiscard]] Direction look();
  /// A connection to it that was kept: there mostly is one. `once`: the request must not be sent
  /// twice.
  [[nodiscard]] UpstreamPtr kept(const Direction& direction, bool once);
  /// Where there was none. `direction`: what look() said; then, to whom the connection is. `whole`:
  /// the request can be sent twice, by a detour. Throws Cancelled.
  [[nodiscard]] Awaitable<Result> next(Direction& direction, bool once, bool whole);
  void cancel();

  /// Who was found says that it does not own the slot.
  void note_misdirected(const Direction& direction);
  void note_answered(const Direction& direction);
  /// Where it was to be sent again already, no connection that was kept is trusted.
  void note_resent() { ++resends_; }
  [[nodiscard]] std::uint32_t resends() const noexcept { return resends_; }
  /// Nobody has served it yet, and why.
  [[nodiscard]] Refusal nobody() const;
  /// The owner that was named last serves on while its log is silent.
  [[nodiscard]] bool stale() const noexcept { return stale_; }

 private:
  struct Wait;
  enum class Lack : std::uint8_t { owner, owner_that_takes_it, way_to_owner, way_to_application };
  using Over = std::optional<Refusal>;  ///< no value: look again

  [[nodiscard]] Awaitable<Over> await_owner(Epoch after, milliseconds limit);
  [[nodiscard]] Awaitable<boost::system::error_code> await_route(Epoch after, milliseconds limit);
  [[nodiscard]] Over closed();
  [[nodiscard]] Awaitable<Over> try_again(bool own);
  [[nodiscard]] Awaitable<UpstreamPtr> connect(const Direction& direction, bool once);
  [[nodiscard]] UpstreamPtr failed(const Direction& direction, boost::system::error_code error);
  [[nodiscard]] bool take_detour(Direction& direction, bool whole);
  void note_failure(const Epoch& epoch);
  void note_unreached(const Direction& direction, std::optional<ConnectFault> fault);
  [[nodiscard]] static Refusal left(const Direction& direction);
  [[nodiscard]] static Refusal no_way(const Direction& direction);
  void check() const {
    if (cancelled_) throw Cancelled{};
  }

  Proxy& proxy_;
  const Visit visit_;
  const Allowance& allowance_;
  Epoch failed_ = kNoEpoch;  ///< whose owner could not be reached last
  std::uint32_t failures_ = 0;
  std::uint32_t resends_ = 0;
  Lack lack_ = Lack::owner;
  std::optional<ConnectFault> fault_;  ///< of the last connection that could not be made
  bool stale_ = false;
  std::optional<std::vector<std::string>> detours_;  ///< that are left; no value: none was taken
  std::string around_;                               ///< whom, as Caution has it
  Upstreams::Attempt connecting_;
  boost::asio::steady_timer limit_;
  std::shared_ptr<Wait> wait_;  ///< that is under way
  bool cancelled_ = false;
};

}  // namespace neliroute::forward
