#include "ledgers/etcd/etcd_tail.h"

#include <algorithm>
#include <neliroute/clock.h>

namespace neliroute {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

constexpr milliseconds kForEver{3'600'000};
/// Records at a time: what the gateway receives of its server must not exceed 4 MiB.
constexpr std::int64_t kPage = 48;
/// In so many leases, at least once, it asks whether these are still the same logs.
constexpr int kProofs = 5;

}  // namespace

EtcdTail::EtcdTail(asio::any_io_executor strand, std::shared_ptr<EtcdServers> servers,
                   EtcdKeys keys, EtcdTailOptions options)
    : strand_(std::move(strand)),
      reading_pause_(strand_),
      guard_pause_(strand_),
      servers_(std::move(servers)),
      reader_(strand_, servers_),
      asker_(strand_, servers_),
      keys_(std::move(keys)),
      options_(options),
      name_("log " + std::to_string(options.log.value())) {}

void EtcdTail::start(Happened happened) {
  happened_ = std::move(happened);
  run_apart(strand_, [self = shared_from_this()] { return self->read(); });
  run_apart(strand_, [self = shared_from_this()] { return self->guard(); });
}

void EtcdTail::restart() {
  ++turn_;
  wanted_ = true;
  running_ = false;
  missed_.reset();
  reader_.drop();
  reading_pause_.cancel();
}

void EtcdTail::reread(const RereadRequest& request) {
  reread_ = request;
  guard_pause_.cancel();
}

void EtcdTail::doubt() {
  proved_ = kLongAgo;
  guard_pause_.cancel();
}

void EtcdTail::close() {
  closed_ = true;
  happened_ = nullptr;
  reread_.reset();
  reading_pause_.cancel();
  guard_pause_.cancel();
  reader_.close();
  asker_.close();
}

void EtcdTail::emit(const Event& event) {
  const Happened happened = happened_;  // which may close this
  if (happened) happened(event);
}

void EtcdTail::lose(GapReason reason) {
  ++turn_;
  wanted_ = running_ = false;
  missed_.reset();
  reader_.drop();
  emit(GapFound{options_.log, reason});
}

// One of several servers may be away.
void EtcdTail::report(EtcdOutcome kind, const std::string& text) {
  const EtcdClient* const whose = reader_.all_failed() ? &reader_ : &asker_;
  const bool away = kind == EtcdOutcome::unreachable;
  if (closed_ || (away && !whose->all_failed())) return;
  servers_->reports().report(name_, static_cast<int>(kind), Severity::error,
                   name_ + " cannot be read (" + (away ? whose->troubles() : text) +
                       "); trying again",
                   boot_now());
}

// A line may be long, and its link slow.
LocalTime EtcdTail::heard() const noexcept { return std::max(heard_, reader_.watch_read_at()); }

// A watch that says something is well, whatever others had to wait for.
void EtcdTail::left(std::size_t server) {
  const LocalTime silent = later(heard(), options_.lease / 4);
  if (watching_ && boot_now() >= silent) reader_.drop_from(server);
}

EtcdRange EtcdTail::all_records() const { return all_below(keys_.records(options_.log)); }

// Whatever else is asked for, it is asked of the same state of the same store.
asio::awaitable<EtcdAnswer> EtcdTail::ask(EtcdClient& client, std::vector<EtcdRange> ranges) {
  json::array operations{range_operation({keys_.identity()})};
  for (const EtcdRange& range : ranges) operations.push_back(range_operation(range));
  co_return co_await client.call("/v3/kv/txn", transaction({}, std::move(operations)),
                                 patience());
}

asio::awaitable<std::optional<EtcdTail::Looked>> EtcdTail::look(EtcdClient& client,
                                                                std::vector<EtcdRange> ranges) {
  const std::size_t count = ranges.size();
  const EtcdAnswer answer = co_await ask(client, std::move(ranges));
  co_return looked_in(client, answer, count);
}

