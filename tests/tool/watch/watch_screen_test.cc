#include "tool/watch/watch_screen.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <clocale>
#include <numeric>

#include "tests/tool/watch/watch_rig.h"

namespace neliroute::tool {
namespace {

constexpr Window kUsual{80, 24};

/// A screen, pressed and looked at.
struct Screen : WatchRig {
  Screen(std::uint32_t slots, std::uint32_t partitions) : WatchRig(slots, partitions) {
    std::setlocale(LC_CTYPE, "C.UTF-8");
    moment.title = "topic t at h:9092, lane 0";
    moment.clock = "14:05:59";
    moment.answers = true;
    moment.silence = 120ms;
  }
  /// Bytes and keys, one after the other.
  void type(const std::string& text) {
    for (const char c : text) press(state, static_cast<unsigned char>(c), window);
  }
  void type(WatchKey key) { press(state, key, window); }
  Picture picture() {
    moment.now = now;
    return draw(model, moment, state, window);
  }
  std::vector<std::string> lines() {
    std::vector<std::string> texts;
    for (const PictureLine& line : picture()) texts.push_back(plain_text(line));
    return texts;
  }
  std::string all() {
    std::string text;
    for (const std::string& line : lines()) text += line + '\n';
    return text;
  }
  /// What stands first in each row of the page, in order.
  std::vector<std::string> rows() {
    std::vector<std::string> names;
    const std::vector<std::string> texts = lines();
    for (std::size_t i = 5; i + 1 < texts.size() && !texts[i].empty(); ++i) {
      const std::string text = texts[i].substr(texts[i].find_first_not_of(' '));
      names.push_back(text.substr(0, text.find(' ')));
    }
    return names;
  }

