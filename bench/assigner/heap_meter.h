// How many bytes of the heap something holds: what is allocated and freed while a HeapScope of its
// account is in force counts for it. The program's operator new and delete are replaced for this.
//
// Threads: each thread has a scope of its own.   Units: bytes, as malloc rounds them.
// Errors: std::bad_alloc, as ever. What is freed in another scope than it was allocated in makes
// both accounts wrong.
#pragma once

#include <cstdint>

namespace neliroute::scale {

class HeapScope {
 public:
  /// Scopes may be nested; the innermost account counts.
  explicit HeapScope(std::int64_t& account) noexcept;
  ~HeapScope();
  HeapScope(const HeapScope&) = delete;
  HeapScope& operator=(const HeapScope&) = delete;

 private:
  std::int64_t* outer_;
};

}  // namespace neliroute::scale
