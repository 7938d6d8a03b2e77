// An owner that is called: `neliroute run` plus a thread that looks a key up, admits a request and
// waits for an owner every millisecond, as a service does for each request. It gives the
// dashboard's row of requests something to show.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tool/owner.h"

namespace neliroute::tool {
namespace {

class Caller {
 public:
  explicit Caller(Router& router) : router_(router), thread_([this] { call(); }) {}
  ~Caller() {
    stop_.store(true);
    thread_.join();
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

 private:
  void call() {
    for (std::uint64_t request = 0; !stop_.load(); ++request) {
      const std::string key = "user:" + std::to_string(request);
      static_cast<void>(router_.route(key));
      static_cast<void>(router_.admit(key));
      router_.async_route(key, std::chrono::milliseconds{100},
                          [](boost::system::error_code, const Route&) {});
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
  }

  Router& router_;
  std::atomic<bool> stop_{false};
  std::thread thread_;  // last: it uses all of the above
};

int calling_main(const Arguments& arguments) {
  CommandLine line({"calling_process", "As `neliroute run`, and calls itself; for tests.", "", ""});
  OwnerOptions options;
  add_owner_options(line, options);
  if (const auto code = line.parse(arguments)) return *code;
  return run_owner(line.name(), options,
                   [](const OpenOwner& owner) {
                     return std::make_shared<Caller>(owner.router);
                   });
}

}  // namespace
}  // namespace neliroute::tool

int main(int count, char** arguments) {
  return neliroute::tool::calling_main({{arguments + 1, arguments + count}, nullptr});
}
