#include "admin/control/control.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <neliroute/ids.h>
#include <utility>

#include "admin/control/control_text.h"
#include "metrics/metric_families.h"
#include "router/text/json_text.h"

namespace neliroute::admin {
namespace {

constexpr std::string_view kAdmit = "/v1/admit";
constexpr std::string_view kDone = "/v1/done";
constexpr std::string_view kDrain = "/v1/drain";
// A key may be as long as in a target.
constexpr std::size_t kBodyMost = 16 * 1024;

Answer object_answer(const boost::json::object& object, unsigned status = 200) {
  return {status, "application/json",
          std::make_shared<const std::string>(boost::json::serialize(object))};
}

Notice late_work(milliseconds each) {
  return {Severity::warning,
          "a work that POST /v1/admit began did not end within " +
              std::to_string(each.count()) +
              " ms, so that no hand-over waits for it any more: POST /v1/done in time. Later ones "
              "are only counted, in neliroute_control_works_late_total"};
}

}  // namespace

/// Holds the guards' counts, not the guards: it is called on the strand, as everything here.
class Control::Metrics : public prometheus::Collectable {
 public:
  Metrics(const Observable& observable, std::shared_ptr<HeldWorks> works,
          std::shared_ptr<std::size_t> waits)
      : observable_(observable), works_(std::move(works)), waits_(std::move(waits)) {}

  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override {
    MetricFamilies made(common_labels(observable_.facts()));
    made.gauge("control_waits", "Clients that wait for a newer owner by GET /v1/route");
    made.add(static_cast<double>(*waits_));
    made.gauge("control_works", "Guards of work that POST /v1/admit began and that are held");
    made.add(static_cast<double>(works_->size()));
    made.counter("control_works_late_total", "Of these, those that did not end in time");
    made.add(static_cast<double>(works_->late()));
    return made.take();
  }

