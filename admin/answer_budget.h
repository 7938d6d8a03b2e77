// How much memory is taken by answers that clients have requested and not read yet.
//
// Requests within a moment share one answer, so each text counts once. A client that keeps
// requesting new ones and reads none of them gets a 503.
//
// Threads: one (the server's strand).   Units: bytes.   Errors: none.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>

#include "admin/site.h"

namespace neliroute::admin {

class AnswerBudget {
 public:
  explicit AnswerBudget(std::size_t most) : state_(std::make_shared<State>(most)) {}

  /// Counts the text for as long as the returned handle lives; null: it is too much.
  using Held = std::shared_ptr<const void>;
  [[nodiscard]] Held hold(const Text& text) {
    std::weak_ptr<const void>& known = state_->held[text.get()];
    if (Held held = known.lock()) return held;
    if (text->size() > state_->most - state_->bytes) {
      state_->held.erase(text.get());
      return nullptr;
    }
    state_->bytes += text->size();
    Held held(text.get(), [state = state_, text](const void*) {
      state->bytes -= text->size();
      state->held.erase(text.get());
    });
    known = held;
    return held;
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return state_->bytes; }

 private:
  struct State {
    explicit State(std::size_t bytes_max) : most(bytes_max) {}
    std::size_t most;
    std::size_t bytes = 0;
    std::unordered_map<const void*, std::weak_ptr<const void>> held;
  };
  std::shared_ptr<State> state_;
};

}  // namespace neliroute::admin
