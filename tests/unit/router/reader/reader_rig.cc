#include "tests/unit/router/reader/reader_rig.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <iostream>
#include <memory>
#include <thread>

#include "neli_core/assigner/assigned_core.h"
#include "neli_core/broadcast/broadcast.h"
#include "neli_core/claimed/claim_protocol.h"

namespace neliroute::testing_reader {

using namespace testing_records;
using namespace std::chrono_literals;

namespace {

constexpr int kRoundsMax = 1000;  // more than any chain of handlers is long

const char* name_of(RecordType type) {
  switch (type) {
    case RecordType::claim:
      return "claim";
    case RecordType::renewal:
      return "renewal";
    case RecordType::release:
      return "release";
  }
  return "";
}

const char* name_of(AssignmentType type) {
  switch (type) {
    case AssignmentType::seat_claim:
      return "seat_claim";
    case AssignmentType::assign:
      return "assign";
    case AssignmentType::yield:
      return "yield";
    case AssignmentType::leave:
      return "leave";
    case AssignmentType::override:
      return "wish";
    case AssignmentType::overrides:
      return "wishes";
  }
  return "";
}

CoreOptions core_options(const ReaderRigOptions& options) {
  CoreOptions core;
  core.id = ProcessId{kOwnId};
  core.mode = options.mode;
  core.interval = options.lease / 10;
  core.lease = options.lease;
  core.clock_error = 100ms;
  core.prepare_timeout = options.prepare_timeout;
  core.serve_stale = options.serve_stale;
  core.settings = settings(options.mode);
  if (options.variation == Variation::broadcast) {
    core.settings.variation = to_string(Variation::broadcast);
  }
  core.process = {"self", "self:7000", {}};
  return core;
}

std::unique_ptr<Core> make_core(const ReaderRigOptions& options, CoreOptions core) {
  if (options.variation == Variation::broadcast) {
    BroadcastOptions broadcast;
    broadcast.core = std::move(core);
    // Non-exclusive: T is longer than the session; exclusive: it and the clock error are shorter.
    broadcast.session = options.mode == Mode::exclusive ? 2 * options.lease : options.lease / 3;
    broadcast.hints = true;
    return std::make_unique<Broadcast>(Broadcast::make(std::move(broadcast)).value());
  }
  if (options.assignment == Assignment::assigner) {
    AssignedOptions assigned;
    assigned.core = std::move(core);
    assigned.session = options.lease / 2;
    return std::make_unique<AssignedCore>(AssignedCore::make(std::move(assigned)).value());
  }
  return std::make_unique<ClaimProtocol>(ClaimProtocol::make(std::move(core)).value());
}

}  // namespace

class FakeLedger : public Ledger, public GroupPort {
 public:
  FakeLedger(ReaderRig& rig, Strand strand)
      : rig_(rig), state_(rig.ledger), strand_(std::move(strand)) {}
  ~FakeLedger() override {
    state_->events = nullptr;
    state_->destroyed = true;
  }

  void start(EventSink events, NoticeSink) override { state_->events = std::move(events); }
  void on_refused(std::function<void(const Error&)> handler) override {
    state_->refused = std::move(handler);
  }
  void write(Write write) override {
    const Decoded decoded = decode_record(write.value);
    const auto* assignment = std::get_if<AssignmentRecord>(&decoded);
    note(std::string("write ") + (assignment != nullptr
                                      ? name_of(assignment->type)
                                      : name_of(std::get<Record>(decoded).type)));
    const std::uint32_t log = write.log.value();
    const auto offset = static_cast<std::int64_t>(state_->written[log].size());
    state_->written[log].push_back(write.value);
    if (state_->hold_writes) return;
    boost::asio::post(strand_, [state = state_, rig = &rig_, log, offset, seq = write.seq] {
      if (state->events) state->events(WriteAcknowledged{seq, offset}, rig->now);
      if (state->events) rig->read_back(log, offset);
    });
  }
  void broadcast() override { note("broadcast"); }
  void restart_tail(Log log) override { note("restart_tail " + std::to_string(log.value())); }
  void reread(const RereadRequest& request) override { state_->rereads.push_back(request); }
  void expedite(milliseconds) override {}
  void subscribe() override { note("subscribe"); }
  void finish_rebalances(std::uint32_t count) override {
    note("finish_rebalances " + std::to_string(count));
  }
  void leave_group() override { note("leave_group"); }
  void stay_away(bool away) override { note(away ? "stay_away" : "stay_away no more"); }
  void count_others(std::function<void(std::optional<std::size_t>)> answer) override {
    note("count_others");
    if (state_->answers_count) return answer(state_->others);
    state_->count_answer = std::move(answer);
  }
  void close(LocalTime deadline, std::function<void()> done) override {
    note("close");
    state_->events = nullptr;
    state_->closed = true;
    state_->close_deadline = deadline;
    if (state_->answers_close) return done();
    state_->close_done = std::move(done);
  }

 private:
  void note(const std::string& line) { rig_.story.push_back(line); }