std::optional<EtcdTail::Looked> EtcdTail::looked_in(EtcdClient& client, const EtcdAnswer& answer,
                                                    std::size_t ranges) {
  if (!answer.ok()) {
    report(answer.outcome, answer.trouble);
    return std::nullopt;
  }
  auto committed = committed_in(answer.body);
  if (!committed || committed->found.size() != ranges + 1) {
    leave(client, kNoEtcd);
    return std::nullopt;
  }
  Looked looked;
  looked.header = std::move(committed->header);
  if (!committed->found[0].keys.empty()) looked.identity = committed->found[0].keys[0].value;
  committed->found.erase(committed->found.begin());
  looked.found = std::move(committed->found);
  return looked;
}

void EtcdTail::leave(EtcdClient& client, const std::string& trouble) {
  client.leave(trouble);
  report(EtcdOutcome::failed, trouble);
}

asio::awaitable<void> EtcdTail::read() {
  while (!closed_) {
    const std::uint64_t turn = turn_;
    if (!wanted_) {
      co_await pause(reading_pause_, kForEver);
      continue;
    }
    const bool was_running = running_;
    if (running_) {
      co_await follow();
    } else {
      co_await begin();
    }
    // What has begun, and what is to begin anew, goes on at once.
    if (!closed_ && turn == turn_ && running_ == was_running) {
      co_await pause(reading_pause_, reader_.retry(options_.lease));
    }
  }
}

asio::awaitable<std::optional<EtcdTail::Looked>> EtcdTail::look_for_start() {
  const EtcdRange begun{keys_.begun(options_.log)};
  EtcdRange first = all_records();
  first.limit = kPage;
  std::vector<EtcdRange> ranges{begun};
  if (!options_.watcher) ranges.push_back(first);
  std::optional<Looked> looked = co_await look(reader_, ranges);
  if (looked && looked->identity.empty() && !closed_) {
    report(EtcdOutcome::ok, "the key " + keys_.identity() + " is gone, and so are the logs; a "
                            "process that starts makes them anew");
  }
  co_return looked;
}

asio::awaitable<bool> EtcdTail::read_pages(std::vector<EtcdKeyValue>& records,
                                           std::int64_t as_of) {
  for (bool more = true; more;) {
    EtcdRange page = all_records();
    page.limit = kPage;
    page.as_of = as_of;
    page.changed_from = records.back().revision + 1;
    std::vector<EtcdRange> ranges{page};
    std::optional<Looked> looked = co_await look(reader_, ranges);
    if (!looked) co_return false;
    more = looked->found[0].more;
    for (EtcdKeyValue& record : looked->found[0].keys) records.push_back(std::move(record));
  }
  co_return true;
}

asio::awaitable<void> EtcdTail::begin() {
  const std::uint64_t turn = turn_;
  std::optional<Looked> looked = co_await look_for_start();
  if (!looked || looked->identity.empty() || turn != turn_) co_return;
  std::vector<EtcdKeyValue> records;
  if (!options_.watcher) {
    records = std::move(looked->found[1].keys);
    if (looked->found[1].more) {
      const bool all = co_await read_pages(records, looked->header.revision);
      if (!all || turn != turn_) co_return;
    }
  }
  if (!closed_) deliver_start(*looked, std::move(records));
}

void EtcdTail::deliver_start(const Looked& looked, std::vector<EtcdKeyValue> records) {
  const std::uint64_t turn = turn_;
  const std::int64_t end = looked.header.revision + 1;
  servers_->logs(options_.log) = identity_ = looked.identity;
  cluster_ = looked.header.cluster;
  running_ = true;
  last_ = {};
  known_ = end - 1;
  next_ = records.empty() ? end : records.front().revision;
  heard_ = proved_ = boot_now();
  const bool begun = !looked.found[0].keys.empty();
  const Below below = !begun              ? Below::nothing
                      : options_.watcher ? Below::older
                                         : Below::unread;
  emit(TailStarted{options_.log, next_, end, below});
  for (const EtcdKeyValue& record : records) {
    if (closed_ || turn != turn_) return;
    deliver(record);
  }
  if (closed_ || turn != turn_) return;
  next_ = end;
  emit(LogPosition{options_.log, end});
}

