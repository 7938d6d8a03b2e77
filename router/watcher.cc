#include <neliroute/observable.h>
#include <neliroute/watcher.h>
#include <utility>

#include "router/open.h"
#include "router/reader/completion.h"

namespace neliroute {

struct Watcher::Parts {
  Opened opened;
};

Result<std::unique_ptr<Watcher>> Watcher::open(boost::asio::any_io_executor executor,
                                               WatcherOptions options) {
  auto opened = open_watcher(std::move(executor), std::move(options));
  if (!opened) return opened.error();
  std::unique_ptr<Watcher> watcher(new Watcher({std::move(*opened)}));
  watcher->reader_->start();
  return watcher;
}

Watcher::Watcher(Parts parts)
    : Lookup(parts.opened.reader->view(), std::move(parts.opened.settings), parts.opened.reader,
             std::move(parts.opened.observable)),
      reader_(std::move(parts.opened.reader)) {}

Watcher::~Watcher() { reader_->abandon(); }

milliseconds Watcher::lease() const noexcept { return reader_->lease(); }

void Watcher::on_change(std::function<void(Partition)> handler) {
  reader_->set_change_handler(std::move(handler));
}

void Watcher::on_failure(std::function<void(const Error&)> handler) {
  reader_->set_failure_handler(std::move(handler));
}

void Watcher::close(Completion handler) {
  reader_->drain(milliseconds{0},
                 [done = completion_of(reader_->executors(), std::move(handler))] { done({}); });
}

}  // namespace neliroute
