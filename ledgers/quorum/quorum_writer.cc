#include "ledgers/quorum/quorum_writer.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <neliroute/clock.h>
#include <utility>
#include <variant>

namespace neliroute {
namespace {

/// A leader takes no more from one client.
constexpr std::size_t kSentMost = 512;
constexpr const char* kQuorumWriter = "writer";

}  // namespace

QuorumWriter::QuorumWriter(const boost::asio::any_io_executor& strand, const QuorumLinks& links,
                           milliseconds lease)
    : strand_(strand), patience_(lease / 2) {
  for (const auto& link : links) lanes_.emplace_back(strand, link);
}

void QuorumWriter::start(Written written, Refused /*refused*/, Doubted /*doubted*/) {
  written_ = std::move(written);
  for (Lane& lane : lanes_) {
    // The links are its own, and it must not be theirs.
    const auto weak = weak_from_this();
    lane.queue.start([weak, &lane](std::uint64_t seq, std::optional<std::int64_t> position) {
      if (const auto self = weak.lock()) self->on_written(lane, seq, position);
    });
    QuorumLink::Handlers handlers;
    handlers.trusted = [weak, &lane] {
      if (const auto self = weak.lock()) self->forward(lane);
    };
    handlers.lost = [weak, &lane] {
      if (const auto self = weak.lock()) {
        lane.said = 0;
        lane.sent.clear();
        lane.is_full = false;
      }
    };
    handlers.heard = [weak, &lane](quorum::ToClient& said) {
      const auto self = weak.lock();
      const auto* const appended = std::get_if<quorum::Appended>(&said);
      if (self && appended != nullptr) self->take(lane, *appended);
    };
    lane.link->add(std::move(handlers));
  }
}

void QuorumWriter::write(Write write) {
  Lane& lane = lanes_.at(write.log.value());
  LocalTime due = later(boot_now(), patience_);
  if (write.value.size() > quorum::kRecordBytesMax) {
    lane.link->voters().reports().report(
        kQuorumWriter, 1, Severity::error,
        "a record of " + std::to_string(write.value.size()) + " bytes cannot be written; at most " +
            std::to_string(quorum::kRecordBytesMax),
        boot_now());
    due = boot_now();
  }
  lane.queue.push({++lane.last, write.seq, std::move(write.value), due});
  forward(lane);
}

void QuorumWriter::forward(Lane& lane) {
  if (closed_ || !lane.link->is_trusted()) return;
  for (const Pending& one : lane.queue.entries()) {
    if (lane.sent.size() >= kSentMost) return;
    if (one.number <= lane.said) continue;
    lane.said = one.number;
    if (one.value.size() > quorum::kRecordBytesMax) continue;
    lane.sent.push_back({one.number, boot_now()});
    lane.link->append(one.number, one.value);
  }
}

std::optional<LocalTime> QuorumWriter::oldest_gone(Lane& lane) {
  std::optional<LocalTime> oldest;
  const auto& waiting = lane.queue.entries();
  while (!lane.sent.empty() &&
         (waiting.empty() || lane.sent.front().number < waiting.front().number)) {
    if (!oldest) oldest = lane.sent.front().at;
    lane.sent.pop_front();
  }
  return oldest;
}

void QuorumWriter::take(Lane& lane, const quorum::Appended& appended) {
  // What is before it was not sent, being too large: a leader answers in order.
  while (!lane.queue.empty() && lane.queue.entries().front().number < appended.number) {
    lane.queue.answer(lane.queue.entries().front().number, std::nullopt);
  }
  lane.is_full = appended.index == quorum::kNothing;
  if (lane.is_full) {
    // It fails when the next one is answered, or in its time: whoever is told at once would write
    // it again at once.
    lane.link->voters().reports().report(
        kQuorumWriter, 2, Severity::error,
        "the log is full, so records are not stored; see what its leading voter says", boot_now());
  } else {
    lane.queue.answer(appended.number, appended.index);  // or it was late, and has failed
  }
  if (!closed_) forward(lane);
}

void QuorumWriter::on_written(Lane& lane, std::uint64_t seq,
                              std::optional<std::int64_t> position) {
  const auto sent = oldest_gone(lane);
  QuorumVoters& voters = lane.link->voters();
  const LocalTime now = boot_now();
  if (position) {
    if (sent) voters.statistics().note_answer(*sent, false, now);
    voters.reports().recovered(kQuorumWriter, "records are written again", now);
  } else if (sent && !lane.is_full) {  // which has been said
    voters.reports().report(kQuorumWriter, 0, Severity::error,
                            "a record was not stored within " + std::to_string(patience_.count()) +
                                " ms; trying again",
                            now);
    // It had time enough.
    if (now >= later(*sent, patience_ / 2)) lane.link->leave("it stores no record in time");
  }
  const Written written = written_;  // which may close this
  if (written) written(seq, position);
  look_whether_finished();
}

void QuorumWriter::look_whether_finished() {
  const bool all = std::all_of(lanes_.begin(), lanes_.end(),
                               [](const Lane& lane) { return lane.queue.empty(); });
  if (!finished_ || !all) return;
  boost::asio::post(strand_, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || !self->finished_) return;
    const auto done = std::exchange(self->finished_, nullptr);
    done();  // which may end this
  });
}

void QuorumWriter::finish(std::function<void()> done) {
  finished_ = std::move(done);
  look_whether_finished();
}

void QuorumWriter::close() {
  closed_ = true;
  written_ = nullptr;
  finished_ = nullptr;
  for (Lane& lane : lanes_) {
    lane.queue.close();
    lane.link->close();
  }
}

}  // namespace neliroute
