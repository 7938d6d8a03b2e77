#include "bench/routing/programs/load.h"

#include <algorithm>
#include <chrono>
#include <neliroute/clock.h>
#include <utility>

#include "bench/routing/programs/frames.h"
#include "bench/routing/programs/program.h"

namespace neliroute::bench {
namespace {

// How late a deadline may be noticed.
constexpr milliseconds kSweep{5};
constexpr std::size_t kRefusalsKept = 50;
constexpr std::size_t kRefusalText = 120;
// Any two calls that follow each other have keys far apart.
constexpr std::uint64_t kStride = 2'654'435'761;

std::uint32_t microseconds_between(LocalTime from, LocalTime to) {
  const auto count = std::clamp<std::int64_t>((to - from).count(), 0, UINT32_MAX);
  return static_cast<std::uint32_t>(count);
}

}  // namespace

Load::Load(boost::asio::io_context& io, const LoadOptions& options, SlotSpace slots)
    : io_(io), options_(options), slots_(slots), timer_(io) {
  records_.reserve(std::size_t{1} << 22);  // untouched, it is no memory
}

Slot Load::slot_of(const Call& call) const { return slots_.slot_of(key_text(call.key)); }

milliseconds Load::left(const Call& call) const {
  const auto left = call.due + options_.deadline - boot_now();
  return std::max(std::chrono::duration_cast<milliseconds>(left), milliseconds{0});
}

Target& Load::target(const std::string& name) {
  std::unique_ptr<Target>& found = targets_[name];
  if (!found) {
    found = std::make_unique<Target>();
    found->name = name;
    found->address = endpoint_of(name);
    found->number = static_cast<std::uint16_t>(in_order_.size());
    in_order_.push_back(found.get());
  }
  return *found;
}

void Load::start(Caller& caller, std::function<void()> started) {
  caller_ = &caller;
  const bool fixed = options_.rate > 0 && options_.connections > 0;
  if (fixed && in_order_.empty()) fail("--connections needs --targets");
  fixed ? open_fixed(options_.connections, std::move(started)) : begin_all(std::move(started));
}

// One after the other: a thousand at once may not fit the server's queue.
void Load::open_fixed(std::uint32_t left, std::function<void()> started) {
  if (left == 0) return begin_all(std::move(started));
  const auto connection = std::make_shared<ClientConnection>(io_, open_);
  Target& to = *in_order_.front();
  connection->connect(to.address, [this, &to, connection, left, started = std::move(started)](
                                      boost::system::error_code error) mutable {
    if (error) fail("cannot connect to " + to.name + ": " + error.message());
    to.idle.push_back(connection);
    open_fixed(left - 1, std::move(started));
  });
}

void Load::begin_all(std::function<void()> started) {
  started_ = boot_now();
  started();
  if (options_.rate <= 0) {
    for (std::uint32_t i = 0; i < options_.connections; ++i) begin_next(boot_now());
  }
  tick();
}

void Load::begin_next(LocalTime due) {
  const auto call = std::make_shared<Call>();
  call->number = records_.size();
  call->key = static_cast<std::uint32_t>(call->number * kStride % options_.keys);
  // Other bits than those that choose the key of the counter.
  call->keyed = (call->number * kStride >> 20) % 100 >= options_.without_keys;
  call->due = due;
  call->begun = boot_now();
  CallRecord record;
  record.due_us = due.time_since_epoch().count();
  record.late_us = microseconds_between(due, call->begun);
  record.key = call->key;
  record.slot = slot_of(*call).value();
  record.keyless = call->keyed ? 0 : 1;
  records_.push_back(record);
  ++under_way_;
  deadlines_.push_back({due + options_.deadline, call, 0});
  caller_->begin(call);
}

void Load::tick() {
  const LocalTime now = boot_now();
  LocalTime next = now + kSweep;
  if (options_.rate > 0 && !stopped_) {
    const auto due = [this] {
      const double after = static_cast<double>(records_.size()) * 1e6 / options_.rate;
      return started_ + microseconds{static_cast<std::int64_t>(after)};
    };
    while (due() <= now) begin_next(due());
    next = std::min(next, due());
  }
  expire(impatience_, now);
  expire(deadlines_, now);
  send_waiting();
  if (!stopped_ || under_way_ > 0) arm(next);
}

void Load::arm(LocalTime at) {
  timer_.expires_after(std::max(at - boot_now(), microseconds{0}));
  timer_.async_wait([this](boost::system::error_code error) {
    if (!error) tick();
  });
}

void Load::expire(std::deque<Expiry>& expiries, LocalTime now) {
  while (!expiries.empty() && (expiries.front().at <= now || expiries.front().call->ended)) {
    const Expiry first = std::move(expiries.front());
    expiries.pop_front();
    const CallPtr& call = first.call;
    if (call->ended) continue;
    if (first.attempt == 0) {
      end(call, call->attempts > 0 ? Outcome::unanswered : Outcome::unowned);
    } else if (first.attempt == call->attempts && call->connection) {
      std::exchange(call->connection, nullptr)->abandon();
      caller_->missed(call, Miss::unanswered, 0);
    }
  }
}

ConnectionPtr Load::take(Target& target, bool fresh) {
  // A fixed set is used in turn; else the newest, so that those that are not needed stay idle.
  const bool in_turn = options_.connections > 0;
  while (!fresh && !target.idle.empty()) {
    ConnectionPtr taken = std::move(in_turn ? target.idle.front() : target.idle.back());
    in_turn ? target.idle.pop_front() : target.idle.pop_back();
    if (!taken->is_closed()) return taken;
  }
  return nullptr;
}

void Load::send(const CallPtr& call, Target& target, const Epoch& under, bool fresh) {
  if (call->ended) return;
  ++call->attempts;
  call->sent_under = under;
  call->last_target = target.number;
  if (call->attempts == 1) call->first_target = target.number;
  if (const auto patience = caller_->patience(*call); patience.count() > 0) {
    impatience_.push_back({boot_now() + patience, call, call->attempts});
  }
  send_by(call, target, fresh);
}

void Load::send_by(const CallPtr& call, Target& target, bool fresh) {
  call->connection = take(target, fresh);
  if (call->connection) return request(call, target, call->connection);
  const bool fixed = options_.rate > 0 && options_.connections > 0 && !fresh;
  if (fixed && open_ >= options_.connections) {
    waiting_.emplace_back(call, &target);
    return;
  }
  if (open_ >= options_.most_connections) return end(call, Outcome::crowded);
  const auto made = std::make_shared<ClientConnection>(io_, open_);
  call->connection = made;
  made->connect(target.address, [this, call, &target, made](boost::system::error_code error) {
    if (!error) return request(call, target, made);
    call->connection.reset();
    caller_->missed(call, Miss::unreachable, 0);
  });
}

// Those that are due first. One that ended meanwhile needs no connection.
void Load::send_waiting() {
  for (std::size_t left = waiting_.size(); left > 0; --left) {
    const auto [call, target] = waiting_.front();
    if (!call->ended && open_ >= options_.connections && target->idle.empty()) return;
    waiting_.pop_front();
    if (!call->ended) send_by(call, *target, /*fresh=*/false);
  }
}

std::string Load::request_text(const Call& call) const {
  std::string text = options_.plain ? "GET / HTTP/1.1\r\nHost: bench\r\nX-Neli-Key: "
                                    : "POST /add HTTP/1.1\r\nHost: bench\r\nX-Neli-Key: ";
  text += key_text(call.key);
  if (!options_.plain) {
    text += call.keyed ? "\r\nIdempotency-Key: " : "\r\nX-Bench-Call: ";
    text += std::to_string(call.number) + "\r\nContent-Length: 1";
  }
  if (call.sent_under != kNoEpoch) text += "\r\nNeliroute-Epoch: " + to_string(call.sent_under);
  text += options_.plain ? "\r\n\r\n" : "\r\n\r\n1";
  return text;
}

void Load::request(const CallPtr& call, Target& target, const ConnectionPtr& connection) {
  connection->send(request_text(*call), [this, call, &target](const HttpResponse* response) {
    on_answer(call, target, response);
  });
}

void Load::on_answer(const CallPtr& call, Target& target, const HttpResponse* response) {
  const ConnectionPtr connection = std::exchange(call->connection, nullptr);
  if (response == nullptr) {
    return caller_->missed(call, connection->is_used() ? Miss::stale : Miss::broken, 0);
  }
  const unsigned status = response->result_int();
  if (status == 421) {
    ++call->misdirected;
  } else if (status != 200 && refusals_.size() < kRefusalsKept) {
    refusals_.push_back({call->number, status, response->body().substr(0, kRefusalText)});
  }
  // It may be taken by what follows here, and the answer is gone then.
  if (connection->is_reusable()) target.idle.push_back(connection);
  status == 200 ? on_served(call, *response) : caller_->missed(call, Miss::status, status);
  send_waiting();
}

void Load::on_served(const CallPtr& call, const HttpResponse& response) {
  if (options_.plain) return end(call, Outcome::served, 200);
  const std::string_view body = response.body();
  const std::size_t blank = std::min(body.find(' '), body.size());
  const std::size_t line = std::min(body.find('\n', blank), body.size());
  const auto number = number_of<std::uint64_t>(body.substr(0, blank));
  const std::size_t from = std::min(blank + 1, line);
  const std::uint32_t value = number_of<std::uint32_t>(body.substr(from, line - from)).value_or(0);
  const bool ours = number == call->number && value > 0;
  end(call, ours ? Outcome::served : Outcome::foreign, 200, value);
}

void Load::end(const CallPtr& call, Outcome outcome, unsigned status, std::uint32_t value) {
  if (std::exchange(call->ended, true)) return;
  if (const auto connection = std::exchange(call->connection, nullptr)) connection->abandon();
  CallRecord& record = records_[call->number];
  record.latency_us = microseconds_between(call->due, boot_now());
  record.value = value;
  record.status = static_cast<std::uint16_t>(status);
  record.first_target = call->first_target;
  record.last_target = call->last_target;
  record.misdirected = static_cast<std::uint16_t>(std::min(call->misdirected, 65'535U));
  record.outcome = static_cast<std::uint8_t>(outcome);
  record.attempts = static_cast<std::uint8_t>(std::min(call->attempts, 255U));
  --under_way_;
  if (options_.rate <= 0 && !stopped_) begin_next(boot_now());
  if (stopped_ && under_way_ == 0 && done_) std::exchange(done_, nullptr)();
}

void Load::stop(std::function<void()> done) {
  if (std::exchange(stopped_, true)) return;
  if (under_way_ == 0) return done();
  done_ = std::move(done);
}

}  // namespace neliroute::bench
