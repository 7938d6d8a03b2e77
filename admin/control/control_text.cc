#include "admin/control/control_text.h"

#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>

namespace neliroute::admin {
namespace {

Refusal misfit(std::string what, std::string_view expected) {
  return {400, std::move(what) + "; send JSON like " + std::string(expected)};
}

constexpr std::string_view kAdmitLike =
    R"({"key":"user:1000","epoch":"1763690000123:4711","hops":0}, or with "slot" for "key")";
constexpr std::string_view kDoneLike = R"({"work":"0123456789abcdef"} or {"step":7})";
constexpr std::string_view kDrainLike = "{}";
// And the port that goes without saying.
constexpr std::pair<std::string_view, std::string_view> kSchemes[] = {{"http://", ":80"},
                                                                      {"https://", ":443"}};

/// The body as an object that has no members but these.
std::variant<boost::json::object, Refusal> object_of(std::string_view body,
                                                     std::initializer_list<std::string_view> names,
                                                     std::string_view like) {
  boost::json::error_code error;
  boost::json::value value = boost::json::parse({body.data(), body.size()}, error);
  if (error) return misfit("the body is no JSON (" + error.message() + ")", like);
  boost::json::object* const object = value.if_object();
  if (object == nullptr) return misfit("the body is no JSON object", like);
  for (const auto& member : *object) {
    const std::string_view name(member.key().data(), member.key().size());
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return misfit("the body has a member that is not known here", like);
  }
  return std::move(*object);
}

/// A whole number from 0 to `most`, written as one.
template <class Number>
std::optional<Number> whole_number(const boost::json::value& value, Number most) {
  std::uint64_t number = 0;
  if (value.is_uint64()) {
    number = value.get_uint64();
  } else if (value.is_int64() && value.get_int64() >= 0) {
    number = static_cast<std::uint64_t>(value.get_int64());
  } else {
    return std::nullopt;
  }
  if (number > most) return std::nullopt;
  return static_cast<Number>(number);
}

/// As answers have it, or as the field Neliroute-Epoch has it.
std::optional<Epoch> epoch_in(const boost::json::value& value) {
  if (value.is_string()) {
    const auto& text = value.get_string();
    return parse_epoch({text.data(), text.size()});
  }
  const boost::json::object* const object = value.if_object();
  if (object == nullptr || object->size() != 2) return std::nullopt;
  const boost::json::value* const incarnation = object->if_contains("inc");
  const boost::json::value* const offset = object->if_contains("offset");
  if (incarnation == nullptr || offset == nullptr) return std::nullopt;
  if (!incarnation->is_int64() || !offset->is_int64()) return std::nullopt;
  return Epoch{incarnation->get_int64(), offset->get_int64()};
}

std::optional<Refusal> take_place(AdmitQuestion& question, const boost::json::object& object,
                                  const SlotSpace& space) {
  const boost::json::value* const key = object.if_contains("key");
  const boost::json::value* const slot = object.if_contains("slot");
  if ((key == nullptr) == (slot == nullptr)) {
    return misfit("expected exactly one of key and slot", kAdmitLike);
  }
  if (key != nullptr) {
    if (!key->is_string()) return misfit("key is no string", kAdmitLike);
    const auto& text = key->get_string();
    question.slot = space.slot_of({text.data(), text.size()});
    return std::nullopt;
  }
  const std::uint32_t last = space.count().value() - 1;
  const auto number = whole_number(*slot, last);
  if (!number) {
    return misfit("slot is not a number from 0 to " + std::to_string(last), kAdmitLike);
  }
  question.slot = Slot{*number};
  return std::nullopt;
}

}  // namespace

std::variant<AdmitQuestion, Refusal> read_admit(std::string_view body, const SlotSpace& space) {
  auto read = object_of(body, {"key", "slot", "epoch", "hops"}, kAdmitLike);
  if (const auto* refusal = std::get_if<Refusal>(&read)) return *refusal;
  const auto& object = std::get<boost::json::object>(read);
  AdmitQuestion made;
  if (auto refusal = take_place(made, object, space)) return *refusal;
  if (const boost::json::value* const value = object.if_contains("epoch")) {
    const auto epoch = epoch_in(*value);
    if (!epoch) return misfit("epoch is none", kAdmitLike);
    made.epoch = *epoch;
  }
  if (const boost::json::value* const value = object.if_contains("hops")) {
    const auto hops = whole_number(*value, std::numeric_limits<std::uint32_t>::max());
    if (!hops) return misfit("hops is not a number from 0 to 4294967295", kAdmitLike);
    made.hops = *hops;
  }
  return made;
}

std::variant<Ended, Refusal> read_done(std::string_view body) {
  auto read = object_of(body, {"work", "step"}, kDoneLike);
  if (const auto* refusal = std::get_if<Refusal>(&read)) return *refusal;
  const auto& object = std::get<boost::json::object>(read);
  if (object.size() != 1) return misfit("expected exactly one of work and step", kDoneLike);
  if (const boost::json::value* const step = object.if_contains("step")) {
    const auto number = whole_number(*step, std::numeric_limits<std::uint64_t>::max());
    if (!number) return misfit("step is not the seq of an event of /v1/steps", kDoneLike);
    return Ended{true, *number};
  }
  const boost::json::value* const work = object.if_contains("work");
  constexpr std::size_t kDigits = 16;
  if (work == nullptr || !work->is_string() || work->get_string().size() != kDigits) {
    return misfit("work is not what POST /v1/admit answered", kDoneLike);
  }
  const char* const begin = work->get_string().data();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(begin, begin + kDigits, number, 16);
  if (error != std::errc{} || end != begin + kDigits) {
    return misfit("work is not what POST /v1/admit answered", kDoneLike);
  }
  return Ended{false, number};
}

std::optional<Refusal> read_drain(std::string_view body) {
  if (body.empty()) return std::nullopt;
  const auto read = object_of(body, {}, kDrainLike);
  if (const auto* refusal = std::get_if<Refusal>(&read)) return *refusal;
  return std::nullopt;
}

bool is_json(std::string_view type) {
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ') || type.ends_with('\t')) type.remove_suffix(1);
  return boost::algorithm::iequals(type, "application/json");
}

bool is_own_page(std::string_view origin, std::string_view host) {
  for (const auto& [scheme, port] : kSchemes) {
    if (!boost::algorithm::istarts_with(origin, scheme)) continue;
    origin.remove_prefix(scheme.size());
    if (origin.ends_with(port)) origin.remove_suffix(port.size());
    if (host.ends_with(port)) host.remove_suffix(port.size());
    return !host.empty() && boost::algorithm::iequals(origin, host);
  }
  return false;
}

bool bears(std::string_view authorization, std::string_view token) noexcept {
  constexpr std::string_view kScheme = "bearer ";
  if (token.empty() || authorization.size() < kScheme.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < kScheme.size(); ++i) {
    const char c = authorization[i];
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    difference |= static_cast<unsigned>(lower != kScheme[i]);
  }
  const std::string_view given = authorization.substr(kScheme.size());
  difference |= static_cast<unsigned>(given.size() != token.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    difference |= static_cast<unsigned>(static_cast<unsigned char>(given[i]) ^
                                        static_cast<unsigned char>(token[i % token.size()]));
  }
  return difference == 0;
}

}  // namespace neliroute::admin
