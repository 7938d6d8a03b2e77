// Asks processes at their admin ports what becomes of requests there, every two seconds: no record
// in the topic says so. Boost.Beast's HTTP is compiled in requests_poll.cc alone.
//
// Threads: one (the executor's).   Units: requests per second.   Errors: a row's `trouble`.
#pragma once

#include <neliroute/error.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tool/watch/request_rates.h"

namespace neliroute::tool {

/// An admin port, as it was given and as it was found.
struct AskedPort {
  std::string text;
  boost::asio::ip::tcp::endpoint at;
};

/// "10.0.0.7:7480,10.0.0.8:7480"; a port alone is of this machine. Resolves names, which blocks.
[[nodiscard]] Result<std::vector<AskedPort>> parse_asked_ports(std::string_view text);

class RequestsPoll {
 public:
  using OnRows = std::function<void(const std::vector<RequestRow>&)>;

  /// Begins to ask; `on_rows` gets a row for each port, in their order, whenever one has changed.
  RequestsPoll(boost::asio::any_io_executor executor, std::vector<AskedPort> ports, OnRows on_rows);
  /// `on_rows` is not called any more.
  ~RequestsPoll();
  RequestsPoll(const RequestsPoll&) = delete;
  RequestsPoll& operator=(const RequestsPoll&) = delete;

 private:
  class Asking;
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace neliroute::tool
