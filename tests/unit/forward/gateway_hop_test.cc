// What a hop costs: how often is written, and what becomes of connections that are kept.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/forward/gateway_rig.h"

namespace {

std::vector<std::string>* writes = nullptr;  // what each call wrote
int takes = 0;   // so many bytes of it the kernel takes at once; 0: all that there is room for
int called = 0;  // while it does so

// Every third time it pretends to have no room.
bool is_full() {
  if (++called % 3 != 0) return false;
  errno = EAGAIN;
  return true;
}

}  // namespace

// In place of the C library's, for all of this program.
extern "C" ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  const ssize_t sent = syscall(SYS_sendmsg, socket, message, flags);
  if (writes != nullptr && sent >= 0) {
    std::string bytes;
    for (std::size_t i = 0; i < message->msg_iovlen; ++i) {
      const iovec& part = message->msg_iov[i];
      bytes.append(static_cast<const char*>(part.iov_base), part.iov_len);
    }
    writes->push_back(bytes.substr(0, static_cast<std::size_t>(sent)));
  }
  return sent;
}
extern "C" ssize_t send(int socket, const void* bytes, std::size_t size, int flags) {
  const std::string_view text(static_cast<const char*>(bytes), size);
  if (takes > 0 && text.find("Via: 1.1 gw") != text.npos) {  // of the gateway
    if (is_full()) return -1;
    size = std::min(size, static_cast<std::size_t>(takes));
  }
  const ssize_t sent = syscall(SYS_sendto, socket, bytes, size, flags, nullptr, 0);
  if (writes != nullptr && sent >= 0) {
    writes->emplace_back(static_cast<const char*>(bytes), static_cast<std::size_t>(sent));
  }
  return sent;
}

namespace neliroute {
namespace {

using namespace testing_forward;
using namespace std::chrono_literals;

struct Hop : testing::Test {
  Hop() { rig.directions.leads(owner.endpoint()); }
  ~Hop() override {
    writes = nullptr;
    takes = 0;
  }

  /// What the gateway wrote in the one call that wrote this; "", if none or several did.
  [[nodiscard]] std::string written_with(const std::string& text) const {
    std::vector<std::string> found;
    std::copy_if(written.begin(), written.end(), std::back_inserter(found), [&](const auto& one) {
      return one.find("Via: 1.1 gw") != std::string::npos && one.find(text) != std::string::npos;
    });
    return found.size() == 1 ? found[0] : "";
  }

