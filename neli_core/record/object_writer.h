// Writes a JSON object member by member. Private to the records' codec.
//
// Threads: one.   Units: none.   Errors: none; texts that are not UTF-8 stay as they are.
#pragma once

#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

namespace neliroute {

// Writes members straight into the text: a tree of values would cost ten times as much.
class ObjectWriter {
 public:
  ObjectWriter() { text_.reserve(kUsualBytes); }

  template <class Integer>
  void number(std::string_view key, Integer value) {
    name(key);
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    text_.append(digits.data(), end);
  }
  void text(std::string_view key, std::string_view value) {
    name(key);
    quote(value);
  }
  void truth(std::string_view key, bool value) {
    name(key);
    text_ += value ? "true" : "false";
  }
  void begin(std::string_view key) {
    name(key);
    text_ += '{';
    first_ = true;
  }
  void end() {
    text_ += '}';
    first_ = false;
  }
  void begin_list(std::string_view key) {
    name(key);
    text_ += '[';
    first_ = true;
  }
  void item(std::string_view value) {
    if (!std::exchange(first_, false)) text_ += ',';
    quote(value);
  }
  void end_list() {
    text_ += ']';
    first_ = false;
  }
  [[nodiscard]] std::string take() {
    text_ += '}';
    return std::move(text_);
  }

 private:
  static constexpr std::size_t kUsualBytes = 512;

  void name(std::string_view key) {
    if (!first_) text_ += ',';
    first_ = false;
    quote(key);
    text_ += ':';
  }
  // Bytes that are not UTF-8 stand as they are: names come from command lines.
  void quote(std::string_view value) {
    text_ += '"';
    for (const char c : value) {
      if (c == '"' || c == '\\') {
        text_ += '\\';
        text_ += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        static constexpr std::string_view kHex = "0123456789abcdef";
        text_ += "\\u00";
        text_ += kHex[static_cast<unsigned char>(c) >> 4];
        text_ += kHex[static_cast<unsigned char>(c) & 15];
      } else {
        text_ += c;
      }
    }
    text_ += '"';
  }

  std::string text_ = "{";
  bool first_ = true;
};

}  // namespace neliroute
