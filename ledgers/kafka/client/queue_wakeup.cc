#include "ledgers/kafka/client/queue_wakeup.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace neliroute {
namespace {

constexpr std::uint64_t kOne = 1;

}  // namespace

Result<void> QueueWakeup::open() {
  // Non-blocking: librdkafka writes it under a lock of its own.
  const int fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd < 0) {
    return Error{Errc::ledger_refused,
                 std::string("cannot create an eventfd: ") + std::strerror(errno) +
                     "; raise the limit of open files (ulimit -n)"};
  }
  descriptor_.assign(fd);
  return {};
}

void QueueWakeup::start(std::function<void()> wake) {
  wake_ = std::move(wake);
  wait();
}

void QueueWakeup::attach(rd_kafka_queue_t* queue) {
  queues_.push_back(queue);
  rd_kafka_queue_io_event_enable(queue, descriptor_.native_handle(), &kOne, sizeof kOne);
}

void QueueWakeup::detach(rd_kafka_queue_t* queue) {
  const auto found = std::find(queues_.begin(), queues_.end(), queue);
  if (found == queues_.end()) return;
  queues_.erase(found);
  rd_kafka_queue_io_event_enable(queue, -1, nullptr, 0);
}

std::function<void()> QueueWakeup::waker() {
  const int native = descriptor_.native_handle();
  const std::shared_ptr<const int> fd(new int(::fcntl(native, F_DUPFD_CLOEXEC, 0)),
                                      [](const int* one) {
                                        ::close(*one);
                                        delete one;
                                      });
  return [fd] { static_cast<void>(::write(*fd, &kOne, sizeof kOne) == 0); };
}

void QueueWakeup::close() {
  while (!queues_.empty()) detach(queues_.back());
  boost::system::error_code ignored;
  descriptor_.close(ignored);  // wake_ stays: this may be called from inside it
}

void QueueWakeup::wait() {
  descriptor_.async_wait(
      boost::asio::posix::stream_descriptor::wait_read,
      [weak = weak_from_this()](const boost::system::error_code& error) {
        const auto self = weak.lock();
        if (!self || error || !self->descriptor_.is_open()) return;
        // Read before the queues are emptied: what arrives meanwhile must write it again.
        std::uint64_t count = 0;
        while (::read(self->descriptor_.native_handle(), &count, sizeof count) > 0) {
        }
        self->wake_();
        if (self->descriptor_.is_open()) self->wait();
      });
}

}  // namespace neliroute
