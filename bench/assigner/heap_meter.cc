#include "bench/assigner/heap_meter.h"

#include <malloc.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

namespace neliroute::scale {
namespace {

thread_local std::int64_t* account_in_force = nullptr;

}  // namespace

HeapScope::HeapScope(std::int64_t& account) noexcept
    : outer_(std::exchange(account_in_force, &account)) {}

HeapScope::~HeapScope() { account_in_force = outer_; }

}  // namespace neliroute::scale

// Those for arrays, and those with a size, call these two.
void* operator new(std::size_t bytes) {
  void* const made = std::malloc(bytes != 0 ? bytes : 1);
  if (made == nullptr) throw std::bad_alloc{};
  if (std::int64_t* const account = neliroute::scale::account_in_force) {
    *account += static_cast<std::int64_t>(malloc_usable_size(made));
  }
  return made;
}

void operator delete(void* freed) noexcept {
  if (freed == nullptr) return;
  if (std::int64_t* const account = neliroute::scale::account_in_force) {
    *account -= static_cast<std::int64_t>(malloc_usable_size(freed));
  }
  std::free(freed);
}

void operator delete(void* freed, std::size_t) noexcept { operator delete(freed); }
