#include "router/reader/completion.h"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <memory>
#include <utility>

#include "router/reader/reader.h"

namespace neliroute {

namespace {

// std::function needs a copyable target, but the handler is called only once.
template <class... Results>
std::function<void(Results...)> posted(
    const CompletionExecutors& executors,
    boost::asio::any_completion_handler<void(Results...)> handler) {
  using Handler = boost::asio::any_completion_handler<void(Results...)>;
  auto shared = std::make_shared<Handler>(std::move(handler));
  // The handler's executor may be an io_context that has no other work until then.
  auto executor =
      boost::asio::prefer(boost::asio::get_associated_executor(*shared, executors.strand),
                          boost::asio::execution::outstanding_work.tracked);
  return [shared, executor = std::move(executor),
          outside = executors.outside](Results... results) {
    auto call = [shared, ... kept = std::move(results)]() mutable {
      // On the executor where its caller cancels, too: a later wait may use the same slot.
      if (auto slot = boost::asio::get_associated_cancellation_slot(*shared); slot.is_connected()) {
        slot.clear();
      }
      std::move(*shared)(std::move(kept)...);
    };
    boost::asio::post(outside, [executor, call = std::move(call)]() mutable {
      boost::asio::dispatch(executor, std::move(call));
    });
  };
}

}  // namespace

std::function<void(boost::system::error_code)> completion_of(
    const CompletionExecutors& executors, CompletionHandler handler) {
  return posted(executors, std::move(handler));
}

void wait_until_ready(Reader& reader, CompletionHandler handler) {
  const std::uint64_t id = reader.next_ready_id();
  if (auto slot = boost::asio::get_associated_cancellation_slot(handler); slot.is_connected()) {
    slot.assign([weak = reader.weak_from_this(), id](boost::asio::cancellation_type) {
      if (const auto waited_for = weak.lock()) waited_for->cancel_ready(id);
    });
  }
  reader.when_ready(id, posted(reader.executors(), std::move(handler)));
}

void wait_until_routed(Reader& reader, Slot slot, const Epoch& after, milliseconds limit,
                       RouteCompletion handler) {
  const RouteWaiters::Id id = reader.next_wait_id();
  if (auto cancelled = boost::asio::get_associated_cancellation_slot(handler);
      cancelled.is_connected()) {
    cancelled.assign([weak = reader.weak_from_this(), id](boost::asio::cancellation_type) {
      if (const auto waited_for = weak.lock()) waited_for->cancel_wait(id);
    });
  }
  reader.wait_for_route(id, slot, after, limit, posted(reader.executors(), std::move(handler)));
}

}  // namespace neliroute
