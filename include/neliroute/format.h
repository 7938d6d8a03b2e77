// fmt formatters for the library's values. A program that includes this must have fmt.
//
// Threads: any.   Units: none.   Errors: none.
#pragma once

#include <fmt/format.h>

#include <neliroute/error.h>
#include <neliroute/ids.h>
#include <neliroute/route.h>
#include <string>
#include <string_view>

namespace neliroute::detail {

inline std::string text_of(ProcessId id) { return to_string(id); }
inline std::string text_of(const Epoch& epoch) { return to_string(epoch); }
inline std::string text_of(const Error& error) { return error.message(); }
inline std::string_view text_of(Verdict verdict) noexcept { return to_string(verdict); }

/// Takes fmt's format specifications for text.
template <class Value>
struct TextFormatter : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const Value& value, Context& context) const {
    return fmt::formatter<std::string_view>::format(text_of(value), context);
  }
};

}  // namespace neliroute::detail

template <class Tag, class Integer>
struct fmt::formatter<neliroute::StrongId<Tag, Integer>> : fmt::formatter<Integer> {
  template <class Context>
  auto format(neliroute::StrongId<Tag, Integer> id, Context& context) const {
    return fmt::formatter<Integer>::format(id.value(), context);
  }
};

template <>
struct fmt::formatter<neliroute::ProcessId>
    : neliroute::detail::TextFormatter<neliroute::ProcessId> {};

template <>
struct fmt::formatter<neliroute::Epoch> : neliroute::detail::TextFormatter<neliroute::Epoch> {};

template <>
struct fmt::formatter<neliroute::Verdict> : neliroute::detail::TextFormatter<neliroute::Verdict> {};

template <>
struct fmt::formatter<neliroute::Error> : neliroute::detail::TextFormatter<neliroute::Error> {};