  GatewayRig rig;
  Owner owner{rig.io, [](const OwnerRequest& request) { return ok(request.body()); }};
  std::vector<std::string> written;
};

TEST_F(Hop, head_and_body_go_in_one_write_in_either_direction) {
  writes = &written;
  EXPECT_EQ(body_of(rig.exchange(post("the body"))), "the body");
  const std::string request = written_with("POST / HTTP/1.1");
  EXPECT_TRUE(request.ends_with("\r\n\r\nthe body")) << request;
  const std::string answer = written_with("HTTP/1.1 200 OK");
  EXPECT_TRUE(answer.ends_with("\r\n\r\nthe body")) << answer;
}

TEST_F(Hop, what_the_kernel_does_not_take_at_once_goes_later) {
  owner.serve = [](const OwnerRequest& request) { return ok("you said " + request.body()); };
  takes = 7;
  EXPECT_EQ(body_of(rig.exchange(post("the body"))), "you said the body");
  EXPECT_GE(called, 6) << "three a message, two messages";
}

TEST_F(Hop, a_whole_answer_in_chunks_goes_in_one_write) {
  owner.serve = [](const OwnerRequest&) {
    return OwnerAnswer{
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        "3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nX-Trailer: 1\r\n\r\n"};
  };
  writes = &written;
  EXPECT_EQ(body_of(rig.exchange(get())), "abcdefg");
  const std::string answer = written_with("HTTP/1.1 200 OK");
  EXPECT_TRUE(answer.ends_with("\r\n7\r\nabcdefg\r\n0\r\n\r\n")) << answer;
}

TEST_F(Hop, an_answer_whose_body_is_empty_goes_in_one_write) {
  writes = &written;
  EXPECT_EQ(status_of(rig.exchange(get())), 200u);
  EXPECT_TRUE(written_with("HTTP/1.1 200 OK").ends_with("\r\n\r\n"));
  owner.serve = [](const OwnerRequest&) {
    return OwnerAnswer{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"};
  };
  EXPECT_TRUE(rig.exchange(get()).ends_with("chunked\r\n\r\n0\r\n\r\n")) << "or in two";
}

TEST_F(Hop, the_head_of_an_answer_does_not_wait_for_its_body) {
  owner.serve = [](const OwnerRequest&) {
    return OwnerAnswer{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"};
  };
  Caller caller = rig.call();
  caller.send(get());
  ASSERT_TRUE(rig.run_until([&] { return caller.received().ends_with("\r\n\r\n"); }));
  owner.say("2\r\nab");
  ASSERT_TRUE(rig.run_until([&] { return caller.received().ends_with("ab\r\n"); }));
  owner.say("\r\n0\r\n\r\n");
  ASSERT_TRUE(rig.answered(caller));
  EXPECT_EQ(body_of(caller.received()), "ab");
}

TEST_F(Hop, a_body_that_came_with_its_head_and_is_malformed_is_answered_502) {
  owner.serve = [](const OwnerRequest&) {
    return OwnerAnswer{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n"};
  };
  EXPECT_EQ(status_of(rig.exchange(get())), 502u);
  EXPECT_EQ(rig.count(forward::ProxyCount::failed), 1u);
}

TEST_F(Hop, answers_of_any_length_arrive_whole) {
  std::string body;
  while (body.size() < 40'000) body += std::to_string(body.size()) + ",";
  const std::vector<std::size_t> sizes{1, 4095, 4096, 16'383, 16'384, 16'385, 40'000};
  for (const std::size_t size : sizes) {
    owner.serve = [&](const OwnerRequest&) { return ok(body.substr(0, size)); };
    EXPECT_EQ(body_of(rig.exchange(get())), body.substr(0, size));
  }
  EXPECT_EQ(owner.connections, 1u) << "it is kept";
}

TEST_F(Hop, a_kept_connection_that_the_owner_closed_is_not_used) {
  for (std::size_t i = 1; i <= 3; ++i) {
    // Not idempotent: a request that is lost is not sent again.
    EXPECT_EQ(body_of(rig.exchange(post("x"))), "x");
    EXPECT_EQ(owner.connections, i);
    owner.cut();
  }
}

TEST_F(Hop, what_nobody_asked_for_is_no_answer_to_the_next_request) {
  EXPECT_EQ(body_of(rig.exchange(post("mine"))), "mine");
  owner.say(ok("somebody else's").bytes);
  EXPECT_EQ(body_of(rig.exchange(post("mine, too"))), "mine, too");
  EXPECT_EQ(owner.connections, 2u);
  // At once behind an answer.
  owner.serve = [](const OwnerRequest& request) {
    return OwnerAnswer{ok(request.body()).bytes + ok("somebody else's").bytes};
  };
  EXPECT_EQ(body_of(rig.exchange(post("a"))), "a");
  EXPECT_EQ(body_of(rig.exchange(post("b"))), "b");
  EXPECT_EQ(owner.connections, 3u);
}

TEST_F(Hop, a_connection_that_the_owner_means_to_close_is_not_kept) {
  owner.serve = [](const OwnerRequest&) {
    return OwnerAnswer{"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx"};
  };
  for (std::size_t i = 1; i <= 2; ++i) {
    EXPECT_EQ(body_of(rig.exchange(post("y"))), "x");
    EXPECT_EQ(owner.connections, i);
  }
}

TEST_F(Hop, hints_and_an_answer_that_come_at_once_are_passed_on) {
  owner.serve = [](const OwnerRequest&) -> OwnerAnswer {
    return {"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n" + ok("y").bytes};
  };
  const std::string answer = rig.exchange(post(std::string(60'000, 'x')));
  EXPECT_EQ(answers_in(answer, /*ended=*/false), 1u);
  EXPECT_TRUE(answer.ends_with("\r\n\r\ny"));
  EXPECT_EQ(owner.connections, 1u);
}

}  // namespace
}  // namespace neliroute
