#include "tool/event_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "neli_core/kafka/clock.h"
#include "tool/log.h"

namespace neliroute::tool {

Result<std::unique_ptr<LineWriter>> LineWriter::open(const std::string& path) {
  if (path == "-") return std::unique_ptr<LineWriter>(new LineWriter("stdout", STDOUT_FILENO));
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) {
    return Error{Errc::bad_option, path + " cannot be written: " + std::strerror(errno) +
                                       "; give a path in an existing folder, or - for stdout"};
  }
  return std::unique_ptr<LineWriter>(new LineWriter(path, file));
}

LineWriter::~LineWriter() {
  if (file_ != STDOUT_FILENO) ::close(file_);
}

void LineWriter::write(std::string line) {
  line += '\n';
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = ::write(file_, rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      if (!std::exchange(failed_, true)) {
        log(Severity::error, path_ + " cannot be written: " + std::strerror(errno) +
                                 "; its lines are lost from here on");
      }
      return;
    }
  }
  failed_ = false;
}

std::string event_line(const EventSource& source, const Transition& transition,
                       microseconds unix_minus_boot) {
  if (transition.kind == TransitionKind::barrier_overdue) return {};
  const microseconds boot = transition.at.time_since_epoch();
  const auto quoted = [](std::string_view text) {
    return boost::json::serialize(boost::json::string(text));
  };
  std::string reason;
  if (transition.kind == TransitionKind::stopped) {
    reason = fmt::format("\"reason\":\"{}\",", to_string(transition.reason));
  }
  return fmt::format("{{\"at\":{},\"boot\":{},\"process\":{},\"id\":\"{}\",\"event\":\"{}\",{}"
                     "\"partition\":{},\"lane\":{},\"epoch\":{{\"inc\":{},\"offset\":{}}},"
                     "\"mode\":\"{}\"}}",
                     seconds_text(boot + unix_minus_boot), seconds_text(boot),
                     quoted(source.process), to_string(source.id), to_string(transition.kind),
                     reason, transition.partition.value(), source.lane.value(),
                     transition.epoch.inc, transition.epoch.offset, to_string(source.mode));
}

microseconds unix_minus_boot_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<microseconds>(now) - boot_now().time_since_epoch();
}

std::string seconds_text(microseconds since_epoch) {
  const auto count = since_epoch.count();
  return fmt::format("{}.{:06}", count / 1'000'000, count % 1'000'000);
}

}  // namespace neliroute::tool
