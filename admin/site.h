// What the admin port answers to each request.
//
// Threads: one (the server's strand).   Units: in the JSON's names.
// Errors: answers with a status of 400 and above, and {"error":..}.
#pragma once

#include <boost/system/error_code.hpp>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "admin/admin_view.h"
#include "admin/exposition.h"
#include "admin/request.h"

namespace neliroute::admin {

class Control;
class EnvoyAnswers;
class RouteWait;

using Text = std::shared_ptr<const std::string>;
/// Of a header: names and values.
using Fields = std::vector<std::pair<std::string_view, std::string>>;

struct Answer {
  unsigned status = 200;
  std::string_view type = "application/json";
  Text body = nullptr;
  std::string tag = {};   ///< a browser may keep it by this, and revalidate each time; empty: not
  Fields more = {};       ///< besides those that all have
  bool events = false;    ///< not this answer, but the stream of events
  std::optional<RouteQuestion> wait = std::nullopt;  ///< not this answer, but that of Site::wait()
  std::optional<unsigned> steps = std::nullopt;  ///< nor this one, but the stream of steps
};

[[nodiscard]] Answer answer_of(const Refusal& refusal);

/// A rendering shared by all requests within a moment, so that frequent requests cost little.
class Shared {
 public:
  /// `version`: what else must be the same.
  template <class Render>
  const Text& get(LocalTime now, std::uint64_t version, const Render& render) {
    if (!text_ || version != version_ || now >= at_ + kFresh) {
      text_ = std::make_shared<const std::string>(render());
      at_ = now;
      version_ = version;
    }
    return text_;
  }

 private:
  static constexpr milliseconds kFresh{100};

  Text text_;
  LocalTime at_ = kLongAgo;
  std::uint64_t version_ = 0;
};

/// What there is to ask for.
class Pages {
 public:
  Pages() = default;
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  virtual ~Pages() = default;

  /// As a PostRule.
  [[nodiscard]] virtual std::variant<std::size_t, Refusal> may_post(
      const Request& header) const = 0;
  [[nodiscard]] virtual Answer answer(const Request& request, LocalTime now) = 0;
  /// Of an answer with Answer::wait. Calls `done` once with the route of then, unless the wait is
  /// cancelled before.
  [[nodiscard]] virtual std::weak_ptr<RouteWait> wait(const RouteQuestion& question,
                                                      std::function<void(Answer)> done) = 0;

 protected:
  /// What `render` returns; a 500, if it throws: a request must not end the process.
  template <class Render>
  [[nodiscard]] static Answer or_500(const Render& render) {
    try {
      return render();
    } catch (const std::exception& error) {
      return failed(error.what());
    } catch (...) {  // the application's metrics may throw anything
      return failed("of what was thrown nothing is known");
    }
  }

 private:
  [[nodiscard]] static Answer failed(const std::string& why);
};

/// Whether a page asks under another machine's name for what is for this one only; no value: it
/// does not. `only_at`: as Site has it.
[[nodiscard]] std::optional<Refusal> misdirected(const Request& request,
                                                 const std::string& only_at);

[[nodiscard]] Answer json_answer(std::string body, unsigned status = 200);
[[nodiscard]] Answer metrics_answer(Text text);
/// There is no such page; `what_is` says where to find what there is.
[[nodiscard]] Answer not_found(std::string_view path, std::string_view what_is);

class Site final : public Pages {
 public:
  /// `only_at`: the address, if only this machine may connect; else empty. `lacks`: as in
  /// AdminOptions, or null. `control` and `envoy` outlive it.
  Site(Observable observable, Exposition counts, std::string only_at,
       std::function<std::string()> lacks, Control& control, EnvoyAnswers& envoy);

  [[nodiscard]] std::variant<std::size_t, Refusal> may_post(const Request& header) const override;
  [[nodiscard]] Answer answer(const Request& request, LocalTime now) override;
  [[nodiscard]] std::weak_ptr<RouteWait> wait(const RouteQuestion& question,
                                              std::function<void(Answer)> done) override;
  /// The whole view, as rendered for an earlier request if that was a moment ago.
  [[nodiscard]] Text whole(LocalTime now);
  [[nodiscard]] AdminView& view() noexcept { return view_; }

 private:
  [[nodiscard]] Answer find(const Request& request, LocalTime now);
  [[nodiscard]] Answer route(const Request& request, LocalTime now) const;
  [[nodiscard]] Answer after_wait(const RouteQuestion& question,
                                  boost::system::error_code error) const;
  [[nodiscard]] Answer health(LocalTime now) const;
  [[nodiscard]] Answer readiness(LocalTime now) const;

  AdminView view_;
  Exposition counts_;
  std::string only_at_;
  std::function<std::string()> lacks_;
  Control& control_;
  EnvoyAnswers& envoy_;
  std::map<std::string, Answer> files_;  ///< what is embedded, by its path
  Shared whole_;
  Shared processes_;
  Shared assignment_;
  Shared requests_;
  Shared exposed_;
};

}  // namespace neliroute::admin
