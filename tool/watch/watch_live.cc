#include "tool/watch/watch_live.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <neliroute/observable.h>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "tool/print/log.h"
#include "tool/print/output.h"
#include "tool/print/stderr_lines.h"
#include "tool/watch/watch_model.h"
#include "tool/watch/watch_screen.h"

namespace neliroute::tool {
namespace {

// Ages need no finer resolution, and no person reads faster.
constexpr milliseconds kAges{500};
constexpr milliseconds kChanges{100};
constexpr std::size_t kKept = 20;

class Watched : public Observer {
 public:
  explicit Watched(const Settings& settings)
      : model_(SlotCount{settings.slots}, settings.partitions) {}
  void on_view(const ViewChange& change) override { model_.take(change); }
  void on_assignment(const AssignmentNews& news) override { model_.take(news); }
  [[nodiscard]] WatchModel& model() noexcept { return model_; }

 private:
  WatchModel model_;
};

class Live {
 public:
  Live(WatcherLoop& lookup, const CommonOptions& options, WatchExtras extras,
       std::unique_ptr<FullScreen> screen)
      : observable_(lookup.watcher().observable()),
        watched_(std::make_shared<Watched>(observable_.facts().settings)),
        screen_(std::move(screen)) {
    const ObservedFacts& facts = observable_.facts();
    moment_.title = fmt::format("topic {} at {}, {} partitions, lane {}", facts.topic,
                                shown(options.router.kafka.brokers), facts.settings.partitions,
                                facts.lane.value());
    if (!extras.http.empty()) moment_.title += fmt::format(", http://{}/", extras.http);
    observable_.observe(watched_);
    if (!extras.requests.empty()) {
      poll_.emplace(lookup.executor(), std::move(extras.requests),
                    [this](const std::vector<RequestRow>& rows) { model().take(rows); });
    }
    // Lines that would be written into the picture become part of it.
    if (::isatty(STDERR_FILENO) == 1) {
      divert_log([this](std::string_view line) {
        const std::scoped_lock lock(notice_mutex_);
        notice_ = clock_text().substr(0, 8) + " " + std::string(line);
        std::replace(notice_.begin(), notice_.end(), '\n', ' ');
        kept_.push_back(notice_);
        if (kept_.size() > kKept) kept_.pop_front();
      });
    }
  }
  ~Live() {
    screen_.reset();  // from here on lines are written again
    divert_log({});
    for (const std::string& line : kept_) write_stderr(line + "\n");
  }
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

  /// True: it is over.
  bool step() {
    const LocalTime now = boot_now();
    bool anew = false;
    while (const auto key = screen_->key()) {
      arrange();  // a key refers to what is visible now
      state_ = pressed(std::move(state_), *key, model(), listing_, screen_->window());
      anew = true;
    }
    anew = screen_->resized() || anew;
    if (now >= later(heard_at_, kAges)) {
      hear(now);
      anew = true;
    }
    if (anew || (model().version() != drawn_ && now >= later(drawn_at_, kChanges))) draw_all(now);
    return state_.quit || screen_->ended();
  }

 private:
  [[nodiscard]] WatchModel& model() { return watched_->model(); }

  void hear(LocalTime now) {
    heard_at_ = now;
    const auto& rows = model().partitions();
    std::vector<microseconds> heard(rows.size());
    for (std::uint32_t p = 0; p < rows.size(); ++p) {
      const microseconds valid_for = observable_.route(Slot{p}, now).valid_for;
      const microseconds lease = rows[p].route.lease;
      heard[p] = lease - std::min(valid_for, lease);
    }
    model().hear(heard);
  }

  void arrange() {
    Arrangement wanted{model().version(), state_.page, state_.table().sort,
                       state_.table().descending, state_.filter};
    if (wanted != arranged_) {
      listing_ = list(model(), state_);
      arranged_ = std::move(wanted);
    }
    state_ = settled(std::move(state_), listing_, screen_->window());
  }

  void draw_all(LocalTime now) {
    arrange();
    {
      const std::scoped_lock lock(notice_mutex_);
      moment_.notice = notice_;
    }
    moment_.now = now;
    moment_.clock = clock_text().substr(0, 8);
    moment_.silence = observable_.age(now);
    moment_.answers = observable_.ledger_answers(now);
    screen_->show(draw(model(), listing_, moment_, state_, screen_->window()));
    drawn_at_ = now;
    drawn_ = model().version();
  }

  /// What a listing depends on.
  using Arrangement = std::tuple<std::uint64_t, WatchPage, std::size_t, bool, std::string>;

  Observable observable_;
  std::shared_ptr<Watched> watched_;
  std::unique_ptr<FullScreen> screen_;
  WatchState state_;
  WatchMoment moment_;
  Listing listing_;
  Arrangement arranged_{};
  LocalTime heard_at_ = LocalTime{};
  LocalTime drawn_at_ = LocalTime{};
  std::uint64_t drawn_ = 0;
  std::mutex notice_mutex_;
  std::string notice_;            ///< the log's last line; of any thread, under the mutex
  std::deque<std::string> kept_;  ///< its last lines, which go back to stderr in the end
  std::optional<RequestsPoll> poll_;
};

}  // namespace

int watch_live(const std::string& command, WatcherLoop& lookup, const CommonOptions& options,
               WatchExtras extras, std::unique_ptr<FullScreen> screen) {
  {
    Live live(lookup, options, std::move(extras), std::move(screen));
    lookup.run_until([&] { return live.step(); }, kNever);
  }
  return lookup.failure() ? lookup.fail(command) : kExitYes;
}

}  // namespace neliroute::tool
