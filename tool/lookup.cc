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
  // Some may be known before all are. Who waits for all makes the watcher notice what time alone
  // changes, too; so whatever makes one known is something that runs here.
  watcher_->async_ready([](boost::system::error_code) {});
  while (!failure_) {
    const LocalTime now = boot_now();
    const bool known = std::none_of(partitions.begin(), partitions.end(), [&](Partition p) {
      return watcher_->route(Slot{p.value()}, now).verdict == Verdict::unknown;
    });
    if (known) return true;
    if (now >= deadline) return false;
    io_.run_one_for(deadline - now);
  }
  return false;
}

std::string Lookup::silence() const {
  return fmt::format("the ledger has not told all of that within {}; raise --timeout if it is "
                     "slow, try again later if it is away", text_of(timeout_));
}

}  // namespace neliroute::tool
