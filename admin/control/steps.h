// GET /v1/steps: what this process is about to own, owns and has lost, for a program in another
// language that takes part in it.
//
// A step that an open stream awaits is done when `POST /v1/done` says so, when no stream that
// awaits such steps is open any more, or when the router's own limit is over. Each is one event:
//
//   {"seq":7,"process":"…","event":"prepare","partition":3,"predecessor":{...}}  about to claim it
//   {"seq":8,"process":"…","event":"warm_up","partition":3,"epoch":{...}}        about to lead it
//   {"seq":9,"process":"…","event":"acquired",...}  draining, released, cancelled: for information
//   {"seq":12,"process":"…","event":"stopped","partition":3,"epoch":{...}}       finish
//
// A stream begins with the last event of each partition that is not released or cancelled.
//
// Threads: one (the server's strand); the calls of listener() come on the router's.   Units: bytes.
// Errors: none; a stream of a client that reads too slowly closes.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <neliroute/admin.h>
#include <neliroute/ids.h>
#include <neliroute/listener.h>
#include <string>
#include <string_view>
#include <vector>

#include "admin/event_stream.h"
#include "admin/request.h"

namespace neliroute::admin {

class Steps : public std::enable_shared_from_this<Steps> {
 public:
  struct Step {
    std::string_view event;
    Partition partition;
    boost::json::object fields = {};  ///< besides these two and who says it
  };

  Steps(boost::asio::any_io_executor strand, Observable observable, const AdminLimits& limits)
      : strand_(std::move(strand)), observable_(std::move(observable)), limits_(limits) {}

  /// For Router::subscribe(). It may outlive this.
  [[nodiscard]] std::unique_ptr<Listener> listener();
  /// What a stream begins with.
  [[nodiscard]] Text first() const;
  /// Takes over the client; `header` is sent first.
  void join(boost::beast::tcp_stream client, std::string header, Kept first,
            unsigned awaits, Place place);
  /// False: nothing waits for that step.
  [[nodiscard]] bool end(std::uint64_t seq);
  /// Closes all streams, and nothing waits for them.
  void close();

 private:
  class Calls;
  struct Stream {
    std::shared_ptr<EventStream> to;
    unsigned awaits = 0;  ///< step_bit() of each
  };
  struct Awaited {
    std::string_view event;
    CompletionToken token;
  };
  /// Of a partition, unless it is over.
  struct Last {
    std::uint64_t seq = 0;
    std::string_view event;
    Text text;
  };

  template <class Work>
  void or_close_streams(const Work& work);
  void tell(const Step& step, CompletionToken token);
  void note(const Step& step, std::uint64_t seq, const Text& text);
  void forget(Partition partition, std::string_view event);
  [[nodiscard]] const Last* last_if(Partition partition, std::string_view event) const;
  void note_who_awaits();
  void close_streams();

  boost::asio::any_io_executor strand_;
  Observable observable_;
  AdminLimits limits_;
  std::vector<Stream> streams_;
  std::map<Partition, Last> last_;
  std::map<std::uint64_t, Awaited> awaited_;  ///< by their numbers
  /// What any stream awaits, as bits. The router's strand reads it: a step that nobody awaits does
  /// not wait for this strand either.
  std::shared_ptr<std::atomic<unsigned>> awaits_ = std::make_shared<std::atomic<unsigned>>(0);
  std::uint64_t seq_ = 0;  ///< begins anywhere: a step of a process before this one is none here
  bool closed_ = false;
};

}  // namespace neliroute::admin
