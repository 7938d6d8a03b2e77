// A store that compares epochs: what 04_counter_service.cc keeps a partition's counters in.
//
// One file, locked while this lives. Its first line is the epoch of the last owner; each one after
// it, "NAME VALUE", is a change. It outlives a killed process, but no power cut, serves one
// machine, and grows for ever: your store is a database, which compares in the statement that
// writes (02).
//
// Threads: one.   Units: bytes.
// Errors: a disk that fails ends the process, as a successor needs no more than what was written.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <neliroute/ids.h>
#include <sstream>
#include <string>

/// What was read of a file.
struct Counters {
  static constexpr off_t kBegin = 64;
  neliroute::Epoch epoch = neliroute::kNoEpoch;  ///< under which they were taken
  std::map<std::string, std::int64_t> values;
  off_t end = kBegin;
};

class FencedFile {
 public:
  FencedFile(const std::string& folder, neliroute::Partition partition) {
    const std::string path = folder + '/' + std::to_string(partition.value());
    file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    while (::flock(file_, LOCK_EX) != 0) {
      if (errno != EINTR) fail();
    }
  }
  FencedFile(const FencedFile&) = delete;
  FencedFile& operator=(const FencedFile&) = delete;
  ~FencedFile() { ::close(file_); }

  /// Of the last owner.
  [[nodiscard]] neliroute::Epoch epoch() const {
    const std::string text = text_from(0, Counters::kBegin);
    return neliroute::parse_epoch(text.substr(0, text.find(' '))).value_or(neliroute::kNoEpoch);
  }

  /// Reads on. A last line without its end was never acknowledged; the next change overwrites it.
  void read(Counters& counters) const {
    std::istringstream lines(text_from(counters.end, ::lseek(file_, 0, SEEK_END)));
    for (std::string line; std::getline(lines, line) && !lines.eof();) {
      const auto space = line.find(' ');
      counters.values[line.substr(0, space)] = std::stoll(line.substr(space + 1));
      counters.end += static_cast<off_t>(line.size() + 1);
    }
  }

  /// Reads on as the owner: from now on every earlier one is refused. False: a later one was here.
  [[nodiscard]] bool take(Counters& counters, const neliroute::Epoch& epoch_of_owner) const {
    if (epoch() > epoch_of_owner) return false;
    std::string first = to_string(epoch_of_owner);
    first.resize(Counters::kBegin - 1, ' ');
    write(first + '\n', 0);
    read(counters);
    counters.epoch = epoch_of_owner;
    return true;
  }

  /// False: another owner has taken them since; nothing was written.
  [[nodiscard]] bool set(Counters& counters, const std::string& name, std::int64_t value) const {
    if (epoch() != counters.epoch) return false;
    const std::string line = name + ' ' + std::to_string(value) + '\n';
    write(line, counters.end);
    counters.end += static_cast<off_t>(line.size());
    counters.values[name] = value;
    return true;
  }

 private:
  [[nodiscard]] std::string text_from(off_t from, off_t to) const {
    std::string text(static_cast<std::size_t>(std::max<off_t>(to - from, 0)), '\0');
    const ssize_t size = ::pread(file_, text.data(), text.size(), from);
    if (size < 0) fail();
    text.resize(static_cast<std::size_t>(size));
    return text;
  }
  void write(const std::string& text, off_t at) const {
    if (::pwrite(file_, text.data(), text.size(), at) != static_cast<ssize_t>(text.size())) fail();
  }
  [[noreturn]] static void fail() {
    std::perror("the store");
    std::quick_exit(1);
  }

  int file_ = -1;
};
