// --events: what happened to the partitions of this process, one JSON object per line.
//
// Each line is one write(2), so that a killed process leaves no partial line except its last, and a
// process that follows the file sees a line at once. No write blocks: a stalled reader would stop
// an owner. What a pipe or a full disk does not take is kept, up to a bound, and written later in
// order.
//
// Threads: one at a time.   Units: bytes.
// Errors: open() names the file and what to do. A failed write is reported once, and the number of
// lost lines when it is known. It does not stop the process, which would give up its slots for the
// sake of a log.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <neliroute/error.h>
#include <string>
#include <string_view>
#include <utility>

#include "router/text/event_line.h"

namespace neliroute::tool {

/// A file, pipe or terminal that is written one whole line at a time, without ever blocking.
class LineWriter {
 public:
  static constexpr std::size_t kKeptMost = 1U << 20U;  ///< bytes: some thousands of events

  /// "-" is stdout. A file is appended to. A FIFO may get its reader later.
  [[nodiscard]] static Result<std::unique_ptr<LineWriter>> open(const std::string& path);
  /// Gives a slow reader a second to take the rest.
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  void write(std::string line);
  /// Writes what was kept, as far as possible now. True: nothing is left.
  bool flush();
  /// Goes on in the file that has its path now; if that cannot be opened, in the last one.
  void reopen();

 private:
  LineWriter(std::string path, int file, bool blocks)
      : path_(std::move(path)), file_(file), blocks_(blocks) {}
  static std::unique_ptr<LineWriter> of_stdout();
  [[nodiscard]] bool fits(std::size_t bytes) const noexcept { return kept_ + bytes <= kKeptMost; }
  ssize_t write_now(std::string_view bytes) const;
  bool write_kept();
  void tell(const std::string& why);
  void tell_lost();

  std::string path_;
  int file_;
  bool blocks_;                    ///< a write could block: write_now() does what else can be done
  std::deque<std::string> lines_;  ///< not written yet
  std::size_t begun_ = 0;          ///< bytes of the first line that are written
  std::size_t kept_ = 0;           ///< bytes of all lines
  std::size_t lost_ = 0;           ///< lines, since the last report
  bool told_ = false;
};

}  // namespace neliroute::tool
