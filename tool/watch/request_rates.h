// How often requests end in which way, of processes that were asked for their counts
// (/v1/requests): the rates of the last seconds. Pure: it gets what each answered.
//
// Threads: one.   Units: requests, per second.   Errors: an answer that is none gives no value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace neliroute::tool {

/// What becomes of a request, in the order of the columns.
inline constexpr std::array<std::string_view, 6> kRequestKinds = {
    "served", "forwarded", "misdirected", "waited", "refused", "failed"};
inline constexpr std::size_t kFailedRequests = 5;

/// Of each kind; no value: it is not counted there, or not known.
template <class Number>
using PerKind = std::array<std::optional<Number>, kRequestKinds.size()>;

/// One answer.
struct RequestCounts {
  double at = 0;  ///< Unix seconds, by the clock of that process
  std::string process;
  std::string source;             ///< who counts; "none": nobody
  PerKind<std::uint64_t> counts;  ///< since the process started
};

/// What admit() would redirect counts as forwarded, and every answer 503 as failed.
[[nodiscard]] std::optional<RequestCounts> parse_request_counts(std::string_view json);

/// What is shown of one process.
struct RequestRow {
  std::string address;  ///< of its admin port
  std::string process;  ///< its name; empty: it has not answered yet
  std::string trouble;  ///< why nothing is known now; empty: it is
  PerKind<double> per_second;
};

class RequestRates {
 public:
  void take(RequestCounts counts);
  /// It did not answer: what it answered before says nothing of now.
  void lose() { answers_.clear(); }
  [[nodiscard]] PerKind<double> per_second() const;

 private:
  std::deque<RequestCounts> answers_;  ///< the newest last
};

}  // namespace neliroute::tool
