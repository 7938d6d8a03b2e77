#include "tool/owner.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <csignal>
#include <functional>
#include <memory>
#include <neliroute/clock.h>
#include <set>
#include <utility>

#include "ledgers/ledger_address.h"
#include "ledgers/ledger_needs.h"
#include "router/options/option_parts.h"
#include "tool/admin_port.h"
#include "tool/command_line/take.h"
#include "tool/command_line/values.h"
#include "tool/exec/stop_signals.h"
#include "tool/print/idle_owner.h"
#include "tool/print/lines.h"
#include "tool/print/output.h"
#include "tool/print/progress.h"

namespace neliroute::tool {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

/// Counts what is led, and sums up a burst of transitions in one line of the log.
class Tally {
 public:
  Tally(asio::io_context& io, const Router& router) : timer_(io), router_(router) {}

  void note(const Transition& transition) {
    if (transition.kind == TransitionKind::acquired) {
      acquired_ += led_.insert(transition.partition).second ? 1U : 0U;
    } else if (transition.kind == TransitionKind::stopped) {
      stopped_ += led_.erase(transition.partition);
      if (transition.reason != StopReason::superseded) reason_ = transition.reason;
    } else if (transition.kind == TransitionKind::draining) {
      ++draining_;
    }
    if (std::exchange(waiting_, true)) return;
    timer_.expires_after(kBurst);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (!error) tell();
    });
  }

  void tell() {
    waiting_ = false;
    std::string what;
    const auto add = [&](std::size_t& count, std::string_view verb) {
      if (count > 0) what += fmt::format("{}{} {}", what.empty() ? "" : ", ", verb, count);
      count = 0;
    };
    add(acquired_, "acquired");
    add(draining_, "hands over");
    add(stopped_, reason_ == StopReason::none ? "stopped"
                                              : fmt::format("stopped ({})", to_string(reason_)));
    reason_ = StopReason::none;
    if (what.empty()) return;
    log(Severity::info, fmt::format("{}; leads {} of {} partitions, {} of {} roles", what,
                                    led_.size(), router_.settings().partitions,
                                    router_.led_role_count(), router_.role_count()));
  }

 private:
  static constexpr milliseconds kBurst{50};

  asio::steady_timer timer_;
  const Router& router_;
  std::set<Partition> led_;
  std::size_t acquired_ = 0;
  std::size_t draining_ = 0;
  std::size_t stopped_ = 0;
  StopReason reason_ = StopReason::none;
  bool waiting_ = false;
};

/// What only variation `broadcast` has.
void add_broadcast(json::object& object, const Router& router, const CommonOptions& options) {
  if (options.router.variation != Variation::broadcast) return;
  object["local_clock_error_ms"] = router.timing().local_clock_error.count();
  object["groups"] = options.router.timing.groups;
  object["hints"] = options.router.hints;
}

void put_place(json::object& row, const RouterOptions& router) {
  const auto address = ledger_address(router);
  const auto* const kafka = address ? std::get_if<KafkaConnection>(&*address) : nullptr;
  if (kafka == nullptr) return put_text(row, "ledger", address ? describe(*address) : "");
  put_text(row, "brokers", kafka->brokers);
  row["topic"] = kafka->topic;
}

json::object joined_json(const Router& router, const CommonOptions& options,
                         const AdminPort* admin) {
  const Settings& settings = router.settings();
  const Timing& timing = router.timing();
  json::object row;
  put_text(row, "process", router.process().name);
  row["id"] = to_string(router.id());
  put_text(row, "endpoint", router.process().endpoint);
  put_place(row, options.router);
  put_text(row, "group", group_id(options.router.group, options.router.lane));
  const Assignment assignment = assignment_of(options.router);
  row["assignment"] = to_string(assignment);
  const bool grouped = assignment == Assignment::group;
  if (grouped) row["group_protocol"] = to_string(router.group_protocol());
  row["slots"] = settings.slots;
  row["partitions"] = settings.partitions;
  row["logs"] = settings.logs;
  row["hash"] = settings.hash;
  row["lane"] = options.router.lane.value();
  row["mode"] = settings.mode;
  row["variation"] = settings.variation;
  row["roles"] = router.role_count();
  row["interval_ms"] = timing.interval.count();
  row["lease_ms"] = timing.lease.count();
  row["clock_error_ms"] = timing.clock_error.count();
  row["session_ms"] = timing.session.count();
  if (grouped) row["heartbeat_ms"] = timing.heartbeat.count();
  row["hang_limit_ms"] = timing.hang_limit.count();
  add_broadcast(row, router, options);
  if (admin) row["http"] = admin->address();
  return row;
}

