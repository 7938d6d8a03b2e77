#include "bench/placements/catalog.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <neliroute/detail/assert.h>
#include <system_error>

#include "bench/placements/assigner.h"
#include "bench/placements/hash/anchor.h"
#include "bench/placements/hash/bounded.h"
#include "bench/placements/hash/buckets.h"
#include "bench/placements/hash/dx.h"
#include "bench/placements/hash/jump.h"
#include "bench/placements/hash/ketama.h"
#include "bench/placements/hash/maglev.h"
#include "bench/placements/hash/memento.h"
#include "bench/placements/hash/multi_probe.h"
#include "bench/placements/hash/rendezvous.h"
#include "bench/placements/hash/ring.h"
#include "bench/placements/kafka/range.h"
#include "bench/placements/kafka/round_robin.h"
#include "bench/placements/kafka/sticky.h"
#include "bench/placements/kafka/uniform.h"
#include "bench/placements/least.h"

namespace neliroute::placement {
namespace {

constexpr Parameter kNone{};
constexpr double kMostCapacity = 1 << 24;
// A point is 16 bytes; more than this many are a mistake, or need another machine.
constexpr double kMostPoints = 100'000'000;

constexpr std::array kKinds = {
    Kind{"range", Unit::partitions, kNone, false, false, "Kafka's RangeAssignor"},
    Kind{"roundrobin", Unit::partitions, kNone, false, false, "Kafka's RoundRobinAssignor"},
    Kind{"sticky", Unit::partitions, kNone, false, false, "Kafka's (Cooperative)StickyAssignor"},
    Kind{"uniform-4.0", Unit::partitions, kNone, false, false, "the broker's (KIP-848), Kafka 4.0"},
    Kind{"uniform-4.1", Unit::partitions, kNone, false, false, "the broker's (KIP-848), Kafka 4.1"},
    Kind{"assigner", Unit::partitions, kNone, true, false, "by weight, with the least moves"},
    Kind{"least", Unit::slots, {"tolerance", 0, 1, 0, false}, true, false,
         "the exact minimum from where it is"},
    Kind{"rendezvous", Unit::slots, kNone, true, true, "highest random weight"},
    Kind{"ring", Unit::slots, {"points", 1, 10'000, 160, true}, true, true,
         "consistent hashing on a circle"},
    Kind{"ketama", Unit::slots, kNone, true, true, "libketama's ring, by MD5"},
    Kind{"bounded", Unit::slots, {"factor", 1.01, 100, 1.25, false}, true, false,
         "a ring with a most for each member"},
    Kind{"multiprobe", Unit::slots, {"probes", 1, 1000, 21, true}, false, true,
         "one point a member, many probes"},
    Kind{"maglev", Unit::slots, {"entries", 2, 10'000'000, {}, true}, true, false,
         "a table filled by turns (default: the items)"},
    Kind{"jump", Unit::slots, kNone, false, false, "buckets by number alone"},
    Kind{"anchor", Unit::slots, {"capacity", 1, kMostCapacity, {}, true}, false, true,
         "AnchorHash (default: twice the members)"},
    Kind{"dx", Unit::slots, {"capacity", 1, kMostCapacity, {}, true}, false, true,
         "DxHash (default: twice the members)"},
    Kind{"memento", Unit::slots, kNone, false, true, "jump that remembers removals"},
};

std::string number_text(double value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

std::uint32_t capacity_of(const Spec& spec, const Setting& setting) {
  if (spec.parameter) return static_cast<std::uint32_t>(*spec.parameter);
  return 2 * std::max(setting.most_members, 1U);
}

std::uint32_t count_of(const Spec& spec) {
  return static_cast<std::uint32_t>(spec.parameter.value_or(0));
}

std::unique_ptr<Placement> make_on_partitions(std::string_view name, const Setting& setting) {
  if (name == "assigner") return std::make_unique<Assigner>(setting);
  if (name == "range") return std::make_unique<KafkaRange>(setting);
  if (name == "roundrobin") return std::make_unique<KafkaRoundRobin>(setting);
  if (name == "sticky") return std::make_unique<KafkaSticky>(setting);
  return std::make_unique<KafkaUniform>(
      setting, name == "uniform-4.0" ? UniformVersion::kafka_4_0 : UniformVersion::kafka_4_1);
}

std::unique_ptr<Placement> make_in_buckets(const Spec& spec, const Setting& setting) {
  const std::uint32_t capacity = capacity_of(spec, setting);
  if (spec.kind->name == "anchor") {
    return std::make_unique<InBuckets<Anchor>>(setting, Anchor(capacity));
  }
  if (spec.kind->name == "dx") {
    return std::make_unique<InBuckets<Dx>>(setting, Dx(std::bit_ceil(capacity)));
  }
  return std::make_unique<InBuckets<Memento>>(setting, Memento());
}

}  // namespace

std::span<const Kind> kinds() noexcept { return kKinds; }

std::string Spec::text() const {
  std::string text(kind->name);
  if (parameter && parameter != kind->parameter.usual) text += ":" + number_text(*parameter);
  return text;
}

std::optional<Spec> parse_spec(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const auto* kind = std::find_if(kKinds.begin(), kKinds.end(),
                                  [name](const Kind& one) { return one.name == name; });
  if (kind == kKinds.end()) return std::nullopt;
  Spec spec{kind, kind->parameter.usual};
  if (colon == std::string_view::npos) return spec;
  const std::string_view digits = text.substr(colon + 1);
  double value = 0;
  const auto [stopped, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value,
                      std::chars_format::fixed);
  const Parameter& parameter = kind->parameter;
  const bool fits = !parameter.name.empty() && error == std::errc{} &&
                    stopped == digits.data() + digits.size() && value >= parameter.least &&
                    value <= parameter.most && (!parameter.whole || value == std::floor(value));
  if (!fits) return std::nullopt;
  spec.parameter = value;
  return spec;
}

std::optional<std::string> unfit(const Spec& spec, const Setting& setting) {
  const std::string name = spec.text();
  const std::string_view kind = spec.kind->name;
  double heaviest = 1;
  for (const Member& member : setting.roster) {
    heaviest = std::max<double>(heaviest, member.weight);
  }
  if (heaviest > 1 && !spec.kind->knows_weights) {
    return name +
           " knows no weights; leave them out, or choose assigner, rendezvous, ring or least";
  }
  if ((kind == "anchor" || kind == "dx") && capacity_of(spec, setting) < setting.most_members) {
    return name + " has room for fewer than the " + std::to_string(setting.most_members) +
           " members that there will be; give it more, or no number for twice as many";
  }
  if (kind == "dx" && spec.parameter && !std::has_single_bit(count_of(spec))) {
    return name + " needs a power of two; choose " +
           std::to_string(std::bit_ceil(count_of(spec)));
  }
  const double each = kind == "ring" ? spec.parameter.value_or(0)
                      : kind == "ketama" || kind == "bounded" ? kBoundedPoints
                                                              : 0;
  if (each * heaviest * setting.most_members > kMostPoints) {
    return name + " would need more than 100 million points; lower points, weights or members";
  }
  return std::nullopt;
}

std::unique_ptr<Placement> make_placement(const Spec& spec, const Setting& setting) {
  NELIROUTE_ASSERT(!unfit(spec, setting), "a placement must fit its setting");
  const std::string_view name = spec.kind->name;
  if (spec.kind->unit == Unit::partitions) return make_on_partitions(name, setting);
  if (name == "least") return std::make_unique<Least>(setting, spec.parameter.value_or(0));
  if (name == "rendezvous") return std::make_unique<Rendezvous>(setting);
  if (name == "ring") return std::make_unique<Ring>(setting, count_of(spec));
  if (name == "ketama") return std::make_unique<Ketama>(setting);
  if (name == "bounded") return std::make_unique<Bounded>(setting, spec.parameter.value_or(0));
  if (name == "multiprobe") return std::make_unique<MultiProbe>(setting, count_of(spec));
  if (name == "maglev") return std::make_unique<Maglev>(setting, count_of(spec));
  if (name == "jump") return std::make_unique<Jump>(setting);
  return make_in_buckets(spec, setting);
}

}  // namespace neliroute::placement
