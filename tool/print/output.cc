#include "tool/print/output.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "tool/command_line/flags.h"
#include "tool/print/log.h"

namespace neliroute::tool {
namespace {

// Whether stdout failed, and whether part of an answer was lost.
bool output_ended = false;
bool output_lost = false;

/// Length of the first character if a terminal obeys it, or it is invisible; otherwise 0.
std::size_t unseen_at_front(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  if (byte(0) < 0x20 || byte(0) == 0x7f) return 1;
  if (byte(0) == 0xc2 && byte(1) >= 0x80 && byte(1) < 0xa0) return 2;  // U+0080.. : 8-bit controls
  if (byte(0) == 0xd8 && byte(1) == 0x9c) return 2;  // U+061C marks a direction
  if (byte(0) == 0xef && byte(1) == 0xbb && byte(2) == 0xbf) return 3;  // U+FEFF: no width
  if (byte(0) != 0xe2) return 0;
  // U+200B..200F have no width, U+2028..202E end lines and turn the direction of writing.
  const bool first = byte(1) == 0x80 && ((byte(2) >= 0x8b && byte(2) <= 0x8f) ||
                                         (byte(2) >= 0xa8 && byte(2) <= 0xae));
  // U+2060..206F: invisible characters that join words or change the direction.
  return first || (byte(1) == 0x81 && byte(2) >= 0xa0 && byte(2) <= 0xaf) ? 3 : 0;
}

enum class What { word, line, text };

/// In a word a backslash is doubled, so that nothing looks like an escape; only a text may contain
/// newlines.
std::string escaped(std::string_view text, What what) {
  const bool readable = is_utf8(text);
  std::string made;
  while (!text.empty()) {
    const bool alien = !readable && static_cast<unsigned char>(text[0]) >= 0x80;
    const bool stays = text[0] == '\n' && what == What::text;
    const std::size_t unseen = alien ? 1 : stays ? 0 : unseen_at_front(text);
    for (const char c : text.substr(0, unseen)) {
      made += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
    if (unseen == 0) made.append(text[0] == '\\' && what == What::word ? 2 : 1, text[0]);
    text.remove_prefix(std::max<std::size_t>(unseen, 1));
  }
  return made;
}

void end_at_once(int) {
  finish_stderr();
  std::_Exit(kExitYes);
}

}  // namespace

int exit_code_of(Errc code) noexcept {
  switch (code) {
    case Errc::bad_option:
    case Errc::ledger_unfit:
    case Errc::settings_conflict:
      return kExitUsage;
    case Errc::not_owner:
      return kExitNo;
    case Errc::ledger_unreachable:
    case Errc::ledger_refused:
    case Errc::barrier_stuck:
    case Errc::closed:
    case Errc::timed_out:
    case Errc::too_many_waiters:
    case Errc::system_refused:
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

std::string called(std::string_view command) {
  if (command.empty()) return "neliroute";
  return command.starts_with("neliroute") ? std::string(command)
                                          : fmt::format("neliroute {}", command);
}

int fail(std::string_view command, std::string_view text, int code) {
  // librdkafka ends some of its texts with a newline.
  const std::size_t end = text.find_last_not_of(" \n");
  text = text.substr(0, end == std::string_view::npos ? 0 : end + 1);
  write_stderr(fmt::format("{}: {}", called(command), printable(with_flags(text))));
  return code;
}

int fail(std::string_view command, const Error& error) {
  return fail(command, error.message(), exit_code_of(error.code()));
}

void warn(std::string_view command, std::string_view text) {
  write_stderr(fmt::format("{}: warning: {}", called(command), printable(with_flags(text))));
}

bool write_whole(int file, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {  // another process that shares it may have made it non-blocking
      pollfd wait{file, POLLOUT, 0};
      ::poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool say(std::string_view line) {
  if (output_ended) return false;
  std::string whole(line);
  whole += '\n';
  std::fflush(stdout);  // what the demo's screen has drawn
  if (write_whole(STDOUT_FILENO, whole)) return true;
  output_ended = true;
  if (errno == EPIPE) return false;
  output_lost = true;
  fail("", fmt::format("stdout cannot be written: {}; the rest of the output is lost: free space "
                       "there or redirect it, and try again", std::strerror(errno)),
       kExitUnreachable);
  return false;
}

bool say(const boost::json::object& row) { return say(boost::json::serialize(row)); }

int after_output(int code) noexcept {
  return output_lost && (code == kExitYes || code == kExitNo) ? kExitUnreachable : code;
}

void wrap(std::string& out, std::string_view text, std::size_t indent) {
  constexpr std::size_t kColumns = 80;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (column > indent && column + 1 + word.size() > kColumns) {
      out += '\n';
      out.append(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  out += '\n';
}

std::string clock_text() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  using std::chrono::milliseconds;
  const auto ms = std::chrono::duration_cast<milliseconds>(now.time_since_epoch()).count() % 1000;
  return fmt::format("{:02}:{:02}:{:02}.{:03}", local.tm_hour, local.tm_min, local.tm_sec, ms);
}

void end_at_once_on_signals() {
  std::signal(SIGTERM, end_at_once);
  std::signal(SIGINT, end_at_once);
}

void put_route(boost::json::object& row, const Route& route) {
  row["slot"] = route.slot.value();
  row["partition"] = route.partition.value();
  row["verdict"] = to_string(route.verdict);
  if (route.verdict == Verdict::local || route.verdict == Verdict::remote) {
    put_text(row, "owner", route.owner());
    put_text(row, "endpoint", route.endpoint());
    row["epoch"] = json_of(route.epoch);
    row["valid_for_ms"] = std::chrono::duration_cast<milliseconds>(route.valid_for).count();
    if (route.stale) row["stale"] = true;
  }
  if (!route.next_owner().empty()) {
    put_text(row, "next_owner", route.next_owner());
    put_text(row, "next_endpoint", route.next_endpoint());
  }
}

std::string shown(std::string_view text) {
  return text.empty() ? "\"\"" : escaped(text, What::word);
}

std::string printable(std::string_view text) { return escaped(text, What::text); }

std::string printable_line(std::string_view text) { return escaped(text, What::line); }

}  // namespace neliroute::tool
