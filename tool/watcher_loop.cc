#include "tool/watcher_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <neliroute/observable.h>
#include <thread>

#include "neli_core/options.h"
#include "neli_core/settings_agreement.h"
#include "tool/command_line/values.h"
#include "tool/print/output.h"
#include "tool/print/progress.h"

namespace neliroute::tool {
namespace {

// How often a condition is polled: far below what a person, or a lease, would notice.
constexpr milliseconds kPoll{5};
constexpr milliseconds kCloseBound{1000};
constexpr milliseconds kSoon{1000};
// An unbounded wait for an event is a sequence of waits of this length.
constexpr std::chrono::hours kLong{1};
// Log 0 may still end with a record of the owners before.
constexpr int kLooksMost = 6;
constexpr milliseconds kBetweenLooks{200};

bool may_learn_partitions(const WatcherLoop& lookup, const CommonOptions& options) {
  const auto& failure = lookup.failure();
  return failure && is_about_partitions(*failure) && !options.router.partitions && !lookup.ends();
}

}  // namespace

Result<std::unique_ptr<WatcherLoop>> WatcherLoop::open(const CommonOptions& options) {
  const LocalTime began = boot_now();
  if (const auto checked = options.check(); !checked) return checked.error();
  std::unique_ptr<WatcherLoop> lookup(new WatcherLoop(options));
  auto watcher = Watcher::open(lookup->io_.get_executor(), options.for_watcher());
  if (!watcher) return watcher.error();
  lookup->timed_from_ = options.timed_from(began, boot_now());
  lookup->watcher_ = std::move(*watcher);
  lookup->watcher_->on_failure([raw = lookup.get()](const Error& error) {
    raw->failure_ = error;
  });
  return lookup;
}

WatcherLoop::~WatcherLoop() {
  if (!watcher_) return;
  bool closed = false;
  watcher_->async_close([&closed](boost::system::error_code) { closed = true; });
  const LocalTime deadline = later(boot_now(), kCloseBound);
  while (!closed && boot_now() < deadline) io_.run_one_for(deadline - boot_now());
}

template <class Deadline>
bool WatcherLoop::run(const std::function<bool()>& done, Deadline deadline) {
  while (!failure_) {
    if (done()) return true;
    const LocalTime now = boot_now();
    const LocalTime until = std::min(deadline(), later(now, kLong));
    if (now >= until) return false;
    io_.run_one_for(until - now);
  }
  return false;
}

bool WatcherLoop::run_until_told(const std::function<bool()>& done, LocalTime deadline) {
  return run(done, [deadline] { return deadline; });
}

void WatcherLoop::wake() {
  boost::asio::post(io_, [] {});
}

void WatcherLoop::run_until_observed(const std::function<bool()>& told,
                                     const std::function<bool()>& has_assigner) {
  // What is known at once reaches an observer on the strand, which has not run.
  const LocalTime deadline = later(boot_now(), std::max(kSoon, watcher_->lease()));
  run_until_told(
      [&] {
        const bool assigned =
            watcher_->observable().settings().variation == kAssignedVariation;
        return told() && (!assigned || has_assigner());
      },
      deadline);
}

bool WatcherLoop::run_until_known(const std::function<bool()>& known) {
  // Some may be known before all are. Waiting for all makes the watcher notice changes caused by
  // time alone, too; so whatever makes one known is something that runs here.
  watcher_->async_ready([](boost::system::error_code) {});
  return run(known, [this] { return later(timed_from_, timeout()); });
}

bool WatcherLoop::run_until(const std::function<bool()>& done, LocalTime deadline) {
  while (!failure_) {
    if (done()) return true;
    const LocalTime now = boot_now();
    if (now >= deadline) return false;
    io_.run_for(std::min<microseconds>(kPoll, deadline - now));
  }
  return false;
}

// A partition that no record mentions is known to be unowned a lease after the start.
milliseconds WatcherLoop::timeout() const { return options_.timeout_or_default(watcher_->lease()); }

int WatcherLoop::fail(const std::string& command) const {
  const bool logged =
      failure_->code() == Errc::settings_conflict && options_.log_level != LogLevel::off;
  return logged ? exit_code_of(failure_->code()) : tool::fail(command, *failure_);
}

int run_with_watcher(const std::string& command, const CommonOptions& options,
                     const std::function<int(WatcherLoop&)>& use) {
  std::optional<int> code;
  std::uint32_t before = 0;
  for (int looks = 0;;) {
    std::optional<Progress> progress(options.connecting());
    const auto lookup = WatcherLoop::open(options);
    progress.reset();
    if (!lookup) return fail(command, lookup.error());
    const std::uint32_t partitions = (*lookup)->watcher().settings().partitions;
    if (code && partitions == before) {
      if (++looks == kLooksMost) return *code;
      std::this_thread::sleep_for(kBetweenLooks);
      continue;
    }
    looks = 0;
    if (code) log(Severity::info, fmt::format("going on with {} partitions", partitions));
    code = use(**lookup);
    if (!may_learn_partitions(**lookup, options)) return *code;
    before = partitions;
  }
}

std::string WatcherLoop::silence() const {
  return fmt::format("the ledger has not answered all of that within {}; raise --timeout if it "
                     "is slow, try again later if it cannot be reached", text_of(timeout()));
}

}  // namespace neliroute::tool
