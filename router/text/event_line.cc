#include "router/text/event_line.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "router/text/json_text.h"

namespace neliroute {
namespace {

void add_duration(std::string& line, const char* name, microseconds took) {
  if (took.count() == 0) return;
  line += std::string(",\"") + name + "\":" + milliseconds_text(took);
}

}  // namespace

std::string event_line(const EventSource& source, const Transition& transition,
                       microseconds unix_minus_boot) {
  const microseconds boot = transition.at.time_since_epoch();
  boost::json::object row;
  put_text(row, "process", source.process);
  row["id"] = to_string(source.id);
  row["event"] = to_string(transition.kind);
  if (transition.kind == TransitionKind::stopped) row["reason"] = to_string(transition.reason);
  row["partition"] = transition.partition.value();
  row["lane"] = source.lane.value();
  row["epoch"] = json_of(transition.epoch);
  row["mode"] = to_string(source.mode);
  if (transition.kind == TransitionKind::acquired && transition.previous) {
    put_text(row, "previous", transition.previous->process.name);
    row["ending"] = to_string(transition.previous->ending);
  }
  if (transition.successor) put_text(row, "successor", transition.successor->name);
  // Boost.JSON would write the times as 1.7E9.
  std::string line = "{\"at\":" + seconds_text(boot + unix_minus_boot) +
                     ",\"boot\":" + seconds_text(boot) + "," +
                     boost::json::serialize(row).substr(1);
  line.pop_back();
  add_duration(line, "prepare_ms", transition.prepare);
  add_duration(line, "warm_up_ms", transition.warm_up);
  add_duration(line, "barrier_ms", transition.barrier);
  return line + "}";
}

}  // namespace neliroute
