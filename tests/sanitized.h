// Whether this build has a sanitizer that makes tests many times slower (GCC and clang say so in
// ways of their own), and whether it is optimised.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // GCC
#define NELIROUTE_SANITIZED 1
#elif defined(__has_feature)  // clang
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define NELIROUTE_SANITIZED 1
#endif
#endif
#ifndef NELIROUTE_SANITIZED
#define NELIROUTE_SANITIZED 0
#endif

namespace neliroute {

inline constexpr bool kSanitized = NELIROUTE_SANITIZED != 0;

#ifdef __OPTIMIZE__
inline constexpr bool kOptimized = true;
#else
inline constexpr bool kOptimized = false;
#endif

}  // namespace neliroute
