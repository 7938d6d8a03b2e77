// Notifies a program of the partitions that its owner leads, as lines of JSON on its stdin
// (program_events.h), and takes its answers.
//
// Its first line says what it wants to be waited for: {"awaits":["prepare","warm_up","stopped"]};
// from then on {"done":SEQ} ends one. A program that writes nothing is never waited for.
//
// Threads: one (the router's strand, on which the program's lines come, too).   Units: none.
// Errors: a line that makes no sense is logged, a few times.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "tool/exec/program_events.h"

namespace neliroute::tool {

class ProgramListener : public ProgramEvents {
 public:
  /// `write`: a line, to the program.
  explicit ProgramListener(std::function<void(std::string_view)> write)
      : write_(std::move(write)) {}

  /// A line that the program wrote.
  void on_line(std::string_view line);
  /// It can answer no more, as it has ended or closed its descriptor 3: nothing waits for it.
  void on_silent();
  [[nodiscard]] std::size_t awaited() const noexcept { return tokens_.size(); }

 private:
  void tell(ProgramEvent event, CompletionToken token) override;
  void complain(std::string_view line, std::string_view why);

  std::function<void(std::string_view)> write_;
  std::set<std::string> awaits_;
  std::map<std::uint64_t, CompletionToken> tokens_;
  /// Of each partition, the last step towards leading it; nobody waits for it once another follows.
  std::map<Partition, std::uint64_t> steps_;
  std::uint64_t last_ = 0;
  std::uint32_t complaints_ = 0;
};

}  // namespace neliroute::tool
