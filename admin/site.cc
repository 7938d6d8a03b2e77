#include "admin/site.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <neliroute/clock.h>
#include <neliroute/error.h>
#include <utility>

#include "admin/control/control.h"
#include "admin/embedded.h"
#include "admin/envoy/envoy_answers.h"
#include "router/text/listen_address.h"

namespace neliroute::admin {
namespace {

Text text_of(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

std::string_view type_of(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  return "application/json";
}

/// Whether the field If-None-Match names this version. A proxy may have marked it weak.
bool is_kept(std::string_view kept, std::string_view tag) {
  return kept == "*" || kept.find(tag) != std::string_view::npos;
}

}  // namespace

Answer json_answer(std::string body, unsigned status) {
  return {status, "application/json", text_of(std::move(body))};
}

Answer metrics_answer(Text text) {
  return {200, "text/plain; version=0.0.4; charset=utf-8", std::move(text)};
}

Answer not_found(std::string_view path, std::string_view what_is) {
  return answer_of({404, "there is no " + std::string(path.substr(0, 80)) + " here; " +
                             std::string(what_is)});
}

std::optional<Refusal> misdirected(const Request& request, const std::string& only_at) {
  if (only_at.empty() || request.host.empty() || is_local_name(request.host, only_at)) {
    return std::nullopt;
  }
  return Refusal{421, "the Host field names another machine, but this port is for this one only; "
                      "use 127.0.0.1 or localhost, or let your proxy send that"};
}

Answer Pages::failed(const std::string& why) {
  return answer_of({500, "this could not be answered: " + why});
}

Answer answer_of(const Refusal& refusal) {
  // The path may be quoted in it, and a path is bytes.
  std::string error = refusal.error;
  for (char& c : error) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  Answer answer = json_answer(boost::json::serialize(boost::json::object{{"error", error}}),
                              refusal.status);
  if (refusal.status == 401) answer.more = {{"WWW-Authenticate", "Bearer"}};
  if (refusal.status == 405) answer.more = {{"Allow", std::string(refusal.allow)}};
  if (refusal.status == 503) answer.more = {{"Retry-After", "1"}};
  return answer;
}

Site::Site(Observable observable, Exposition counts, std::string only_at,
           std::function<std::string()> lacks, Control& control, EnvoyAnswers& envoy)
    : view_(std::move(observable)),
      counts_(std::move(counts)),
      only_at_(std::move(only_at)),
      lacks_(std::move(lacks)),
      control_(control),
      envoy_(envoy) {
  for (const EmbeddedFile& file : embedded_files()) {
    files_["/" + std::string(file.name)] = {200, type_of(file.name),
                                            text_of(std::string(file.text)),
                                            '"' + std::string(file.sha256) + '"'};
  }
  Answer page = std::move(files_.extract("/page/index.html").mapped());
  const Text policy = files_.extract("/page/policy.txt").mapped().body;  // and its line's end
  page.more = {{"Content-Security-Policy", policy->substr(0, policy->find('\n'))}};
  files_["/"] = std::move(page);
}

Answer Site::answer(const Request& request, LocalTime now) {
  return or_500([&] { return find(request, now); });
}

std::variant<std::size_t, Refusal> Site::may_post(const Request& header) const {
  if (auto refusal = misdirected(header, only_at_)) return *refusal;
  if (Control::takes(header.path)) return control_.may_post(header);
  if (EnvoyAnswers::takes(header.path)) return envoy_.may_post(header);
  return Refusal{405, "only GET and HEAD are answered here"};
}

Answer Site::find(const Request& request, LocalTime now) {
  // Envoy sends the Host field of the request that it asks about.
  if (is_authorize(request.path)) return envoy_.authorize(request, now);
  if (!is_probe(request)) {
    if (const auto refusal = misdirected(request, only_at_)) return answer_of(*refusal);
  }
  const std::string& path = request.path;
  if (Control::takes(path)) {
    return request.post ? control_.act(request)
                        : answer_of({405, "only POST is answered here", "POST"});
  }
  if (path == Control::kSteps) return control_.follow(request);
  if (EnvoyAnswers::takes(path)) {
    return request.post ? envoy_.discover(request)
                        : answer_of({405, "only POST is answered here", "POST"});
  }
  if (path == "/v1/route") return route(request, now);
  if (path == "/v1/slots") return {200, "application/json", whole(now)};
  if (path == "/v1/processes") {
    return {200, "application/json",
            processes_.get(now, view_.version(), [&] { return view_.processes(now); })};
  }
  if (path == "/v1/assignment") {
    return {200, "application/json",
            assignment_.get(now, view_.edition(), [&] { return view_.assignment_text(now); })};
  }
  if (path == "/v1/requests") {
    return {200, "application/json", requests_.get(now, 0, [&] { return counts_.requests(now); })};
  }
  if (path == "/v1/events") return {.type = "text/event-stream", .events = true};
  if (path == "/healthz") return health(now);
  if (path == "/readyz") return readiness(now);
  if (path == "/metrics") {
    return metrics_answer(exposed_.get(now, 0, [&] { return counts_.metrics(); }));
  }
  const auto file = files_.find(path);
  if (file == files_.end()) return not_found(path, "see /openapi.json for what there is");
  if (is_kept(request.kept, file->second.tag)) {
    return {304, file->second.type, nullptr, file->second.tag};
  }
  return file->second;
}

Answer Site::route(const Request& request, LocalTime now) const {
  const auto question =
      read_route_question(request.query, view_.observable().facts().settings.slots);
  if (const auto* refusal = std::get_if<Refusal>(&question)) return answer_of(*refusal);
  const auto& asked = std::get<RouteQuestion>(question);
  if (asked.wait) {
    if (const auto refusal = control_.may_not_wait(request)) return answer_of(*refusal);
    if (!request.head) return {.wait = asked};
  }
  return json_answer(view_.route(asked.key, Slot{asked.slot}, now));
}

std::weak_ptr<RouteWait> Site::wait(const RouteQuestion& question,
                                    std::function<void(Answer)> done) {
  const SlotSpace& space = view_.observable().facts().space;
  const Slot slot = question.key ? space.slot_of(*question.key) : Slot{question.slot};
  return control_.wait(slot, question.after, question.wait.value_or(milliseconds{0}),
                       [this, question, done = std::move(done)](boost::system::error_code error) {
                         done(or_500([&] { return after_wait(question, error); }));
                       });
}

// A caller whose time is over gets what is known, and asks again if that is not enough.
Answer Site::after_wait(const RouteQuestion& question, boost::system::error_code error) const {
  if (error && error != Errc::timed_out) return answer_of({503, error.message()});
  return json_answer(view_.route(question.key, Slot{question.slot}, boot_now()));
}

Answer Site::readiness(LocalTime now) const {
  std::string lacks = lacks_ ? lacks_() : "";
  const auto unhealthy = view_.observable().unhealthy();
  if (lacks.empty() && unhealthy) lacks = "the application is unhealthy: " + *unhealthy;
  const bool ready = view_.ready(now) && lacks.empty();
  return json_answer(view_.readiness(now, lacks), ready ? 200 : 503);
}

Answer Site::health(LocalTime now) const {
  const std::string trouble = view_.trouble(now);
  if (!trouble.empty()) return answer_of({503, trouble});
  return json_answer(R"({"status":"ok"})");
}

Text Site::whole(LocalTime now) {
  return whole_.get(now, view_.edition(), [&] { return view_.whole(now); });
}

}  // namespace neliroute::admin
