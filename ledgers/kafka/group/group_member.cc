#include "ledgers/kafka/group/group_member.h"

#include <algorithm>
#include <array>
#include <neliroute/clock.h>
#include <system_error>
#include <utility>

#include "ledgers/kafka/client/kafka_error.h"

namespace neliroute {
namespace {

constexpr milliseconds kRejoinAfter{1000};
// A member that has not left this long after its pause joins again as a new member.
constexpr milliseconds kWithdrawPatience{5000};
// Leaving takes a minute at most: the last request, and as much again. Counted, not timed, as its
// client's time stands still while the process is stopped or the machine sleeps.
constexpr int kLeavePollMs = 20;
constexpr int kLeavePolls = 3000;

PartitionRanges ranges_of(const rd_kafka_topic_partition_list_t* list) {
  std::vector<Partition> partitions;
  for (int i = 0; i < list->cnt; ++i) {
    partitions.push_back(Partition{static_cast<std::uint32_t>(list->elems[i].partition)});
  }
  return PartitionRanges::of(partitions);
}

bool assigns(const rd_kafka_event_t* event) {
  return rd_kafka_event_error(const_cast<rd_kafka_event_t*>(event)) ==
         RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;
}

}  // namespace

// The answer to a rebalance. The partitions start at the end, so that no committed offset is looked
// up, and, where they only show what the group suggests, paused, so that nothing is fetched.
struct GroupMember::Rebalances {
  rd_kafka_t* handle;
  bool reads;
  bool cooperative;

  rd_kafka_resp_err_t acknowledge(rd_kafka_event_t* event) const {
    rd_kafka_topic_partition_list_t* list = rd_kafka_event_topic_partition_list(event);
    const bool assign = assigns(event);
    for (int i = 0; assign && i < list->cnt; ++i) list->elems[i].offset = RD_KAFKA_OFFSET_END;
    const rd_kafka_resp_err_t outcome = answer(assign, list);
    if (assign && !reads) rd_kafka_pause_partitions(handle, list);
    return outcome;
  }
  rd_kafka_resp_err_t answer(bool assign, rd_kafka_topic_partition_list_t* list) const {
    if (!cooperative) return rd_kafka_assign(handle, assign ? list : nullptr);
    const rdkafka::ErrorPtr error{assign ? rd_kafka_incremental_assign(handle, list)
                                         : rd_kafka_incremental_unassign(handle, list)};
    return error ? rd_kafka_error_code(error.get()) : RD_KAFKA_RESP_ERR_NO_ERROR;
  }
};

// A client that is destroyed while it waits for a rebalance's acknowledgement, or for the answer to
// its request to leave, never ends, and keeps a core busy. After a fatal error it cannot leave.
void GroupMember::leave_group(const Rebalances& rebalances, rd_kafka_queue_t* queue) {
  const rdkafka::ErrorPtr gone{rd_kafka_consumer_close_queue(rebalances.handle, queue)};
  for (int polls = 0; polls < kLeavePolls; ++polls) {
    const auto event = rdkafka::poll(queue, gone ? 0 : kLeavePollMs);
    if (event && rd_kafka_event_type(event.get()) == RD_KAFKA_EVENT_REBALANCE) {
      static_cast<void>(rebalances.acknowledge(event.get()));
    }
    if (gone ? !event : rd_kafka_consumer_closed(rebalances.handle) != 0) return;
  }
}

GroupMember::Rebalances GroupMember::rebalances() const {
  return {handle_.get(), reads_, cooperative_};
}

GroupMember::GroupMember(ClientSettings settings, QueueWakeup& wakeup, Sink events,
                         NoticeSink notices)
    : settings_(settings),
      wakeup_(wakeup),
      events_(std::move(events)),
      notices_(std::move(notices)),
      reads_(settings.kafka.variation == Variation::broadcast),
      cooperative_(is_cooperative(settings.kafka, settings.protocol)),
      rejoin_(kRejoinAfter) {}

GroupMember::~GroupMember() { end_membership(rdkafka::kDestroyPatience); }

Result<void> GroupMember::open() {
  auto made = make_client(ClientKind::group, settings_);
  if (!made) return made.error();
  opened_ = std::move(*made);
  return {};
}

Result<void> GroupMember::join() {
  rejoin_at_ = later(boot_now(), rejoin_.now());  // if it fails
  if (stays_away_) return {};
  if (!opened_) {
    if (auto made = open(); !made) return made;
  }
  handle_ = std::move(opened_);
  rd_kafka_poll_set_consumer(handle_.get());
  queue_.reset(rd_kafka_queue_get_consumer(handle_.get()));
  wakeup_.attach(queue_.get());
  log_.emplace(handle_.get(), &wakeup_);
  const rd_kafka_resp_err_t error = subscribe();
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    end_membership();
    return Error{Errc::ledger_refused,
                 std::string("cannot join the group: ") + rd_kafka_err2str(error)};
  }
  if (settings_.protocol == GroupProtocol::classic) {
    try {
      pump_ = std::make_unique<HeartbeatPump>(handle_.get(), settings_.timing.heartbeat);
    } catch (const std::system_error& none) {
      end_membership();
      return Error{Errc::ledger_refused,
                   std::string("cannot keep heartbeats going: ") + none.what()};
    }
  }
  rejoin_at_ = kNever;
  return {};
}

