#include "tool/print/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <neliroute/hash.h>
#include <neliroute/slot_space.h>
#include <utility>

#include "tool/command_line/values.h"
#include "tool/print/output.h"

namespace neliroute::tool {
namespace {

constexpr std::size_t kMargin = 11;

std::string duration_text(microseconds duration) {
  return text_of(std::chrono::duration_cast<milliseconds>(std::max(duration, microseconds{0})));
}

bool is_owned(const Explained& e) {
  return e.route.verdict == Verdict::remote || e.route.verdict == Verdict::local;
}

/// What observers saw belongs to this route, and not to the one before.
bool is_current(const Explained& e) { return e.seen.owner && e.seen.epoch == e.route.epoch; }

/// Where a member assigns: whom it named, or why it named nobody.
std::string why_assigned(const Explained& e) {
  if (!e.assigned) return {};
  const std::string assigner = e.assigner ? shown(e.assigner->info.name) : "";
  if (e.seen.designee) {
    const std::string name = shown(e.seen.designee->info.name);
    const std::string by = e.assigner ? "The assigner " + assigner + " has" : "An assigner";
    if (is_owned(e)) {
      return fmt::format(" {} named {}, which leads once it has claimed it (rule A4).", by, name);
    }
    return fmt::format(" {} named {}, which claims it when it reads that. If it does not lead "
                       "within twice the longest lease and its session, another one is named "
                       "(rule A5).", by, name);
  }
  if (is_owned(e)) return {};
  if (!e.assigner) {
    return " Nobody assigns now: the most senior member that lives takes over within about a "
           "session (rule A2), and names an owner.";
  }
  if (e.takers == 0) {
    return fmt::format(" The assigner {} names nobody, as no living member may be given anything: "
                       "each is cordoned, leaves or has weight 0.", assigner);
  }
  return fmt::format(" The assigner {} has named nobody yet: it does when it knows that the last "
                     "owner is dead (rule A1), and waits if many seem dead at once (rule A9).",
                     assigner);
}

std::string why_stale(const Explained& e) {
  return fmt::format("{} claimed it at offset {}. Its lease is over, and its log is silent: no "
                     "record shows that it stopped, or that another leads, so it is believed to "
                     "serve on (\"Serving on\").", shown(e.route.owner), e.route.epoch.offset);
}

std::string why_owned(const Explained& e) {
  if (e.route.stale) return why_stale(e);
  std::string text = fmt::format(
      "{} claimed it at offset {}, and its renewals name that epoch and say that it leads "
      "(rule 3).", shown(e.route.owner), e.route.epoch.offset);
  if (is_current(e) && e.seen.lease >= e.route.valid_for) {
    text += fmt::format(" The last one was read {} ago and entitles it for {}: believe it for {} "
                        "more, and longer with each renewal.",
                        duration_text(e.seen.lease - e.route.valid_for),
                        text_of(e.seen.lease), duration_text(e.route.valid_for));
  }
  if (is_current(e) && e.seen.draining) {
    text += " It hands over, and leads on until its successor says that it leads, or its lease "
            "ends (rules 4 and 7).";
  }
  if (!e.route.next_owner.empty()) {
    text += fmt::format(" {} has claimed it since, and does not lead yet.",
                        shown(e.route.next_owner));
  } else if (is_current(e)) {
    text += why_assigned(e);
  }
  return text;
}

std::string why_unowned(const Explained& e) {
  if (!e.route.next_owner.empty()) {
    return fmt::format("{} has claimed it, and does not lead yet: its renewal that says so makes "
                       "it the owner. In exclusive mode the claim ended the former ownership at "
                       "once (rule 4), and its grace may last until every older one is out of the "
                       "way (rule 6).", shown(e.route.next_owner));
  }
  return fmt::format("No claim of it is valid: for {} at least its last owner has released it, or "
                     "its lease has ended (rules 4 and 5), or there was none. Every log answers, "
                     "so this is known, and not just silence.",
                     duration_text(e.now - e.route.unowned_since)) +
         why_assigned(e);
}

std::string why_unknown(const Explained& e) {
  if (!e.answers) {
    return fmt::format("A log of the ledger has not answered for {}, and what was true before may "
                       "have changed unseen: after {} without an answer nothing is believed. Check "
                       "that the broker that leads it is running.",
                       duration_text(e.silence), text_of(e.lease));
  }
  return "The log answers, but was followed for less than the longest lease: an owner that was "
         "silent so far may still appear. Try again, or raise --timeout.";
}

std::string hash_line(const Explained& e) {
  const bool tagged = e.hashed.size() != e.key.size();
  return fmt::format("{:016x}, {} of {}", e.value, e.hash,
                     tagged ? "the tag " + shown(e.hashed) : "the key");
}

}  // namespace

std::string reason_of(const Explained& explained) {
  switch (explained.route.verdict) {
    case Verdict::local:
    case Verdict::remote:
      return why_owned(explained);
    case Verdict::unowned:
      return why_unowned(explained);
    case Verdict::unknown:
      break;
  }
  return why_unknown(explained);
}

std::string text_of(const Explained& e) {
  std::string text;
  const auto line = [&text](std::string_view label, std::string_view what) {
    text += fmt::format("{:<{}}", label, kMargin);
    wrap(text, what, kMargin);
  };
  const RouteCopy& route = e.route;
  const Settings& settings = e.settings;
  const std::uint32_t log = log_of(route.partition, settings.logs).value();
  text += fmt::format("{:<{}}{}\n", "key", kMargin, shown(e.key));  // its blanks stay
  text += fmt::format("{:<{}}{}\n", "hash", kMargin, hash_line(e));
  line("slot", fmt::format("{}, the hash modulo {} slots", route.slot.value(),
                           text_of(std::uint64_t{settings.slots})));
  line("partition", fmt::format("{}, the slot modulo {} partitions; log {} of {} has its records",
                                route.partition.value(), settings.partitions, log, settings.logs));
  line("verdict", to_string(route.verdict));
  if (is_owned(e)) {
    const std::string id = is_current(e) ? ", id " + to_string(e.seen.owner->id) : "";
    text += fmt::format("{:<{}}{} at {}{}\n", "owner", kMargin, shown(route.owner),
                        shown(route.endpoint), id);
    line("epoch", to_string(route.epoch));
  }
  if (!route.next_owner.empty()) {
    text += fmt::format("{:<{}}{} at {}\n", "next", kMargin, shown(route.next_owner),
                        shown(route.next_endpoint));
  }
  if (e.seen.designee) {
    text += fmt::format("{:<{}}{} at {}\n", "designated", kMargin,
                        shown(e.seen.designee->info.name), shown(e.seen.designee->info.endpoint));
  }
  if (e.assigned) {
    text += fmt::format("{:<{}}{}\n", "assigner", kMargin,
                        e.assigner ? shown(e.assigner->info.name) : "nobody now");
  }
  line("why", reason_of(e));
  text.pop_back();
  return text;
}

Explainer::Explainer(Observable observable)
    : observable_(observable),
      view_(std::move(observable)),
      routes_(observable_.facts().settings.partitions) {}

void Explainer::on_view(const ViewChange& change) {
  admin::KeptChange kept{change.version, change.digest, change.at,
                         {change.routes.begin(), change.routes.end()}};
  for (const ChangedRoute& one : kept.routes) routes_[one.partition.value()] = one.route;
  view_.take(kept);
  told_ = true;
}

void Explainer::on_assignment(const AssignmentNews& news) {
  admin::KeptChange kept;
  kept.assignment.emplace().add(news);
  view_.take(kept);
}

std::string Explainer::text(const std::string& key, LocalTime now) const {
  const ObservedFacts& facts = observable_.facts();
  const HashScheme scheme = facts.space.scheme();
  Explained e;
  e.key = key;
  e.hash = to_string(HashScheme{scheme.hash, HashTags::off});
  e.hashed = scheme.tags == HashTags::on ? hash_tag(key) : std::string_view(key);
  e.value = hash_value(scheme.hash, e.hashed);
  e.settings = facts.settings;
  e.lease = observable_.lease();
  e.route = observable_.route(facts.space.slot_of(key), now).copy();
  e.seen = routes_[e.route.partition.value()];
  e.silence = observable_.age(now);
  e.answers = observable_.ledger_answers(now);
  e.now = now;
  const admin::AssignmentView& assignment = view_.assignment();
  e.assigned = assignment.known();
  e.assigner = assignment.assigner();
  e.takers = static_cast<std::size_t>(std::count_if(
      assignment.members().begin(), assignment.members().end(), [](const auto& entry) {
        const ObservedMember& member = entry.second;
        return member.state == MemberState::living && !member.cordoned && member.weight > 0;
      }));
  return text_of(e);
}

std::string Explainer::json(const std::string& key, LocalTime now) const {
  return view_.route(key, Slot{}, now);
}

}  // namespace neliroute::tool
