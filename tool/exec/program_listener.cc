#include "tool/exec/program_listener.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <utility>

#include "tool/print/log.h"

namespace neliroute::tool {
namespace {

namespace json = boost::json;

constexpr std::uint32_t kComplaintsMost = 10;

}  // namespace

void ProgramListener::tell(ProgramEvent event, CompletionToken token) {
  ++last_;
  if (const auto step = steps_.find(event.partition); step != steps_.end()) {
    tokens_.erase(step->second);
    steps_.erase(step);
  }
  if (awaits_.contains(event.name)) {
    tokens_.emplace(last_, std::move(token));
    if (event.name != "stopped") steps_[event.partition] = last_;
  }
  write_(json_of(event, last_));
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
      const json::string* const text = name.if_string();
      if (text == nullptr || (*text != "prepare" && *text != "warm_up" && *text != "stopped")) {
        complain(line, "awaits something else than prepare, warm_up and stopped");
      } else {
        awaits_.emplace(text->data(), text->size());
      }
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

void ProgramListener::on_silent() {
  awaits_.clear();
  tokens_.clear();
}

void ProgramListener::complain(std::string_view line, std::string_view why) {
  if (++complaints_ > kComplaintsMost) return;
  log(Severity::warning, "the program wrote a line on descriptor 3 that " + std::string(why) +
                             ": " + std::string(line.substr(0, 100)));
}

}  // namespace neliroute::tool
