// What an error code of librdkafka means to us, and what a person can do about it.
//
// Threads: pure functions, any.   Units: none.   Errors: classified here.
#pragma once

#include <librdkafka/rdkafka.h>

#include <string>
#include <string_view>

namespace neliroute {

/// What an error of one log means for its tail.
enum class TailFault {
  none,          ///< passes by itself: librdkafka goes on
  out_of_range,  ///< the next offset is outside of the log
  truncated,     ///< the log lost records that were read
  replaced,      ///< the topic was deleted and recreated
  missing,       ///< there is no such topic or partition
  refused,       ///< not authorised to read
  unreadable,    ///< what stands at the next offset; librdkafka tries it again and says nothing
};

[[nodiscard]] TailFault tail_fault_of(rd_kafka_resp_err_t error) noexcept;

/// The broker answered, and will answer the same until a right or a secret is changed.
[[nodiscard]] bool is_refusal(rd_kafka_resp_err_t error) noexcept;

/// The group refuses this process because a member speaks another protocol, or shares no assignor
/// with it: INCONSISTENT_GROUP_PROTOCOL; with the consumer protocol GROUP_ID_NOT_FOUND.
[[nodiscard]] bool is_inconsistent_group(rd_kafka_resp_err_t error) noexcept;

/// The error of a record whose client is being destroyed.
[[nodiscard]] bool is_own_doing(rd_kafka_resp_err_t error) noexcept;

/// No answer, yet.
[[nodiscard]] bool is_unreachable(rd_kafka_resp_err_t error) noexcept;

/// An answer to an admin request without information: the broker does not know the request, or
/// refused it.
[[nodiscard]] bool is_unknown_answer(rd_kafka_resp_err_t error) noexcept;

/// What to do about it; empty: not known.
[[nodiscard]] std::string_view advice_on(rd_kafka_resp_err_t error) noexcept;

/// "text (NAME)", with what to do where that is known.
[[nodiscard]] std::string describe(rd_kafka_resp_err_t error, std::string_view text = {});

}  // namespace neliroute
