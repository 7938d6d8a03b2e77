#include "tool/operate/lane_link.h"

#include <algorithm>
#include <boost/asio/strand.hpp>
#include <neliroute/clock.h>
#include <utility>
#include <variant>

#include "base/process_id.h"
#include "ledgers/ledgers.h"
#include "neli_core/record/judgement.h"
#include "router/options/option_parts.h"
#include "tool/print/log.h"

namespace neliroute::tool {
namespace {

// Leases end and silences are noticed by time alone.
constexpr milliseconds kLook{20};
constexpr milliseconds kCloseBound{1000};

DirectoryOptions directory_options(Lane lane, std::uint32_t partitions, std::uint32_t logs,
                                   milliseconds lease) {
  DirectoryOptions options;
  options.partitions = partitions;
  options.logs = logs;
  options.lane = lane;
  options.lease = lease;
  options.watcher = true;
  return options;
}

/// It renews nothing: only how long a request may take follows from it.
Timing timing_of(milliseconds lease) {
  Timing timing = watcher_timing({});
  timing.lease = std::max(timing.lease, lease);
  timing.interval = std::min(timing.interval, lease / 4);
  return timing;
}

}  // namespace

Result<std::unique_ptr<LaneLink>> LaneLink::open(const CommonOptions& options, bool writes) {
  const RouterOptions router = options.for_router();
  const auto address = ledger_address(router);
  if (!address) return address.error();
  LedgerNeeds needs = ledger_needs(router);
  needs.watcher = true;  // it creates no topic, and reads no history: only who writes now lives
  needs.writes = writes;
  needs.missing_topic = options.missing_topic;
  const auto store = prepare_store(*address, needs, router.on_notice);
  if (!store) return store.error();
  const LedgerFacts& facts = (*store)->facts();
  for (const Notice& notice : facts.notices) router.on_notice(notice);
  const milliseconds lease = *watcher_options(router).lease;
  std::unique_ptr<LaneLink> link(new LaneLink(options, facts.partitions, facts.logs, lease));
  const auto strand = boost::asio::make_strand(link->io_);
  auto ledger = (*store)->open(strand, timing_of(lease), kNobody);
  if (!ledger) return ledger.error();
  link->ledger_ = std::move(ledger->ledger);
  link->ledger_->on_refused([raw = link.get()](const Error& error) {
    if (!raw->failure_) raw->failure_ = error;
  });
  boost::asio::post(strand, [raw = link.get()] {
    raw->ledger_->start([raw](const Event& event, LocalTime now) { raw->on_event(event, now); },
                        notice_log());
  });
  return link;
}

LaneLink::LaneLink(const CommonOptions& options, std::uint32_t partitions, std::uint32_t logs,
                   milliseconds lease)
    : work_(boost::asio::make_work_guard(io_)),
      lane_(options.router.lane),
      partitions_(partitions),
      logs_(logs),
      id_(draw_process_id()),
      reader_({lane_, kNobody, milliseconds{0}, kLeaseMax, logs, partitions}),
      directory_(directory_options(lane_, partitions, logs, lease)),
      lease_(lease) {}

LaneLink::~LaneLink() {
  if (!ledger_) return;
  bool closed = false;
  const LocalTime deadline = later(boot_now(), kCloseBound);
  ledger_->close(deadline, [&closed] { closed = true; });
  while (!closed && boot_now() < deadline) io_.run_one_for(deadline - boot_now());
  ledger_.reset();
}

bool LaneLink::run_until(const std::function<bool()>& done, LocalTime deadline) {
  while (!failure_) {
    const LocalTime now = now_ = std::max(now_, boot_now());
    reader_.tick(now);
    directory_.tick(now);
    if (done()) return true;
    if (now >= deadline) return false;
    io_.run_one_for(std::min<microseconds>(kLook, deadline - now));
  }
  return false;
}

void LaneLink::on_event(const Event& event, LocalTime now) {
  now = now_ = std::max(now_, now);
  directory_.tick(now);
  std::visit(
      [&](const auto& e) {
        directory_.on(e, now);
        reader_.on(e, now);
      },
      event);
  if (const auto* received = std::get_if<Received>(&event)) note(*received);
  if (const auto* gap = std::get_if<GapFound>(&event)) {
    caught_up_ = kNever;
    ledger_->restart_tail(gap->log);
  }
  const auto* failed = std::get_if<WriteFailed>(&event);
  if (failed != nullptr && failed->seq == seq_ && !offset_) write();
  // A tail that had to start anew may begin after it.
  const auto* stored = std::get_if<WriteAcknowledged>(&event);
  if (stored != nullptr && stored->offset >= 0 && !offset_) offset_ = stored->offset;
  if (caught_up_ == kNever && reader_.caught_up()) caught_up_ = now;
}

void LaneLink::note(const Received& event) {
  if (const auto* record = std::get_if<Record>(event.value)) {
    if (judge(*record, event.stamped, lane_) != Judgement::heeded) return;
    // Whoever leads was not refused; a member that owns nothing says the same.
    const Settings* theirs = settings_in_force(*record);
    if (theirs == nullptr && record->member) theirs = readable_settings(*record);
    if (theirs != nullptr) settings_ = *theirs;
    if (!record->lease) return;
    lease_ = std::exchange(lease_heard_, true) ? std::max(lease_, *record->lease) : *record->lease;
  } else if (const auto* own = std::get_if<AssignmentRecord>(event.value);
             own != nullptr && own->type == AssignmentType::override && own->id == id_) {
    if (!offset_) offset_ = event.offset;
  }
}

void LaneLink::append(const Override& override) {
  AssignmentRecord record;
  record.type = AssignmentType::override;
  record.lane = lane_;
  record.id = id_;
  record.seq = 1;
  record.override = override;
  text_ = encode_record(record);
  write();
}

// Again under the same identity, where it is not known whether it was stored: the same override
// twice changes nothing.
void LaneLink::write() { ledger_->write({Log{0}, ++seq_, text_}); }

}  // namespace neliroute::tool
