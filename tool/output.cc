#include "tool/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cstdio>

namespace neliroute::tool {

int exit_code_of(Errc code) noexcept {
  switch (code) {
    case Errc::bad_option:
    case Errc::topic_unfit:
    case Errc::settings_conflict:
      return kExitUsage;
    case Errc::not_owner:
      return kExitNo;
    case Errc::ledger_unreachable:
    case Errc::ledger_refused:
    case Errc::barrier_stuck:
    case Errc::closed:
    case Errc::timed_out:
      break;
  }
  return kExitUnreachable;
}

int exit_code_of(std::span<const Verdict> verdicts) noexcept {
  const auto any = [&](Verdict verdict) {
    return std::find(verdicts.begin(), verdicts.end(), verdict) != verdicts.end();
  };
  if (any(Verdict::unknown)) return kExitUnreachable;
  return any(Verdict::unowned) ? kExitNo : kExitYes;
}

int fail(std::string_view command, std::string_view text, int code) {
  std::fflush(stdout);
  fmt::print(stderr, "neliroute{}{}: {}\n", command.empty() ? "" : " ", command, text);
  return code;
}

int fail(std::string_view command, const Error& error) {
  return fail(command, error.message(), exit_code_of(error.code()));
}

bool say(std::string_view line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
}

bool say(const boost::json::object& row) { return say(boost::json::serialize(row)); }

boost::json::object json_of(const Epoch& epoch) {
  return {{"inc", epoch.inc}, {"offset", epoch.offset}};
}

void put_key(boost::json::object& row, std::string_view key) {
  if (is_utf8(key)) {
    row["key"] = key;
  } else {
    row["key_base64"] = base64(key);
  }
}

void put_route(boost::json::object& row, const Route& route) {
  row["slot"] = route.slot.value();
  row["partition"] = route.partition.value();
  row["verdict"] = to_string(route.verdict);
  if (route.verdict == Verdict::local || route.verdict == Verdict::remote) {
    row["owner"] = route.owner;
    row["endpoint"] = route.endpoint;
    row["epoch"] = json_of(route.epoch);
    row["valid_for_ms"] = std::chrono::duration_cast<milliseconds>(route.valid_for).count();
  }
  if (!route.next_owner.empty()) {
    row["next_owner"] = route.next_owner;
    row["next_endpoint"] = route.next_endpoint;
  }
}

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
    // Overlong forms, surrogates, and what lies above U+10FFFF.
    if (lead == 0xe0 && byte(i + 1) < 0xa0) return false;
    if (lead == 0xed && byte(i + 1) > 0x9f) return false;
    if (lead == 0xf0 && byte(i + 1) < 0x90) return false;
    if (lead == 0xf4 && byte(i + 1) > 0x8f) return false;
    i += more + 1;
  }
  return true;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t have = std::min<std::size_t>(3, bytes.size() - i);
    unsigned group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < have ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += k <= have ? kDigits[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return text;
}

std::string shown(std::string_view key) {
  if (key.empty()) return "\"\"";
  const bool readable = is_utf8(key);
  std::string text;
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    const bool control = byte < 0x20 || byte == 0x7f;
    if (control || (byte >= 0x80 && !readable)) {
      text += fmt::format("\\x{:02x}", byte);
    } else if (c == '\\') {
      text += "\\\\";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace neliroute::tool
