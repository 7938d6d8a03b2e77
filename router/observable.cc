#include <neliroute/observable.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "router/reader/reader.h"

namespace neliroute {
namespace {

constexpr std::chrono::seconds kOverdueMax{5};

}  // namespace

Observable::Observable(std::shared_ptr<Reader> reader, ObservedFacts facts,
                       std::shared_ptr<const LedgerStatistics> statistics)
    : reader_(std::move(reader)),
      facts_(std::make_shared<const ObservedFacts>(std::move(facts))),
      statistics_(std::move(statistics)) {}

Settings Observable::settings() const { return reader_->settings(); }

milliseconds Observable::lease() const noexcept { return reader_->lease(); }

Route Observable::route(Slot slot, LocalTime now) const {
  return reader_->view().look(slot, now);
}

microseconds Observable::age(LocalTime now) const {
  const LocalTime oldest = reader_->view().oldest_answer();
  if (oldest == kLongAgo) return microseconds{0};  // the executor has not run yet
  return std::max(microseconds{0}, now - oldest);
}

bool Observable::ledger_answers(LocalTime now) const { return reader_->view().answers(now); }

microseconds Observable::overdue(LocalTime now) const {
  return std::max(microseconds{0}, now - std::min(reader_->due(), now));
}

bool Observable::closed() const { return reader_->closed(); }

bool Observable::at_work(LocalTime now) const { return !closed() && overdue(now) < kOverdueMax; }

std::optional<std::string> Observable::unhealthy() const { return reader_->unhealthy(); }

LookupCounts Observable::lookups() const { return reader_->view().lookups(); }

AdmissionCounts Observable::admissions() const { return reader_->view().admissions(); }

std::size_t Observable::waiters() const { return reader_->waiters(); }

const Meter& Observable::meter() const { return reader_->meter(); }

void Observable::observe(std::weak_ptr<Observer> observer) const {
  reader_->observe(std::move(observer));
}

}  // namespace neliroute