rd_kafka_resp_err_t GroupMember::subscribe() {
  const rdkafka::TopicPartitionsPtr topics{rd_kafka_topic_partition_list_new(1)};
  rd_kafka_topic_partition_list_add(topics.get(), settings_.kafka.topic.c_str(),
                                    RD_KAFKA_PARTITION_UA);
  return rd_kafka_subscribe(handle_.get(), topics.get());
}

void GroupMember::subscribe_again() {
  if (!handle_ || settings_.protocol != GroupProtocol::consumer) return;
  static_cast<void>(subscribe());  // if it fails, the next heartbeat is sent as usual
}

bool GroupMember::is_counted() const {
#if RD_KAFKA_VERSION >= 0x020c00ff
  if (!handle_) return false;
  const rdkafka::GroupMetadataPtr metadata{rd_kafka_consumer_group_metadata(handle_.get())};
  return metadata && rd_kafka_consumer_group_metadata_generation_id(metadata.get()) > 0;
#else
  return false;  // a library without the consumer protocol
#endif
}

std::string GroupMember::member_id() const {
  if (!handle_) return left_as_;
  char* id = rd_kafka_memberid(handle_.get());
  std::string text = id == nullptr ? "" : id;
  if (id != nullptr) rd_kafka_mem_free(handle_.get(), id);
  return text;
}

bool GroupMember::serve(const std::function<void(const rd_kafka_event_t*)>& other) {
  if (!queue_) return false;
  const auto lines = log_->serve(other);
  if (lines == ClientLog::Served::gone) return false;
  auto event = rdkafka::poll(queue_.get());
  if (!event) return lines == ClientLog::Served::some;
  if (rd_kafka_event_type(event.get()) == RD_KAFKA_EVENT_FETCH) {
    emit_records(event.get());
    return true;
  }
  if (rd_kafka_event_type(event.get()) != RD_KAFKA_EVENT_REBALANCE) {
    other(event.get());
    std::array<char, 512> text{};
    if (handle_ && rd_kafka_fatal_error(handle_.get(), text.data(), text.size()) !=
                       RD_KAFKA_RESP_ERR_NO_ERROR) {
      lose_membership();
    }
    return true;
  }
  rebalances_.push_back(std::move(event));
  announce_next();
  return true;
}

// Both clocks are read for every record: handling the earlier ones takes time.
void GroupMember::emit_records(rd_kafka_event_t* event) {
  while (const auto* message = rd_kafka_event_message_next(event)) {
    if (!reads_ || leaving_ || message->err != RD_KAFKA_RESP_ERR_NO_ERROR) continue;
    Heard heard;
    heard.partition = Partition{static_cast<std::uint32_t>(message->partition)};
    heard.offset = message->offset;
    rd_kafka_timestamp_type_t type{};
    heard.stamped = BrokerTime{milliseconds{rd_kafka_message_timestamp(message, &type)}};
    heard.store_stamped = type == RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME;
    heard.read = boot_now();
    heard.wall = wall_now();
    events_(heard);
  }
}

