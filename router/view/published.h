// One value that a writer replaces and any thread reads, for as long as it likes.
//
// A reader takes a reference with one atomic addition: the pointer and the number of references
// taken share a word, so that nobody can free what a reader is about to take. A replaced value that
// nobody reads any more is freed by the writer at its next publish(), never by a reader: free() may
// block. The writer may take it back instead, to fill it again.
//
// Threads: publish(), reclaim(): one writer. read() and ending a Reading: any thread, wait-free.
// Units: none.   Errors: none.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <neliroute/detail/assert.h>
#include <optional>
#include <utility>
#include <vector>

namespace neliroute {

template <class Value>
class Published {
  struct Node;

 public:
  /// Keeps one value alive. End it before the Published that it came from is destroyed.
  class Reading {
   public:
    Reading() = default;
    Reading(Reading&& other) noexcept
        : from_(other.from_), node_(std::exchange(other.node_, nullptr)) {}
    Reading& operator=(Reading&& other) noexcept {
      std::swap(from_, other.from_);
      std::swap(node_, other.node_);
      return *this;
    }
    ~Reading() {
      if (node_) from_->give_up(node_, 1);
    }
    [[nodiscard]] explicit operator bool() const noexcept { return node_ != nullptr; }
    [[nodiscard]] const Value& operator*() const noexcept { return node_->value; }
    [[nodiscard]] const Value* operator->() const noexcept { return &node_->value; }

   private:
    friend class Published;
    Reading(Published* from, Node* node) noexcept : from_(from), node_(node) {}
    Published* from_ = nullptr;
    Node* node_ = nullptr;
  };

  explicit Published(Value first) : word_(pack(new Node(std::move(first)))) {}
  Published(const Published&) = delete;
  Published& operator=(const Published&) = delete;
  /// No Reading is left.
  ~Published() {
    retire_current(0);
    free_retired();
    NELIROUTE_ASSERT(chains_.empty(), "a Reading is being given up while its Published goes");
  }

  void publish(Value value) {
    auto made = std::make_unique<Node>(std::move(value));
    free_retired();
    retire_current(pack(made.release()));
  }

  /// A replaced value that nobody reads any more; nullopt if there is none yet.
  [[nodiscard]] std::optional<Value> reclaim() {
    std::optional<Value> spare;
    free_retired(&spare);
    return spare;
  }

  [[nodiscard]] Reading read() noexcept {
    const std::uint64_t word = word_.fetch_add(1, std::memory_order_acq_rel);
    Node* node = node_of(word);
    if ((word & kTakenMask) >= kTakenHigh) settle(node);
    return Reading(this, node);
  }

 private:
  // While published, a node's count is kHeld minus the readings that ended; the readings taken are
  // counted in the word, and added when the node is replaced. So it is 0 only when nobody holds it.
  static constexpr std::int64_t kHeld = std::int64_t{1} << 48;
  static constexpr unsigned kTakenBits = 16;
  static constexpr std::uint64_t kTakenMask = (1u << kTakenBits) - 1;
  static constexpr std::uint64_t kTakenHigh = 1u << (kTakenBits - 1);

  struct Node {
    explicit Node(Value v) : value(std::move(v)) {}
    Value value;  ///< changed only by its writer, and only when nobody else has it
    std::atomic<std::int64_t> count{kHeld};
    std::atomic<Node*> next{nullptr};  ///< among the retired
  };

  static std::uint64_t pack(Node* node) {
    const auto address = reinterpret_cast<std::uintptr_t>(node);
    NELIROUTE_ASSERT(address >> (64 - kTakenBits) == 0, "an address of more than 48 bits");
    return static_cast<std::uint64_t>(address) << kTakenBits;
  }
  static Node* node_of(std::uint64_t word) noexcept {
    return reinterpret_cast<Node*>(static_cast<std::uintptr_t>(word >> kTakenBits));
  }

  void retire_current(std::uint64_t next) {
    const std::uint64_t old = word_.exchange(next, std::memory_order_acq_rel);
    give_up(node_of(old), kHeld - static_cast<std::int64_t>(old & kTakenMask));
  }

  void give_up(Node* node, std::int64_t references) noexcept {
    if (node->count.fetch_sub(references, std::memory_order_acq_rel) != references) return;
    // An exchange, not a loop: a reader must not wait for others that push.
    node->next.store(unlinked(), std::memory_order_relaxed);
    Node* before = retired_.exchange(node, std::memory_order_acq_rel);
    node->next.store(before, std::memory_order_release);
  }

  // Moves what was taken from the word to the node, before the word's 16 bits overflow. One try: a
  // thread that interferes tries next.
  void settle(Node* node) noexcept {
    std::uint64_t word = word_.load(std::memory_order_acquire);
    const std::uint64_t taken = word & kTakenMask;
    if (node_of(word) != node || taken < kTakenHigh) return;
    node->count.fetch_add(static_cast<std::int64_t>(taken), std::memory_order_acq_rel);
    if (word_.compare_exchange_strong(word, word - taken, std::memory_order_acq_rel)) return;
    give_up(node, static_cast<std::int64_t>(taken));
  }

  void free_retired(std::optional<Value>* spare = nullptr) {
    if (Node* list = retired_.exchange(nullptr, std::memory_order_acq_rel)) {
      chains_.push_back(list);
    }
    std::erase_if(chains_, [this, spare](Node*& node) {
      while (node) {
        Node* next = node->next.load(std::memory_order_acquire);
        if (next == unlinked()) return false;  // the retiring thread has not linked it yet
        if (spare && *spare) return false;  // one at a time
        if (spare) spare->emplace(std::move(node->value));
        delete node;
        node = next;
      }
      return true;
    });
  }

  Node* unlinked() noexcept { return reinterpret_cast<Node*>(&retired_); }

  std::atomic<std::uint64_t> word_;
  std::atomic<Node*> retired_{nullptr};
  std::vector<Node*> chains_;  ///< the writer's: retired, and not freed yet
};

}  // namespace neliroute
