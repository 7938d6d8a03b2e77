// What becomes of requests elsewhere: answers of /v1/requests, the rates made of them, and the page
// of the screen that shows them.
#include "tool/watch/request_rates.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/tool/watch/watch_rig.h"
#include "tool/watch/requests_poll.h"
#include "tool/watch/watch_screen.h"

namespace neliroute::tool {
namespace {

constexpr std::size_t kServed = 0, kForwarded = 1, kMisdirected = 2, kWaited = 3;

RequestCounts proxied(double at, std::uint64_t served, std::uint64_t failed = 0) {
  const auto counts = parse_request_counts(
      R"({"at":)" + std::to_string(at) + R"(,"process":"gw","source":"proxy","served":)" +
      std::to_string(served) + R"(,"forwarded":0,"misdirected":0,"waited":0,"refused":0,)" +
      R"("unowned":0,"failed":)" + std::to_string(failed) + "}");
  EXPECT_TRUE(counts);
  return counts.value_or(RequestCounts{});
}

TEST(RequestRatesTest, ReadsWhatAProxyCounts) {
  const auto counts = parse_request_counts(
      R"({"at":1763800000.25,"process":"gw","source":"proxy","served":1,"forwarded":2,)"
      R"("misdirected":3,"waited":4,"refused":5,"unowned":6,"unreachable":9,)"
      R"("failed":7,"later":"added"})");
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->at, 1763800000.25);
  EXPECT_EQ(counts->process, "gw");
  EXPECT_EQ(counts->counts, (PerKind<std::uint64_t>{1, 2, 3, 4, 5, 22}));
}

TEST(RequestRatesTest, ReadsWhatAdmitAnswers) {
  const auto counts = parse_request_counts(
      R"({"at":5,"process":"a","source":"admit","served":1,"redirected":2,"waited":3,)"
      R"("refused":4})");
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->counts, (PerKind<std::uint64_t>{1, 2, std::nullopt, 3, 4, std::nullopt}));
}

TEST(RequestRatesTest, ReadsThatNobodyCounts) {
  const auto counts = parse_request_counts(R"({"at":5,"process_base64":"/w==","source":"none"})");
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->process, "/w==");
  EXPECT_EQ(counts->counts, PerKind<std::uint64_t>{});
}

TEST(RequestRatesTest, RefusesWhatIsNoAnswer) {
  for (const char* text : {"", "[]", "<html>", "{}", R"({"at":5})", R"({"at":"x","process":"a"})",
                           R"({"at":5,"process":"a"})", R"({"process":"a","source":"none"})"}) {
    EXPECT_FALSE(parse_request_counts(text)) << text;
  }
}

TEST(RequestRatesTest, ARateIsTheDifferenceOfTheLastSeconds) {
  RequestRates rates;
  EXPECT_EQ(rates.per_second(), PerKind<double>{});
  rates.take(proxied(100, 1000));
  EXPECT_EQ(rates.per_second(), PerKind<double>{}) << "of one answer there is none";
  rates.take(proxied(102, 1030));
  EXPECT_EQ(rates.per_second()[kServed], 15);
  EXPECT_EQ(rates.per_second()[kForwarded], 0);
  for (double at = 104; at <= 112; at += 2) rates.take(proxied(at, 1030));
  EXPECT_EQ(rates.per_second()[kServed], 0) << "what was counted ten seconds ago is past";
}

TEST(RequestRatesTest, WhoHasStartedSinceOrWasSilentBeginsAnew) {
  RequestRates rates;
  const auto anew = [&rates](RequestCounts counts) {
    rates.take(proxied(100, 10));
    rates.take(proxied(102, 20));
    EXPECT_TRUE(rates.per_second()[kServed]);
    rates.take(std::move(counts));
    return !rates.per_second()[kServed];
  };
  EXPECT_TRUE(anew(proxied(104, 3))) << "it was started again";
  EXPECT_TRUE(anew(proxied(102, 30))) << "the same moment again";
  EXPECT_TRUE(anew(proxied(90, 30))) << "its clock was set";
  EXPECT_TRUE(anew(proxied(200, 30))) << "it was not asked for long";
  RequestCounts other = proxied(104, 30);
  other.process = "other";
  EXPECT_TRUE(anew(other)) << "another process has the port";
  rates.take(proxied(106, 50));
  rates.lose();
  EXPECT_EQ(rates.per_second(), PerKind<double>{});
}

