#include "tool/demo/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>
#include <utility>

extern char** environ;

namespace neliroute::tool {
namespace {

Error refused(const std::string& what) {
  return {Errc::bad_option, what + ": " + std::strerror(errno)};
}

std::vector<std::string> environment_of(const ChildOptions& options) {
  std::vector<std::string> made;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view entry = *one;
    const std::string name(entry.substr(0, entry.find('=')));
    const bool setting = name.starts_with("NELIROUTE_");
    if ((setting && !options.inherit_settings) || options.environment.contains(name)) continue;
    made.emplace_back(entry);
  }
  for (const auto& [name, value] : options.environment) made.push_back(name + "=" + value);
  return made;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// In the child, between fork and exec: only system calls, as other threads may have held locks.
[[noreturn]] void become(const char* program, char* const* arguments, char* const* environment,
                         const std::array<int, 3>& files, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it died before the line above
  ::setpgid(0, 0);
  for (std::size_t i = 0; i < files.size(); ++i) ::dup2(files[i], static_cast<int>(i));
  ::execve(program, arguments, environment);
  ::_exit(127);
}

}  // namespace

Result<Child> Child::start(const ChildOptions& options) {
  std::array<char, 4096> self{};
  const ssize_t length = ::readlink("/proc/self/exe", self.data(), self.size() - 1);
  if (length <= 0) return refused("/proc/self/exe");
  std::vector<std::string> arguments = options.arguments;
  arguments.insert(arguments.begin(), "neliroute");
  std::vector<std::string> environment = environment_of(options);
  const std::vector<char*> argument_list = pointers_to(arguments);
  const std::vector<char*> environment_list = pointers_to(environment);
  constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  const std::array<int, 3> files = {::open("/dev/null", O_RDONLY | O_CLOEXEC),
                                    ::open(options.output.c_str(), kWrite, 0600),
                                    ::open(options.errors.c_str(), kWrite, 0600)};
  pid_t pid = -1;
  if (files[0] >= 0 && files[1] >= 0 && files[2] >= 0) {
    const pid_t parent = ::getpid();
    pid = ::fork();
    if (pid == 0) {
      become(self.data(), argument_list.data(), environment_list.data(), files, parent);
    }
  }
  const int error = errno;
  for (const int file : files) {
    if (file >= 0) ::close(file);
  }
  errno = error;
  if (pid < 0) return refused("a process could not be started");
  return Child(pid);
}

Child::~Child() {
  signal(SIGKILL);
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
}

Child::Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}

Child& Child::operator=(Child&& other) noexcept {
  std::swap(pid_, other.pid_);
  return *this;
}

bool Child::running() {
  if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) != 0) pid_ = -1;
  return pid_ > 0;
}

void Child::signal(int number) {
  if (running()) ::kill(pid_, number);
}

bool Child::wait(milliseconds bound) {
  const auto deadline = std::chrono::steady_clock::now() + bound;
  while (running()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(milliseconds{5});
  }
  return true;
}

Result<TemporaryFolder> TemporaryFolder::make() {
  const char* base = std::getenv("TMPDIR");
  std::string path = std::string(base != nullptr ? base : "/tmp") + "/neliroute-demo.XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return refused(path);
  return TemporaryFolder(path);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::optional<std::string> first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  if (!file || file.eof()) return std::nullopt;  // the line is not complete yet
  return line;
}

std::string last_lines(const std::string& path, std::size_t count) {
  std::ifstream file(path);
  std::deque<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(std::move(line));
    if (lines.size() > count) lines.pop_front();
  }
  std::string text;
  for (const std::string& line : lines) text += "  " + line + "\n";
  return text;
}

}  // namespace neliroute::tool
