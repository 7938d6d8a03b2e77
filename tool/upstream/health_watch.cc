#include "tool/upstream/health_watch.h"

#include <fmt/format.h>

#include <neliroute/clock.h>
#include <utility>

#include "tool/print/log.h"

namespace neliroute::tool {
namespace {

// While it starts: between two questions, and for an answer.
constexpr milliseconds kAgain{100};
constexpr milliseconds kAnswer{5000};
// Longer than most programs take to start.
constexpr milliseconds kUntilTold{1000};

}  // namespace

HealthWatch::HealthWatch(const boost::asio::any_io_executor& executor, Options options,
                         Handlers handlers)
    : options_(std::move(options)),
      handlers_(std::move(handlers)),
      probe_(executor, options_.address, options_.path),
      began_(boot_now()),
      timer_(executor) {
  ask();
}

void HealthWatch::ask() {
  probe_.ask(rule_ ? rule_->within(boot_now()) : kAnswer,
             [this](const std::string& trouble) { note(trouble); });
}

void HealthWatch::ask_after(milliseconds pause) {
  timer_.expires_after(pause);
  timer_.async_wait([this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
    if (!error && !alive.expired()) ask();
  });
}

void HealthWatch::note(const std::string& trouble) {
  if (!rule_) return note_start(trouble);
  if (rule_->note(trouble.empty(), boot_now())) {
    rule_->healthy() ? handlers_.healthy() : handlers_.unhealthy(options_.address + " " + trouble);
  }
  ask_after(rule_->every());
}

void HealthWatch::note_start(const std::string& trouble) {
  const LocalTime now = boot_now();
  if (trouble.empty()) {
    rule_.emplace(options_.unhealthy_after, now);
    handlers_.healthy();
    return ask_after(rule_->every());
  }
  if (now >= began_ + options_.starts_within) {
    return handlers_.never(options_.address + " " + trouble);
  }
  if (now >= began_ + kUntilTold && !std::exchange(told_, true)) {
    log(Severity::warning,
        fmt::format("--upstream {} {}; waiting for it, at most {} ms (--timeout)",
                    options_.address, trouble, options_.starts_within.count()));
  }
  ask_after(kAgain);
}

}  // namespace neliroute::tool
