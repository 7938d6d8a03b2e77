#include "ledgers/etcd/etcd_json.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <utility>

#include "base/base64.h"
#include "ledgers/etcd/etcd_keys.h"

namespace neliroute {
namespace {

namespace json = boost::json;

/// Positions are exact as JSON's numbers, too (P1).
constexpr std::int64_t kRevisionMost = (std::int64_t{1} << 53) - 2;

const json::array* array_at(const json::object& object, std::string_view name) {
  const json::value* const value = object.if_contains(name);
  return value == nullptr ? nullptr : value->if_array();
}

bool flag_at(const json::object& object, std::string_view name) {
  const json::value* const value = object.if_contains(name);
  return value != nullptr && value->is_bool() && value->get_bool();
}

std::string text_at(const json::object& object, std::string_view name) {
  const json::value* const value = object.if_contains(name);
  const json::string* const text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string() : std::string(*text);
}

std::optional<EtcdKeyValue> key_value(const json::object& object) {
  auto key = bytes_of_base64(text_at(object, "key"));
  auto value = bytes_of_base64(text_at(object, "value"));
  const auto revision = number_at(object, "mod_revision");
  if (!key || !value || !revision || *revision < 0 || *revision > kRevisionMost) {
    return std::nullopt;
  }
  return EtcdKeyValue{std::move(*key), std::move(*value), *revision};
}

bool take_events(const json::array& events, EtcdWatched& watched) {
  for (const json::value& one : events) {
    const json::object* const event = one.if_object();
    if (event == nullptr) return false;
    if (text_at(*event, "type") == "DELETE") continue;
    const json::object* const changed = object_at(*event, "kv");
    auto put = changed == nullptr ? std::nullopt : key_value(*changed);
    if (!put) return false;
    watched.puts.push_back(std::move(*put));
  }
  return true;
}

}  // namespace

EtcdRange all_below(const std::string& prefix) { return {prefix, end_of_prefix(prefix)}; }

json::object json_of(const EtcdRange& range) {
  json::object object{{"key", base64(range.key)},
                      {"sort_target", "MOD"},
                      {"sort_order", range.newest_first ? "DESCEND" : "ASCEND"}};
  if (!range.end.empty()) object["range_end"] = base64(range.end);
  const auto put = [&](const char* name, std::int64_t number) {
    if (number != 0) object[name] = std::to_string(number);
  };
  put("revision", range.as_of);
  put("min_mod_revision", range.changed_from);
  put("max_mod_revision", range.changed_to);
  put("limit", range.limit);
  return object;
}

json::object range_operation(const EtcdRange& range) {
  return {{"request_range", json_of(range)}};
}

json::object put_operation(std::string_view key, std::string_view value, std::int64_t lease) {
  json::object put{{"key", base64(key)}, {"value", base64(value)}};
  if (lease != 0) put["lease"] = std::to_string(lease);
  return {{"request_put", std::move(put)}};
}

json::object unchanged_since(std::string_view key, std::int64_t revision) {
  return {{"key", base64(key)},
          {"target", "MOD"},
          {"result", "EQUAL"},
          {"mod_revision", std::to_string(revision)}};
}

json::object has_value(std::string_view key, std::string_view value) {
  return {{"key", base64(key)},
          {"target", "VALUE"},
          {"result", "EQUAL"},
          {"value", base64(value)}};
}

json::object transaction(json::array compare, json::array success, json::array failure) {
  return {{"compare", std::move(compare)},
          {"success", std::move(success)},
          {"failure", std::move(failure)}};
}

json::object watch_request(const std::string& prefix, std::int64_t from) {
  return {{"create_request", json::object{{"key", base64(prefix)},
                                          {"range_end", base64(end_of_prefix(prefix))},
                                          {"start_revision", std::to_string(from)},
                                          {"filters", json::array{"NODELETE"}},
                                          {"fragment", true}}}};
}

std::optional<std::int64_t> number_at(const json::object& object, std::string_view name) {
  const json::value* const value = object.if_contains(name);
  if (value == nullptr) return 0;
  if (const std::int64_t* const number = value->if_int64()) return *number;
  const json::string* const text = value->if_string();
  if (text == nullptr || text->empty()) return std::nullopt;
  std::int64_t number = 0;
  const char* const end = text->data() + text->size();
  const auto [read_to, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc{} || read_to != end) return std::nullopt;
  return number;
}

const json::object* object_at(const json::object& object, std::string_view name) {
  const json::value* const value = object.if_contains(name);
  return value == nullptr ? nullptr : value->if_object();
}

std::optional<EtcdHeader> header_of(const json::object& answer) {
  const json::object* const header = object_at(answer, "header");
  if (header == nullptr) return std::nullopt;
  const auto revision = number_at(*header, "revision");
  if (!revision || *revision < 0 || *revision > kRevisionMost) return std::nullopt;
  return EtcdHeader{text_at(*header, "cluster_id"), *revision};
}

std::optional<EtcdFound> found_in(const json::object& range_answer) {
  EtcdFound found;
  found.more = flag_at(range_answer, "more");
  const json::array* const keys = array_at(range_answer, "kvs");
  if (keys == nullptr) return found;
  for (const json::value& one : *keys) {
    const json::object* const object = one.if_object();
    auto parsed = object == nullptr ? std::nullopt : key_value(*object);
    if (!parsed) return std::nullopt;
    found.keys.push_back(std::move(*parsed));
  }
  return found;
}

std::optional<EtcdCommitted> committed_in(const json::object& answer) {
  auto header = header_of(answer);
  if (!header) return std::nullopt;
  EtcdCommitted committed;
  committed.header = std::move(*header);
  committed.succeeded = flag_at(answer, "succeeded");
  const json::array* const responses = array_at(answer, "responses");
  if (responses == nullptr) return committed;
  for (const json::value& one : *responses) {
    const json::object* const response = one.if_object();
    const json::object* const range =
        response == nullptr ? nullptr : object_at(*response, "response_range");
    if (range == nullptr) continue;
    auto found = found_in(*range);
    if (!found) return std::nullopt;
    committed.found.push_back(std::move(*found));
  }
  return committed;
}

std::optional<std::string> size_warning(const json::object& status) {
  constexpr std::int64_t kMuch = std::int64_t{1} << 30;
  const std::int64_t size = number_at(status, "dbSize").value_or(0);
  if (size < kMuch) return std::nullopt;
  return "its database has " + std::to_string(size) +
         " bytes; at its quota (--quota-backend-bytes, 2 GiB by default) etcd takes no writes from "
         "anybody; compact it (--auto-compaction-retention) and defragment it";
}

std::optional<EtcdWatched> watched_in(std::string_view line) {
  json::error_code error;
  const json::value parsed = json::parse(line, error);
  if (error || !parsed.is_object()) return std::nullopt;
  EtcdWatched watched;
  if (const json::object* const failed = object_at(parsed.get_object(), "error")) {
    watched.ended = text_at(*failed, "message");
    return watched;
  }
  const json::object* const result = object_at(parsed.get_object(), "result");
  if (result == nullptr) return std::nullopt;
  const auto compacted = number_at(*result, "compact_revision");
  const auto header = header_of(*result);
  if (!compacted || !header) return std::nullopt;
  watched.cluster = header->cluster;
  watched.compacted_to = *compacted;
  if (flag_at(*result, "canceled")) watched.ended = text_at(*result, "cancel_reason");
  const json::array* const events = array_at(*result, "events");
  if (events != nullptr && !take_events(*events, watched)) return std::nullopt;
  return watched;
}

}  // namespace neliroute
