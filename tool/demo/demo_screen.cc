#include "tool/demo/demo_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "tool/command_line/values.h"
#include "tool/print/output.h"

namespace neliroute::tool {
namespace {

constexpr std::size_t kCells = 64;
constexpr std::size_t kBarWidth = 30;
constexpr std::string_view kMargin = "     ";

char letter_of(const std::string& owner) {
  return owner.empty() ? '.' : owner.front();
}

}  // namespace

std::size_t Screen::number_of(const std::string& owner) {
  const auto found = std::find(owners_.begin(), owners_.end(), owner);
  if (found != owners_.end()) return static_cast<std::size_t>(found - owners_.begin());
  owners_.push_back(owner);
  return owners_.size() - 1;
}

void Screen::line(std::string_view text) {
  say(text.empty() ? std::string() : std::string(kMargin) + std::string(text));
}

void Screen::title(const DemoOptions& options) {
  const std::string right = fmt::format("{} slots on {}",
                                        text_of(std::uint64_t{options.slots.value()}),
                                        options.quorum       ? "three voters"
                                        : options.embedded() ? "an embedded broker"
                                                             : options.brokers);
  say("");
  say("  " + terminal_.styled(Style::bold, "neliroute demo") +
      terminal_.styled(Style::dim, fmt::format("{:>62}", right)));
}

void Screen::step(std::string_view text) {
  say("");
  say("  " + terminal_.styled(Style::bold, text));
}

void Screen::cast(Cast& cast, const DemoOptions& options) {
  const auto& ready = cast.owner(0).ready;
  const auto duration = [&](const char* name) {
    return text_of(milliseconds{ready.at(name).to_number<std::int64_t>()});
  };
  if (options.quorum) {
    line(fmt::format("voters  {}", cast.ledger()));
  } else {
    line(fmt::format("broker  {}{}", cast.brokers(),
                     options.embedded() ? "  embedded: librdkafka's mock cluster, in memory" : ""));
  }
  const std::string source =
      options.by_assigner()
          ? "one of the owners assigns"
          : fmt::format("{} protocol", std::string_view(ready.at("group_protocol").as_string()));
  line(fmt::format("{:<7} {}, {} partitions; {}, session {}", options.quorum ? "quorum" : "topic",
                   cast.topic(), cast.partitions(), source, duration("session_ms")));
  line(fmt::format("owners  renew every {}, lease {}", duration("interval_ms"),
                   duration("lease_ms")));
  for (Actor& actor : cast.owners()) {
    const std::string name = fmt::format(" {:<6}", actor.name);
    line(fmt::format("        {} {}  pid {}", terminal_.on_owner(number_of(actor.name), name),
                     actor.endpoint, actor.pid));
  }
}

std::string Screen::cells(const Owners& owners, std::size_t first) {
  std::string text;
  for (std::size_t p = first; p < std::min(owners.size(), first + kCells);) {
    // Adjacent cells of one owner share their escape codes.
    std::string run;
    const std::string& owner = owners[p];
    for (; p < std::min(owners.size(), first + kCells) && owners[p] == owner; ++p) {
      run += letter_of(owner);
    }
    text += owner.empty() ? terminal_.styled(Style::dim, run)
                          : terminal_.on_owner(number_of(owner), run);
  }
  return text;
}

void Screen::strip(std::string_view label, const Owners& owners) {
  for (std::size_t first = 0; first < owners.size(); first += kCells) {
    line(fmt::format("{:<7} {}", first == 0 ? label : "", cells(owners, first)));
  }
}

void Screen::marks(std::string_view label, const std::vector<std::uint32_t>& partitions,
                   std::size_t partition_count) {
  if (partition_count > kCells) return;  // they would not be under their cells
  std::string text(partition_count, ' ');
  for (const std::uint32_t p : partitions) text[p] = '^';
  while (text.ends_with(' ')) text.pop_back();
  line(fmt::format("{:<7} {}", label, terminal_.styled(Style::dim, text)));
}

void Screen::progress(const Owners& owners, std::string_view text) {
  if (!terminal_.rich()) return;
  // Two lines, as the strip alone is as wide as the screen.
  if (std::exchange(in_progress_, true)) fmt::print("\033[A");
  fmt::print("\r\033[K{}{:<7} {}\n\033[K{}{}", kMargin, "now", cells(owners, 0), kMargin, text);
  std::fflush(stdout);
}

void Screen::starting() {
  if (!terminal_.rich()) return;
  fmt::print("{}starting ...", kMargin);
  std::fflush(stdout);
}

void Screen::started() {
  if (!terminal_.rich()) return;
  fmt::print("\r\033[K");
}

void Screen::end_progress() {
  if (!std::exchange(in_progress_, false)) return;
  fmt::print("\r\033[K\033[A\r\033[K");
  std::fflush(stdout);
}

void Screen::holdings(const std::vector<Holding>& holdings,
                      const std::map<std::string, std::uint64_t>& keys) {
  std::uint64_t all_slots = 0;
  std::uint64_t all_keys = 0;
  for (const Holding& one : holdings) all_slots += one.slots;
  for (const auto& [owner, count] : keys) all_keys += count;
  for (const Holding& one : holdings) {
    const auto found = keys.find(one.owner);
    const std::uint64_t count = found == keys.end() ? 0 : found->second;
    const std::size_t number = number_of(one.owner);
    const double share = static_cast<double>(one.slots) /
                         static_cast<double>(std::max<std::uint64_t>(all_slots, 1));
    line(fmt::format("{:<7} {} {:>6} slots {:>9} keys {:>5.1f} %", one.owner,
                     terminal_.bar(number, share, kBarWidth), text_of(one.slots), text_of(count),
                     100.0 * static_cast<double>(count) /
                         static_cast<double>(std::max<std::uint64_t>(all_keys, 1))));
  }
  line(terminal_.styled(Style::dim, fmt::format("{:<7} {:<{}} {:>6} slots {:>9} keys", "all", "",
                                                kBarWidth, text_of(all_slots),
                                                text_of(all_keys))));
}

void Screen::samples(const std::vector<Sample>& samples) {
  for (const Sample& sample : samples) {
    const std::string owner = fmt::format(" {:<6}", sample.route.owner);
    line(fmt::format("{:<16} slot {:>4}  {} {}  epoch {}", shown(sample.key),
                     sample.route.slot.value(),
                     terminal_.on_owner(number_of(sample.route.owner), owner),
                     sample.route.endpoint, to_string(sample.route.epoch)));
  }
}

void Screen::failover(milliseconds after, const DemoOptions& options, milliseconds session) {
  const double seconds = static_cast<double>(after.count()) / 1000.0;
  line(fmt::format("Every slot was owned again after {}.",
                   terminal_.styled(Style::good, after < milliseconds{1000}
                                                     ? text_of(after)
                                                     : fmt::format("{:.2f} s", seconds))));
  const auto aside = [&](std::string_view text) { line(terminal_.styled(Style::dim, text)); };
  if (options.by_assigner()) {
    aside(fmt::format("(Who is silent for its session of {} is taken for dead, whatever the",
                      text_of(session)));
    aside(" broker's settings are.)");
  } else if (options.embedded()) {
    aside("(This is the embedded broker's clock: it looks for dead members once a");
    aside(" second, and knows no session below 2 s. `scripts/demo --kafka` shows");
    aside(" what a real Kafka does.)");
  } else {
    aside(fmt::format("(The session in force is {}: no group notices a death sooner.)",
                      text_of(session)));
  }
}

void Screen::moves(std::size_t partitions, std::uint64_t slots, std::size_t least,
                   std::uint64_t keys) {
  line(fmt::format("{} slots moved, those of {} partitions; the least possible is {}.",
                   text_of(slots), partitions, least));
  line(fmt::format("Until then nobody served their {} keys.", text_of(keys)));
}

void Screen::stay(const Cast& cast, const DemoOptions& options) {
  step("It stays until Ctrl-C. In another terminal, try");
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  line(fmt::format("PATH={}:$PATH", program.parent_path().string()));
  line(options.quorum
           ? fmt::format("export NELIROUTE_LEDGER={}", cast.ledger())
           : fmt::format("export NELIROUTE_BROKERS={}", cast.brokers()));
  line(fmt::format("export NELIROUTE_PROFILE={}", options.profile));
  const KafkaConnection defaults;
  if (cast.topic() != defaults.topic && options.quorum) {
    line(fmt::format("export NELIROUTE_GROUP={}", cast.topic()));
  } else if (cast.topic() != defaults.topic) {
    line(fmt::format("export NELIROUTE_TOPIC={} NELIROUTE_GROUP={}", cast.topic(), cast.topic()));
  }
  if (options.slots != SlotCount{1024}) {
    line(fmt::format("export NELIROUTE_SLOTS={}", options.slots.value()));
  }
  line("neliroute watch                 # every change, as it comes");
  line("neliroute watch --once          # who owns what now");
  line("neliroute route hello world     # who owns these keys");
  line("neliroute run --name beta --endpoint 127.0.0.1:7002   # beta is back");
  say("");
}

}  // namespace neliroute::tool