std::string joined_text(const Router& router, const CommonOptions& options) {
  const Settings& settings = router.settings();
  const Timing& timing = router.timing();
  const std::string broadcast =
      options.router.variation == Variation::broadcast
          ? fmt::format("\n  broadcast to all {} partitions, {} groups share them, local clock "
                        "error {}, hints {}",
                        settings.partitions, options.router.timing.groups,
                        text_of(timing.local_clock_error), options.router.hints ? "on" : "off")
          : "";
  const std::string assignment =
      assignment_of(options.router) == Assignment::assigner
          ? fmt::format("assigned by one of its processes, session {}", text_of(timing.session))
          : fmt::format("{} protocol, session {}, heartbeat {}",
                        to_string(router.group_protocol()), text_of(timing.session),
                        text_of(timing.heartbeat));
  return fmt::format(
      "neliroute: {}, reached at {}, id {}\n"
      "  ledger  {}: {} slots ({}) on {} partitions, {} {}\n"
      "  group   {}, {}\n"
      "  timing  {}: renews every {}, lease {}, clock error {}{}",
      shown(router.process().name), shown(router.process().endpoint), to_string(router.id()),
      shown(options.where()), text_of(std::uint64_t{settings.slots}), settings.hash,
      settings.partitions, settings.logs, settings.logs == 1 ? "log" : "logs",
      shown(group_id(options.router.group, options.router.lane)),
      assignment, settings.mode, text_of(timing.interval), text_of(timing.lease),
      text_of(timing.clock_error), broadcast);
}

/// Runs an open router until it has left.
class Owner {
 public:
  Owner(asio::io_context& io, Router& router, milliseconds bound)
      : io_(io), router_(router), bound_(bound), signals_(io, SIGTERM, SIGINT), look_again_(io) {}

  ~Owner() { finish(); }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  void start() { await_signal(); }

  /// As something else than a signal asks for, however often. It counts for none: a supervisor's
  /// hook may ask before the supervisor does, and a program may end before both.
  void leave_as(const std::string& why) {
    if (leaving_) return;
    log(Severity::info, fmt::format("leaving, within {}, as {}", text_of(bound_), why));
    leave();
  }

  void give_up(const Error& error) {
    failure_ = error;
    leave();
  }

  /// It has handed over: from now on a second signal ends what still finishes.
  void finish() {
    boost::system::error_code ignored;
    signals_.clear(ignored);
    finish_until_stop_signal();
  }

  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

 private:
  void await_signal() {
    signals_.async_wait([this](const boost::system::error_code& error, int) {
      if (error) return;
      on_signal();
      await_signal();
    });
  }

  void on_signal() {
    switch (note_stop_signal()) {
      case StopSignal::same:
        return log(Severity::info, "a signal within 1 s of the first counts as the same");
      case StopSignal::again:
        stop_at_once();
      case StopSignal::first:
        log(Severity::info, fmt::format("leaving, within {}; a second signal, 1 s later or more, "
                                        "stops at once", text_of(bound_)));
        leave();
    }
  }

  void leave() {
    if (std::exchange(leaving_, true)) return;
    tell_progress();
    router_.async_drain(bound_, [this](const boost::system::error_code&) {
      progress_.reset();
      io_.stop();
    });
  }

  /// How many partitions are still to be handed over, for a person who waits at a terminal.
  void tell_progress() {
    if (!progress_) progress_.emplace("handing over");
    if (!progress_->shown()) return;
    std::uint64_t led = 0;
    const LocalTime now = boot_now();
    for (std::uint32_t p = 0; p < router_.settings().partitions; ++p) {
      led += router_.owns(Partition{p}, now) ? 1U : 0U;
    }
    progress_->count(led, "partitions left");
    look_again_.expires_after(kLookAgain);
    look_again_.async_wait([this](const boost::system::error_code& error) {
      if (!error) tell_progress();
    });
  }

  static constexpr milliseconds kLookAgain{200};

  asio::io_context& io_;
  Router& router_;
  milliseconds bound_;
  asio::signal_set signals_;
  asio::steady_timer look_again_;
  std::optional<Progress> progress_;
  bool leaving_ = false;
  std::optional<Error> failure_;
};

/// Reports what happens to the router to the owner and to the event log.
class Teller : public Listener {
 public:
  Teller(Owner& owner, std::function<void(const Transition&)> note)
      : owner_(owner), note_(std::move(note)) {}

  void acquired(const Transition& transition) override { note_(transition); }
  void draining(const Transition& transition) override { note_(transition); }
  void stopped(const Transition& transition, BarrierToken) override { note_(transition); }
  void barrier_overdue(const Transition& transition) override { note_(transition); }
  void released(const Transition& transition) override { note_(transition); }
  void failed(const Error& error) override { owner_.give_up(error); }

 private:
  Owner& owner_;
  std::function<void(const Transition&)> note_;
};

