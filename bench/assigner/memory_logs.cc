#include "bench/assigner/memory_logs.h"

#include <chrono>
#include <utility>

#include "bench/cpu_clock.h"

namespace neliroute::scale {
namespace {

constexpr std::int64_t kBrokerEpochMs = 1'700'000'000'000;

}  // namespace

std::int64_t MemoryLogs::append(Log log, const std::string& value, LocalTime now) {
  OneLog& to = logs_[log.value()];
  const auto since = std::chrono::duration_cast<milliseconds>(now.time_since_epoch());
  const double before = bench::thread_cpu_seconds();
  auto decoded = std::make_shared<const Decoded>(decode_record(value));
  decoding_seconds_ += bench::thread_cpu_seconds() - before - bench::cpu_clock_cost();
  to.records.push_back(
      {now + delay_, BrokerTime{since + milliseconds{kBrokerEpochMs}}, std::move(decoded)});
  ++to.written.records;
  to.written.bytes += value.size();
  return end(log) - 1;
}

}  // namespace neliroute::scale
