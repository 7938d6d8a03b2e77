// What a program behind an owner is notified of, whatever way it takes: a listener that turns its
// calls into JSON.
//
//   {"seq":7,"event":"prepare","partition":3,"predecessor":{...}}   about to claim it
//   {"seq":8,"event":"warm_up","partition":3,"epoch":{...}}          about to lead it
//   {"seq":9,"event":"acquired",...}  draining, released, cancelled   for information
//   {"seq":12,"event":"stopped","partition":3,"epoch":{...}}         finish
//
// Threads: one (the router's strand).   Units: LocalTime.   Errors: none.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <neliroute/listener.h>
#include <neliroute/time.h>
#include <neliroute/transition.h>
#include <stop_token>
#include <string>

namespace neliroute::tool {

struct ProgramEvent {
  std::string name;
  Partition partition;
  boost::json::object fields;  ///< without these two
  LocalTime until = kNever;    ///< stopped: nothing waits for the program after this

  /// As JSON, without an end of line.
  [[nodiscard]] std::string text(std::uint64_t seq) const;
};

class ProgramEvents : public Listener {
 public:
  void prepare(Partition partition, PrepareToken token) override;
  void warm_up(const Transition& transition, ReadyToken token) override;
  void acquired(const Transition& transition) override;
  void draining(const Transition& transition) override;
  void stopped(const Transition& transition, BarrierToken token) override;
  void released(const Transition& transition) override;

 private:
  /// A token that is not kept has ended; prepare, warm_up and stopped have one.
  virtual void tell(ProgramEvent event, CompletionToken token) = 0;

  std::map<Partition, std::stop_callback<std::function<void()>>> cancelled_;
};

}  // namespace neliroute::tool
