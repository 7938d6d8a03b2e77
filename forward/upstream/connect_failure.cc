#include "forward/upstream/connect_failure.h"

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <boost/asio/ssl/error.hpp>

namespace neliroute::forward {
namespace {

namespace error = boost::asio::error;
namespace errc = boost::system::errc;
using boost::system::error_code;

constexpr std::array kScarce{errc::too_many_files_open, errc::too_many_files_open_in_system,
                             errc::address_not_available, errc::no_buffer_space,
                             errc::not_enough_memory};

bool is_tls(const error_code& failed) {
  return failed == error::eof || failed.category() == error::get_ssl_category() ||
         failed.category() == boost::asio::ssl::error::get_stream_category();
}

}  // namespace

ConnectFault fault_of(const error_code& failed) {
  if (failed == error::connection_refused || failed == error::connection_reset) {
    return ConnectFault::refused;
  }
  if (failed == error::timed_out) return ConnectFault::timed_out;
  if (is_tls(failed)) return ConnectFault::tls;
  if (failed.category() == error::get_netdb_category() ||
      failed.category() == error::get_addrinfo_category()) {
    return ConnectFault::unresolved;
  }
  return std::find(kScarce.begin(), kScarce.end(), failed) != kScarce.end() ? ConnectFault::scarce
                                                                           : ConnectFault::other;
}

std::string_view text_of(ConnectFault fault) noexcept {
  switch (fault) {
    case ConnectFault::refused:
      return "it refuses connections";
    case ConnectFault::timed_out:
      return "it does not answer in time";
    case ConnectFault::tls:
      return "no TLS connection to it could be made";
    case ConnectFault::unresolved:
      return "its name could not be resolved";
    case ConnectFault::scarce:
      return "this process lacks descriptors or ports";
    case ConnectFault::other:
      break;
  }
  return "there is no way to it";
}

bool is_unreachable(const error_code& failed) {
  switch (fault_of(failed)) {
    case ConnectFault::refused:
    case ConnectFault::timed_out:
    case ConnectFault::tls:
      return true;
    case ConnectFault::other:
      return failed == error::host_unreachable || failed == error::network_unreachable;
    case ConnectFault::unresolved:
    case ConnectFault::scarce:
      break;
  }
  return false;
}

void ConnectNotices::note(const std::string& endpoint, bool own, ConnectFault fault,
                          const std::string& detail, Clock::time_point now) {
  if (!tell_) return;
  // What this process lacks is no matter of one owner.
  const std::string whom = fault == ConnectFault::scarce ? "" : endpoint;
  const auto [found, is_new] = told_.try_emplace({whom, fault}, Told{now});
  Told& told = found->second;
  if (!is_new && now < told.at + kEach) {
    ++told.since;
    return;
  }
  const std::string again =
      told.since == 0 ? "" : " (" + std::to_string(told.since) + " times more since the last line)";
  tell_({Severity::warning, (own ? "the application at " : "the owner at ") + endpoint +
                                " cannot be reached: " + std::string(text_of(fault)) + ": " +
                                detail + again});
  told = {now, 0};
  if (!is_new) return;
  // Those that left would be remembered for ever.
  std::erase_if(told_, [now](const auto& one) { return one.second.at + kEach < now; });
}

}  // namespace neliroute::forward
