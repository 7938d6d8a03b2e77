#include "tool/lookup.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "tool/values.h"

namespace neliroute::tool {
namespace {

// How often a condition is looked at again: far below what a person, or a lease, would notice.
constexpr milliseconds kPoll{5};
constexpr milliseconds kCloseBound{1000};

}  // namespace

Result<std::unique_ptr<Lookup>> Lookup::open(const CommonOptions& options) {
  if (const auto checked = options.check(); !checked) return checked.error();
  std::unique_ptr<Lookup> lookup(new Lookup);
  lookup->timeout_ = options.timeout_or_default();
  auto watcher = Watcher::open(lookup->io_.get_executor(), options.for_open());
  if (!watcher) return watcher.error();
  lookup->watcher_ = std::move(*watcher);
  lookup->watcher_->on_failure([raw = lookup.get()](const Error& error) {
    raw->failure_ = error;
  });
  return lookup;
}

Lookup::~Lookup() {
  if (!watcher_) return;
  bool closed = false;
  watcher_->close([&closed] { closed = true; });
  const LocalTime deadline = boot_now() + kCloseBound;
  while (!closed && boot_now() < deadline) io_.run_for(kPoll);
}

bool Lookup::run_until(const std::function<bool()>& done, LocalTime deadline) {
  while (!failure_) {
    if (done()) return true;
    const LocalTime now = boot_now();
    if (now >= deadline) return false;
    io_.run_for(std::min<microseconds>(kPoll, deadline - now));
  }
  return false;
}

bool Lookup::run_until_known(const std::set<Partition>& partitions, LocalTime deadline) {
  return run_until(
      [&] {
        const LocalTime now = boot_now();
        return std::none_of(partitions.begin(), partitions.end(), [&](Partition partition) {
          return watcher_->route(Slot{partition.value()}, now).verdict == Verdict::unknown;
        });
      },
      deadline);
}

std::string Lookup::silence() const {
  return fmt::format("the ledger has not told all of that within {}; raise --timeout if it is "
                     "slow, try again later if it is away", text_of(timeout_));
}

}  // namespace neliroute::tool
