// --access-log: one JSON line for each request that a proxy has ended.
//
// Threads: that of the io_context.   Units: milliseconds.
// Errors: open() names the file and what to do. Lines that nobody takes are kept up to a bound, and
// then lost; their number is logged.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <memory>
#include <neliroute/error.h>
#include <neliroute/forwarder.h>
#include <string>

#include "tool/print/lines.h"

namespace neliroute::tool {

/// Without its end. `now_ms`: Unix time.
[[nodiscard]] std::string access_line(const ForwardedRequest& request, std::int64_t now_ms);

class AccessLog {
 public:
  /// "-" is stdout. A file is opened anew on SIGHUP, as those who rotate it expect.
  [[nodiscard]] static Result<std::shared_ptr<AccessLog>> open(boost::asio::io_context& io,
                                                               const std::string& path);
  void write(const ForwardedRequest& request);

 private:
  AccessLog(boost::asio::io_context& io, std::shared_ptr<LineWriter> writer)
      : hang_ups_(io), writer_(writer), lines_(io.get_executor(), std::move(writer)) {}
  static void reopen_on_signal(const std::shared_ptr<AccessLog>& log);

  boost::asio::signal_set hang_ups_;
  std::shared_ptr<LineWriter> writer_;
  Lines lines_;
};

}  // namespace neliroute::tool
