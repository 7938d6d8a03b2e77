// Colours and bars for people, and plain text for everybody else.
//
// Owners are distinguished by background colours with a letter on them, so that nothing depends on
// colour alone, or on a font.
//
// Threads: values, any.   Units: columns.   Errors: none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace neliroute::tool {

enum class Style { plain, bold, dim, good, bad };

class Terminal {
 public:
  explicit constexpr Terminal(bool rich) : rich_(rich) {}
  /// Rich if stdout is a terminal that can do colours, and NO_COLOR is not set.
  [[nodiscard]] static Terminal of_stdout();

  /// Colours, and lines that are written over.
  [[nodiscard]] bool rich() const noexcept { return rich_; }

  [[nodiscard]] std::string styled(Style style, std::string_view text) const;
  /// On the background of the nth owner; too great a number starts again.
  [[nodiscard]] std::string on_owner(std::size_t owner, std::string_view text) const;
  /// `share` of `width` columns, at least one if it is not zero.
  [[nodiscard]] std::string bar(std::size_t owner, double share, std::size_t width) const;

 private:
  bool rich_;
};

}  // namespace neliroute::tool
