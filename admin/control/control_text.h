// What a control call says: its body, and the fields by which it is trusted.
//
// Threads: pure functions, any.   Units: none.
// Errors: a Refusal, which says what was wrong, what was expected and what to do.
#pragma once

#include <cstdint>
#include <neliroute/ids.h>
#include <neliroute/slot_space.h>
#include <optional>
#include <string_view>
#include <variant>

#include "admin/request.h"

namespace neliroute::admin {

/// The question of POST /v1/admit, about a request that came to a program.
struct AdmitQuestion {
  Slot slot;
  Epoch epoch = kNoEpoch;  ///< that sent the request there
  std::uint32_t hops = 0;
};
[[nodiscard]] std::variant<AdmitQuestion, Refusal> read_admit(std::string_view body,
                                                              const SlotSpace& space);

/// What POST /v1/done ends.
struct Ended {
  bool step = false;  ///< of /v1/steps; else a work that POST /v1/admit began
  std::uint64_t number = 0;
};
[[nodiscard]] std::variant<Ended, Refusal> read_done(std::string_view body);

/// POST /v1/drain takes nothing.
[[nodiscard]] std::optional<Refusal> read_drain(std::string_view body);

/// Whether the field Content-Type says JSON, with whatever parameters.
[[nodiscard]] bool is_json(std::string_view type);

/// Whether the field Origin names the host that was asked. No web page of another host may act
/// here, nor may a file (`null`).
[[nodiscard]] bool is_own_page(std::string_view origin, std::string_view host);

/// Whether the field Authorization is `Bearer` and this token. How long it takes depends on the
/// field's length alone.
[[nodiscard]] bool bears(std::string_view authorization, std::string_view token) noexcept;

}  // namespace neliroute::admin
