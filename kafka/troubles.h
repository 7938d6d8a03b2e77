// Which kinds of trouble were reported since something last worked, so that each is reported once.
//
// By its code, of which there are few: the texts carry numbers, such as a broker's port or how long
// a request took, and would be remembered without end in an outage.
//
// Threads: one.   Units: none.   Errors: none.
#pragma once

#include <librdkafka/rdkafka.h>

#include <set>

namespace neliroute {

class Troubles {
 public:
  /// True once for each kind.
  [[nodiscard]] bool is_new(rd_kafka_resp_err_t kind) { return told_.insert(kind).second; }
  /// Something works again.
  void clear() noexcept { told_.clear(); }

 private:
  std::set<rd_kafka_resp_err_t> told_;
};

}  // namespace neliroute