  ReaderRig& rig_;
  std::shared_ptr<LedgerState> state_;
  Strand strand_;
};

ReaderRig::ReaderRig(ReaderRigOptions rig_options) : options(rig_options) {
  const Strand strand(io->get_executor());
  CoreOptions core = core_options(options);
  auto made = std::make_unique<FakeLedger>(*this, strand);
  const bool grouped = !options.watcher && options.assignment == Assignment::group;
  GroupPort* const group = grouped ? made.get() : nullptr;
  ReaderParts reading{strand,
                      std::move(made),
                      directory_options(core, options.watcher),
                      Peer{core.id, core.process},
                      SlotSpace{SlotCount{core.settings.slots}},
                      [this](const Notice& notice) { notices.push_back(notice); },
                      [this] { return now; }};
  reading.interval = core.interval;
  if (options.waiters_max) reading.waiters_max = *options.waiters_max;
  if (options.watcher) {
    watching = std::make_shared<WatchingReader>(std::move(reading), core.settings);
    reader = watching;
  } else {
    OwnerParts parts{nullptr, core.settings, group};
    parts.core = make_core(options, std::move(core));
    owner = std::make_shared<OwningReader>(std::move(reading), std::move(parts));
    reader = owner;
  }
  watched = reader;
  for (auto& log : ledger->written) log.resize(10);  // history that nobody reads
}

ReaderRig::~ReaderRig() {
  let_go();
  destroy_executor();
}

void ReaderRig::start() {
  reader->start();
  poll();
  for (std::uint32_t l = 0; l < 2; ++l) {
    event(TailStarted{Log{l}, 10, 10, Below::expired});
  }
}

// Not io->poll(): the reader's timer measures real time, and the hand-turned clock stands still.
// Where less is left by that clock than the timer's handler takes, as on a busy machine with a
// sanitizer, the timer is always due again, and io->poll() would never return.
void ReaderRig::poll() {
  for (int round = 0; round < kRoundsMax; ++round) {
    io->restart();
    const auto reached = std::make_shared<bool>(false);
    boost::asio::post(*io, [reached] { *reached = true; });
    std::size_t ran = 0;
    while (!*reached && io->poll_one() > 0) ++ran;
    if (ran <= 1) return;  // only this
  }
}

bool ReaderRig::run_until(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + 10s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) {
      print_seen();
      return false;
    }
    io->restart();
    io->run_one_for(20ms);
  }
  return true;
}

void ReaderRig::print_seen() const {
  std::cerr << "waited for 10 s in vain; the story:\n";
  for (const std::string& line : story) std::cerr << "  " << line << '\n';
  for (const Notice& notice : notices) std::cerr << "  notice: " << notice.text << '\n';
  for (std::uint32_t slot = 0; reader && slot < 4; ++slot) {
    const Route now_known = route(slot);
    std::cerr << "  slot " << slot << ": " << to_string(now_known.verdict) << ' '
              << now_known.owner() << '\n';
  }
}

void ReaderRig::event(const Event& event) {
  boost::asio::post(*io, [this, &event] {
    if (ledger->events) ledger->events(event, now);
  });
  poll();
}

void ReaderRig::assign(const std::string& partitions) {
  event(GroupAssigned{PartitionRanges::parse(partitions).value()});
}

void ReaderRig::revoke(const std::string& partitions) {
  event(GroupRevoked{PartitionRanges::parse(partitions).value(), false});
}

void ReaderRig::lead_all() {
  assign("0-3");
  // Exclusive: what lies below the tail's start may still be led, for T.
  for (int step = 0; step < 40 && verdict(0) != Verdict::local; ++step) {
    pass(50ms, 0);
    pass(0ms, 1);
  }
}

std::int64_t ReaderRig::append(std::uint32_t log, const Record& record) {
  const auto offset = static_cast<std::int64_t>(ledger->written[log].size());
  ledger->written[log].push_back(encode_record(record));
  boost::asio::post(*io, [this, log, offset] {
    if (ledger->events) read_back(log, offset);
  });
  poll();
  return offset;
}

void ReaderRig::read_back(std::uint32_t log, std::int64_t offset) {
  const Decoded value = decode_record(ledger->written[log][static_cast<std::size_t>(offset)]);
  ledger->events(Received{Log{log}, offset, stamp(), true, &value}, now);
}

void ReaderRig::pass(milliseconds time, std::uint32_t log) {
  now += time;
  event(LogPosition{Log{log}, static_cast<std::int64_t>(ledger->written[log].size())});
}

void ReaderRig::listen() {
  listen([this](const Transition& t, BarrierToken token) {
    const std::uint32_t p = t.partition.value();
    story.push_back(std::string(to_string(t.kind)) + " " + std::to_string(p) + " " +
                    std::string(to_string(verdict(p))));
    if (keep_tokens && t.kind == TransitionKind::stopped) tokens.push_back(std::move(token));
  });
  poll();
}

std::shared_ptr<ListenerSlot> ReaderRig::listen(FunctionListener::On on) {
  listeners_.push_back(std::make_unique<FunctionListener>(std::move(on)));
  return owner->subscribe(*listeners_.back());
}

void ReaderRig::let_go() {
  if (reader) reader->abandon();
  reader.reset();
  owner.reset();
  watching.reset();
}

void ReaderRig::destroy_executor() { io.reset(); }

bool ReaderRig::told(const std::string& line) const { return place(line) < story.size(); }

std::size_t ReaderRig::place(const std::string& line) const {
  return static_cast<std::size_t>(std::find(story.begin(), story.end(), line) - story.begin());
}

}  // namespace neliroute::testing_reader
