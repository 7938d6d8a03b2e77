#include "router/watcher.h"

#include <utility>

#include "router/completion.h"
#include "router/open.h"

namespace neliroute {

Result<std::unique_ptr<Watcher>> Watcher::open(boost::asio::any_io_executor executor,
                                               RouterOptions options) {
  const SlotSpace space(options.slots, options.hash);
  auto opened = open_engine(std::move(executor), std::move(options), /*watcher=*/true);
  if (!opened) return opened.error();
  std::unique_ptr<Watcher> watcher(new Watcher(space));
  watcher->settings_ = std::move(opened->settings);
  watcher->engine_ = std::move(opened->engine);
  watcher->observable_ = std::move(opened->observable);
  watcher->view_ = &watcher->engine_->view();
  watcher->engine_->start();
  return watcher;
}

milliseconds Watcher::lease() const noexcept { return engine_->lease(); }

Watcher::~Watcher() { engine_->abandon(); }

Partition Watcher::partition_of(Slot slot) const noexcept { return view_->partition_of(slot); }

Route Watcher::route(Slot slot, LocalTime now) const { return view_->route(slot, now); }

std::vector<RouteCopy> Watcher::view(LocalTime now) const {
  return view_->look_at_all(now);
}

void Watcher::on_change(std::function<void(Partition)> handler) {
  engine_->set_change_handler(std::move(handler));
}

void Watcher::on_failure(std::function<void(const Error&)> handler) {
  engine_->set_failure_handler(std::move(handler));
}

void Watcher::ready(boost::asio::any_completion_handler<void(boost::system::error_code)> handler) {
  wait_until_ready(*engine_, std::move(handler));
}

void Watcher::close(std::function<void()> done) {
  engine_->drain(milliseconds{0}, std::move(done));
}

}  // namespace neliroute
