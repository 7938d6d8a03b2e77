// Connections to owners whose names resolve as slowly, and to what, as a test likes.
#include "forward/upstream/upstreams.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace neliroute::forward {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;
using namespace std::chrono_literals;
namespace error = boost::asio::error;

constexpr std::string_view kOfTest = ".upstreams.invalid";

/// What the system's resolver says of names of this test.
class Resolver {
 public:
  static Resolver& one() {
    static auto* made = new Resolver;  // threads may outlive main()
    return *made;
  }
  /// `number`: an address that is found; empty: the name is unknown.
  void say(const std::string& name, const std::string& number) {
    const std::lock_guard lock(mutex_);
    names_[name].number = number;
  }
  /// From now on, lookups of it do not end.
  void hang(const std::string& name) {
    const std::lock_guard lock(mutex_);
    names_[name].hangs = true;
  }
  /// They end again, and those that are under way have.
  void release(const std::string& name) {
    std::unique_lock lock(mutex_);
    Name& known = names_[name];
    known.hangs = false;
    changed_.notify_all();
    EXPECT_TRUE(changed_.wait_for(lock, 30s, [&] { return known.waiting == 0; }));
  }
  [[nodiscard]] int lookups(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return names_[name].lookups;
  }

  /// The address, or empty.
  std::string find(const std::string& name) {
    std::unique_lock lock(mutex_);
    Name& known = names_[name];
    ++known.lookups;
    ++known.waiting;
    changed_.wait(lock, [&] { return !known.hangs; });
    --known.waiting;
    changed_.notify_all();
    return known.number;
  }

 private:
  struct Name {
    std::string number;
    bool hangs = false;
    int lookups = 0;
    int waiting = 0;
  };
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Name> names_;
};

/// Each test has names of its own, as threads of one may still look up in the next.
struct ToOwners : testing::Test {
  ~ToOwners() override {
    for (const std::string& name : hanging_) Resolver::one().release(name);
  }

  [[nodiscard]] std::string named(const std::string& what) const {
    return what + std::to_string(number_) + std::string(kOfTest);
  }
  std::string name(const std::string& what, const std::string& number) {
    Resolver::one().say(named(what), number);
    return named(what);
  }
  void hang(const std::string& name) {
    Resolver::one().hang(name);
    hanging_.push_back(name);
  }
  static int lookups(const std::string& name) { return Resolver::one().lookups(name); }
  std::string at_port(const std::string& host) {
    return host + ":" + std::to_string(acceptor.local_endpoint().port());
  }

  bool run_until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + 30s;
    while (!condition() && std::chrono::steady_clock::now() < end) {
      io.restart();
      io.run_one_for(20ms);
    }
    return condition();
  }
  struct Answer {
    bool came = false;
    error_code error;
    UpstreamPtr upstream;
  };
  std::shared_ptr<Answer> take(Upstreams& upstreams, const std::string& endpoint,
                               milliseconds within = milliseconds::max()) {
    const auto answer = std::make_shared<Answer>();
    upstreams.connect(
        endpoint, /*own=*/true,
        [answer](error_code failed, UpstreamPtr upstream) {
          *answer = {true, failed, std::move(upstream)};
        },
        within);
    EXPECT_FALSE(answer->came) << "never from inside";
    return answer;
  }
  /// How taking one ends.
  error_code taken(Upstreams& upstreams, const std::string& endpoint,
                   milliseconds within = milliseconds::max()) {
    const auto answer = take(upstreams, endpoint, within);
    EXPECT_TRUE(run_until([&] { return answer->came; }));
    return answer->error;
  }

  static UpstreamLimits patient() {
    UpstreamLimits limits;
    limits.connect = 20s;
    return limits;
  }
  boost::asio::io_context io;
  tcp::acceptor acceptor{io, {boost::asio::ip::address_v4::loopback(), 0}};

 private:
  [[nodiscard]] static int next() {
    static int last = 0;
    return ++last;
  }
  const int number_ = next();
  std::vector<std::string> hanging_;
};

TEST_F(ToOwners, at_an_address_are_not_held_up_by_a_name) {
  Upstreams upstreams(io.get_executor(), {});
  const std::string slow = name("slow", "127.0.0.1");
  hang(slow);
  const auto waiting = take(upstreams, at_port(slow));
  ASSERT_TRUE(run_until([&] { return lookups(slow) == 1; }));
  EXPECT_EQ(taken(upstreams, at_port("127.0.0.1")), error_code());
  EXPECT_EQ(taken(upstreams, at_port("[::ffff:127.0.0.1]")), error_code());
  EXPECT_FALSE(waiting->came);
}

