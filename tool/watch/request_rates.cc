#include "tool/watch/request_rates.h"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <utility>

namespace neliroute::tool {
namespace {

// The rates are taken over so many seconds. After a longer silence they begin anew.
constexpr double kOver = 10;

std::optional<std::uint64_t> count_of(const boost::json::object& row, std::string_view name) {
  const auto* value = row.if_contains(name);
  boost::system::error_code error;
  const auto count = value == nullptr ? 0 : value->to_number<std::uint64_t>(error);
  if (value == nullptr || error) return std::nullopt;
  return count;
}

std::string text_in(const boost::json::object& row, std::string_view name) {
  const auto* value = row.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

/// `answer` is not of a process that has counted on from `before`.
bool is_another(const RequestCounts& answer, const RequestCounts& before) {
  if (answer.process != before.process || answer.source != before.source) return true;
  for (std::size_t kind = 0; kind < kRequestKinds.size(); ++kind) {
    if (answer.counts[kind].value_or(0) < before.counts[kind].value_or(0)) return true;
  }
  return false;
}

}  // namespace

std::optional<RequestCounts> parse_request_counts(std::string_view json) {
  boost::system::error_code error;
  const auto value = boost::json::parse(json, error);
  if (error || !value.is_object()) return std::nullopt;
  const auto& row = value.get_object();
  const auto* at = row.if_contains("at");
  if (at == nullptr) return std::nullopt;
  RequestCounts made;
  made.at = at->to_number<double>(error);
  made.process = text_in(row, row.contains("process") ? "process" : "process_base64");
  made.source = text_in(row, "source");
  if (error || made.process.empty() || made.source.empty()) return std::nullopt;
  for (std::size_t kind = 0; kind < kRequestKinds.size(); ++kind) {
    made.counts[kind] = count_of(row, kRequestKinds[kind]);
  }
  if (made.source == "admit") made.counts[1] = count_of(row, "redirected");
  if (auto& failed = made.counts[kFailedRequests]) {
    for (const char* kind : {"unowned", "unreachable"}) *failed += count_of(row, kind).value_or(0);
  }
  return made;
}

void RequestRates::take(RequestCounts counts) {
  if (!answers_.empty()) {
    const double age = counts.at - answers_.back().at;
    // Or a clock was set.
    const bool follows = age > 0 && age <= kOver;
    if (!follows || is_another(counts, answers_.back())) answers_.clear();
  }
  answers_.push_back(std::move(counts));
  while (answers_.size() > 2 && answers_.back().at - answers_[1].at >= kOver) answers_.pop_front();
}

PerKind<double> RequestRates::per_second() const {
  PerKind<double> made;
  if (answers_.size() < 2) return made;
  const RequestCounts& first = answers_.front();
  const RequestCounts& last = answers_.back();
  for (std::size_t kind = 0; kind < kRequestKinds.size(); ++kind) {
    if (!first.counts[kind] || !last.counts[kind]) continue;
    made[kind] =
        static_cast<double>(*last.counts[kind] - *first.counts[kind]) / (last.at - first.at);
  }
  return made;
}

}  // namespace neliroute::tool
