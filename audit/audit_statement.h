// What one renewal says of one epoch of one partition. Private to the audit.
//
// Threads: one.   Units: BrokerTime.   Errors: none.
#pragma once

#include "audit/audit_log.h"

namespace neliroute {

struct LogAudit::Statement {
  const Record& record;
  WriterAudit& writer;
  Mark at;
  Says says = Says::looks;
  /// It was appended in the order of writing; a repetition says nothing new.
  bool in_order = true;
  /// What its writer had certainly read, and the time before which it was not written.
  std::int64_t read = -1;
  BrokerTime written = kBeforeAll;

  [[nodiscard]] bool leads() const noexcept { return says == Says::leads || says == Says::drains; }
};

}  // namespace neliroute
