// How much memory requests may take that have not come whole, over all connections: headers, and
// bodies that are kept to be sent again. Where it is too much, the client goes that has sent
// nothing for longest; if none is waited for, the one that needs more is refused.
//
// Threads: one (an executor of its own).   Units: bytes.   Errors: none.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <utility>

namespace neliroute::forward {

class ByteBudget {
 public:
  explicit ByteBudget(std::size_t most) : most_(most) {}
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;
  [[nodiscard]] std::size_t used() const noexcept { return used_; }

  /// Of one connection.
  class Share {
   public:
    /// `close`: the client has to go.
    Share(ByteBudget& budget, std::function<void()> close)
        : budget_(budget), close_(std::move(close)) {}
    ~Share() { release(); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    /// Takes so many in place of those that it had. `awaited`: until its client sends more. False:
    /// there are not so many, and it has none now.
    [[nodiscard]] bool take(std::size_t bytes, bool awaited) {
      release();
      if (!budget_.make_room(bytes)) return false;
      bytes_ = bytes;
      budget_.used_ += bytes;
      awaited_ = awaited;
      if (awaited) at_ = budget_.awaited_.insert(budget_.awaited_.end(), this);
      return true;
    }
    void release() {
      budget_.used_ -= std::exchange(bytes_, 0);
      if (std::exchange(awaited_, false)) budget_.awaited_.erase(at_);
    }

   private:
    friend class ByteBudget;
    ByteBudget& budget_;
    std::function<void()> close_;
    std::size_t bytes_ = 0;
    bool awaited_ = false;
    std::list<Share*>::iterator at_;
  };

 private:
  [[nodiscard]] bool make_room(std::size_t bytes) {
    while (used_ + bytes > most_ && !awaited_.empty()) {
      Share& longest = *awaited_.front();
      longest.release();
      longest.close_();  // which may end it
    }
    return used_ + bytes <= most_;
  }

  const std::size_t most_;
  std::size_t used_ = 0;
  std::list<Share*> awaited_;  ///< whose clients have sent nothing for longest first
};

}  // namespace neliroute::forward