  WatchState state;
  WatchMoment moment;
  Window window = kUsual;
};

using Names = std::vector<std::string>;

/// alpha has 6 of 8 partitions, beta one, and one is nobody's since 4 s.
Screen uneven() {
  Screen screen(1024, 8);
  screen.tell({0, 1, 2, 3, 4, 5}, WatchRig::led(kAlpha));
  screen.tell({6, 7}, WatchRig::led(kBeta, kStart));
  screen.tell({7}, WatchRig::nobodys(Verdict::unowned));
  screen.now += 4s;
  screen.model.hear({100ms, 100ms, 100ms, 100ms, 100ms, 100ms, 1500ms, 0ms});
  return screen;
}

TEST(WatchScreenTest, ShowsWhoOwnsWhat) {
  Screen screen = uneven();
  const auto lines = screen.lines();
  ASSERT_EQ(lines.size(), 24U);
  EXPECT_EQ(lines[0], "neliroute watch  14:05:59  topic t at h:9092, lane 0");
  EXPECT_EQ(lines[1], "1,024 slots: 128 unowned, 0 unknown; 2 owners, fair share 512.0");
  EXPECT_EQ(lines[2], "ledger answered 0.1 s ago");
  EXPECT_EQ(lines[3], "[1 Owners 2] 2 Partitions 8  3 Moves 1");
  EXPECT_EQ(lines[4], "OWNER  SLOTS  HEARD  NOTE  PARTITIONS  ENDPOINT         NEWEST EPOCH");
  EXPECT_EQ(lines[5], "alpha    768  0.1 s                 6  host-alpha:7001           1:1");
  EXPECT_EQ(lines[6], "beta     128  1.5 s                 1  host-beta:7001            1:2");
  EXPECT_EQ(lines[7], "");
  EXPECT_EQ(lines[23], "q quit  tab page  / filter  j k scroll");
}

TEST(WatchScreenTest, ShowsMoves) {
  Screen screen = uneven();
  screen.tell({7}, WatchRig::led(kAlpha, screen.now));
  screen.now += 1s;
  screen.type("3");
  const auto lines = screen.lines();
  EXPECT_EQ(lines[4], "  AGO  FROM  TO      PARTITIONS  UNOWNED  WHICH");
  EXPECT_EQ(lines[5], "1.0 s  beta  alpha            1    4.0 s  7");
  EXPECT_EQ(lines[6], "5.0 s  beta  nobody           1        -  7");
}

TEST(WatchScreenTest, ShowsTheColumnsThatFit) {
  Screen screen = uneven();
  screen.window = {40, 10};
  const auto narrow = screen.lines();
  EXPECT_EQ(narrow[4], "OWNER  SLOTS  HEARD  NOTE  PARTITIONS");
  screen.window = {36, 10};
  EXPECT_EQ(screen.lines()[4], "OWNER  SLOTS  HEARD  NOTE") << "no part of a number";
  screen.tell({0}, WatchRig::led(process(std::string(60, 'x'), 9)));
  screen.window = kUsual;
  EXPECT_EQ(screen.lines()[7].find("x~    128  0.0 s"), 38U) << "a name leaves room for others";
}

// Three members: alpha assigns and has twice the weight, gamma is cordoned and owns nothing.
Screen assigned() {
  Screen screen(1024, 8);
  screen.window = {120, 24};
  screen.tell({0, 1, 2, 3, 4, 5}, WatchRig::led(kAlpha));
  screen.tell({6, 7}, WatchRig::led(kBeta));
  ObservedMember gamma = WatchRig::member(process("gamma", 3));
  gamma.cordoned = true;
  screen.assign(kAlpha, {WatchRig::member(kAlpha, 2), WatchRig::member(kBeta), gamma});
  return screen;
}

TEST(WatchScreenTest, MarksTheAssignerAndWhatIsSpecialAboutMembers) {
  Screen screen = assigned();
  const auto lines = screen.lines();
  EXPECT_EQ(lines[1], "1,024 slots: 0 unowned, 0 unknown; 2 owners, fair share 512.0");
  EXPECT_EQ(lines[2], "ledger answered 0.1 s ago; assigned by alpha");
  EXPECT_EQ(lines[3], "[1 Owners 3] 2 Partitions 8  3 Moves 0");
  EXPECT_TRUE(lines[5].starts_with("alpha    768  0.0 s  assigns, weight 2  ")) << lines[5];
  EXPECT_TRUE(lines[6].starts_with("beta     256  0.0 s                     ")) << lines[6];
  EXPECT_TRUE(lines[7].starts_with("gamma      -      -  cordoned  ")) << lines[7];
  screen.type("/cord\n");
  EXPECT_EQ(screen.rows(), Names{"gamma"});
}

TEST(WatchScreenTest, ShowsWhatIsOnTheWay) {
  Screen screen = assigned();
  ObservedRoute moving = WatchRig::led(kAlpha);
  moving.designee = kBeta;
  screen.tell({0, 1}, moving);
  EXPECT_EQ(screen.lines()[3], "[1 Owners 3] 2 Partitions 8  3 Moves 0  2 on the way");
  EXPECT_NE(screen.lines()[5].find("  assigns, weight 2, 2 to hand over  "), std::string::npos);
  EXPECT_NE(screen.lines()[6].find("  2 to come  "), std::string::npos) << screen.lines()[6];
  ObservedMember prepares = WatchRig::member(kBeta);
  prepares.preparing = true;
  screen.assign(kAlpha, {prepares});
  EXPECT_NE(screen.lines()[6].find("  preparing, 2 to come  "), std::string::npos);
  screen.type("2");
  EXPECT_EQ(screen.lines()[5], "        0  owned  alpha  beta      -  host-alpha:7001    1:1");
  screen.tell({0, 1}, WatchRig::led(kBeta));
  EXPECT_EQ(screen.model.summary().moving, 0U);
  ObservedMember silent = WatchRig::member(kAlpha, 2);
  silent.state = MemberState::silent;
  screen.assign(nullptr, {silent}, {ProcessId{3}});
  screen.type("1");
  EXPECT_EQ(screen.lines()[2], "ledger answered 0.1 s ago; nobody assigns");
  EXPECT_NE(screen.all().find("silent, weight 2"), std::string::npos);
  EXPECT_EQ(screen.all().find("gamma"), std::string::npos) << "it has left";
}

TEST(WatchScreenTest, FillsEveryWindowAndNoMore) {
  Screen screen = uneven();
  for (const WatchPage page : {WatchPage::owners, WatchPage::partitions, WatchPage::moves}) {
    screen.state.page = page;
    for (const std::size_t columns : {1U, 2U, 9U, 20U, 40U, 79U, 80U, 120U, 200U, 500U}) {
      for (const std::size_t lines : {1U, 2U, 3U, 5U, 7U, 8U, 19U, 20U, 24U, 60U, 200U}) {
        screen.window = {columns, lines};
        const Picture picture = screen.picture();
        EXPECT_EQ(picture.size(), lines) << columns;
        for (const PictureLine& line : picture) {
          EXPECT_LE(columns_of(plain_text(line)), columns) << plain_text(line);
        }
      }
    }
  }
}

TEST(WatchScreenTest, ASmallWindowShowsTheFirstRow) {
  Screen screen = uneven();
  screen.window = {80, 3};
  const auto lines = screen.lines();
  EXPECT_TRUE(lines[0].starts_with("OWNER"));
  EXPECT_TRUE(lines[1].starts_with("alpha"));
  EXPECT_TRUE(lines[2].starts_with("q quit"));
}

TEST(WatchScreenTest, PartitionsThatNeedAttentionComeFirst) {
  Screen screen = uneven();
  ObservedRoute stale = WatchRig::led(kAlpha);
  stale.stale = true;
  screen.tell({3}, stale);
  screen.type("2");
  EXPECT_EQ(screen.rows(), (Names{"3", "7", "0", "1", "2", "4", "5", "6"}));
  const Picture picture = screen.picture();
  EXPECT_EQ(picture[6][2].text, "unowned");
  EXPECT_EQ(picture[6][2].ink, Ink::warning);
  EXPECT_EQ(picture[7][2].ink, Ink::plain);
}

TEST(WatchScreenTest, FiltersWhileItIsTyped) {
  Screen screen = uneven();
  screen.type("/BE");
  EXPECT_EQ(screen.rows(), Names{"beta"}) << "in either case";
  EXPECT_EQ(screen.lines().back(), "filter: BE_");
  screen.type("q");
  EXPECT_FALSE(screen.state.quit) << "a letter of the filter";
  EXPECT_EQ(screen.rows(), Names{"none"});
  screen.type(kKeyBackspace);
  screen.type(kKeyEnter);
  EXPECT_NE(screen.lines()[3].find("filter \"BE\": 1"), std::string::npos);
  screen.type("2");
  EXPECT_EQ(screen.rows(), Names{"6"});
  screen.type(kKeyEscape);
  EXPECT_EQ(screen.rows().size(), 8U);
  screen.type("/5\n");
  EXPECT_EQ(screen.rows(), Names{"5"}) << "a partition's number";
  screen.type(kKeyEscape);
  screen.type("/unown\n");
  EXPECT_EQ(screen.rows(), Names{"7"});
}

TEST(WatchScreenTest, AFilterMayBeOfAnyScript) {
  Screen screen(2, 2);
  screen.tell({0}, WatchRig::led(process("клён", 5)));
  screen.tell({1}, WatchRig::led(process("日本", 6)));
  screen.type("/л日");
  screen.type(kKeyBackspace);
  EXPECT_EQ(screen.state.filter, "л");
  EXPECT_EQ(screen.rows(), Names{"клён"});
  screen.type(kKeyBackspace);
  screen.type("本");
  EXPECT_EQ(screen.rows(), Names{"日本"});
  EXPECT_EQ(screen.lines().back(), "filter: 本_");
  for (const std::string& line : screen.lines()) EXPECT_LE(columns_of(line), 80U);
}

TEST(WatchScreenTest, ANameCannotWriteOnTheTerminal) {
  Screen screen(1, 1);
  screen.tell({0}, WatchRig::led(process("\x1b[2J\xff", 5)));
  EXPECT_EQ(screen.rows(), Names{"\\x1b[2J\\xff"});
}

TEST(WatchScreenTest, KeysChooseThePage) {
  Screen screen = uneven();
  screen.type("3");
  EXPECT_EQ(screen.state.page, WatchPage::moves);
  screen.type(kKeyTab);
  EXPECT_EQ(screen.state.page, WatchPage::owners);
  screen.type("q");
  EXPECT_TRUE(screen.state.quit);
}

TEST(WatchScreenTest, Scrolls) {
  Screen screen(65'536, 65'536);
  std::vector<std::uint32_t> all(65'536);
  std::iota(all.begin(), all.end(), 0U);
  screen.tell(all, WatchRig::led(kAlpha));
  screen.type("2G");
  EXPECT_EQ(screen.rows().front(), "65518");
  EXPECT_EQ(screen.rows().back(), "65535");
  screen.type(kKeyPageUp);
  EXPECT_EQ(screen.rows().front(), "65500");
  screen.type(kKeyDown);
  EXPECT_EQ(screen.rows().front(), "65501");
  screen.type(kKeyEnd);
  screen.window = {80, 60};
  EXPECT_EQ(screen.rows().back(), "65535") << "no empty lines below while there are rows above";
  screen.type("/42\n");
  screen.type(kKeyDown);
  EXPECT_EQ(screen.rows(), Names{"42"});
  screen.type(kKeyEscape);
  screen.type(kKeyUp);
  EXPECT_EQ(screen.rows().front(), "0");
}

TEST(WatchScreenTest, ThousandsOfOwners) {
  Screen screen(65'536, 65'536);
  for (std::uint32_t owner = 0; owner < 4096; ++owner) {
    std::vector<std::uint32_t> own(16);
    std::iota(own.begin(), own.end(), 16 * owner);
    screen.tell(own, WatchRig::led(process("p" + std::to_string(owner), owner + 1)));
  }
  EXPECT_NE(screen.lines()[1].find("4,096 owners, fair share 16.0"), std::string::npos);
  screen.type("/p4095\n2");
  EXPECT_EQ(screen.rows().size(), 16U);
  EXPECT_EQ(screen.rows().front(), "65520");
}

TEST(WatchScreenTest, SilenceIsTold) {
  Screen screen = uneven();
  screen.moment.answers = false;
  screen.moment.silence = 12s;
  screen.moment.notice = "14:05:58 the log answers no more";
  const Picture picture = screen.picture();
  EXPECT_EQ(plain_text(picture[2]),
            "ledger SILENT for 12 s  14:05:58 the log answers no more");
  EXPECT_EQ(picture[2][0].ink, Ink::warning);
}

TEST(WatchScreenTest, Ages) {
  EXPECT_EQ(age_text(0us), "0.0 s");
  EXPECT_EQ(age_text(9'990ms), "9.9 s");
  EXPECT_EQ(age_text(119s), "119 s");
  EXPECT_EQ(age_text(120s), "2 min");
  EXPECT_EQ(age_text(7'199s), "119 min");
  EXPECT_EQ(age_text(2h), "2 h");
  EXPECT_EQ(age_text(49h), "2 d");
  EXPECT_EQ(age_text(-1us), "0.0 s") << "clocks of two moments";
}

TEST(PictureTest, ColumnsAreNotBytes) {
  std::setlocale(LC_CTYPE, "C.UTF-8");
  EXPECT_EQ(columns_of("abc"), 3U);
  EXPECT_EQ(columns_of("клён"), 4U);
  EXPECT_EQ(columns_of("日本"), 4U);
  EXPECT_EQ(columns_of("e\xcc\x81"), 1U) << "an accent upon it";
  EXPECT_EQ(columns_of("\xff\xe6"), 2U) << "a byte a column";
  EXPECT_EQ(fitted("日本語", 5, false), "日本~");
  EXPECT_EQ(fitted("日本語", 4, false), "日~ ");
  EXPECT_EQ(fitted("ab", 4, true), "  ab");
  EXPECT_EQ(fitted("abcd", 3, true), "ab~");
  EXPECT_EQ(fitted("abcd", 0, true), "");
  EXPECT_EQ(plain_text(cut({{"日本"}, {"語x"}}, 5)), "日本");
}

}  // namespace
}  // namespace neliroute::tool
