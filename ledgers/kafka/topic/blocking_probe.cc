#include "ledgers/kafka/topic/blocking_probe.h"

#include <neliroute/clock.h>

namespace neliroute {
namespace {

constexpr int kTryMs = 1000;  // one attempt, while there is time for more

TopicDescription described(const struct rd_kafka_metadata& metadata) {
  TopicDescription topic;
  topic.error = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
  if (metadata.topic_cnt == 0) return topic;
  topic.error = metadata.topics[0].err;
  topic.partitions = static_cast<std::uint32_t>(metadata.topics[0].partition_cnt);
  if (topic.partitions > 0) topic.replication = metadata.topics[0].partitions[0].replica_cnt;
  return topic;
}

}  // namespace

BlockingProbe::BlockingProbe(rdkafka::HandlePtr handle, std::size_t brokers, LocalTime deadline)
    : handle_(std::move(handle)),
      probe_(handle_.get(), nullptr),
      main_(rd_kafka_queue_get_main(handle_.get())),
      deadline_(deadline),
      brokers_(brokers) {}

bool BlockingProbe::over() const { return boot_now() >= deadline_; }

int BlockingProbe::left_ms() const {
  const auto left = std::chrono::duration_cast<milliseconds>(deadline_ - boot_now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 1, 600'000));
}

// While a broker seems unreachable, the client's own queue says why.
void BlockingProbe::note_failures() {
  while (const auto event = rdkafka::poll(main_.get())) failures_.note(event.get());
}

Answer<TopicDescription> BlockingProbe::topic(const std::string& name) {
  if (!topic_) topic_.reset(rd_kafka_topic_new(handle_.get(), name.c_str(), nullptr));
  while (true) {
    const struct rd_kafka_metadata* raw = nullptr;
    const rd_kafka_resp_err_t error =
        rd_kafka_metadata(handle_.get(), 0, topic_.get(), &raw, std::min(left_ms(), kTryMs));
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
      const rdkafka::MetadataPtr metadata{raw};
      answered_ = true;
      broker_id_ = raw->broker_cnt > 0 ? raw->brokers[0].id : -1;
      return {described(*raw), error, {}};
    }
    note_failures();
    const bool refused = !answered_ && failures_.refusals() >= brokers_;
    if (refused || over()) return {std::nullopt, error, {}};
    if (const auto silence = std::exchange(silence_, nullptr)) silence(error);
  }
}

}  // namespace neliroute
