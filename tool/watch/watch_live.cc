#include "tool/watch/watch_live.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <neliroute/observable.h>
#include <utility>
#include <vector>

#include "tool/print/log.h"
#include "tool/print/output.h"
#include "tool/watch/watch_screen.h"

namespace neliroute::tool {
namespace {

constexpr milliseconds kDrawAfter{250};  // no person reads faster
constexpr std::size_t kKept = 20;

class Live {
 public:
  Live(const Observable& observable, std::string title, std::unique_ptr<FullScreen> screen)
      : observable_(observable),
        model_(std::make_shared<WatchModel>(SlotCount{observable.facts().settings.slots},
                                            observable.facts().settings.partitions)),
        screen_(std::move(screen)) {
    moment_.title = std::move(title);
    observable_.observe(model_);
    // Lines that would be written into the picture become part of it.
    if (::isatty(STDERR_FILENO) == 1) {
      divert_log([this](std::string_view line) {
        const std::scoped_lock lock(kept_mutex_);
        kept_.push_back(clock_text().substr(0, 8) + " " + std::string(line));
        std::replace(kept_.back().begin(), kept_.back().end(), '\n', ' ');
        if (kept_.size() > kKept) kept_.pop_front();
      });
    }
  }
  ~Live() {
    screen_.reset();  // from here on lines are written again
    divert_log({});
    for (const std::string& line : kept_) write_stderr(line);
  }
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

  /// True: it is over.
  bool step() {
    const LocalTime now = boot_now();
    bool due = now >= later(drawn_at_, kDrawAfter);
    for (int key = screen_->key(); key != 0; key = screen_->key()) {
      press(state_, key, screen_->window());
      due = true;
    }
    if (due) show(now);
    return state_.quit || screen_->ended();
  }

 private:
  void show(LocalTime now) {
    hear(*model_, observable_, now);
    moment_.now = now;
    moment_.clock = clock_text().substr(0, 8);
    moment_.silence = observable_.age(now);
    moment_.answers = observable_.ledger_answers(now);
    if (const std::scoped_lock lock(kept_mutex_); !kept_.empty()) moment_.notice = kept_.back();
    screen_->show(draw(*model_, moment_, state_, screen_->window()));
    drawn_at_ = boot_now();
  }

  Observable observable_;
  std::shared_ptr<WatchModel> model_;
  std::unique_ptr<FullScreen> screen_;
  WatchState state_;
  WatchMoment moment_;
  LocalTime drawn_at_ = LocalTime{};
  std::mutex kept_mutex_;
  std::deque<std::string> kept_;  ///< the log's last lines, which go to stderr in the end
};

}  // namespace

void hear(WatchModel& model, const Observable& observable, LocalTime now) {
  std::vector<microseconds> heard;
  for (const PartitionRow& row : model.partitions()) {
    const Slot slot{static_cast<std::uint32_t>(heard.size())};  // the partition's first
    const microseconds lease = row.route.lease;
    heard.push_back(lease - std::min(observable.route(slot, now).valid_for, lease));
  }
  model.hear(heard);
}

int watch_live(const std::string& command, WatcherLoop& lookup, const CommonOptions& options,
               const std::string& http, std::unique_ptr<FullScreen> screen) {
  {
    const Observable observable = lookup.watcher().observable();
    const ObservedFacts& facts = observable.facts();
    Live live(observable,
              fmt::format("{}, {} partitions, lane {}{}", shown(options.where()),
                          facts.settings.partitions, facts.lane.value(),
                          http.empty() ? "" : ", http://" + http + "/"),
              std::move(screen));
    lookup.run_until([&] { return live.step(); }, kNever);
  }
  return lookup.failure() ? lookup.fail(command) : kExitYes;
}

}  // namespace neliroute::tool
