#include "tool/print/access_log.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <csignal>
#include <ctime>
#include <utility>

#include "router/text/json_text.h"

namespace neliroute::tool {
namespace {

// A pipe takes a line that is shorter than 4 KiB whole, whoever else writes there.
constexpr std::size_t kPathMost = 1024;

std::string utc_text(std::int64_t unix_ms) {
  const std::time_t seconds = unix_ms / 1000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     unix_ms % 1000);
}

}  // namespace

std::string access_line(const ForwardedRequest& request, std::int64_t now_ms) {
  boost::json::object row;
  row["time"] = utc_text(now_ms);
  row["client"] = request.client;
  put_text(row, "method", std::string_view(request.method).substr(0, kPathMost));
  put_text(row, "path", std::string_view(request.path).substr(0, kPathMost));
  if (request.slot) row["slot"] = request.slot->value();
  if (!request.owner.empty()) put_text(row, "owner", request.owner);
  row["tries"] = request.tries;
  row["status"] = request.status;
  row["result"] = boost::json::string_view(request.result.data(), request.result.size());
  row["bytes"] = request.bytes;
  std::string line = boost::json::serialize(row);
  line.pop_back();  // Boost.JSON would write the time as 1.7E0
  return line + ",\"duration_ms\":" + milliseconds_text(request.took) + "}";
}

Result<std::shared_ptr<AccessLog>> AccessLog::open(boost::asio::io_context& io,
                                                   const std::string& path) {
  auto writer = LineWriter::open(path);
  if (!writer) return writer.error();
  std::shared_ptr<AccessLog> log(new AccessLog(io, std::move(*writer)));
  boost::system::error_code ignored;
  if (path != "-") log->hang_ups_.add(SIGHUP, ignored);
  if (path != "-") reopen_on_signal(log);
  return log;
}

void AccessLog::reopen_on_signal(const std::shared_ptr<AccessLog>& log) {
  log->hang_ups_.async_wait(
      [weak = std::weak_ptr(log)](const boost::system::error_code& error, int) {
        const auto self = weak.lock();
        if (!self || error) return;
        self->writer_->reopen();
        reopen_on_signal(self);
      });
}

void AccessLog::write(const ForwardedRequest& request) {
  using std::chrono::milliseconds;
  using std::chrono::system_clock;
  const auto now =
      std::chrono::duration_cast<milliseconds>(system_clock::now().time_since_epoch());
  lines_.write(access_line(request, now.count()));
}

}  // namespace neliroute::tool
