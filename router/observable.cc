#include <neliroute/observable.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "router/engine/engine.h"

namespace neliroute {
namespace {

constexpr std::chrono::seconds kOverdueMax{5};

}  // namespace

Observable::Observable(std::shared_ptr<Engine> engine, ObservedFacts facts,
                       std::shared_ptr<const LedgerStatistics> statistics)
    : engine_(std::move(engine)),
      facts_(std::make_shared<const ObservedFacts>(std::move(facts))),
      statistics_(std::move(statistics)) {}

Settings Observable::settings() const { return engine_->settings(); }

milliseconds Observable::lease() const noexcept { return engine_->lease(); }

Route Observable::route(Slot slot, LocalTime now) const {
  return engine_->view().look(slot, now);
}

microseconds Observable::age(LocalTime now) const {
  const LocalTime oldest = engine_->view().oldest_answer();
  if (oldest == kLongAgo) return microseconds{0};  // the executor has not run yet
  return std::max(microseconds{0}, now - oldest);
}

bool Observable::ledger_answers(LocalTime now) const { return engine_->view().answers(now); }

microseconds Observable::overdue(LocalTime now) const {
  return std::max(microseconds{0}, now - std::min(engine_->due(), now));
}

bool Observable::closed() const { return engine_->closed(); }

bool Observable::at_work(LocalTime now) const { return !closed() && overdue(now) < kOverdueMax; }

std::optional<std::string> Observable::unhealthy() const { return engine_->unhealthy(); }

LookupCounts Observable::lookups() const { return engine_->view().lookups(); }

AdmissionCounts Observable::admissions() const { return engine_->view().admissions(); }

std::size_t Observable::waiters() const { return engine_->waiters(); }

const Meter& Observable::meter() const { return engine_->meter(); }

void Observable::observe(std::weak_ptr<Observer> observer) const {
  engine_->observe(std::move(observer));
}

}  // namespace neliroute
