// Which kinds of trouble were reported since something last worked, so that each is reported once.
//
// A kind is an error code, of which there are few: texts contain numbers, such as a broker's port
// or how long a request took, so a set of texts would grow without end in an outage.
//
// Threads: one.   Units: none.   Errors: none.
#pragma once

#include <librdkafka/rdkafka.h>

#include <set>

namespace neliroute {

class Troubles {
 public:
  /// True once for each kind.
  [[nodiscard]] bool is_new(rd_kafka_resp_err_t kind) { return reported_.insert(kind).second; }
  /// Something works again.
  void clear() noexcept { reported_.clear(); }

 private:
  std::set<rd_kafka_resp_err_t> reported_;
};

}  // namespace neliroute
