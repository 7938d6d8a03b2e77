#include "ledgers/kafka/client/kafka_statistics.h"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <algorithm>
#include <array>
#include <map>
#include <string>

namespace neliroute {
namespace {

using boost::json::object;
using boost::json::value;

// After them in the array: where they are summed up.
constexpr std::array kCounts = {"tx",         "txbytes",      "rxbytes",  "txerrs",
                                "rxerrs",     "req_timeouts", "connects", "disconnects"};
constexpr std::array kSums = {
    &ClientStatistics::requests,       &ClientStatistics::sent_bytes,
    &ClientStatistics::received_bytes, &ClientStatistics::send_errors,
    &ClientStatistics::receive_errors, &ClientStatistics::timeouts,
    &ClientStatistics::connects,       &ClientStatistics::disconnects};
static_assert(kCounts.size() == kSums.size());

const object* object_at(const object& in, std::string_view name) {
  const value* found = in.if_contains(name);
  return found == nullptr ? nullptr : found->if_object();
}

std::uint64_t number_at(const object& in, std::string_view name) {
  const value* found = in.if_contains(name);
  if (found == nullptr) return 0;
  if (const auto* whole = found->if_uint64()) return *whole;
  const auto* whole = found->if_int64();
  return whole == nullptr ? 0 : static_cast<std::uint64_t>(std::max<std::int64_t>(*whole, 0));
}

std::string_view text_at(const object& in, std::string_view name) {
  const value* found = in.if_contains(name);
  const auto* text = found == nullptr ? nullptr : found->if_string();
  return text == nullptr ? std::string_view{} : std::string_view{*text};
}

void raise(std::optional<microseconds>& to, std::uint64_t us) {
  to = std::max(to.value_or(microseconds{0}), microseconds{us});
}

// The seed addresses and the coordinator are no brokers of their own: they have no number.
bool is_numbered(const object& broker) {
  const value* id = broker.if_contains("nodeid");
  return id != nullptr && id->is_int64() && id->get_int64() >= 0;
}

void add_gauges(ClientStatistics& to, const object& broker) {
  if (is_numbered(broker) && text_at(broker, "state") == "UP") ++to.brokers_up;
  if (const object* rtt = object_at(broker, "rtt"); rtt != nullptr && number_at(*rtt, "cnt") > 0) {
    raise(to.round_trip_median, number_at(*rtt, "p50"));
    raise(to.round_trip_p99, number_at(*rtt, "p99"));
  }
  if (const object* throttle = object_at(broker, "throttle")) {
    to.throttle = std::max(to.throttle, milliseconds{number_at(*throttle, "max")});
  }
}

// The part about partitions is between "topics" and "cgrp", or the end; it is long, and not used
// here. What cannot be cut out is parsed.
std::string without_topics(std::string_view json) {
  const auto begin = json.find(R"("topics":)");
  if (begin == std::string_view::npos) return std::string(json);
  const auto end = json.rfind(R"("cgrp":)");
  std::string kept(json.substr(0, begin));
  if (end != std::string_view::npos && end > begin) return kept.append(json.substr(end));
  const auto comma = kept.find_last_not_of(" \n\t");
  if (comma != std::string::npos && kept[comma] == ',') kept.resize(comma);
  return kept += '}';
}

}  // namespace

struct KafkaStatistics::Client {
  using Counted = std::array<std::uint64_t, kCounts.size()>;
  std::string name;
  /// Each broker's counts in the last statistics. A broker keeps its counts, but not its name, when
  /// its address changes; so its number identifies it, where it has one.
  std::map<std::string, Counted, std::less<>> counted;
  std::optional<ClientStatistics> last;

  void add(ClientStatistics& to, const object& brokers) {
    std::map<std::string, Counted, std::less<>> next;
    for (const auto& [name_of_broker, value] : brokers) {
      const object* broker = value.if_object();
      if (broker == nullptr) continue;
      const std::string key = key_of(name_of_broker, *broker);
      Counted& now = next[key];
      const Counted before = before_of(key, *broker, brokers);
      // librdkafka counts each look at a coordinator that it has not found yet as a connection.
      const bool nowhere = broker->contains("nodename") && text_at(*broker, "nodename").empty();
      for (std::size_t i = 0; i < kCounts.size(); ++i) {
        now.at(i) = number_at(*broker, kCounts.at(i));
        if (nowhere && kSums.at(i) == &ClientStatistics::connects) continue;
        to.*kSums.at(i) += now.at(i) < before.at(i) ? now.at(i) : now.at(i) - before.at(i);
      }
      add_gauges(to, *broker);
    }
    counted = std::move(next);
  }

 private:
  static std::string key_of(std::string_view name_of_broker, const object& broker) {
    return is_numbered(broker) ? "#" + std::to_string(broker.at("nodeid").get_int64())
                               : std::string(name_of_broker);
  }
  /// A seed address becomes the broker that answers there, by the older libraries.
  Counted before_of(const std::string& key, const object& broker, const object& brokers) const {
    if (const auto known = counted.find(key); known != counted.end()) return known->second;
    const std::string seed = std::string(text_at(broker, "nodename")) + "/bootstrap";
    const auto was = is_numbered(broker) ? counted.find(seed) : counted.end();
    return was == counted.end() || brokers.contains(seed) ? Counted{} : was->second;
  }
};

KafkaStatistics::KafkaStatistics() : clients_(kClientKinds) {}
KafkaStatistics::~KafkaStatistics() = default;

void KafkaStatistics::note(ClientKind kind, std::string_view json, LocalTime now,
                           std::optional<std::uint64_t> unread_records) {
  boost::system::error_code failed;
  const value parsed = boost::json::parse(without_topics(json), failed);
  const object* all = failed ? nullptr : parsed.if_object();
  if (all == nullptr) return;
  const std::lock_guard lock(mutex_);
  Client& client = clients_.at(static_cast<std::size_t>(kind));
  ClientStatistics next;
  if (client.last) {
    for (const auto sum : kSums) next.*sum = (*client.last).*sum;
  }
  if (const auto name = text_at(*all, "name"); name != client.name) {
    client.name = name;
    client.counted.clear();  // a new client, which counts from 0
  }
  if (text_at(*all, "type") == "producer") next.unsent_records = number_at(*all, "msg_cnt");
  next.unread_records = unread_records;
  next.unserved_events = number_at(*all, "replyq");
  if (const object* group = object_at(*all, "cgrp")) {
    next.joined = text_at(*group, "state") == "up" && text_at(*group, "join_state") == "steady";
  }
  next.told_at = now;
  if (const object* brokers = object_at(*all, "brokers")) client.add(next, *brokers);
  client.last = next;
}

void KafkaStatistics::note_withdrawal(Obstacle why) noexcept {
  (why == Obstacle::refused ? refused_ : out_of_reach_).fetch_add(1, std::memory_order_relaxed);
  withdrawn_ = true;
}

std::uint64_t KafkaStatistics::withdrawals(Obstacle why) const noexcept {
  return why == Obstacle::refused ? refused_ : out_of_reach_;
}

std::optional<ClientStatistics> KafkaStatistics::read(ClientKind kind) const {
  const std::lock_guard lock(mutex_);
  return clients_.at(static_cast<std::size_t>(kind)).last;
}

}  // namespace neliroute
