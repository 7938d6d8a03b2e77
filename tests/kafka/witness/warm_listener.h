// A listener that takes its time to prepare and to warm up, and says so in a file:
//
//   {"boot":S,"step":"prepare"|"warm_up","partition":N,"previous":"NAME","ending":"..."}
//   {"boot":S,"step":"prepared"|"warm"|"cancelled","partition":N}
//
// Threads: one (the router's strand).   Units: milliseconds.   Errors: none.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <neliroute/clock.h>
#include <neliroute/listener.h>
#include <stop_token>
#include <string>
#include <utility>

#include "router/text/json_text.h"
#include "tool/print/event_log.h"

namespace neliroute::tool {

class WarmListener : public Listener {
 public:
  WarmListener(boost::asio::any_io_executor executor, milliseconds prepare, milliseconds warm_up,
               std::unique_ptr<LineWriter> file)
      : executor_(std::move(executor)),
        prepare_(prepare),
        warm_up_(warm_up),
        file_(std::move(file)) {}

  void prepare(Partition partition, PrepareToken token) override {
    say("prepare", partition, token.predecessor());
    cancelled_.erase(partition);
    cancelled_.try_emplace(partition, token.cancelled(),
                           [this, partition] { say("cancelled", partition, nullptr); });
    wait(prepare_, [this, partition, token = std::move(token)]() mutable {
      say("prepared", partition, nullptr);
      token.complete();
    });
  }
  void warm_up(const Transition& t, ReadyToken token) override {
    say("warm_up", t.partition, t.previous.get());
    wait(warm_up_, [this, p = t.partition, token = std::move(token)]() mutable {
      say("warm", p, nullptr);
      token.complete();
    });
  }

 private:
  void say(const char* step, Partition partition, const Predecessor* previous) {
    std::string line = "{\"boot\":" + seconds_text(boot_now().time_since_epoch()) +
                       ",\"step\":\"" + step +
                       "\",\"partition\":" + std::to_string(partition.value());
    if (previous != nullptr) {
      line += ",\"previous\":\"" + previous->process.name + "\",\"ending\":\"" +
              to_string(previous->ending) + "\"";
    }
    file_->write(line + "}");
  }
  void wait(milliseconds time, std::function<void()> then) {
    const auto timer = std::make_shared<boost::asio::steady_timer>(executor_, time);
    timer->async_wait([timer, then = std::move(then)](boost::system::error_code error) {
      if (!error) then();
    });
  }

  boost::asio::any_io_executor executor_;
  milliseconds prepare_;
  milliseconds warm_up_;
  std::unique_ptr<LineWriter> file_;
  std::map<Partition, std::stop_callback<std::function<void()>>> cancelled_;
};

}  // namespace neliroute::tool
