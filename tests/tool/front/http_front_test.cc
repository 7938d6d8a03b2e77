// The HTTP side of `gateway` and of `run --upstream`, on a thread of its own.
#include "tool/http_front.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <memory>
#include <utility>

#include "forward/rules/key_source.h"

namespace neliroute::tool {
namespace {

/// Nobody owns anything.
class Nowhere : public forward::Directions {
 public:
  [[nodiscard]] forward::Direction direct(const forward::Visit&) override { return {}; }
  void wait(Slot, const Epoch&, milliseconds, RouteHandler) override {}
  void suspect(std::string_view) override {}
};

TEST(HttpFrontTest, HasAsManyFilesAsTheSystemPermits) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_GT(before.rlim_max, 100u);
  rlimit lowered = before;
  lowered.rlim_cur = 100;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &lowered), 0);
  FrontOptions options;
  options.key = forward::KeySource::parse("host").value();
  const auto front = HttpFront::open(options, "127.0.0.1:0", SlotSpace{SlotCount{64}},
                                     std::make_unique<Nowhere>());
  EXPECT_TRUE(front);
  rlimit now{};
  EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(now.rlim_cur, before.rlim_max);
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace neliroute::tool
