#include "tool/exec/control_options.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/process_id.h"
#include "router/options/option_text.h"
#include "router/text/listen_address.h"
#include "tool/command_line/take.h"

namespace neliroute::tool {
namespace {

constexpr std::size_t kTokenMost = 4096;

Error unfit_token(const std::string& path, const std::string& what) {
  return {Errc::bad_option,
          fmt::format("--control-token {}: {}; put a secret of visible ASCII characters there, as "
                      "in `(umask 077; openssl rand -hex 32 > {})`", path, what, path)};
}

/// Closed at the end.
struct OpenFile {
  explicit OpenFile(const std::string& path)
      : descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (descriptor >= 0) ::close(descriptor);
  }
  int descriptor;
};

/// All of it, if that is not too much.
std::optional<std::string> read_all(int descriptor) {
  std::array<char, kTokenMost + 1> chunk{};
  std::string all;
  for (;;) {
    const ssize_t got = ::read(descriptor, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return all;
    all.append(chunk.data(), static_cast<std::size_t>(got));
    if (all.size() > kTokenMost) return all;
  }
}

bool is_visible(char c) { return c > ' ' && c <= '~'; }

}  // namespace

Result<std::string> read_token(const std::string& path) {
  const OpenFile file(path);
  if (file.descriptor < 0) {
    return unfit_token(path, fmt::format("it cannot be read ({})", std::strerror(errno)));
  }
  struct stat about {};
  if (::fstat(file.descriptor, &about) != 0 || !S_ISREG(about.st_mode)) {
    return unfit_token(path, "it is no file");
  }
  if ((about.st_mode & S_IRWXO) != 0) {
    return Error{Errc::bad_option,
                 fmt::format("--control-token {}: everybody on this machine may use it (mode "
                             "{:04o}); `chmod 600 {}`", path, about.st_mode & 07777, path)};
  }
  const auto all = read_all(file.descriptor);
  if (!all) return unfit_token(path, fmt::format("it cannot be read ({})", std::strerror(errno)));
  constexpr std::string_view kAround = " \t\r\n";
  const auto begin = all->find_first_not_of(kAround);
  if (begin == std::string::npos) return unfit_token(path, "it is empty");
  std::string token = all->substr(begin, all->find_last_not_of(kAround) + 1 - begin);
  if (token.size() > kTokenMost) return unfit_token(path, "it is longer than 4 KiB");
  if (!std::all_of(token.begin(), token.end(), is_visible)) {
    return unfit_token(path, "it holds spaces, or what is no visible ASCII character");
  }
  return token;
}

std::string random_token() { return to_string(draw_process_id()) + to_string(draw_process_id()); }

Result<std::string> ControlOptions::token(const std::optional<std::string>& http) const {
  const auto unfit = [](std::string text) { return Error{Errc::bad_option, std::move(text)}; };
  if (!wanted) {
    if (token_file) return unfit("--control-token says who may make control calls: give --control");
    return std::string();
  }
  if (!http) return unfit("--control is about the admin port: give --http, too");
  if (token_file) return read_token(*token_file);
  if (!secret.empty()) return secret;
  const auto at = resolve_listen(*http);
  if (!at) return at.error();
  if (!at->address().is_loopback()) {
    return unfit(fmt::format("everybody who can reach --http {} could make control calls: give "
                             "--control-token FILE, or a loopback address", *http));
  }
  return std::string();
}

void add_control_options(CommandLine& line, ControlOptions& options) {
  add_flag(line, "--control",
           "Let programs that can reach --http use this process as a sidecar: wait for owners, and"
           " of an owner also admit requests and begin to leave", options.wanted);
  line.add({.flag = "--control-token", .type = "FILE",
            .help = "What they must show, as `Authorization: Bearer …`. Required unless --http is "
                    "a loopback address; nobody else may read the file"},
           into(options.token_file));
}

}  // namespace neliroute::tool
