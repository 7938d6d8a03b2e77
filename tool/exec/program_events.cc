#include "tool/exec/program_events.h"

#include <boost/json/serialize.hpp>
#include <utility>

#include "router/text/json_text.h"

namespace neliroute::tool {
namespace {

namespace json = boost::json;

json::object json_of_process(const ProcessInfo& process) {
  json::object made;
  put_text(made, "name", process.name);
  put_text(made, "endpoint", process.endpoint);
  return made;
}

json::object json_of_predecessor(const Predecessor& one) {
  json::object made = json_of_process(one.process);
  made["epoch"] = neliroute::json_of(one.epoch);
  made["ending"] = to_string(one.ending);
  return made;
}

ProgramEvent event_of(std::string name, const Transition& t) {
  ProgramEvent made{std::move(name), t.partition, {}};
  made.fields["epoch"] = neliroute::json_of(t.epoch);
  if (t.previous) made.fields["predecessor"] = json_of_predecessor(*t.previous);
  if (t.successor) made.fields["successor"] = json_of_process(*t.successor);
  if (t.kind == TransitionKind::stopped) {
    made.fields["reason"] = to_string(t.reason);
    made.until = t.barrier_deadline;
  }
  return made;
}

}  // namespace

std::string ProgramEvent::text(std::string_view process, std::uint64_t seq) const {
  json::object row{
      {"seq", seq}, {"process", process}, {"event", name}, {"partition", partition.value()}};
  for (const auto& field : fields) row[field.key()] = field.value();
  return json::serialize(row);
}

void ProgramEvents::prepare(Partition partition, PrepareToken token) {
  ProgramEvent event{"prepare", partition, {}};
  if (const Predecessor* const one = token.predecessor()) {
    event.fields["predecessor"] = json_of_predecessor(*one);
  }
  cancelled_.erase(partition);
  cancelled_.try_emplace(partition, token.cancelled(), [this, partition] {
    tell({"cancelled", partition, {}}, {});
  });
  tell(std::move(event), std::move(token));
}

void ProgramEvents::warm_up(const Transition& t, ReadyToken token) {
  cancelled_.erase(t.partition);
  tell(event_of("warm_up", t), std::move(token));
}

void ProgramEvents::acquired(const Transition& t) {
  cancelled_.erase(t.partition);
  tell(event_of("acquired", t), {});
}

void ProgramEvents::draining(const Transition& t) { tell(event_of("draining", t), {}); }

void ProgramEvents::stopped(const Transition& t, BarrierToken token) {
  tell(event_of("stopped", t), std::move(token));
}

void ProgramEvents::released(const Transition& t) { tell(event_of("released", t), {}); }

}  // namespace neliroute::tool
