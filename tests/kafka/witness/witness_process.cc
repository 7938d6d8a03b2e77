// An owner that does not trust itself: `neliroute run` plus a thread that asks owns() every
// millisecond for a slot of each partition and writes down when the answer changed.
//
//   {"boot":S,"start":true}
//   {"boot":S,"slot":N,"partition":N,"owns":true|false,"prev":S}
//   {"boot":S,"looked":true}
//
// Each instant is one at which the answer certainly was what the line says:
//   yes at `boot`: asked, and said yes, for an instant read after a call that said yes already;
//   no at `boot`: read after the call that said no;
//   `prev`: the instant of the sample before, for which the opposite was the answer;
//   `looked`: all answers still were what the lines before say. Written every 20 ms, so that a yes
//   of a process that was killed reaches to where somebody looked, and not to the kill.
// So a yes reaches from its `boot` to the `prev` of the no that ends it, and never further, and who
// is stopped between the reading of the clock and the call cannot claim an instant after it woke.
//
// SIGUSR1 blocks a handler on the router's executor, until SIGUSR2: it hangs, while its other
// threads, librdkafka's and the witness among them, go on.
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/signal_set.hpp>
#include <chrono>
#include <memory>
#include <neliroute/clock.h>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tool/owner.h"
#include "tool/print/event_log.h"
#include "tests/kafka/witness/warm_listener.h"
#include "tool/command_line/take.h"
#include "tool/command_line/values.h"
#include "tool/print/output.h"

namespace neliroute::tool {
namespace {

class Witness {
 public:
  Witness(const Router& router, std::unique_ptr<LineWriter> file)
      : router_(router),
        file_(std::move(file)),
        samples_(router.settings().partitions),
        thread_([this] { watch(); }) {}

  ~Witness() {
    stop_.store(true);
    thread_.join();
  }
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

 private:
  static constexpr std::chrono::milliseconds kTellLooked{20};
  struct Sample {
    bool owns = false;
    std::optional<LocalTime> at;
  };

  static std::string text(LocalTime at) { return seconds_text(at.time_since_epoch()); }

  void watch() {
    file_->write("{\"boot\":" + text(boot_now()) + ",\"start\":true}");
    auto next = std::chrono::steady_clock::now();
    for (bool last = false; !last;) {
      last = stop_.load();  // one more look after everything has ended
      const LocalTime began = boot_now();
      for (std::uint32_t p = 0; p < samples_.size(); ++p) look(Slot{p}, samples_[p]);
      if (began >= looked_told_ + kTellLooked) {
        looked_told_ = began;
        file_->write("{\"boot\":" + text(began) + ",\"looked\":true}");
      }
      // No catching up: a sample of the past cannot be taken any more.
      next = std::max(next + std::chrono::milliseconds{1}, std::chrono::steady_clock::now());
      if (!last) std::this_thread::sleep_until(next);
    }
  }

  void look(Slot slot, Sample& before) {
    LocalTime now = boot_now();
    bool owns = router_.owns(slot, now);
    if (owns != before.owns) {
      const LocalTime after = boot_now();
      // It said yes: it says so for `after` as well, or it is none yet.
      if (owns && !router_.owns(slot, after)) return;
      now = after;
      tell(slot, owns, now, before.at);
    }
    before = {owns, now};
  }

  void tell(Slot slot, bool owns, LocalTime at, const std::optional<LocalTime>& prev) {
    std::string line = "{\"boot\":" + text(at) + ",\"slot\":" + std::to_string(slot.value()) +
                       ",\"partition\":" + std::to_string(router_.partition_of(slot).value()) +
                       ",\"owns\":" + (owns ? "true" : "false");
    if (prev) line += ",\"prev\":" + text(*prev);
    file_->write(line + "}");
  }

  const Router& router_;
  std::unique_ptr<LineWriter> file_;
  std::vector<Sample> samples_;
  LocalTime looked_told_{};
  std::atomic<bool> stop_{false};
  std::thread thread_;  // last: it uses all of the above
};

std::atomic<bool> go_on{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");

class Blocker {
 public:
  explicit Blocker(const boost::asio::any_io_executor& executor) : signals_(executor, SIGUSR1) {
    struct sigaction action {};
    action.sa_handler = [](int) { go_on.store(true); };
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR2, &action, nullptr);
    await();
  }

 private:
  void await() {
    signals_.async_wait([this](const boost::system::error_code& error, int) {
      if (error) return;
      while (!go_on.exchange(false)) std::this_thread::sleep_for(std::chrono::milliseconds{1});
      await();
    });
  }

  boost::asio::signal_set signals_;
};

struct Beside {
  std::unique_ptr<Witness> witness;
  std::unique_ptr<WarmListener> warm;
  Subscription subscription;
  Blocker blocker;
};

struct WarmOptions {
  milliseconds prepare{0};
  milliseconds warm_up{0};
  std::string path;
};

void add_warm_options(CommandLine& line, OwnerOptions& owner, WarmOptions& options) {
  line.add({.flag = "--prepare", .type = "TIME", .help = "How long it prepares before a claim"},
           into(options.prepare, parse_duration));
  line.add({.flag = "--warm-up", .type = "TIME", .help = "How long it warms up before it leads"},
           into(options.warm_up, parse_duration));
  line.add({.flag = "--prepare-timeout", .type = "TIME", .help = "How long either may take"},
           into(owner.common.router.prepare_timeout, parse_duration));
  line.add({.flag = "--warm", .type = "FILE", .help = "Append a JSON line for each step of these"},
           into(options.path));
}

int witness_main(const std::vector<std::string>& arguments) {
  CommandLine line({"witness", "As `neliroute run`, and watches itself; for the Kafka tests.", "",
                    ""});
  OwnerOptions options;
  std::string path;
  add_owner_options(line, options);
  line.add({.flag = "--witness", .type = "FILE",
            .help = "Append a JSON line whenever an answer of owns() changed"},
           into(path));
  WarmOptions warm;
  add_warm_options(line, options, warm);
  if (const auto code = line.parse({arguments})) return *code;
  std::unique_ptr<LineWriter> file;
  std::unique_ptr<LineWriter> steps;
  if (!warm.path.empty()) {
    auto opened = LineWriter::open(warm.path);
    if (!opened) return fail(line.name(), "--warm " + opened.error().message(), kExitUsage);
    steps = std::move(*opened);
  }
  if (!path.empty()) {
    auto opened = LineWriter::open(path);
    if (!opened) return fail(line.name(), "--witness " + opened.error().message(), kExitUsage);
    file = std::move(*opened);
  }
  return run_owner(line.name(), options,
                   [&](const OpenOwner& owner) {
                     Router& router = owner.router;
                     auto witness =
                         file ? std::make_unique<Witness>(router, std::move(file)) : nullptr;
                     auto warmer = steps ? std::make_unique<WarmListener>(
                                               owner.executor, warm.prepare, warm.warm_up,
                                               std::move(steps))
                                         : nullptr;
                     Subscription subscription;
                     if (warmer) subscription = router.subscribe(*warmer);
                     return std::shared_ptr<void>(
                         new Beside{std::move(witness), std::move(warmer),
                                    std::move(subscription), Blocker(owner.executor)},
                         [](Beside* beside) { delete beside; });
                   });
}

}  // namespace
}  // namespace neliroute::tool

int main(int count, char** arguments) {
  return neliroute::tool::witness_main({arguments + 1, arguments + count});
}
