#include "tool/watch/watch_screen.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/tool/watch/watch_rig.h"
#include "tool/watch/watch_assignment.h"

namespace neliroute::tool {
namespace {

constexpr Window kUsual{80, 24};

/// A screen, pressed and looked at.
struct Screen : WatchRig {
  Screen(std::uint32_t slots, std::uint32_t partitions) : WatchRig(slots, partitions) {
    moment.title = "topic t at h:9092, lane 0";
    moment.clock = "14:05:59";
    moment.answers = true;
    moment.silence = 120ms;
  }
  /// Characters and keys, one after the other.
  void press(std::initializer_list<std::uint32_t> keys) {
    for (const std::uint32_t key : keys) {
      const Listing listing = list(model, state);
      state = pressed(settled(state, listing, window), key, model, listing, window);
    }
  }
  Picture picture() {
    moment.now = now;
    const Listing listing = list(model, state);
    state = settled(state, listing, window);
    return draw(model, listing, moment, state, window);
  }
  std::vector<std::string> lines() {
    std::vector<std::string> texts;
    for (const PictureLine& line : picture().lines) {
      std::string text = plain_text(line);
      text.erase(text.find_last_not_of(' ') + 1);
      texts.push_back(std::move(text));
    }
    return texts;
  }
  std::string all() {
    std::string text;
    for (const std::string& line : lines()) text += line + '\n';
    return text;
  }
  /// The names of the page, in order: what stands first in each row.
  std::vector<std::string> rows() {
    std::vector<std::string> names;
    const std::vector<std::string> texts = lines();
    for (std::size_t i = 5; i < 5 + table_lines(state, window) && i < texts.size(); ++i) {
      const std::string text = texts[i].substr(std::min(texts[i].find_first_not_of(' '),
                                                        texts[i].size()));
      if (!text.empty()) names.push_back(text.substr(0, text.find(' ')));
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
  EXPECT_EQ(lines[0], "neliroute watch  topic t at h:9092, lane 0" + std::string(28, ' ') +
                          "  14:05:59");
  EXPECT_EQ(lines[1], "1,024 slots: 896 owned, 128 unowned, 0 unknown; 2 owners, fair share 512.0");
  EXPECT_EQ(lines[2], "ledger answered 0.1 s ago");
  EXPECT_EQ(lines[3], "[1 Owners 2] 2 Partitions 8  3 Moves 1");
  EXPECT_EQ(lines[4], "OWNER    ENDPOINT         SLOTS v    PARTITIONS    DRAINING    HEARD    "
                      "GAINED");
  EXPECT_EQ(lines[5], "alpha    host-alpha:7001      768             6           -    0.1 s    "
                      "     -");
  EXPECT_EQ(lines[6], "beta     host-beta:7001       128             1           -    1.5 s    "
                      " 4.0 s");
  EXPECT_EQ(lines[19], "last moves");
  EXPECT_NE(lines[21].find("4.0 s  beta"), std::string::npos) << lines[21];
  EXPECT_NE(lines[21].find("nobody"), std::string::npos) << lines[21];
  EXPECT_EQ(lines[23], "q quit  tab page  s sort  r reverse  / filter  enter its partitions  "
                       "? help");
}

TEST(WatchScreenTest, MoreOfItWhereThereIsRoom) {
  Screen screen = uneven();
  screen.window = {200, 60};
  const std::string text = screen.all();
  for (const char* title : {"OWNER", "ENDPOINT", "SHARE", "COMING", "NEWEST EPOCH", "WHICH"}) {
    EXPECT_NE(text.find(title), std::string::npos) << title;
  }
  EXPECT_NE(text.find("#########   "), std::string::npos) << "half more than the fair share";
  EXPECT_NE(text.find("##    |     "), std::string::npos) << "a quarter of it, which is marked";
  screen.window = {30, 24};
  const auto narrow = screen.lines();
  EXPECT_EQ(narrow[4], "OWNER    SLOTS v    HEARD");
  EXPECT_EQ(narrow[5], "alpha        768    0.1 s");
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
  EXPECT_EQ(lines[1], "1,024 slots: 1,024 owned, 0 unowned, 0 unknown; 2 owners, fair share 512.0");
  EXPECT_EQ(lines[2], "ledger answered 0.1 s ago; assigned by alpha");
  EXPECT_EQ(lines[3], "[1 Owners 3] 2 Partitions 8  3 Moves 0");
  EXPECT_TRUE(lines[4].ends_with("NOTE")) << lines[4];
  EXPECT_TRUE(lines[5].starts_with("alpha ") && lines[5].ends_with("  assigns, weight 2"))
      << lines[5];
  EXPECT_TRUE(lines[6].starts_with("beta ")) << lines[6];
  EXPECT_TRUE(lines[7].starts_with("gamma ") && lines[7].ends_with("  cordoned")) << lines[7];
  screen.press({'/', 'c', 'o', 'r', 'd', kKeyEnter});
  EXPECT_EQ(screen.rows(), Names{"gamma"});
  screen.window = {38, 24};
  screen.press({kKeyEscape});
  EXPECT_EQ(screen.lines()[4], "OWNER    SLOTS v  NOTE") << "it stays longest";
}

TEST(WatchScreenTest, SharesByWeight) {
  Screen screen = assigned();
  const auto& owners = screen.model.owners();
  EXPECT_DOUBLE_EQ(screen.model.fair_slots(owners[0]), 1024 * 2.0 / 3);
  EXPECT_DOUBLE_EQ(screen.model.fair_slots(owners[1]), 1024 / 3.0);
  EXPECT_DOUBLE_EQ(screen.model.fair_slots(owners[2]), 0) << "it is cordoned";
  EXPECT_EQ(screen.model.sharing(), 2U);
  Screen group = uneven();
  EXPECT_DOUBLE_EQ(group.model.fair_slots(group.model.owners()[0]), 512);
  EXPECT_EQ(screen.all().find("nobody assigns"), std::string::npos);
}

TEST(WatchScreenTest, ShowsWhatIsOnTheWay) {
  Screen screen = assigned();
  ObservedRoute moving = WatchRig::led(kAlpha);
  moving.designee = kBeta;
  screen.tell({0, 1}, moving);
  EXPECT_NE(screen.lines()[2].find("assigned by alpha, 2 on the way"), std::string::npos);
  EXPECT_TRUE(screen.lines()[5].ends_with("assigns, weight 2, 2 to hand over"));
  EXPECT_TRUE(screen.lines()[6].ends_with("2 to come")) << screen.lines()[6];
  ObservedMember prepares = WatchRig::member(kBeta);
  prepares.preparing = true;
  screen.assign(kAlpha, {prepares});
  EXPECT_TRUE(screen.lines()[6].ends_with("preparing, 2 to come")) << screen.lines()[6];
  screen.press({'2'});
  EXPECT_NE(screen.lines()[5].find("host-alpha:7001  beta"), std::string::npos)
      << "as its next owner: " << screen.lines()[5];
  screen.tell({0, 1}, WatchRig::led(kBeta));
  EXPECT_EQ(screen.model.moving(), 0U);
  ObservedMember silent = WatchRig::member(kAlpha, 2);
  silent.state = MemberState::silent;
  screen.assign(nullptr, {silent}, {ProcessId{3}});
  screen.press({'1'});
  EXPECT_EQ(screen.lines()[2], "ledger answered 0.1 s ago; nobody assigns");
  EXPECT_NE(screen.all().find("silent, weight 2"), std::string::npos);
  EXPECT_EQ(screen.all().find("gamma"), std::string::npos) << "it has left";
}

TEST(WatchScreenTest, WordsForThoseWhoAskOnce) {
  Screen screen = assigned();
  ObservedRoute moving = WatchRig::led(kAlpha);
  moving.designee = kBeta;
  screen.tell({0, 1, 3}, moving);
  EXPECT_EQ(assignment_text(screen.model),
            "assigned by alpha; 3 members: alpha weight 2; gamma cordoned\n"
            "on the way to beta: 3 partitions 0-1,3");
  EXPECT_EQ(assignment_text(uneven().model), "") << "a group assigns";
  ObservedOverrides overrides;
  overrides.pins = {{"beta", "0-1"}};
  overrides.moves_paused = true;
  screen.tell({0, 1, 3}, WatchRig::led(kBeta));
  screen.assign(kAlpha, {}, {}, std::make_shared<const ObservedOverrides>(overrides));
  EXPECT_EQ(assignment_text(screen.model),
            "assigned by alpha; 3 members: alpha weight 2; gamma cordoned\n"
            "pinned to beta: partitions 0-1\n"
            "moves are paused");
  EXPECT_NE(screen.lines()[2].find("assigned by alpha, moves are paused"), std::string::npos);
}

TEST(WatchScreenTest, FillsEveryWindowAndNoMore) {
  Screen screen = uneven();
  for (const WatchPage page : {WatchPage::owners, WatchPage::partitions, WatchPage::moves}) {
    for (const bool help : {false, true}) {
      screen.state.page = page;
      screen.state.help = help;
      for (const std::size_t columns : {1U, 2U, 9U, 20U, 40U, 79U, 80U, 120U, 200U, 500U}) {
        for (const std::size_t lines : {1U, 2U, 3U, 5U, 7U, 8U, 19U, 20U, 24U, 60U, 200U}) {
          screen.window = {columns, lines};
          const Picture picture = screen.picture();
          EXPECT_EQ(picture.lines.size(), lines) << columns;
          for (const PictureLine& line : picture.lines) {
            EXPECT_LE(columns_of(plain_text(line)), columns) << plain_text(line);
          }
        }
      }
    }
  }
}

TEST(WatchScreenTest, TheHelpFitsAUsualWindow) {
  Screen screen = uneven();
  screen.press({'?'});
  const auto usual = screen.lines();
  EXPECT_TRUE(usual[4].starts_with("1 2 3")) << usual[4];
  EXPECT_NE(std::find_if(usual.begin(), usual.end(),
                         [](const std::string& line) { return line.starts_with("UNOWNED"); }),
            usual.end()) << "its last line";
  screen.window = {200, 24};
  const auto wide = screen.lines();
  EXPECT_TRUE(std::equal(usual.begin() + 4, usual.end(), wide.begin() + 4)) << "nothing was cut";
}

TEST(WatchScreenTest, TheLastLineLeftIsARow) {
  Screen screen = uneven();
  screen.window = {80, 1};
  EXPECT_TRUE(screen.lines()[0].starts_with("alpha"));
  screen.window = {80, 3};
  const auto lines = screen.lines();
  EXPECT_TRUE(lines[0].starts_with("OWNER"));
  EXPECT_TRUE(lines[1].starts_with("alpha"));
  EXPECT_TRUE(lines[2].starts_with("q quit"));
}

TEST(WatchScreenTest, SortsByEachColumnAndAround) {
  Screen screen = uneven();
  EXPECT_EQ(screen.rows(), (Names{"alpha", "beta"})) << "who has most";
  screen.press({'r'});
  EXPECT_EQ(screen.rows(), (Names{"beta", "alpha"}));
  screen.press({'S', 'S'});
  EXPECT_NE(screen.lines()[4].find("OWNER ^"), std::string::npos);
  EXPECT_EQ(screen.rows(), (Names{"alpha", "beta"}));
  screen.press({'r'});
  EXPECT_NE(screen.lines()[4].find("OWNER v"), std::string::npos);
  EXPECT_EQ(screen.rows(), (Names{"beta", "alpha"}));
  screen.press({'s', 's', 's', 's', 's', 's', 's'});
  EXPECT_NE(screen.lines()[4].find("HEARD v"), std::string::npos);
  EXPECT_EQ(screen.rows(), (Names{"beta", "alpha"})) << "who was silent longest";
}

TEST(WatchScreenTest, PartitionsByNumberStateAndAge) {
  Screen screen = uneven();
  screen.press({'2'});
  EXPECT_EQ(screen.rows(), (Names{"0", "1", "2", "3", "4", "5", "6", "7"}));
  screen.press({'r'});
  EXPECT_EQ(screen.rows(), (Names{"7", "6", "5", "4", "3", "2", "1", "0"}));
  screen.press({'s', 's', 'r'});  // by state, the last in the alphabet first
  EXPECT_EQ(screen.rows().front(), "7");
  EXPECT_NE(screen.lines()[5].find("unowned"), std::string::npos);
  screen.press({'s', 's', 's', 's'});
  EXPECT_NE(screen.lines()[4].find("SINCE ^"), std::string::npos);
  EXPECT_EQ(screen.rows().front(), "6") << "the latest owner first, who nobody knows of last";
}

TEST(WatchScreenTest, FiltersWhileItIsTyped) {
  Screen screen = uneven();
  screen.press({'/', 'B', 'E'});
  EXPECT_EQ(screen.rows(), Names{"beta"}) << "in either case";
  EXPECT_EQ(screen.lines().back(), "filter: BE");
  EXPECT_EQ(screen.picture().cursor, 10U);
  screen.press({'q'});
  EXPECT_FALSE(screen.state.quit) << "a letter of the filter";
  EXPECT_EQ(screen.rows(), Names{"none"});
  screen.press({kKeyBackspace, kKeyEnter});
  EXPECT_FALSE(screen.picture().cursor);
  EXPECT_NE(screen.lines()[3].find("filter \"BE\": 1"), std::string::npos);
  screen.press({'2'});
  EXPECT_EQ(screen.rows(), Names{"6"});
  screen.press({kKeyEscape});
  EXPECT_EQ(screen.rows().size(), 8U);
  screen.press({'/', '7'});
  EXPECT_EQ(screen.rows().back(), "7") << "a partition's number, or a part of an endpoint";
  screen.press({kKeyEscape, '/', 'u', 'n', 'o', 'w', 'n', kKeyEnter});
  EXPECT_EQ(screen.rows(), Names{"7"});
}

TEST(WatchScreenTest, AFilterMayBeOfAnyScript) {
  Screen screen(2, 2);
  screen.tell({0}, WatchRig::led(process("клён", 5)));
  screen.tell({1}, WatchRig::led(process("日本", 6)));
  screen.press({'/', 0x43b, 0x65e5, kKeyBackspace});
  EXPECT_EQ(screen.state.filter, "л");
  EXPECT_EQ(screen.rows(), Names{"клён"});
  screen.press({kKeyBackspace, 0x672c});
  EXPECT_EQ(screen.rows(), Names{"日本"});
  EXPECT_EQ(screen.picture().cursor, 10U) << "a wide character";
  for (const std::string& line : screen.lines()) EXPECT_LE(columns_of(line), 80U);
}

TEST(WatchScreenTest, ANameCannotWriteOnTheTerminal) {
  Screen screen(1, 1);
  screen.tell({0}, WatchRig::led(process("\x1b[2J\xff", 5)));
  EXPECT_EQ(screen.rows(), Names{"\\x1b[2J\\xff"});
}

TEST(WatchScreenTest, EnterGoesToTheOwnersPartitions) {
  Screen screen = uneven();
  screen.press({kKeyDown, kKeyEnter});
  EXPECT_EQ(screen.state.page, WatchPage::partitions);
  EXPECT_EQ(screen.rows(), Names{"6"});
  screen.press({kKeyTab});
  EXPECT_EQ(screen.state.page, WatchPage::moves);
  screen.press({kKeyTab, '?'});
  EXPECT_NE(screen.all().find("any key goes back"), std::string::npos);
  screen.press({'q'});
  EXPECT_FALSE(screen.state.quit) << "it went back";
  screen.press({'q'});
  EXPECT_TRUE(screen.state.quit);
}

TEST(WatchScreenTest, SelectionStaysVisibleAndExists) {
  Screen screen(65'536, 65'536);
  std::vector<std::uint32_t> all(65'536);
  std::iota(all.begin(), all.end(), 0U);
  screen.tell(all, WatchRig::led(kAlpha));
  screen.press({'2', kKeyEnd});
  EXPECT_EQ(screen.rows().back(), "65535");
  const Picture picture = screen.picture();
  const auto selected = [](const PictureLine& line) {
    return !line.empty() && line.front().ink == Ink::selected;
  };
  EXPECT_EQ(std::count_if(picture.lines.begin(), picture.lines.end(), selected), 1);
  EXPECT_LT(std::accumulate(picture.lines.begin(), picture.lines.end(), std::size_t{0},
                            [](std::size_t sum, const PictureLine& line) {
                              return sum + line.size();
                            }),
            600U) << "only what is visible is drawn";
  screen.press({kKeyPageUp});
  const std::size_t visible = table_lines(screen.state, screen.window);
  EXPECT_EQ(screen.rows().front(), std::to_string(65'535 - visible));
  screen.window = {80, 60};
  EXPECT_EQ(screen.rows().back(), "65535") << "no empty lines below while there are rows above";
  screen.press({'/', '4', '2', kKeyEnter, kKeyDown, kKeyDown});
  EXPECT_EQ(screen.rows(), Names{"42"});
  EXPECT_EQ(screen.state.table().selected, 0U);
  screen.press({kKeyEscape, kKeyHome, kKeyUp});
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
  screen.press({'/', 'p', '4', '0', '9', '5', kKeyEnter, kKeyEnter});
  EXPECT_EQ(screen.rows().size(), std::min<std::size_t>(16, table_lines(screen.state, kUsual)));
  EXPECT_EQ(screen.rows().front(), "65520");
}

TEST(WatchScreenTest, SilenceIsTold) {
  Screen screen = uneven();
  screen.moment.answers = false;
  screen.moment.silence = 12s;
  screen.moment.notice = "14:05:58 the log answers no more";
  const Picture picture = screen.picture();
  EXPECT_EQ(plain_text(picture.lines[2]),
            "ledger SILENT for 12 s  14:05:58 the log answers no more");
  EXPECT_EQ(picture.lines[2][0].ink, Ink::warning);
}

TEST(WatchScreenTest, Ages) {
  EXPECT_EQ(age_text(0us), "0.0 s");
  EXPECT_EQ(age_text(9'990ms), "9.9 s");
  EXPECT_EQ(age_text(119s), "119 s");
  EXPECT_EQ(age_text(120s), "2 min");
  EXPECT_EQ(age_text(7'199s), "119 min");
  EXPECT_EQ(age_text(2h), "2 h");
  EXPECT_EQ(age_text(49h), "2 d");
  EXPECT_EQ(age_text(kLongAgo, kStart), "-");
  EXPECT_EQ(age_text(kStart, kStart - 1us), "0.0 s") << "clocks of two moments";
}

TEST(PictureTest, ColumnsAreNotBytes) {
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
