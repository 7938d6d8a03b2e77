// Requests to etcd's JSON gateway, and its answers: protobuf as JSON, where keys and values are in
// base64 and 64-bit numbers are strings.
//
// Threads: values and pure functions, any.   Units: revisions; bytes.
// Errors: no value, for what is no answer of etcd.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace neliroute {

struct EtcdKeyValue {
  std::string key;
  std::string value;
  std::int64_t revision = 0;  ///< of its last change
};

/// Which keys are asked for.
struct EtcdRange {
  std::string key = {};
  std::string end = {};  ///< exclusive; empty: that key alone
  /// What stood there as of this revision; 0: what stands there now.
  std::int64_t as_of = 0;
  // Only those last changed within these, both inclusive; 0: no bound.
  std::int64_t changed_from = 0;
  std::int64_t changed_to = 0;
  std::int64_t limit = 0;  ///< 0: none
  bool newest_first = false;  ///< else in the order in which they were changed
};

/// What is said of an answer that cannot be read.
inline constexpr const char* kNoEtcd = "an answer that is none of etcd 3.4 or later";

/// All keys that begin with it.
[[nodiscard]] EtcdRange all_below(const std::string& prefix);

[[nodiscard]] boost::json::object json_of(const EtcdRange& range);
/// As an operation of a transaction.
[[nodiscard]] boost::json::object range_operation(const EtcdRange& range);
/// `lease` 0: it stays for ever.
[[nodiscard]] boost::json::object put_operation(std::string_view key, std::string_view value,
                                                std::int64_t lease = 0);
/// That the key was last changed at this revision; 0: that there is none.
[[nodiscard]] boost::json::object unchanged_since(std::string_view key, std::int64_t revision);
/// That this is its value.
[[nodiscard]] boost::json::object has_value(std::string_view key, std::string_view value);
[[nodiscard]] boost::json::object transaction(boost::json::array compare,
                                              boost::json::array success,
                                              boost::json::array failure = {});
/// To be told of all changes but deletions, from that revision on.
[[nodiscard]] boost::json::object watch_request(const std::string& prefix, std::int64_t from);

/// A number, which etcd leaves out where it is 0. No value: it is none.
[[nodiscard]] std::optional<std::int64_t> number_at(const boost::json::object& object,
                                                    std::string_view name);
/// Null: it is not there, or no object.
[[nodiscard]] const boost::json::object* object_at(const boost::json::object& object,
                                                   std::string_view name);

struct EtcdHeader {
  std::string cluster;
  std::int64_t revision = 0;
};
[[nodiscard]] std::optional<EtcdHeader> header_of(const boost::json::object& answer);

/// What a range found.
struct EtcdFound {
  std::vector<EtcdKeyValue> keys;
  bool more = false;  ///< than the limit
};
[[nodiscard]] std::optional<EtcdFound> found_in(const boost::json::object& range_answer);

struct EtcdCommitted {
  EtcdHeader header;
  bool succeeded = false;  ///< all that was compared was so
  std::vector<EtcdFound> found;  ///< by the ranges of what was done, in their order
};
[[nodiscard]] std::optional<EtcdCommitted> committed_in(const boost::json::object& answer);

/// What an operator should know of /v3/maintenance/status: the database is half as large as etcd
/// lets it become by default.
[[nodiscard]] std::optional<std::string> size_warning(const boost::json::object& status);

/// One message of a watch.
struct EtcdWatched {
  std::string cluster;  ///< whose it is
  std::vector<EtcdKeyValue> puts;
  /// It is over: why.
  std::optional<std::string> ended;
  /// If it is over for that reason: the oldest revision that is left.
  std::int64_t compacted_to = 0;
};
[[nodiscard]] std::optional<EtcdWatched> watched_in(std::string_view line);

}  // namespace neliroute