 private:
  Observable observable_;
  std::shared_ptr<HeldWorks> works_;
  std::shared_ptr<std::size_t> waits_;
};

Control::Control(const boost::asio::any_io_executor& strand, Observable observable,
                 std::shared_ptr<Calls> calls, const AdminLimits& limits,
                 std::function<void(const Notice&)> on_notice)
    : strand_(std::make_shared<const boost::asio::any_io_executor>(strand)),
      observable_(std::move(observable)),
      calls_(std::move(calls)),
      waits_most_(limits.waits),
      works_(std::make_shared<HeldWorks>(
          strand, limits.works, limits.work,
          [each = limits.work, on_notice = std::move(on_notice)] {
            if (on_notice) on_notice(late_work(each));
          })),
      steps_(std::make_shared<Steps>(strand, observable_, limits)),
      metrics_(calls_->enabled() ? std::make_shared<Metrics>(observable_, works_, waits_)
                                 : nullptr) {
  calls_->subscribe(steps_->listener());
}

bool Control::takes(std::string_view path) noexcept {
  return path == kAdmit || path == kDone || path == kDrain;
}

std::optional<Refusal> Control::may_not_call(const Request& header) const {
  if (!calls_->enabled()) {
    return Refusal{403, "control calls are off here; turn them on with `--control`, or "
                        "AdminOptions::control"};
  }
  if (!header.origin.empty() && !is_own_page(header.origin, header.host)) {
    return Refusal{403, "the Origin field names another host; web pages cannot make control calls"};
  }
  // A page of another host may have a browser send a GET without Origin, as for an image.
  if (header.fetch_site == "cross-site" || header.fetch_site == "same-site") {
    return Refusal{403, "the Sec-Fetch-Site field says that another host's web page makes this "
                        "call; web pages cannot make control calls"};
  }
  if (!calls_->token().empty() && !bears(header.authorization, calls_->token())) {
    return Refusal{401, "the token is missing or wrong; send `Authorization: Bearer TOKEN` with "
                        "what the file of --control-token (AdminControl::token) says"};
  }
  return std::nullopt;
}

std::optional<Refusal> Control::may_not_act(const Request& header) const {
  if (auto refusal = may_not_call(header)) return refusal;
  if (calls_->is_owner()) return std::nullopt;
  return Refusal{404, "this process is a watcher, which owns nothing: there is no " + header.path +
                          " here; ask an owner"};
}

Answer Control::follow(const Request& request) const {
  if (const auto refusal = may_not_act(request)) return answer_of(*refusal);
  const auto read = read_steps_question(request.query);
  if (const auto* refusal = std::get_if<Refusal>(&read)) return answer_of(*refusal);
  return {.type = "text/event-stream", .steps = std::get<unsigned>(read)};
}

std::variant<std::size_t, Refusal> Control::may_post(const Request& header) const {
  if (auto refusal = may_not_act(header)) return *refusal;
  if (!is_json(header.type)) {
    return Refusal{415, "the body is not said to be JSON; send `Content-Type: application/json`"};
  }
  return kBodyMost;
}

std::optional<Refusal> Control::may_not_wait(const Request& request) const {
  if (auto refusal = may_not_call(request)) return refusal;
  if (*waits_ < waits_most_) return std::nullopt;
  return Refusal{503, "too many clients wait for owners here; try again later"};
}

Answer Control::act(const Request& request) {
  if (request.path == kAdmit) return admit(request);
  if (request.path == kDone) return done(request);
  return drain(request);
}

Answer Control::admit(const Request& request) {
  const auto read = read_admit(request.body, observable_.facts().space);
  if (const auto* refusal = std::get_if<Refusal>(&read)) return answer_of(*refusal);
  const auto& asked = std::get<AdmitQuestion>(read);
  if (works_->full()) {
    return answer_of({503, "too many works are held here; end some by POST /v1/done"});
  }
  auto admitted = calls_->admit(asked.slot, asked.epoch, asked.hops);
  if (!admitted) return answer_of({503, "this port is being closed"});
  boost::json::object row{{"answer", to_string(admitted->answer())},
                          {"slot", asked.slot.value()},
                          {"partition", admitted->partition().value()}};
  if (admitted->answer() == Admit::serve || admitted->answer() == Admit::redirect) {
    row["epoch"] = neliroute::json_of(admitted->epoch());
  }
  if (admitted->answer() == Admit::redirect) {
    put_text(row, "owner", admitted->owner());
    put_text(row, "endpoint", admitted->endpoint());
  }
  if (admitted->answer() == Admit::refuse) row["leaving"] = observable_.closed();
  if (admitted->answer() == Admit::serve) {
    row["work"] = to_string(ProcessId{works_->hold(std::move(admitted->work()))});
  }
  return object_answer(row);
}

Answer Control::done(const Request& request) {
  const auto read = read_done(request.body);
  if (const auto* refusal = std::get_if<Refusal>(&read)) return answer_of(*refusal);
  const auto& ended = std::get<Ended>(read);
  if (ended.step ? steps_->end(ended.number) : works_->end(ended.number)) {
    return object_answer({{"ended", true}});
  }
  return answer_of({404, std::string("nothing waits for that ") + (ended.step ? "step" : "work") +
                             ": it was ended before, or took too long"});
}

Answer Control::drain(const Request& request) {
  if (const auto refusal = read_drain(request.body)) return answer_of(*refusal);
  calls_->drain();
  return object_answer({{"draining", true}}, 202);
}

std::weak_ptr<RouteWait> Control::wait(Slot slot, const Epoch& after, milliseconds limit,
                                       RouteWait::Done done) {
  if (!strand_) return {};  // closed, as are all connections
  ++*waits_;
  std::shared_ptr<void> place(waits_.get(), [waits = waits_](void*) { --*waits; });
  const auto made = std::make_shared<RouteWait>(*strand_, std::move(place), std::move(done));
  made->start(limit);
  calls_->wait(slot, after, limit, made->handler(strand_));
  return made;
}

void Control::close() {
  works_->close();
  steps_->close();
  strand_.reset();
}

}  // namespace neliroute::admin
