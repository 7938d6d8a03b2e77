// A program that runs behind an owner, and ends with it: started by a shell (process_group.h),
// written to on its stdin, and read from its descriptor 3.
//
// Threads: one (the executor's), which must live as long as the program.   Units: bytes,
// std::chrono.
// Errors: start() says what the system refused.
#pragma once

#include <sys/types.h>

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <neliroute/error.h>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <string_view>

#include "tool/exec/process_group.h"

namespace neliroute::tool {

class Program {
 public:
  /// Of one line that it writes; a longer one is dropped.
  static constexpr std::size_t kLineMost = std::size_t{64} * 1024;
  /// What may wait for it to be read, of each partition, besides a first MiB: some ten events.
  static constexpr std::size_t kUnreadEach = 4096;

  struct Handlers {
    std::function<void(std::string_view line)> on_line;  ///< on its descriptor 3
    std::function<void()> on_silent;                     ///< nobody can write there any more
    std::function<void(int status)> on_exit;  ///< the shell's, as shells show it: 128 + a signal
    std::function<void()> on_hung;            ///< once
    std::function<void()> on_deaf;            ///< once; see write()
  };

  /// `sh -c command`, in a process group of its own. `patience`: with lines that wait, it counts as
  /// hung when it takes nothing for so long, and stop_signals.h ends it within that.
  [[nodiscard]] static Result<std::unique_ptr<Program>> start(
      const boost::asio::any_io_executor& executor, const std::string& command,
      milliseconds patience, Handlers handlers);
  /// SIGKILL, if it still runs.
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// It will be told of so many partitions.
  void expect(std::uint32_t partitions) noexcept;
  /// A line on its stdin; without its end. What exceeds the memory for such lines is dropped: then
  /// it counts as hung, too. One that has never written on its descriptor 3 may be a server that
  /// knows of no stdin: instead of counting as hung it is written nothing any more.
  void write(std::string_view line);
  /// Writes what waits, as far as it is read; blocks for at most `bound`. The executor need not run
  /// any more.
  void finish(milliseconds bound);
  /// SIGTERM, and SIGKILL after `bound`; blocks until its whole group has ended. No handler is
  /// called: the shell's status, if it ended by itself and on_exit did not say so yet. Who has
  /// closed descriptor 3 may be about to, and is given a moment first.
  [[nodiscard]] std::optional<int> stop(milliseconds bound);
  /// Of its shell; 0: all of it has ended.
  [[nodiscard]] pid_t pid() const noexcept { return group_.id(); }

 private:
  Program(const boost::asio::any_io_executor& executor, milliseconds patience, Handlers handlers);
  [[nodiscard]] bool write_now();
  void close_in();
  void write_more();
  void await_reading();
  [[nodiscard]] bool is_writable(milliseconds within);
  void takes_nothing();
  void read();
  void take_lines();
  void await_exit();

  ProcessGroup group_;
  milliseconds patience_;
  Handlers handlers_;
  boost::asio::posix::stream_descriptor to_;
  boost::asio::posix::stream_descriptor from_;
  boost::asio::signal_set children_;
  boost::asio::steady_timer impatient_;
  std::string being_written_;  ///< all lines that waited when the one before was written
  std::size_t written_ = 0;    ///< of that
  std::string waiting_;
  std::size_t unread_most_ = std::size_t{1} << 20;
  bool writing_ = false;
  bool closed_ = false;  ///< its stdin
  bool told_hung_ = false;
  bool has_spoken_ = false;  ///< on its descriptor 3
  bool is_silent_ = false;   ///< it has closed that
  bool too_long_ = false;    ///< the line that it is writing there
  std::array<char, 4096> chunk_{};
  std::string line_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace neliroute::tool
