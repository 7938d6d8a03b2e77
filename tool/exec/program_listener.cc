#include "tool/exec/program_listener.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "router/text/json_text.h"
#include "tool/print/log.h"

namespace neliroute::tool {
namespace {

namespace json = boost::json;

constexpr std::uint32_t kComplaintsMost = 10;

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

}  // namespace

/// What the program is told at once.
struct ProgramListener::Line {
  std::string event;
  json::object fields;

  Line(std::string named, Partition partition) : event(std::move(named)) {
    fields["partition"] = partition.value();
  }
  Line(std::string named, const Transition& t) : Line(std::move(named), t.partition) {
    fields["epoch"] = neliroute::json_of(t.epoch);
    if (t.previous) fields["predecessor"] = json_of_predecessor(*t.previous);
    if (t.successor) fields["successor"] = json_of_process(*t.successor);
    if (t.kind == TransitionKind::stopped) fields["reason"] = to_string(t.reason);
  }
};

void ProgramListener::prepare(Partition partition, PrepareToken token) {
  Line line("prepare", partition);
  if (const Predecessor* const one = token.predecessor()) {
    line.fields["predecessor"] = json_of_predecessor(*one);
  }
  cancelled_.erase(partition);
  cancelled_.try_emplace(partition, token.cancelled(),
                         [this, partition] { tell(Line("cancelled", partition)); });
  tell(std::move(line), std::move(token));
}

void ProgramListener::warm_up(const Transition& t, ReadyToken token) {
  cancelled_.erase(t.partition);
  tell(Line("warm_up", t), std::move(token));
}

void ProgramListener::acquired(const Transition& t) {
  cancelled_.erase(t.partition);
  tell(Line("acquired", t));
}

void ProgramListener::draining(const Transition& t) { tell(Line("draining", t)); }

void ProgramListener::stopped(const Transition& t, BarrierToken token) {
  tell(Line("stopped", t), std::move(token));
}

void ProgramListener::released(const Transition& t) { tell(Line("released", t)); }

// A token that is not kept has ended.
void ProgramListener::tell(Line line, CompletionToken token) {
  json::object row{{"seq", ++last_}, {"event", line.event}};
  for (const auto& field : line.fields) row[field.key()] = field.value();
  if (awaits_.contains(line.event)) tokens_.emplace(last_, std::move(token));
  if (write_(json::serialize(row)) || std::exchange(told_hung_, true)) return;
  log(Severity::error, "the program does not read its stdin: it counts as hung");
  hung_();
}

void ProgramListener::on_line(std::string_view line) {
  boost::system::error_code error;
  const json::value value = json::parse({line.data(), line.size()}, error);
  const json::object* const row = error ? nullptr : value.if_object();
  if (row == nullptr) return complain(line, "is no JSON object");
  if (const json::value* const awaits = row->if_contains("awaits")) {
    const json::array* const names = awaits->if_array();
    if (names == nullptr) return complain(line, "\"awaits\" is no list of events");
    for (const json::value& name : *names) {
      if (name.is_string()) awaits_.emplace(name.get_string().data(), name.get_string().size());
    }
    return;
  }
  const json::value* const done = row->if_contains("done");
  if (done == nullptr || !(done->is_int64() || done->is_uint64())) {
    return complain(line, "has neither \"awaits\" nor a number \"done\"");
  }
  boost::system::error_code range;
  auto node = tokens_.extract(done->to_number<std::uint64_t>(range));
  if (node) node.mapped().complete();
}

void ProgramListener::on_exit() {
  awaits_.clear();
  tokens_.clear();
}

void ProgramListener::complain(std::string_view line, std::string_view why) {
  if (++complaints_ > kComplaintsMost) return;
  log(Severity::warning, "the program wrote a line on descriptor 3 that " + std::string(why) +
                             ": " + std::string(line.substr(0, 100)));
}

}  // namespace neliroute::tool
