#include "router/text/json_text.h"

#include <cstdint>

#include "base/base64.h"

namespace neliroute {
namespace {

// A count of parts of which `scale` are one, as a decimal number.
std::string with_fraction(std::int64_t count, std::int64_t scale, std::size_t digits) {
  const std::string fraction = std::to_string(count % scale);
  return std::to_string(count / scale) + "." + std::string(digits - fraction.size(), '0') +
         fraction;
}

}  // namespace

bool is_utf8(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (std::size_t i = 0; i < text.size();) {
    const unsigned char lead = byte(i);
    const std::size_t more = lead < 0x80 ? 0 : lead < 0xc2 ? 4 : lead < 0xe0 ? 1
                             : lead < 0xf0 ? 2 : lead < 0xf5 ? 3 : 4;
    if (more == 4 || i + more >= text.size()) return false;
    for (std::size_t k = 1; k <= more; ++k) {
      if ((byte(i + k) & 0xc0) != 0x80) return false;
    }
    // Overlong forms, surrogates, and code points above U+10FFFF.
    if (lead == 0xe0 && byte(i + 1) < 0xa0) return false;
    if (lead == 0xed && byte(i + 1) > 0x9f) return false;
    if (lead == 0xf0 && byte(i + 1) < 0x90) return false;
    if (lead == 0xf4 && byte(i + 1) > 0x8f) return false;
    i += more + 1;
  }
  return true;
}

boost::json::object json_of(const Epoch& epoch) {
  return {{"inc", epoch.incarnation}, {"offset", epoch.offset}};
}

void put_text(boost::json::object& row, std::string_view name, std::string_view text) {
  if (is_utf8(text)) {
    row[name] = text;
  } else {
    row[std::string(name) + "_base64"] = base64(text);
  }
}

std::string seconds_text(microseconds since_epoch) {
  return with_fraction(since_epoch.count(), 1'000'000, 6);
}

std::string milliseconds_text(microseconds duration) {
  return with_fraction(duration.count(), 1000, 3);
}

}  // namespace neliroute