TEST(RequestRatesTest, PortsAreListed) {
  const auto ports = parse_asked_ports("127.0.0.1:7480,7481,[::1]:7482");
  ASSERT_TRUE(ports);
  ASSERT_EQ(ports->size(), 3u);
  EXPECT_EQ((*ports)[1].text, "7481");
  EXPECT_EQ((*ports)[1].at.address().to_string(), "127.0.0.1");
  EXPECT_EQ((*ports)[2].at.port(), 7482);
  for (const char* text : {"", "7480,", "host", "::1:7480", "127.0.0.1:x"}) {
    EXPECT_FALSE(parse_asked_ports(text)) << text;
  }
}

/// The screen's page of requests, if there is one.
struct Asked : WatchRig {
  Asked() : WatchRig(64, 4) { tell({0, 1, 2, 3}, led(kAlpha)); }
  std::vector<std::string> lines() {
    const Listing listing = list(model, state);
    state = settled(state, listing, window);
    std::vector<std::string> texts;
    for (const PictureLine& line : draw(model, listing, {}, state, window).lines) {
      texts.push_back(plain_text(line));
    }
    return texts;
  }
  void press(std::uint32_t key) {
    state = pressed(state, key, model, list(model, state), window);
  }
  WatchState state;
  Window window{80, 24};
};

RequestRow row_of(const std::string& address, const std::string& process, double served,
                  double failed = 0) {
  return {address, process, "", {served, 3.25, 0, 0.1, std::nullopt, failed}};
}

TEST(WatchRequestsTest, HaveAPageWhereTheyAreAskedFor) {
  Asked screen;
  screen.press('4');
  EXPECT_EQ(screen.state.page, WatchPage::owners) << "there is none";
  EXPECT_EQ(screen.lines()[3].find("Requests"), std::string::npos);
  for (int i = 0; i < 3; ++i) screen.press(kKeyTab);
  EXPECT_EQ(screen.state.page, WatchPage::owners);

  screen.model.take({row_of("10.0.0.7:7480", "alpha", 1234.5), row_of("10.0.0.8:7480", "gw", 2),
                     {"10.0.0.9:7480", "", "Connection refused", {}}});
  EXPECT_NE(screen.lines()[3].find("4 Requests/s 3"), std::string::npos);
  for (int i = 0; i < 3; ++i) screen.press(kKeyTab);
  EXPECT_EQ(screen.state.page, WatchPage::requests);
  screen.press('1');
  screen.press('4');
  const auto lines = screen.lines();
  for (const char* title :
       {"PROCESS ^", "SERVED", "FORWARDED", "421", "WAITED", "REFUSED", "FAILED"}) {
    EXPECT_NE(lines[4].find(title), std::string::npos) << title << " in " << lines[4];
  }
  EXPECT_TRUE(lines[5].starts_with("10.0.0.9:7480 ")) << lines[5];
  EXPECT_TRUE(lines[6].starts_with("alpha ")) << lines[6];
  EXPECT_NE(lines[6].find("1,235"), std::string::npos) << lines[6];
  EXPECT_NE(lines[6].find(" 3.2"), std::string::npos) << lines[6];
  EXPECT_NE(lines[7].find(" 2.0"), std::string::npos) << lines[7];

  screen.press('s');  // who serves most
  EXPECT_TRUE(screen.lines()[5].starts_with("alpha "));
  screen.press('r');
  EXPECT_TRUE(screen.lines()[5].starts_with("10.0.0.9")) << "of whom nothing is known";
  screen.state.filter = "7480 con";
  EXPECT_EQ(list(screen.model, screen.state).size(), 0u);
  screen.state.filter = "refused";
  EXPECT_EQ(list(screen.model, screen.state), Listing{2});
}

TEST(WatchRequestsTest, ThatFailStandOut) {
  Asked screen;
  screen.model.take({row_of("10.0.0.7:7480", "alpha", 5), row_of("10.0.0.8:7480", "gw", 5, 0.5)});
  screen.press('4');
  const Listing listing = list(screen.model, screen.state);
  const Picture picture = draw(screen.model, listing, {}, screen.state, screen.window);
  std::string warned;
  for (const Span& span : picture.lines[6]) {
    if (span.ink == Ink::warning) warned += span.text;
  }
  EXPECT_NE(warned.find("0.5"), std::string::npos);
  EXPECT_EQ(warned.find("5.0"), std::string::npos) << "nothing else";
  screen.window = {200, 24};
  EXPECT_NE(screen.lines()[5].find("10.0.0.7:7480"), std::string::npos) << "there is room for it";
  screen.model.take({{"10.0.0.9:7480", "", "Connection refused", {}}});
  screen.window = {120, 24};
  EXPECT_NE(screen.lines()[5].find("Connection refused"), std::string::npos);
}

}  // namespace
}  // namespace neliroute::tool
