// Numbers, texts and entries as bytes, for all that voters and their clients send and store.
//
// Little endian. What is read back is what was written and nothing else.
//
// Threads: values.   Units: bytes.
// Errors: what cannot be ends the reading; writing what is above the limits aborts.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <neliroute/detail/assert.h>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "quorum/encoding.h"

namespace neliroute::quorum {

[[nodiscard]] inline bool are_words(std::string_view text) {
  return std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

class Writer {
 public:
  explicit Writer(std::size_t about) { bytes_.reserve(about); }

  template <std::integral T>
  void number(T value) {
    auto left = static_cast<std::make_unsigned_t<T>>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bytes_.push_back(static_cast<char>(left & 0xff));
      left = static_cast<decltype(left)>(std::uint64_t{left} >> 8);
    }
  }
  template <class Tag, class T>
  void number(StrongId<Tag, T> id) {
    number(id.value());
  }
  void number(BrokerTime time) { number(std::int64_t{time.time_since_epoch().count()}); }
  void flag(bool value) { number<std::uint8_t>(value ? 1 : 0); }
  template <class Id>
  void maybe(const std::optional<Id>& id) {
    flag(id.has_value());
    if (id) {
      number(*id);
    }
  }
  void address(const std::string& text) {
    NELIROUTE_ASSERT(text.size() <= kAddressBytesMax, "an address is short");
    number(static_cast<std::uint8_t>(text.size()));
    bytes_ += text;
  }
  void record(const std::string& text) {
    NELIROUTE_ASSERT(text.size() <= kRecordBytesMax, "a record is not larger than it may be");
    number(static_cast<std::uint32_t>(text.size()));
    bytes_ += text;
  }
  /// For people: a name, a reason. None of it moves a terminal's cursor.
  void words(const std::string& text) {
    NELIROUTE_ASSERT(text.size() <= kWordsBytesMax && are_words(text), "these are plain words");
    number(static_cast<std::uint16_t>(text.size()));
    bytes_ += text;
  }
  void rest(const std::string& bytes) { bytes_ += bytes; }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// After the first thing that cannot be, it reads only zeros.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] bool all_read() const noexcept { return ok_ && left_.empty(); }
  void require(bool condition) {
    if (!condition) {
      ok_ = false;
      left_ = {};
    }
  }
  template <std::integral T>
  T number() {
    require(left_.size() >= sizeof(T));
    std::uint64_t value = 0;
    for (std::size_t i = 0; ok_ && i < sizeof(T); ++i) {
      value |= std::uint64_t{static_cast<unsigned char>(left_[i])} << (8 * i);
    }
    left_.remove_prefix(ok_ ? sizeof(T) : 0);
    return static_cast<T>(value);
  }
  bool flag() {
    const auto value = number<std::uint8_t>();
    require(value <= 1);
    return value == 1;
  }
  /// Of a voter or a log. None is 0.
  template <class Id>
  Id id() {
    const Id id(number<typename Id::integer_type>());
    require(id != Id());
    return id;
  }
  template <class Id>
  std::optional<Id> maybe() {
    return flag() ? std::optional(id<Id>()) : std::nullopt;
  }
  Term term(Term least) {
    const auto term = number<Term>();
    require(term >= least && term < static_cast<Term>(kNumberEnd));
    return term;
  }
  Index index(Index least = 0) {
    const auto index = number<Index>();
    require(index >= least && index < kNumberEnd);
    return index;
  }
  BrokerTime stamp() { return BrokerTime(milliseconds(index())); }
  std::string address() {
    std::string text = this->text(number<std::uint8_t>());
    require(!text.empty());
    return text;
  }
  std::string record() {
    const auto size = number<std::uint32_t>();
    require(size <= kRecordBytesMax);
    return text(size);
  }
  std::string words() {
    const auto size = number<std::uint16_t>();
    require(size <= kWordsBytesMax);
    std::string words = text(size);
    require(are_words(words));
    return words;
  }
  /// All that is left.
  std::string_view rest() { return std::exchange(left_, {}); }

 private:
  std::string text(std::size_t size) {
    require(left_.size() >= size);
    std::string text(left_.substr(0, ok_ ? size : 0));
    left_.remove_prefix(text.size());
    return text;
  }

  std::string_view left_;
  bool ok_ = true;
};

/// Which of several kinds it is: numbered as its std::variant lists them.
template <class Variant>
void write_kind(Writer& out, const Variant& what) {
  out.number(static_cast<std::uint8_t>(what.index()));
}

void write(Writer& out, const std::vector<Entry>& entries);
/// Terms and stamps never fall, and are not below these.
[[nodiscard]] std::vector<Entry> read_entries(Reader& in, Term least, BrokerTime earliest);
/// What they need at most.
[[nodiscard]] std::size_t bytes_about(const std::vector<Entry>& entries);

template <class T>
std::optional<T> whole(const Reader& in, T read) {
  return in.all_read() ? std::optional<T>(std::move(read)) : std::nullopt;
}

}  // namespace neliroute::quorum