void GroupMember::announce_next() {
  if (refused_) {
    const rd_kafka_resp_err_t error = *refused_;
    if (notices_) {
      notices_({Severity::error, describe(error, "the library refuses what the group assigned; "
                                                 "joining the group again")});
    }
    return lose_membership();
  }
  if (announced_ || rebalances_.empty()) return;
  announced_ = true;
  rd_kafka_event_t* event = rebalances_.front().get();
  const PartitionRanges partitions = ranges_of(rd_kafka_event_topic_partition_list(event));
  if (assigns(event)) {
    rejoin_.reset();
    assigned_.insert(partitions);
    events_(GroupAssigned{partitions});
    return;
  }
  std::vector<Partition> left;
  assigned_.for_each(kPartitionCountMax, [&](Partition p) {
    if (!partitions.contains(p)) left.push_back(p);
  });
  assigned_ = PartitionRanges::of(left);
  events_(GroupRevoked{partitions, rd_kafka_assignment_lost(handle_.get()) != 0});
}

void GroupMember::finish() {
  if (!announced_) return;
  announced_ = false;
  if (rebalances_.empty()) return;  // it belonged to a membership that has ended
  const rdkafka::EventPtr event = std::move(rebalances_.front());
  rebalances_.pop_front();
  // After a refusal the library would wait for an answer that it accepts, and the group for the
  // library. The event that follows must not come from inside this call: announce_next().
  const rd_kafka_resp_err_t error = acknowledge(event.get());
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) refused_ = error;
}

rd_kafka_resp_err_t GroupMember::acknowledge(rd_kafka_event_t* event) {
  return rebalances().acknowledge(event);
}

// The library still waits for the answer that it refused, so that its client never ends, and keeps
// a core busy once it is to be destroyed. No partitions are an answer, too: added to what it has,
// or in place of that.
void GroupMember::accept_nothing() {
  const rdkafka::TopicPartitionsPtr none{rd_kafka_topic_partition_list_new(0)};
  static_cast<void>(rebalances().answer(cooperative_, none.get()));
}

// For a membership that ends: the results do not matter.
void GroupMember::acknowledge_all() {
  if (refused_) accept_nothing();
  for (const auto& event : rebalances_) static_cast<void>(acknowledge(event.get()));
  rebalances_.clear();
  announced_ = false;
  refused_.reset();
}

void GroupMember::leave() {
  rejoin_at_ = kNever;
  withdrawing_ = false;
  if (leaving_) return;
  left_as_ = member_id();
  leaving_ = true;
  left_.reset();
  if (!handle_) return;
  left_ = std::make_shared<std::atomic<bool>>(false);
  end_membership(milliseconds{0}, [left = left_, wake = wakeup_.waker()] {
    *left = true;
    wake();
  });
}

void GroupMember::withdraw(milliseconds pause) {
  if (leaving_) return;
  leave();
  withdrawing_ = true;
  rejoin_at_ = later(boot_now(), pause);
  announced_ = true;  // until the core has dealt with it
  events_(GroupRevoked{std::exchange(assigned_, {}), false});
}

void GroupMember::stay_away(bool away) {
  stays_away_ = away;
  if (away && handle_) withdraw(milliseconds{0});
  if (!away && rejoin_at_ != kNever) rejoin_at_ = std::min(rejoin_at_, boot_now());
}

void GroupMember::join_soon() {
  if (withdrawing_) rejoin_at_ = std::min(rejoin_at_, boot_now());
}

bool GroupMember::gone() const { return !handle_ && (!left_ || *left_); }

void GroupMember::end_membership(milliseconds patience, std::function<void()> left) {
  pump_.reset();
  announced_ = false;
  if (!handle_) return;
  acknowledge_all();
  wakeup_.detach(queue_.get());
  log_.reset();
  const auto queue = std::make_shared<rdkafka::QueuePtr>(std::move(queue_));
  auto ending = [all = rebalances(), queue, left = std::move(left)] {
    leave_group(all, queue->get());
    queue->reset();
    if (left) left();
  };
  rdkafka::destroy(handle_.release(), patience, std::move(ending));
}

void GroupMember::lose_membership() {
  end_membership();
  left_as_.clear();
  rejoin_at_ = later(boot_now(), rejoin_.now());
  rejoin_.grow();
  announced_ = true;  // until the core has dealt with it
  events_(GroupRevoked{std::exchange(assigned_, {}), true});
}

// A member that withdrew joins with another client once it has left. If its coordinator does not
// answer, the old member's session expires there.
bool GroupMember::rejoin_if_due(LocalTime now) {
  if (now < rejoin_at_ || handle_ || stays_away_) return false;
  if (withdrawing_ && !gone() && now < later(rejoin_at_, kWithdrawPatience)) return false;
  withdrawing_ = leaving_ = false;
  left_.reset();
  return join().has_value();  // the first failure was reported
}

}  // namespace neliroute
