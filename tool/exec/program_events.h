// What a program behind an owner is notified of, whatever way it takes: a listener that turns its
// calls into JSON.
//
//   {"seq":7,"process":"…","event":"prepare","partition":3,"predecessor":{...}}  about to claim it
//   {"seq":8,"process":"…","event":"warm_up","partition":3,"epoch":{...}}        about to lead it
//   {"seq":9,"process":"…","event":"acquired",...}  draining, released, cancelled: for information
//   {"seq":12,"process":"…","event":"stopped","partition":3,"epoch":{...}}       finish
//
// `seq` counts from 1 in each process, and "process" is the id of that: a new one voids what its
// predecessor has told.
//
// Threads: one (the router's strand).   Units: LocalTime.   Errors: none.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <neliroute/ids.h>
#include <neliroute/listener.h>
#include <neliroute/time.h>
#include <neliroute/transition.h>
#include <stop_token>
#include <string>
#include <string_view>

namespace neliroute::tool {

struct ProgramEvent {
  std::string name;
  Partition partition;
  boost::json::object fields;  ///< without these two, and what text() adds
  LocalTime until = kNever;    ///< stopped: nothing waits for the program after this

  /// As JSON, without an end of line.
  [[nodiscard]] std::string text(std::string_view process, std::uint64_t seq) const;
};

class ProgramEvents : public Listener {
 public:
  /// Whose events they are; before the first one.
  void of_process(ProcessId id) { process_ = to_string(id); }

  void prepare(Partition partition, PrepareToken token) override;
  void warm_up(const Transition& transition, ReadyToken token) override;
  void acquired(const Transition& transition) override;
  void draining(const Transition& transition) override;
  void stopped(const Transition& transition, BarrierToken token) override;
  void released(const Transition& transition) override;

 protected:
  /// What to send.
  [[nodiscard]] std::string json_of(const ProgramEvent& event, std::uint64_t seq) const {
    return event.text(process_, seq);
  }

 private:
  /// A token that is not kept has ended; prepare, warm_up and stopped have one.
  virtual void tell(ProgramEvent event, CompletionToken token) = 0;

  std::string process_;
  std::map<Partition, std::stop_callback<std::function<void()>>> cancelled_;
};

}  // namespace neliroute::tool