TEST_F(ToOwners, that_moved_are_looked_up_again) {
  Upstreams upstreams(io.get_executor(), patient());
  const std::string owner = name("owner", "127.0.0.2");
  EXPECT_EQ(taken(upstreams, at_port(owner)), error::connection_refused);
  Resolver::one().say(owner, "127.0.0.1");
  EXPECT_EQ(taken(upstreams, at_port(owner)), error_code());
  EXPECT_EQ(lookups(owner), 2);
}

TEST_F(ToOwners, end_in_time_and_say_whose_fault_it_was) {
  UpstreamLimits limits;
  limits.connect = 20ms;
  Upstreams upstreams(io.get_executor(), limits);
  const std::string slow = name("slow", "127.0.0.1");
  hang(slow);
  const error_code late = taken(upstreams, at_port(slow));
  EXPECT_EQ(late, error::host_not_found_try_again);
  EXPECT_FALSE(is_unreachable(late)) << "no name server answers";
  const error_code early = taken(upstreams, at_port(slow), 1ms);
  EXPECT_EQ(early, error::operation_aborted);
  EXPECT_FALSE(is_unreachable(early)) << "the request's time is over";
}

TEST_F(ToOwners, with_endpoints_that_are_none_end_at_once) {
  Upstreams upstreams(io.get_executor(), {});
  for (const char* endpoint :
       {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:80x"}) {
    EXPECT_EQ(taken(upstreams, endpoint), error::host_not_found) << endpoint;
  }
}

TEST_F(ToOwners, are_let_go_while_a_name_is_looked_up) {
  const std::string slow = name("slow", "127.0.0.1");
  hang(slow);
  std::shared_ptr<Answer> answer;
  {
    Upstreams upstreams(io.get_executor(), {});
    answer = take(upstreams, at_port(slow));
    ASSERT_TRUE(run_until([&] { return lookups(slow) == 1; }));
  }
  EXPECT_TRUE(answer->came) << "it does not wait for its own limit";
  EXPECT_EQ(answer->error, error::operation_aborted);
  Resolver::one().release(slow);
}

// A gateway is kept by its requests, and these by the connections that are made for them: one whose
// owner's name is looked up, and one to an address.
struct ToOwnersOfRequests : ToOwners {
  struct Request {
    std::shared_ptr<Upstreams> upstreams;
    std::vector<error_code> ends;
  };
  /// What keeps it is only what is under way.
  std::weak_ptr<Request> request(const std::string& endpoint) {
    const auto made = std::make_shared<Request>();
    made->upstreams = std::make_shared<Upstreams>(own->get_executor(), patient());
    made->upstreams->connect(endpoint, /*own=*/true, [made](error_code failed, UpstreamPtr) {
      made->ends.push_back(failed);
    });
    return made;
  }
  void SetUp() override {
    hang(slow);
    looked_up = request(at_port(slow));
    connected = request(at_port("127.0.0.1"));
    ASSERT_TRUE(run_until([&] { return lookups(slow) == 1; }));
  }

  std::unique_ptr<boost::asio::io_context> own = std::make_unique<boost::asio::io_context>();
  const std::string slow = name("slow", "127.0.0.1");
  std::weak_ptr<Request> looked_up;
  std::weak_ptr<Request> connected;
};

TEST_F(ToOwnersOfRequests, let_go_of_them_when_they_are_closed) {
  for (const auto& weak : {looked_up, connected}) {
    const auto request = weak.lock();
    ASSERT_TRUE(request);
    request->upstreams->close();
    EXPECT_EQ(request->ends, std::vector<error_code>{error::operation_aborted});
    request->upstreams->close();
    EXPECT_EQ(request->ends.size(), 1u);
  }
  EXPECT_TRUE(looked_up.expired());
  EXPECT_TRUE(connected.expired());
  own.reset();
  Resolver::one().release(slow);  // the thread of the lookup posts to no executor that is gone
}

TEST_F(ToOwnersOfRequests, let_go_of_them_when_the_executor_ends_first) {
  own.reset();
  EXPECT_TRUE(looked_up.expired());
  EXPECT_TRUE(connected.expired());
  Resolver::one().release(slow);
}

TEST_F(ToOwners, that_are_closed_get_nothing_from_a_lookup_that_ends_later) {
  Upstreams upstreams(io.get_executor(), patient());
  const std::string slow = name("slow", "127.0.0.1");
  hang(slow);
  take(upstreams, at_port(slow));
  ASSERT_TRUE(run_until([&] { return lookups(slow) == 1; }));
  upstreams.close();
  const auto work = boost::asio::make_work_guard(io);
  io.restart();
  io.run_for(20ms);  // whatever was cancelled
  Resolver::one().release(slow);
  io.restart();
  EXPECT_EQ(io.run_for(50ms), 0u) << "its thread posts nothing to the executor";
}

TEST_F(ToOwners, that_are_closed_make_no_connection_any_more) {
  Upstreams upstreams(io.get_executor(), patient());
  upstreams.close();
  EXPECT_EQ(taken(upstreams, at_port("127.0.0.1")), error::operation_aborted);
  const std::string owner = name("owner", "127.0.0.1");
  EXPECT_EQ(taken(upstreams, at_port(owner)), error::operation_aborted);
  EXPECT_EQ(lookups(owner), 0);
}

TEST_F(ToOwners, nobody_wants_any_more_are_not_made) {
  Upstreams upstreams(io.get_executor(), patient());
  const std::string owner = name("owner", "127.0.0.1");
  EXPECT_EQ(taken(upstreams, at_port(owner)), error_code());
  tcp::acceptor full(io, tcp::v4());  // it answers no SYN
  full.bind({boost::asio::ip::address_v4::loopback(), 0});
  full.listen(0);
  tcp::socket queued(io);
  queued.connect(full.local_endpoint());
  const std::string port = ":" + std::to_string(full.local_endpoint().port());
  for (const std::string& host : {std::string("127.0.0.1"), owner}) {
    std::vector<error_code> ends;
    auto attempt =
        upstreams.connect(host + port, /*own=*/true,
                          [&](error_code failed, UpstreamPtr) { ends.push_back(failed); });
    io.restart();
    io.run_for(20ms);
    EXPECT_TRUE(ends.empty());
    attempt.cancel();
    EXPECT_EQ(ends, std::vector<error_code>{error::operation_aborted});
    attempt.cancel();
    io.restart();
    io.run_for(20ms);
    EXPECT_EQ(ends.size(), 1u);
  }
  Upstreams::Attempt().cancel();
  EXPECT_EQ(taken(upstreams, at_port(owner)), error_code());
  EXPECT_EQ(lookups(owner), 1) << "what it resolved to is no worse for it";
}

TEST_F(ToOwners, wait_for_the_next_request_only_up_to_a_number) {
  UpstreamLimits limits = patient();
  limits.idle_all = 1;
  Upstreams upstreams(io.get_executor(), limits);
  const auto first = take(upstreams, at_port("127.0.0.1"));
  const auto second = take(upstreams, at_port("127.0.0.2"));
  ASSERT_TRUE(run_until([&] { return first->came && second->came; }));
  ASSERT_TRUE(first->upstream);
  upstreams.give_back(std::exchange(first->upstream, nullptr));
  const auto third = take(upstreams, at_port("127.0.0.1"));
  ASSERT_TRUE(run_until([&] { return third->came; }));
  upstreams.give_back(std::exchange(third->upstream, nullptr));
  EXPECT_EQ(upstreams.idle(), 1u);
}

TEST(Unreachable, is_an_owner_and_not_who_has_no_descriptor_left) {
  for (const error_code failed :
       {error_code(error::connection_refused), error_code(error::connection_reset),
        error_code(error::host_unreachable), error_code(error::network_unreachable),
        error_code(error::timed_out), error_code(error::eof),
        error_code(boost::asio::ssl::error::stream_truncated),
        error_code(1, error::get_ssl_category())}) {
    EXPECT_TRUE(is_unreachable(failed)) << failed.message();
  }
  for (const error_code failed :
       {error_code(error::no_descriptors), error_code(error::no_buffer_space),
        error_code(error::no_memory), error_code(EADDRNOTAVAIL, boost::system::system_category()),
        error_code(error::host_not_found), error_code(error::host_not_found_try_again),
        error_code(error::access_denied), error_code(error::operation_aborted)}) {
    EXPECT_FALSE(is_unreachable(failed)) << failed.message();
  }
}

}  // namespace
}  // namespace neliroute::forward

extern "C" int getaddrinfo(const char* node, const char* service, const struct addrinfo* hints,
                           struct addrinfo** result) {
  using Real = decltype(&getaddrinfo);
  static const auto real = reinterpret_cast<Real>(dlsym(RTLD_NEXT, "getaddrinfo"));
  if (node == nullptr || !std::string_view(node).ends_with(neliroute::forward::kOfTest)) {
    return real(node, service, hints, result);
  }
  const std::string number = neliroute::forward::Resolver::one().find(node);
  return number.empty() ? EAI_NONAME : real(number.c_str(), service, hints, result);
}
