#include "ledgers/etcd/etcd_writer.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <charconv>
#include <chrono>
#include <neliroute/clock.h>

namespace neliroute {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

constexpr milliseconds kSizeEach{60'000};

BrokerTime stamp_now() {
  return BrokerTime{std::chrono::floor<milliseconds>(wall_now().time_since_epoch())};
}

std::optional<std::uint64_t> number_in(const std::string& text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [read_to, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && read_to == end ? std::optional(number) : std::nullopt;
}

}  // namespace

EtcdWriter::EtcdWriter(asio::any_io_executor strand, std::shared_ptr<EtcdServers> servers,
                       EtcdKeys keys, EtcdWriterOptions options)
    : strand_(std::move(strand)),
      pause_(strand_),
      queue_(strand_),
      servers_(std::move(servers)),
      client_(strand_, servers_),
      keys_(std::move(keys)),
      options_(options) {}

void EtcdWriter::start(Written written, Refused refused, Doubted doubted) {
  queue_.start(std::move(written));
  refused_ = std::move(refused);
  doubted_ = std::move(doubted);
  run_apart(strand_, [self = shared_from_this()] { return self->run(); });
}

void EtcdWriter::write(Write write) {
  const RecordKind kind = record_kind(write.value);
  Pending pending;
  pending.number = ++number_;
  pending.seq = write.seq;
  pending.log = write.log;
  pending.lasting = kind.lasting;
  pending.key = kind.lasting
                    ? keys_.lasting_record(write.log, options_.id, kind.type, pending.number)
                    : keys_.record(write.log, options_.id, kind.type,
                                   places_[{write.log, kind.type}]++);
  pending.value = with_stamp(stamp_now(), write.value);
  pending.due = later(boot_now(), options_.lease / 2);
  queue_.push(std::move(pending));
  if (!std::exchange(batch_ends_, true)) {
    asio::post(strand_, [self = shared_from_this()] {
      self->batch_ends_ = false;
      self->places_.clear();
    });
  }
  pause_.cancel();
}

void EtcdWriter::finish(std::function<void()> done) {
  finished_ = std::move(done);
  pause_.cancel();
}

void EtcdWriter::close() {
  closed_ = true;
  refused_ = nullptr;
  doubted_ = nullptr;
  finished_ = nullptr;
  pause_.cancel();
  queue_.close();
  client_.close();
  servers_->names().close();  // it is the last part that is closed
}

// If there is another server, it can still be asked within the time that the record has.
milliseconds EtcdWriter::patience(LocalTime due) const {
  const milliseconds most = options_.lease / (servers_->count() > 1 ? 4 : 2);
  const milliseconds attempt = std::max(most, kEtcdAttemptLeast);
  const auto left = std::chrono::duration_cast<milliseconds>(due - boot_now());
  return std::clamp(left, kEtcdAttemptLeast, attempt);
}

asio::awaitable<void> EtcdWriter::run() {
  while (!closed_) {
    if (lease_ != 0 && boot_now() >= lease_due_) {
      co_await keep_lease();
      continue;
    }
    if (!queue_.empty()) {
      Pending first = queue_.entries().front();
      co_await append(std::move(first));
      continue;
    }
    if (finished_) {
      // It may end this.
      const auto done = std::exchange(finished_, nullptr);
      done();
      continue;
    }
    if (lease_ != 0 && boot_now() >= size_due_) {
      size_due_ = later(boot_now(), kSizeEach);
      co_await look_at_size();
      continue;
    }
    const LocalTime due = std::min(lease_due_, size_due_);
    const milliseconds until_due =
        lease_ == 0 ? options_.kept : std::chrono::ceil<milliseconds>(due - boot_now());
    co_await pause(pause_, std::max(until_due, milliseconds{1}));
  }
}

// The answer of a stream: without a TTL, the lease is over.
asio::awaitable<void> EtcdWriter::keep_lease() {
  json::object body{{"ID", std::to_string(lease_)}};
  const LocalTime due = later(boot_now(), options_.lease / 2);
  const EtcdAnswer answer =
      co_await client_.call("/v3/lease/keepalive", std::move(body), patience(due));
  if (closed_) co_return;
  if (!answer.ok()) {
    report("the lease of its keys cannot be renewed: " + answer.trouble, answer.outcome);
    lease_due_ = later(boot_now(), options_.lease / 2);
    co_return;
  }
  const json::object* const result = object_at(answer.body, "result");
  if (result != nullptr && number_at(*result, "TTL").value_or(0) == 0) lease_ = 0;
  lease_due_ = later(boot_now(), result == nullptr ? options_.lease / 2 : options_.kept / 3);
}

asio::awaitable<void> EtcdWriter::look_at_size() {
  const LocalTime due = later(boot_now(), options_.lease / 4);
  const EtcdAnswer status =
      co_await client_.call("/v3/maintenance/status", json::object(), patience(due));
  const auto warning = size_warning(status.body);
  if (!warning || closed_) co_return;
  servers_->reports().report("size", 0, Severity::warning, *warning, boot_now());
}

// Twice as long: what is written just before a lease is kept alive again is kept long enough.
asio::awaitable<std::int64_t> EtcdWriter::grant(LocalTime due) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(2 * options_.kept).count();
  json::object body{{"TTL", std::to_string(seconds)}};
  const EtcdAnswer answer =
      co_await client_.call("/v3/lease/grant", std::move(body), patience(due));
  if (answer.ok()) co_return number_at(answer.body, "ID").value_or(0);
  if (!closed_) on_trouble(answer);
  co_return 0;
}

json::object EtcdWriter::request_for(const Pending& pending, std::int64_t lease) const {
  const std::string writer = keys_.writer(options_.id);
  json::array success{put_operation(pending.key, pending.value, lease),
                      put_operation(writer, std::to_string(pending.number), lease_)};
  const auto begun = begun_.find(pending.log);
  if (begun == begun_.end() || begun->second != servers_->logs(pending.log)) {
    success.push_back(put_operation(keys_.begun(pending.log), ""));
  }
  return transaction({unchanged_since(writer, writer_revision_),
                      has_value(keys_.identity(), servers_->logs(pending.log))},
                     std::move(success),
                     {range_operation({writer}), range_operation({keys_.identity()})});
}

asio::awaitable<void> EtcdWriter::append(Pending pending) {
  if (lease_ == 0) {
    lease_ = co_await grant(pending.due);
    lease_due_ = later(boot_now(), options_.kept / 3);
  }
  std::int64_t lease = lease_;
  // Nobody keeps it alive: what is not replaced shall vanish although its writer lives.
  if (lease_ != 0 && pending.lasting) lease = co_await grant(pending.due);
  while (!closed_ && queue_.waits(pending.number)) {
    if (lease == 0 || servers_->logs(pending.log).empty()) {
      co_await pause(pause_, client_.retry(options_.lease));
      co_return;  // run() begins again
    }
    const EtcdAnswer answer =
        co_await client_.call("/v3/kv/txn", request_for(pending, lease), patience(pending.due));
    if (closed_) co_return;
    if (answer.ok()) {
      const auto committed = committed_in(answer.body);
      if (committed && (committed->succeeded || committed->found.size() == 2)) {
        take(pending, *committed);
        continue;
      }
      client_.leave(kNoEtcd);
      report(kNoEtcd, EtcdOutcome::failed);
      co_await pause(pause_, client_.retry(options_.lease));
      continue;
    }
    on_trouble(answer);
    if (answer.outcome == EtcdOutcome::no_lease) {
      lease_ = 0;
      co_await pause(pause_, client_.retry(options_.lease));
      co_return;
    }
    if (answer.outcome != EtcdOutcome::unreachable) {
      refuse(pending, answer);
      co_return;
    }
    if (queue_.waits(pending.number)) co_await pause(pause_, client_.retry(options_.lease));
  }
}

// Where the writer key was moved by a request that had no answer, its number says by which.
void EtcdWriter::take(const Pending& pending, const EtcdCommitted& committed) {
  std::optional<std::int64_t> position;
  if (committed.succeeded) {
    writer_revision_ = committed.header.revision;
    position = writer_revision_;
  } else {
    const auto& moved = committed.found[0].keys;
    const auto& logs = committed.found[1].keys;
    writer_revision_ = moved.empty() ? 0 : moved[0].revision;
    if (!moved.empty() && number_in(moved[0].value) == pending.number) position = writer_revision_;
    if (!position && (logs.empty() || logs[0].value != servers_->logs(pending.log))) {
      const auto doubted = doubted_;
      queue_.answer(pending.number, std::nullopt);
      if (doubted) doubted();
      return;
    }
  }
  if (!position) return;  // once more, as it is now
  begun_[pending.log] = servers_->logs(pending.log);
  ever_stored_ = true;
  servers_->reports().recovered("writer", "records are written again", boot_now());
  queue_.answer(pending.number, position);
}

void EtcdWriter::on_trouble(const EtcdAnswer& answer) { report(answer.trouble, answer.outcome); }

// One of several servers may be away.
void EtcdWriter::report(const std::string& text, EtcdOutcome outcome) {
  const bool away = outcome == EtcdOutcome::unreachable;
  if (away && !client_.all_failed()) return;
  servers_->reports().report("writer", static_cast<int>(outcome), Severity::error,
                   "a record cannot be written (" + (away ? client_.troubles() : text) +
                       "); trying again",
                   boot_now());
}

void EtcdWriter::refuse(const Pending& pending, const EtcdAnswer& refusal) {
  const bool is_final = refusal.outcome == EtcdOutcome::denied ||
                        refusal.outcome == EtcdOutcome::unauthenticated;
  const auto refused = refused_;
  queue_.answer(pending.number, std::nullopt);
  if (is_final && !ever_stored_ && refused && !std::exchange(ever_refused_, true)) {
    refused({Errc::ledger_refused, "etcd refuses what this process writes: " + refusal.trouble});
  }
}

}  // namespace neliroute