/// What can be known to be wrong before anything begins; the token of --control, if there is one.
Result<std::string> checked(const OwnerOptions& options) {
  if (options.common.router.process.endpoint.empty()) {
    return Error{Errc::bad_option, "--endpoint is missing: say what callers should connect to, as "
                                   "in --endpoint 10.0.0.7:8080"};
  }
  if (const auto fit = options.common.check(); !fit) return fit.error();
  if (const auto free = AdminPort::check(options.http); !free) return free.error();
  return options.control.token(options.http);
}

/// What clients of the admin port may do.
std::optional<AdminControl> control_of(const OwnerOptions& options, std::string token,
                                       Router& router, const Leave& leave) {
  if (!options.control.wanted) return std::nullopt;
  AdminControl made =
      AdminControl::of(router, [leave] { leave("POST /v1/drain asks"); });
  made.token = std::move(token);
  return made;
}

Result<std::shared_ptr<LineWriter>> event_writer(const OwnerOptions& options,
                                                 const std::shared_ptr<LineWriter>& output) {
  if (!options.events) return std::shared_ptr<LineWriter>();
  if (options.events == "-") return output;
  auto opened = LineWriter::open(*options.events);
  if (!opened) return opened.error();
  return std::shared_ptr<LineWriter>(std::move(*opened));
}

/// One of the ledger's voters, in this process; null: it is none.
Result<std::unique_ptr<VoterServer>> own_voter(const OwnerOptions& options) {
  if (options.voter.address.empty()) return std::unique_ptr<VoterServer>();
  return start_voter(options.common.router, options.voter, [](const Error& error) {
    log(Severity::error, "the voter in this process ended: " + error.message() +
                             "; this process goes on with the other voters");
  });
}

int exit_code(const std::string& command, LogLevel level, const Owner& owner) {
  if (!owner.failure()) {
    log(Severity::info, "left the group");
    return kExitYes;
  }
  // The log reported it when it happened; once is enough.
  return level == LogLevel::off ? fail(command, *owner.failure())
                                : exit_code_of(owner.failure()->code());
}

}  // namespace

void add_owner_options(CommandLine& line, OwnerOptions& options) {
  add_common_options(line, options.common, Part::owner);
  line.heading("Process");
  line.add({.flag = "--events", .type = "FILE",
            .help = "Append a JSON line for every change of ownership; - is stdout"},
           into(options.events));
  add_http_option(line, options.http);
  add_control_options(line, options.control);
  line.heading("Voter");
  add_voter_options(line, options.voter);
}

int run_owner(const std::string& command, const OwnerOptions& options,
              const Companion& companion) {
  const CommonOptions& common = options.common;
  auto token = checked(options);
  if (!token) return fail(command, token.error());
  start_log(common.log_level);
  std::signal(SIGPIPE, SIG_IGN);  // a reader that closes must not end an owner
  end_on_stop_signals();  // until the router is open
  const std::shared_ptr<LineWriter> output = LineWriter::open("-").value();
  const auto writer = event_writer(options, output);
  if (!writer) return fail(command, "--events " + writer.error().message(), kExitUsage);
  const auto& events = *writer;

  const auto voter = own_voter(options);  // gone after the router, which may have no other ledger
  if (!voter) return fail(command, voter.error());
  asio::io_context io(1);
  auto opened = [&] {
    const Progress progress(common.connecting());
    return Router::open(io.get_executor(), common.for_router());
  }();
  if (!opened) return fail(command, opened.error());
  Router& router = **opened;
  Owner owner(io, router, common.drain_timeout.value_or(router.timing().drain));
  const Leave leave = [&](std::string why) {
    asio::post(io, [&owner, why = std::move(why)] { owner.leave_as(why); });
  };
  const auto of_voter = metrics_of(voter->get());
  const auto admin = AdminPort::open(
      router.observable(), options.http,
      control_of(options, std::move(*token), router, leave), options.proxy, {}, {of_voter});
  if (!admin) return fail(command, admin.error());
  owner.start();
  Lines said(io.get_executor(), output);
  if (common.json) {
    said.write(json::serialize(joined_json(router, common, admin->get())));
  } else if (options.events != "-") {
    said.write(joined_text(router, common));
  }
  const EventSource source{router.process().name, router.id(), common.router.lane,
                           common.router.mode};
  Tally tally(io, router);
  Lines lines(io.get_executor(), events);
  Teller teller(owner, [&](const Transition& transition) {
    if (events) lines.write(event_line(source, transition, unix_minus_boot_now()));
    tally.note(transition);
  });
  const Subscription subscription = router.subscribe(teller);
  const auto idle = std::make_shared<IdleOwner>(
      io, router, assignment_of(common.router) == Assignment::assigner);
  router.observable().observe(idle);
  const auto beside =
      companion ? companion({router, io.get_executor(), admin->get(), leave}) : nullptr;
  io.run();
  owner.finish();
  tally.tell();
  return exit_code(command, common.log_level, owner);
}

}  // namespace neliroute::tool
