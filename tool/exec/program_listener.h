// Notifies a program of the partitions that its owner leads, as lines of JSON on its stdin, and
// takes its answers:
//
//   {"seq":7,"event":"prepare","partition":3,"predecessor":{...}}   about to claim it
//   {"seq":8,"event":"warm_up","partition":3,"epoch":{...}}          about to lead it
//   {"seq":9,"event":"acquired",...}  draining, released, cancelled   for information
//   {"seq":12,"event":"stopped","partition":3,"epoch":{...}}         finish
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
#include <neliroute/listener.h>
#include <neliroute/transition.h>
#include <set>
#include <string>
#include <string_view>

namespace neliroute::tool {

class ProgramListener : public Listener {
 public:
  /// `write`: to the program; false: it reads nothing, and counts as hung. `hung` is called then,
  /// once.
  ProgramListener(std::function<bool(std::string)> write, std::function<void()> hung)
      : write_(std::move(write)), hung_(std::move(hung)) {}

  void prepare(Partition partition, PrepareToken token) override;
  void warm_up(const Transition& transition, ReadyToken token) override;
  void acquired(const Transition& transition) override;
  void draining(const Transition& transition) override;
  void stopped(const Transition& transition, BarrierToken token) override;
  void released(const Transition& transition) override;

  /// A line that the program wrote.
  void on_line(std::string_view line);
  /// It has ended: nothing waits for it any more.
  void on_exit();
  [[nodiscard]] std::size_t awaited() const noexcept { return tokens_.size(); }

 private:
  struct Line;
  void tell(Line line, CompletionToken token = {});
  void complain(std::string_view line, std::string_view why);

  std::function<bool(std::string)> write_;
  std::function<void()> hung_;
  std::set<std::string> awaits_;
  std::map<std::uint64_t, CompletionToken> tokens_;
  std::map<Partition, std::stop_callback<std::function<void()>>> cancelled_;
  std::uint64_t last_ = 0;
  std::uint32_t complaints_ = 0;
  bool told_hung_ = false;
};

}  // namespace neliroute::tool