void EtcdTail::deliver(const EtcdKeyValue& stored) {
  if (stored.revision < next_) {
    // It was said that none was there: one that was deleted in between.
    if (stored.revision > last_.revision) lose(GapReason::truncated);
    return;
  }
  next_ = stored.revision + 1;
  last_ = stored;
  missed_.reset();
  const auto [stamped, text] = stamped_value(stored.value);
  const Decoded value = decode_record(text);
  emit(Received{options_.log, stored.revision, stamped, false, &value});
}

// The watch, until it breaks.
asio::awaitable<void> EtcdTail::follow() {
  const std::uint64_t turn = turn_;
  const bool same = co_await check_last();
  if (!same || closed_ || turn != turn_) co_return;
  const bool open =
      co_await reader_.watch(watch_request(keys_.records(options_.log), next_), patience());
  if (!open || closed_ || turn != turn_) co_return;
  heard_ = boot_now();
  watching_ = true;
  missed_.reset();
  servers_->reports().recovered(name_, name_ + " is read again", heard_);
  while (!closed_ && turn == turn_) {
    std::optional<std::string> line = co_await reader_.next_line();
    if (!line || closed_ || turn != turn_) break;
    if (!take(*line)) break;
  }
  watching_ = false;
  reader_.drop();
}

// A store that was restored, and has got as far again since then, has other records up to where
// this has read to. What was overwritten since is still there as of then, unless that is compacted:
// then the watch could not go on either.
asio::awaitable<bool> EtcdTail::check_last() {
  const std::uint64_t turn = turn_;
  const std::int64_t next = next_;
  const EtcdKeyValue last = last_;
  EtcdRange newest = all_records();
  newest.as_of = next - 1;
  newest.changed_from = last.revision > 0 ? last.revision : known_ + 1;
  newest.limit = 2;
  std::vector<EtcdRange> ranges{newest};
  const EtcdAnswer answer = co_await ask(reader_, std::move(ranges));
  if (closed_ || turn != turn_) co_return false;
  if (answer.outcome == EtcdOutcome::compacted || answer.outcome == EtcdOutcome::ahead) {
    lose(answer.outcome == EtcdOutcome::ahead ? GapReason::truncated : GapReason::out_of_range);
    co_return false;
  }
  const std::optional<Looked> looked = looked_in(reader_, answer, 1);
  if (!looked || !is_same(*looked, next)) co_return false;
  std::vector<EtcdKeyValue> found = looked->found[0].keys;
  if (found.empty() && last.revision > 0) {
    // It may have expired since it was read.
    EtcdRange there = all_records();
    there.as_of = there.changed_from = there.changed_to = last.revision;
    const EtcdAnswer then =
        co_await reader_.call("/v3/kv/range", json_of(there), patience());
    if (closed_ || turn != turn_ || then.outcome == EtcdOutcome::unreachable) co_return false;
    if (auto old = found_in(then.body)) found = std::move(old->keys);
  }
  const bool same = last.revision == 0
                        ? found.empty()
                        : found.size() == 1 && found[0].key == last.key &&
                              found[0].value == last.value;
  if (!same) lose(GapReason::changed);
  co_return same;
}

milliseconds EtcdTail::patience() const {
  return std::max(options_.lease / 2, kEtcdAttemptLeast);
}

bool EtcdTail::take(const std::string& line) {
  const std::uint64_t turn = turn_;
  const auto watched = watched_in(line);
  if (!watched) {
    leave(reader_, kNoEtcd);
    return false;
  }
  if (watched->ended && watched->compacted_to > 0) {
    lose(GapReason::out_of_range);
    return false;
  }
  if (!watched->cluster.empty() && watched->cluster != cluster_) {
    lose(GapReason::replaced);
    return false;
  }
  if (watched->ended) leave(reader_, "its watch has ended: " + *watched->ended);
  for (const EtcdKeyValue& put : watched->puts) {
    if (closed_ || turn != turn_) return false;
    deliver(put);
  }
  return !watched->ended;
}

