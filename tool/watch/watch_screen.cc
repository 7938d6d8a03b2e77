#include "tool/watch/watch_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "tool/command_line/values.h"
#include "tool/print/output.h"

namespace neliroute::tool {
namespace {

constexpr std::array<std::string_view, kWatchPages> kPageNames = {"Owners", "Partitions", "Moves"};

// Title, slots, ledger, pages, heading and keys.
constexpr std::size_t kFrameLines = 6;

std::size_t rows_in(Window window) {
  return window.lines > kFrameLines ? window.lines - kFrameLines : 1;
}

void type(WatchState& state, int key) {
  std::string& filter = state.filter;
  if (key == kKeyEnter || key == kKeyEscape) {
    state.typing = false;
    if (key == kKeyEscape) filter.clear();
  } else if (key == kKeyBackspace) {
    const auto is_tail = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; };
    while (!filter.empty() && is_tail(filter.back())) filter.pop_back();
    if (!filter.empty()) filter.pop_back();
  } else if (key >= 0x20 && key < 0x100) {
    filter += static_cast<char>(key);
  }
  state.top = 0;
}

void show_page(WatchState& state, std::size_t page) {
  state.page = static_cast<WatchPage>(page % kWatchPages);
  state.top = 0;
}

PictureLine slots_line(const WatchModel& model) {
  const WatchSummary& sum = model.summary();
  const auto slots = [&](Verdict verdict) { return sum.slots[static_cast<std::size_t>(verdict)]; };
  PictureLine line{{text_of(std::uint64_t{model.slots().value()}) + " slots"}};
  for (const Verdict verdict : {Verdict::unowned, Verdict::unknown}) {
    line.push_back({verdict == Verdict::unowned ? ": " : ", "});
    line.push_back({fmt::format("{} {}", text_of(slots(verdict)), to_string(verdict)),
                    slots(verdict) > 0 ? Ink::warning : Ink::plain});
  }
  line.push_back({fmt::format("; {} {}, fair share {:.1f}", text_of(std::uint64_t{sum.sharing}),
                              sum.sharing == 1 ? "owner" : "owners",
                              model.slots().value() / std::max<double>(1, sum.sharing))});
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
    line.push_back({"; " + assigner_text(model), model.assigner() ? Ink::plain : Ink::warning});
  }
  if (!moment.notice.empty()) line.push_back({"  " + moment.notice});
  return line;
}

PictureLine pages_line(const WatchModel& model, const WatchState& state, std::size_t listed) {
  const std::array<std::size_t, kWatchPages> rows = {
      model.summary().owners.size(), model.partitions().size(), model.moves().size()};
  PictureLine line;
  for (std::size_t i = 0; i < kWatchPages; ++i) {
    const bool here = static_cast<WatchPage>(i) == state.page;
    const std::string text =
        fmt::format("{} {} {}", i + 1, kPageNames[i], text_of(std::uint64_t{rows[i]}));
    line.push_back({here ? "[" + text + "]" : " " + text + " ", here ? Ink::strong : Ink::plain});
  }
  if (const std::uint64_t moving = model.summary().moving; moving > 0) {
    line.push_back({" " + text_of(moving) + " on the way", Ink::strong});
  }
  if (!state.filter.empty()) {
    line.push_back({fmt::format("  filter \"{}\": {}", shown(state.filter),
                                text_of(std::uint64_t{listed})), Ink::strong});
  }
  return line;
}

PictureLine keys_line(const WatchState& state) {
  if (state.typing) return {{"filter: " + (state.filter.empty() ? "" : shown(state.filter)) + '_'}};
  return {{"q quit  tab page  / filter  j k scroll", Ink::strong}};
}

}  // namespace

void press(WatchState& state, int key, Window window) {
  const std::size_t page = rows_in(window);
  if (state.typing) return type(state, key);
  switch (key) {
    case 'q': case 'Q': state.quit = true; break;
    case '1': case '2': case '3': show_page(state, static_cast<std::size_t>(key - '1')); break;
    case kKeyTab: show_page(state, static_cast<std::size_t>(state.page) + 1); break;
    case '/': state.typing = true; break;
    case kKeyEscape: state.filter.clear(); state.top = 0; break;
    case kKeyUp: case 'k': state.top -= std::min<std::size_t>(state.top, 1); break;
    case kKeyDown: case 'j': state.top += 1; break;
    case kKeyPageUp: case 'b': state.top -= std::min(state.top, page); break;
    case kKeyPageDown: case ' ': state.top += page; break;
    case kKeyHome: case 'g': state.top = 0; break;
    case kKeyEnd: case 'G': state.top = kPartitionCountMax; break;
    default: break;
  }
}

Picture draw(const WatchModel& model, const WatchMoment& moment, WatchState& state,
             Window window) {
  const std::size_t rows = rows_in(window);
  const WatchTable table = table_of(model, state.page, moment.now);
  const std::vector<std::uint32_t> listing = list(table, state.filter);
  // No empty lines below while there are rows above.
  state.top = std::min(state.top, listing.size() - std::min(listing.size(), rows));
  const auto visible =
      std::span(listing).subspan(state.top, std::min(rows, listing.size() - state.top));
  Picture body = picture_of(table, visible, window.columns);
  if (listing.empty()) body.push_back({{state.filter.empty() ? "none" : "none passes the filter"}});
  body.resize(rows + 1);
  Picture picture{{{"neliroute watch", Ink::strong}, {"  " + moment.clock + "  " + moment.title}},
                  slots_line(model), ledger_line(model, moment),
                  pages_line(model, state, listing.size())};
  picture.insert(picture.end(), body.begin(), body.end());
  picture.push_back(keys_line(state));
  // A window that is too small for all shows the last lines.
  while (picture.size() > window.lines) picture.erase(picture.begin());
  for (PictureLine& line : picture) line = cut(std::move(line), window.columns);
  return picture;
}

}  // namespace neliroute::tool
