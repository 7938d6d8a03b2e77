#include "router/engine/completion.h"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>
#include <memory>
#include <utility>

#include "router/engine/engine.h"

namespace neliroute {

std::function<void(boost::system::error_code)> completion_of(CompletionHandler handler) {
  // std::function needs a copyable target, but the handler is called only once.
  auto shared = std::make_shared<CompletionHandler>(std::move(handler));
  // The handler's executor may be an io_context that has no other work until then.
  auto executor = boost::asio::prefer(boost::asio::get_associated_executor(*shared),
                                      boost::asio::execution::outstanding_work.tracked);
  return [shared, executor = std::move(executor)](boost::system::error_code error) {
    boost::asio::dispatch(executor, [shared, error] {
      // On the executor where its caller cancels, too: a later wait may use the same slot.
      if (auto slot = boost::asio::get_associated_cancellation_slot(*shared); slot.is_connected()) {
        slot.clear();
      }
      std::move(*shared)(error);
    });
  };
}

void wait_until_ready(Engine& engine, CompletionHandler handler) {
  const std::uint64_t id = engine.next_ready_id();
  if (auto slot = boost::asio::get_associated_cancellation_slot(handler); slot.is_connected()) {
    slot.assign([weak = engine.weak_from_this(), id](boost::asio::cancellation_type) {
      if (const auto waited_for = weak.lock()) waited_for->cancel_ready(id);
    });
  }
  engine.when_ready(id, completion_of(std::move(handler)));
}

}  // namespace neliroute