bool EtcdTail::is_same(const Looked& looked, std::int64_t next) {
  if (looked.identity != identity_ || looked.header.cluster != cluster_) {
    lose(looked.identity.empty() ? GapReason::missing : GapReason::replaced);
    return false;
  }
  if (looked.header.revision + 1 < next) {
    lose(GapReason::truncated);
    return false;
  }
  proved_ = boot_now();
  return true;
}

asio::awaitable<void> EtcdTail::guard() {
  while (!closed_) {
    if (reread_) {
      const RereadRequest request = *reread_;
      const bool answered = co_await answer(request);
      if (closed_) co_return;
      if (answered && reread_ && reread_->question == request.question) reread_.reset();
      if (!answered) co_await pause(guard_pause_, asker_.retry(options_.lease));
    }
    const LocalTime due = std::min(later(heard(), options_.lease / 2),
                                   later(proved_, kProofs * options_.lease));
    if (running_ && boot_now() >= due) co_await probe();
    if (closed_) co_return;
    if (!reread_) co_await pause(guard_pause_, std::max(options_.lease / 4, kEtcdAttemptLeast));
  }
}

// Records that came after what was read, and that the watch does not deliver: it is dropped. If
// there are none, the log ends where the store is.
asio::awaitable<void> EtcdTail::probe() {
  const std::uint64_t turn = turn_;
  const std::int64_t next = next_;
  EtcdRange newer = all_records();
  newer.changed_from = next;
  newer.limit = 1;
  std::vector<EtcdRange> ranges{newer};
  std::optional<Looked> looked = co_await look(asker_, ranges);
  if (!looked || closed_ || turn != turn_ || !running_) co_return;
  if (!is_same(*looked, next) || next != next_) co_return;
  if (!looked->found[0].keys.empty()) {
    if (!missed_) missed_ = boot_now();
    if (watching_ && boot_now() >= later(std::max(*missed_, heard()), options_.lease / 4)) {
      missed_.reset();
      reader_.drop();
    }
    co_return;
  }
  missed_.reset();
  if (watching_) servers_->reports().recovered(name_, name_ + " is read again", boot_now());
  const std::int64_t end = looked->header.revision + 1;
  if (end <= next_) co_return;
  next_ = end;
  emit(LogPosition{options_.log, end});
}

// Where it stands now, if nothing replaced it; else where it stood when it was written, if that is
// kept.
asio::awaitable<bool> EtcdTail::answer(RereadRequest request) {
  EtcdRange there = all_records();
  there.changed_from = there.changed_to = std::max<std::int64_t>(request.offset, 1);
  there.limit = 1;
  std::vector<EtcdRange> ranges{there};
  const std::uint64_t turn = turn_;
  const std::int64_t next = next_;
  std::optional<Looked> now = co_await look(asker_, ranges);
  if (!now || closed_ || turn != turn_) co_return false;
  if (running_ && !is_same(*now, next)) co_return true;
  Reread found{request.log, request.question, request.offset, std::nullopt};
  std::vector<EtcdKeyValue> keys = std::move(now->found[0].keys);
  if (request.offset > 0 && keys.empty() && request.offset <= now->header.revision) {
    there.as_of = request.offset;
    const EtcdAnswer then = co_await asker_.call("/v3/kv/range", json_of(there), patience());
    if (closed_ || turn != turn_) co_return false;
    if (!then.ok() && then.outcome != EtcdOutcome::compacted) {
      report(then.outcome, then.trouble);
      co_return false;
    }
    if (auto old = found_in(then.body)) keys = std::move(old->keys);
  }
  if (request.offset > 0 && !keys.empty()) {
    const auto [stamped, text] = stamped_value(keys[0].value);
    found.found = identity_of(decode_record(text), stamped);
  }
  emit(found);
  co_return true;
}

}  // namespace neliroute
