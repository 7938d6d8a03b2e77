#include "router/listen/passed_sockets.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "router/text/listen_address.h"

namespace neliroute {
namespace {

using boost::asio::ip::tcp;

constexpr int kFirst = 3;  // SD_LISTEN_FDS_START

std::optional<long> number_of(const char* name) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  const std::string_view digits(text);
  long made = 0;
  const auto [read, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), made);
  if (failed != std::errc() || read != digits.data() + digits.size()) return std::nullopt;
  return made;
}

bool listens(int file) {
  int value = 0;
  socklen_t size = sizeof value;
  return ::getsockopt(file, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0 && value != 0;
}

std::vector<PassedSocket> all_passed() {
  std::vector<PassedSocket> made;
  if (number_of("LISTEN_PID") != static_cast<long>(::getpid())) return made;
  const long count = number_of("LISTEN_FDS").value_or(0);
  for (int file = kFirst; file < kFirst + count; ++file) {
    tcp::endpoint at;
    auto size = static_cast<socklen_t>(at.capacity());
    if (::getsockname(file, at.data(), &size) != 0 || !listens(file)) continue;
    if (at.data()->sa_family != AF_INET && at.data()->sa_family != AF_INET6) continue;
    at.resize(size);
    made.push_back({file, at});
  }
  return made;
}

bool is_at(const tcp::endpoint& passed, const tcp::endpoint& wanted) {
  if (passed == wanted) return true;
  return passed.port() == wanted.port() && passed.address().is_v6() &&
         passed.address().is_unspecified() && wanted.address().is_unspecified();
}

}  // namespace

std::optional<PassedSocket> passed_socket(const tcp::endpoint& at) {
  if (at.port() == 0) return std::nullopt;
  for (const PassedSocket& one : all_passed()) {
    if (!is_at(one.at, at)) continue;
    // The passed one stays open: who checks the address first closes its own.
    const int own = ::fcntl(one.file, F_DUPFD_CLOEXEC, 0);
    if (own < 0) return std::nullopt;
    ::fcntl(one.file, F_SETFD, FD_CLOEXEC);  // programs that are started must not keep it open
    return PassedSocket{own, one.at};
  }
  return std::nullopt;
}

std::string passed_text() {
  std::string made;
  for (const PassedSocket& one : all_passed()) {
    made += (made.empty() ? "; passed to this process: " : ", ") + address_text(one.at);
  }
  return made;
}

}  // namespace neliroute
