#include "tool/upstream/health_watch.h"

#include <neliroute/clock.h>
#include <utility>

namespace neliroute::tool {

HealthWatch::HealthWatch(const boost::asio::any_io_executor& executor, Router& router,
                         std::string address, std::optional<std::string> path, milliseconds after)
    : router_(router),
      probe_(executor, std::move(address), std::move(path)),
      rule_(after, boot_now()),
      timer_(executor) {
  ask();
}

void HealthWatch::ask() {
  probe_.ask(rule_.within(boot_now()), [this](const std::string& trouble) { note(trouble); });
}

void HealthWatch::note(const std::string& trouble) {
  if (rule_.note(trouble.empty(), boot_now())) {
    rule_.healthy() ? router_.set_healthy()
                    : router_.set_unhealthy(probe_.address() + " " + trouble);
  }
  timer_.expires_after(rule_.every());
  timer_.async_wait([this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
    if (!error && !alive.expired()) ask();
  });
}

}  // namespace neliroute::tool
