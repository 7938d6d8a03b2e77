// The configuration: a settings file and a command line of any bytes, the values in them, and what
// the durations make of each other. What is accepted fits; what is refused says why.
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "neli_core/options.h"
#include "neli_core/timing.h"
#include "router/options/option_parts.h"
#include "slots/partition.h"
#include "tests/fuzz/bytes.h"
#include "tool/command_line/options.h"
#include "tool/command_line/values.h"

namespace neliroute::fuzz {
namespace {

template <class T>
void check_refusal(const Result<T>& result) {
  if (!result) {
    FUZZ_CHECK(result.error().code() == Errc::bad_option, "the kind");
    FUZZ_CHECK(!result.error().message().empty(), "says why");
  }
}

void check_values(std::string_view text) {
  const auto duration = parse_duration(text);
  check_refusal(duration);
  if (duration) {
    FUZZ_CHECK(duration->count() >= 0 && *duration <= std::chrono::hours{24}, "at most a day");
    FUZZ_CHECK(!tool::text_of(*duration).empty(), "can be shown");
  }
  const auto slots = parse_slots(text);
  check_refusal(slots);
  if (slots) FUZZ_CHECK(slots->value() >= 1 && slots->value() <= kSlotCountMax, "in range");
  check_refusal(parse_hash_option(text));
  check_refusal(parse_mode_option(text));
  check_refusal(parse_profile_option(text));
  const auto property = parse_property(text);
  check_refusal(property);
  if (property) FUZZ_CHECK(property->first + "=" + property->second == text, "kept whole");
}

// The bounds of docs/operating.md, computed here a second time.
void check_timing(const TimingRequest& request, const SessionFacts& facts) {
  const auto timing = derive_timing(request, facts);
  check_refusal(timing);
  if (!timing) return;
  const Timing& t = *timing;
  FUZZ_CHECK(t.interval.count() > 0 && t.lease.count() > 0 && t.session.count() > 0, "positive");
  FUZZ_CHECK(t.lease <= kLeaseMax, "the limit on the wire");
  FUZZ_CHECK(3 * t.interval <= t.lease, "a renewal may be lost");
  if (request.mode == Mode::exclusive) {
    FUZZ_CHECK(t.lease + t.clock_error < t.session, "a crashed owner's lease is over in time");
  } else if (request.assignment == Assignment::assigner) {
    FUZZ_CHECK(t.lease >= 2 * t.session + milliseconds{150}, "outlasts two sessions");
  } else {
    const milliseconds slack{facts.protocol == GroupProtocol::consumer ? 500 : 3500};
    FUZZ_CHECK(t.lease >= t.session + t.heartbeat + t.interval + slack, "no gap in a planned move");
  }
  FUZZ_CHECK(!request.interval || t.interval == *request.interval, "never changed");
  FUZZ_CHECK(!request.lease || t.lease == *request.lease, "never changed");
  FUZZ_CHECK(!request.clock_error || t.clock_error == *request.clock_error, "never changed");
}

std::optional<milliseconds> some(Bytes& bytes) {
  static constexpr std::int64_t kOdd[] = {1,      99,      100,     500,        2000,         3000,
                                          10'000, 45'000,  600'000, 600'001,    86'400'000,   0,
                                          -1,     2'100'000'000};
  switch (bytes.below(3)) {
    case 0:
      return std::nullopt;
    case 1:
      return milliseconds{bytes.one_of(kOdd)};
    default:
      return milliseconds{bytes.byte() * 256 + bytes.byte()};
  }
}

// What a broker says; Kafka itself refuses such settings below 1 ms.
SessionFacts facts_of(Bytes& bytes) {
  SessionFacts facts;
  facts.protocol = bytes.flag() ? GroupProtocol::consumer : GroupProtocol::classic;
  for (auto* fact : {&facts.session, &facts.heartbeat, &facts.session_min, &facts.session_max}) {
    *fact = some(bytes);
    if (*fact && (*fact)->count() <= 0) fact->reset();
  }
  return facts;
}

// A settings file as --config reads it, of these bytes.
class File {
 public:
  explicit File(std::string_view text) : fd_(::memfd_create("settings", 0)) {
    FUZZ_CHECK(::write(fd_, text.data(), text.size()) == static_cast<ssize_t>(text.size()), "disk");
  }
  ~File() { ::close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

// Up to a line "--": the file; behind it arguments, a line each.
void check_command_line(std::string_view text, const SessionFacts& facts) {
  std::string_view file = text;
  std::vector<std::string> arguments;
  if (const auto end = text.find("\n--\n"); end != std::string_view::npos) {
    file = text.substr(0, end);
    for (std::string_view rest = text.substr(end + 4); !rest.empty();) {
      const auto line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      // No other file than ours, and no help: it is always the same.
      if (line.starts_with("--c") || line.starts_with("-h") || line.starts_with("--h")) continue;
      arguments.emplace_back(line);
    }
  }
  const File settings(file);
  arguments.insert(arguments.begin(), {"--config", settings.path()});
  tool::CommonOptions options;
  tool::CommandLine line({"run", "", "", ""});
  tool::add_common_options(line, options, Part::owner);
  if (const auto exit = line.parse({arguments})) {
    FUZZ_CHECK(*exit == 0 || *exit == 2, "bad usage, or the help");
    return;
  }
  const RouterOptions& router = options.router;
  const auto fits = options.check();
  check_refusal(fits);
  if (fits && router.partitions) {
    FUZZ_CHECK(router.slots.value() >= *router.partitions, "a slot for each");
  }
  FUZZ_CHECK(!router.kafka.topic.empty() && !router.group.empty(), "not empty");
  const TimingRequest request = timing_request(router);
  check_timing(request, facts);
  const milliseconds lease = watcher_timing(request).lease;
  FUZZ_CHECK(lease.count() > 0, "a watcher's");
  FUZZ_CHECK(options.timeout_or_default(lease).count() > 0, "a bound");
  CoreOptions core;
  core.id = ProcessId{1};
  core.mode = router.mode;
  core.settings = {router.group, router.slots.value(), router.partitions.value_or(64),
                   router.logs.value_or(4), std::string(to_string(router.hash)), ""};
  core.process = router.process;
  core.lease = request.lease.value_or(core.lease);
  core.interval = request.interval.value_or(core.interval);
  check_refusal(core.validate());
}

}  // namespace

void one_input(Bytes bytes) {
  const SessionFacts facts = facts_of(bytes);
  TimingRequest request;
  request.mode = bytes.flag() ? Mode::exclusive : Mode::non_exclusive;
  request.profile = static_cast<Profile>(bytes.below(3));
  request.session = some(bytes);
  request.interval = some(bytes);
  request.lease = some(bytes);
  request.clock_error = some(bytes);
  check_timing(request, facts);
  const std::string_view text = bytes.rest();
  check_values(text.substr(0, text.find('\n')));
  check_command_line(text, facts);
}

}  // namespace neliroute::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  neliroute::fuzz::one_input({data, size});
  return 0;
}
