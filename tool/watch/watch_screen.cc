#include "tool/watch/watch_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "tool/command_line/values.h"
#include "tool/print/output.h"
#include "tool/watch/watch_table.h"

namespace neliroute::tool {
namespace {

const std::string kPrompt = "filter: ";
constexpr std::size_t kNone = static_cast<std::size_t>(-1);
constexpr std::array<std::string_view, kWatchPages> kPageNames = {"Owners", "Partitions", "Moves",
                                                                 "Requests/s"};

// If there is no room for all lines, later ones are dropped first.
enum Frame : std::size_t { kHeadingLine, kKeysLine, kPagesLine, kSlotsLine, kLedgerLine, kTitleLine,
                           kFrameLines };

/// What a window of this height has room for.
struct Layout {
  bool has[kFrameLines] = {};
  std::size_t rows = 0;   ///< of the table, without its heading
  std::size_t moves = 0;  ///< lines of the last moves, with the one above them
};

Layout layout_of(const WatchState& state, Window window) {
  constexpr std::size_t kRoomForMoves = 20;
  Layout layout;
  std::size_t left = window.lines - std::min<std::size_t>(window.lines, 1);  // a row comes first
  for (bool& one : layout.has) one = left > 0 && left-- > 0;
  layout.rows = window.lines > 0 ? left + 1 : 0;
  if (window.lines >= kRoomForMoves && state.page != WatchPage::moves && !state.help) {
    layout.moves = std::min<std::size_t>(window.lines / 5, 9);
    layout.rows -= layout.moves;
  }
  return layout;
}

std::size_t page_count(const WatchModel& model) {
  return model.requests().empty() ? kWatchPages - 1 : kWatchPages;
}

// --- Keys ----------------------------------------------------------------------------------------

std::string utf8(std::uint32_t c) {
  std::string text;
  const auto add = [&text](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (c < 0x80) {
    add(c);
  } else if (c < 0x800) {
    add(0xc0U | c >> 6U);
    add(0x80U | (c & 0x3fU));
  } else if (c < 0x10000) {
    add(0xe0U | c >> 12U);
    add(0x80U | (c >> 6U & 0x3fU));
    add(0x80U | (c & 0x3fU));
  } else {
    add(0xf0U | c >> 18U);
    add(0x80U | (c >> 12U & 0x3fU));
    add(0x80U | (c >> 6U & 0x3fU));
    add(0x80U | (c & 0x3fU));
  }
  return text;
}

void filter_by(WatchState& state, std::string filter) {
  state.filter = std::move(filter);
  for (WatchState::Table& table : state.tables) table.selected = table.top = 0;
}

void type(WatchState& state, std::uint32_t key) {
  std::string filter = state.filter;
  if (key == kKeyEnter || key == kKeyEscape) {
    state.typing = false;
    if (key == kKeyEscape) filter_by(state, {});
  } else if (key == kKeyBackspace) {
    while (!filter.empty() && (static_cast<unsigned char>(filter.back()) & 0xc0U) == 0x80U) {
      filter.pop_back();
    }
    if (!filter.empty()) filter.pop_back();
    filter_by(state, std::move(filter));
  } else if (key >= 0x20 && key < 0x110000 && !(key >= 0x7f && key < 0xa0)) {
    filter_by(state, filter + utf8(key));
  }
}

void sort_by(WatchState& state, const WatchModel& model, std::size_t column) {
  state.table().sort = column;
  state.table().descending = columns(model, state.page)[column].descending;
}

/// To an owner's partitions.
void enter(WatchState& state, const WatchModel& model, const Listing& listing) {
  if (state.page != WatchPage::owners || state.table().selected >= listing.size()) return;
  const std::uint32_t row = listing[state.table().selected];
  filter_by(state, model.owners()[row].peer->info.name);
  state.page = WatchPage::partitions;
}

bool select(WatchState& state, std::uint32_t key, std::size_t rows, std::size_t visible) {
  std::size_t& selected = state.table().selected;
  const std::size_t page = std::max<std::size_t>(visible, 1);
  switch (key) {
    case kKeyUp: case 'k':
      selected -= std::min<std::size_t>(selected, 1);
      return true;
    case kKeyDown: case 'j':
      selected += 1;
      return true;
    case kKeyPageUp: case 'b':
      selected -= std::min(selected, page);
      return true;
    case kKeyPageDown: case ' ':
      selected += page;
      return true;
    case kKeyHome: case 'g':
      selected = 0;
      return true;
    case kKeyEnd: case 'G':
      selected = rows;  // settled() knows the last
      return true;
    default:
      return false;
  }
}

void command(WatchState& state, std::uint32_t key, const WatchModel& model,
             const Listing& listing) {
  const std::size_t count = columns(model, state.page).size();
  const auto page = static_cast<std::size_t>(state.page);
  switch (key) {
    case 'q': case 'Q':
      state.quit = true;
      break;
    case '1': case '2': case '3': case '4':
      if (key - '1' < page_count(model)) state.page = static_cast<WatchPage>(key - '1');
      break;
    case kKeyTab:
      state.page = static_cast<WatchPage>((page + 1) % page_count(model));
      break;
    case 's':
      sort_by(state, model, (state.table().sort + 1) % count);
      break;
    case 'S':
      sort_by(state, model, (state.table().sort + count - 1) % count);
      break;
    case 'r':
      state.table().descending = !state.table().descending;
      break;
    case '/':
      state.typing = true;
      break;
    case '?': case 'h':
      state.help = true;
      break;
    case kKeyEscape:
      filter_by(state, {});
      break;
    case kKeyEnter:
      enter(state, model, listing);
      break;
    default:
      break;
  }
}

// --- Lines around the tables ---------------------------------------------------------------------

constexpr std::array<std::string_view, 19> kHelp = {
    "1 2 3, tab   owners, partitions, moves; 4 requests a second (with --requests)",
    "up down      select a row, also j k; page up and down, also b and space;",
    "             home and end, also g and G",
    "enter        the partitions of the selected owner",
    "/            filter by name, endpoint, state or partition number; esc ends it",
    "s S          sort by the next column, or the one before; r reverses it",
    "q, Ctrl-C    end",
    "",
    "SHARE        of the slots; | marks the fair share, an equal one for all",
    "HEARD        age of its last renewal; of several partitions, the oldest",
    "GAINED       how long ago it gained one; - before this began to watch",
    "COMING       partitions that it has claimed and does not lead yet",
    "DRAINING     partitions that it hands over, and leads until its successor does",
    "NOTE         of a member, where one assigns: weight, cordoned, silent, to come",
    "NEXT         who has claimed it, or is designated to",
    "STATE        unowned: nobody leads it; unknown: the ledger does not say",
    "SINCE        how long its owner, or nobody, has had it",
    "UNOWNED      how long the moved slots had no owner, at most",
    "421          misdirected: a process that was no owner refused it; sent again",
};

PictureLine title_line(const WatchMoment& moment, std::size_t width) {
  const std::string head = "neliroute watch";
  PictureLine line{{head, Ink::strong}};
  const std::size_t taken = head.size() + 2 + moment.clock.size() + 2;
  if (width < taken) return line;
  line.push_back({"  " + fitted(moment.title, width - taken, false) + "  "});
  line.push_back({moment.clock, Ink::faint});
  return line;
}

PictureLine slots_line(const WatchModel& model) {
  const std::uint64_t owned = model.slots_of(Verdict::remote) + model.slots_of(Verdict::local);
  PictureLine line{{fmt::format("{} slots: {} owned", text_of(std::uint64_t{model.slots().value()}),
                                text_of(owned))}};
  if (const std::uint64_t draining = model.draining_slots(); draining > 0) {
    line.push_back({fmt::format(" ({} draining)", text_of(draining)), Ink::strong});
  }
  for (const Verdict verdict : {Verdict::unowned, Verdict::unknown}) {
    const std::uint64_t slots = model.slots_of(verdict);
    line.push_back({", "});
    line.push_back({fmt::format("{} {}", text_of(slots), to_string(verdict)),
                    slots > 0 ? Ink::warning : Ink::plain});
  }
  const std::size_t owners = model.sharing();
  line.push_back({fmt::format("; {} {}, fair share {:.1f}", text_of(std::uint64_t{owners}),
                              owners == 1 ? "owner" : "owners", model.fair_slots())});
  return line;
}

PictureLine ledger_line(const WatchModel& model, const WatchMoment& moment) {
  PictureLine line;
  if (moment.answers) {
    line.push_back({"ledger answered " + age_text(moment.silence) + " ago"});
  } else {
    line.push_back({"ledger SILENT for " + age_text(moment.silence), Ink::warning});
  }
  if (model.assigned()) {
    const PeerPtr& assigner = model.assigner();
    line.push_back({assigner ? "; assigned by " + shown(assigner->info.name) : "; nobody assigns",
                    assigner ? Ink::plain : Ink::warning});
    if (const std::uint32_t moving = model.moving(); moving > 0) {
      line.push_back({fmt::format(", {} on the way", text_of(std::uint64_t{moving})),
                      Ink::strong});
    }
    if (model.overrides() && model.overrides()->moves_paused) {
      line.push_back({", moves are paused", Ink::strong});
    }
  }
  if (!moment.notice.empty()) line.push_back({"  " + moment.notice, Ink::faint});
  return line;
}

PictureLine pages_line(const WatchModel& model, const Listing& listing, const WatchState& state) {
  PictureLine line;
  for (std::size_t i = 0; i < page_count(model); ++i) {
    const auto page = static_cast<WatchPage>(i);
    const std::uint64_t rows = row_count(model, page);
    const bool here = page == state.page;
    const std::string text = fmt::format("{} {} {}", i + 1, kPageNames[i], text_of(rows));
    line.push_back({here ? "[" + text + "]" : " " + text + " ",
                    here ? Ink::strong : Ink::plain});
  }
  if (!state.filter.empty()) {
    line.push_back({fmt::format("  filter \"{}\": {}", shown(state.filter),
                                text_of(std::uint64_t{listing.size()})), Ink::strong});
  }
  return line;
}

/// What was typed of the filter.
std::string typed_text(const WatchState& state) {
  return state.filter.empty() ? "" : shown(state.filter);
}

PictureLine keys_line(const WatchState& state) {
  if (state.typing) return {{kPrompt + typed_text(state)}};
  if (state.help) return {{"any key goes back", Ink::strong}};
  return {{"q quit  tab page  s sort  r reverse  / filter", Ink::strong},
          {state.page == WatchPage::owners ? "  enter its partitions" : "", Ink::strong},
          {"  ? help", Ink::strong}};
}

void put_table(Picture& picture, const WatchModel& model, const Listing& listing,
               const WatchMoment& moment, const WatchState& state, const Layout& layout,
               std::size_t width) {
  const std::size_t first = std::min(state.table().top, listing.size());
  const std::size_t count = std::min(layout.rows, listing.size() - first);
  auto lines = table(model, state.page, std::span(listing).subspan(first, count), moment.now,
                     state.table(), width);
  if (!layout.has[kHeadingLine]) lines.erase(lines.begin());
  picture.lines.insert(picture.lines.end(), lines.begin(), lines.end());
  if (count == 0 && layout.rows > 0) {
    picture.lines.push_back({{state.filter.empty() ? "none" : "none passes the filter",
                              Ink::faint}});
  }
  const std::size_t missing = layout.rows - std::max<std::size_t>(count, layout.rows > 0 ? 1U : 0U);
  picture.lines.insert(picture.lines.end(), missing, PictureLine{});
}

void put_moves(Picture& picture, const WatchModel& model, const WatchMoment& moment,
               const Layout& layout, std::size_t width) {
  if (layout.moves < 2) return;
  std::vector<std::uint32_t> rows(std::min(layout.moves - 2, model.moves().size()));
  std::iota(rows.begin(), rows.end(), 0U);
  picture.lines.push_back({{model.moves().empty() ? "no moves since this began to watch"
                                                  : "last moves", Ink::strong}});
  WatchState::Table unsorted;
  unsorted.sort = unsorted.selected = kNone;
  auto lines = table(model, WatchPage::moves, rows, moment.now, unsorted, width);
  if (rows.empty()) lines.clear();
  lines.resize(layout.moves - 1);
  picture.lines.insert(picture.lines.end(), lines.begin(), lines.end());
}

}  // namespace

WatchState::WatchState() {
  tables[0].sort = 2;  // the largest owner first
  tables[0].descending = true;
}

std::size_t table_lines(const WatchState& state, Window window) {
  return layout_of(state, window).rows;
}

WatchState settled(WatchState state, const Listing& listing, Window window) {
  WatchState::Table& table = state.table();
  const std::size_t visible = std::max<std::size_t>(table_lines(state, window), 1);
  table.selected = std::min(table.selected, listing.size() - std::min<std::size_t>(
                                                                 listing.size(), 1));
  table.top = std::clamp(table.top, table.selected - std::min(table.selected, visible - 1),
                         table.selected);
  // No empty lines below while there are rows above.
  table.top = std::min(table.top, listing.size() - std::min(listing.size(), visible));
  return state;
}

WatchState pressed(WatchState state, std::uint32_t key, const WatchModel& model,
                   const Listing& listing, Window window) {
  if (state.help) {
    state.help = false;
  } else if (state.typing) {
    type(state, key);
  } else if (!select(state, key, listing.size(), table_lines(state, window))) {
    command(state, key, model, listing);
  }
  return state;
}

Picture draw(const WatchModel& model, const Listing& listing, const WatchMoment& moment,
             const WatchState& state, Window window) {
  const Layout layout = layout_of(state, window);
  Picture picture;
  const auto put = [&](Frame which, PictureLine line) {
    if (layout.has[which]) picture.lines.push_back(std::move(line));
  };
  put(kTitleLine, title_line(moment, window.columns));
  put(kSlotsLine, slots_line(model));
  put(kLedgerLine, ledger_line(model, moment));
  put(kPagesLine, pages_line(model, listing, state));
  if (state.help) {
    const std::size_t room = layout.rows + (layout.has[kHeadingLine] ? 1U : 0U);
    for (std::size_t i = 0; i < room; ++i) {
      picture.lines.push_back({{std::string(i < kHelp.size() ? kHelp[i] : "")}});
    }
  } else {
    put_table(picture, model, listing, moment, state, layout, window.columns);
    put_moves(picture, model, moment, layout, window.columns);
  }
  put(kKeysLine, keys_line(state));
  for (PictureLine& line : picture.lines) line = cut(std::move(line), window.columns);
  if (state.typing && layout.has[kKeysLine]) {
    const std::size_t typed = columns_of(kPrompt + typed_text(state));
    picture.cursor = std::min(typed, window.columns - std::min<std::size_t>(window.columns, 1));
  }
  return picture;
}

std::string age_text(microseconds age) {
  using namespace std::chrono;
  const auto s = duration_cast<seconds>(age).count();
  if (age < microseconds{0}) return "0.0 s";
  if (s < 10) {
    return fmt::format("{}.{} s", s, duration_cast<milliseconds>(age).count() % 1000 / 100);
  }
  if (s < 120) return fmt::format("{} s", s);
  if (s < 7200) return fmt::format("{} min", s / 60);
  if (s < 172'800) return fmt::format("{} h", s / 3600);
  return fmt::format("{} d", s / 86'400);
}

std::string age_text(LocalTime since, LocalTime now) {
  return since == kLongAgo ? "-" : age_text(now - since);
}

}  // namespace neliroute::tool
