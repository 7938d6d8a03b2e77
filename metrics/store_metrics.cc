#include "metrics/store_metrics.h"

#include <algorithm>

#include "ledgers/store_statistics.h"

namespace neliroute {

void add_store_metrics(MetricFamilies& made, const LedgerStatistics& statistics, LocalTime now) {
  const StoreStatistics* const store = statistics.store();
  if (store == nullptr) return;
  made.counter("ledger_requests_total", "Requests to the store");
  made.add(static_cast<double>(store->requests));
  made.counter("ledger_errors_total", "Requests without an answer, and answers that are errors");
  made.add(static_cast<double>(store->unanswered), {{"reason", "unanswered"}});
  made.add(static_cast<double>(store->refused), {{"reason", "refused"}});
  made.histogram("ledger_round_trip_seconds", "From a request to the store to its answer",
                 store->round_trips);
  made.gauge("ledger_silence_seconds", "Since anything came from the store");
  made.add(seconds_of(std::max(now - store->heard_at.load(), microseconds{0})));
  made.gauge("ledger_unsent_records", "Records that the store has not acknowledged yet");
  made.add(static_cast<double>(store->unsent_records));
}

}  // namespace neliroute
