#include "tool/print/idle_owner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <neliroute/clock.h>

#include "tool/command_line/values.h"
#include "tool/print/log.h"
#include "tool/print/output.h"

namespace neliroute::tool {
namespace {

constexpr std::chrono::seconds kQuietFor{1};
constexpr std::size_t kNamedMost = 3;  // processes in one line

/// "a leads 3, b leads 1 of 64 partitions"
std::string leaders(const IdleView& view) {
  std::string text;
  std::size_t named = 0;
  for (const auto& [name, led] : view.others) {
    if (named++ == kNamedMost) break;
    text += fmt::format("{}{} leads {}", text.empty() ? "" : ", ", shown(name), led);
  }
  const std::size_t more = view.others.size() - std::min(view.others.size(), kNamedMost);
  if (more > 0) text += fmt::format(", {} more lead the rest", more);
  return text + fmt::format(" of {} partitions", view.partitions);
}

}  // namespace

std::string why_idle(const IdleView& view) {
  if (view.looking > 0) {
    return fmt::format("leads nothing yet: waits until the lease of who led {} partitions before "
                       "has ended, or their application has finished, {} at most",
                       view.looking, text_of(view.lease));
  }
  if (view.others.size() >= view.partitions) {
    return fmt::format("leads nothing: each of the {} partitions is led by another process, so "
                       "that none is left; stands by until one of these leaves or dies",
                       view.partitions);
  }
  if (!view.others.empty()) {
    return fmt::format("leads nothing yet: {}; waits until it is given some of them, or until who "
                       "is gone is known to be, at the end of its session and lease",
                       leaders(view));
  }
  return fmt::format("leads nothing yet: waits for {} to give it partitions, which takes the "
                     "session and lease of who led them before, if that one was killed",
                     view.assigner ? "an assigner" : "the group");
}

IdleOwner::IdleOwner(boost::asio::io_context& io, const Router& router, bool assigner)
    : router_(router),
      assigner_(assigner),
      routes_(router.settings().partitions),
      timer_(io, kQuietFor) {
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) tell();
  });
}

void IdleOwner::on_view(const ViewChange& change) {
  for (const ChangedRoute& one : change.routes) routes_[one.partition.value()] = one.route;
}

void IdleOwner::tell() const {
  IdleView view;
  view.partitions = router_.settings().partitions;
  view.assigner = assigner_;
  view.lease = router_.timing().lease;
  for (const ObservedRoute& route : routes_) {
    if (route.verdict == Verdict::local) return;
    view.looking += route.looking ? 1U : 0U;
    if (route.owner) ++view.others[route.owner->info.name];
  }
  log(Severity::info, why_idle(view));
}

}  // namespace neliroute::tool
