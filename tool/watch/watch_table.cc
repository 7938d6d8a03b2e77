#include "tool/watch/watch_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>
#include <utility>

#include "tool/command_line/values.h"
#include "tool/print/output.h"

namespace neliroute::tool {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kWidest = 40;  // in a window: no name leaves the other columns without room

constexpr std::array<WatchColumn, 7> kOwnerColumns = {{
    {"OWNER"}, {"SLOTS", true}, {"HEARD", true}, {"NOTE"}, {"PARTITIONS", true}, {"ENDPOINT"},
    {"NEWEST EPOCH", true}}};
constexpr std::array<WatchColumn, 7> kPartitionColumns = {{
    {"PARTITION", true}, {"STATE"}, {"OWNER"}, {"NEXT"}, {"SINCE", true}, {"ENDPOINT"},
    {"EPOCH", true}}};
constexpr std::array<WatchColumn, 6> kMoveColumns = {{
    {"AGO", true}, {"FROM"}, {"TO"}, {"PARTITIONS", true}, {"UNOWNED", true}, {"WHICH"}}};

Span name_cell(const PeerPtr& peer) { return {peer ? shown(peer->info.name) : "-"}; }

Span count_cell(std::uint64_t count) { return {count > 0 ? text_of(count) : "-"}; }

/// "assigns, weight 2, 3 to come"; empty: nothing is special about it.
std::string notes_of(const WatchModel& model, const OwnerRow& row) {
  std::string text;
  const auto add = [&text](bool holds, const std::string& word) {
    if (holds) text += text.empty() ? word : ", " + word;
  };
  add(model.assigner() && model.assigner()->id == row.peer->id, "assigns");
  if (row.member) {
    add(row.member->state == MemberState::leaving, "leaving");
    add(row.member->state == MemberState::silent, "silent");
    add(row.member->cordoned, "cordoned");
    add(row.member->on_probation, "on probation");
    add(row.member->preparing, "preparing");
    add(row.member->weight != 1, fmt::format("weight {}", row.member->weight));
    add(row.member->seat_priority != ObservedMember{}.seat_priority,
        fmt::format("seat priority {}", row.member->seat_priority));
  }
  add(row.coming > 0, text_of(std::uint64_t{row.coming}) + " to come");
  add(row.handing > 0, text_of(std::uint64_t{row.handing}) + " to hand over");
  return text;
}

std::vector<Span> owner_cells(const WatchModel& model, const OwnerRow& row) {
  const bool owns = !row.partitions.empty();
  return {name_cell(row.peer),
          count_cell(row.slots),
          {owns ? age_text(row.heard) : "-"},
          {notes_of(model, row)},
          count_cell(row.partitions.size()),
          {shown(row.peer->info.endpoint) + (row.endpoint_shared ? " (shared)" : ""),
           row.endpoint_shared ? Ink::warning : Ink::plain},
          {owns ? to_string(row.newest_epoch) : "-"}};
}

std::string_view state_of(const ObservedRoute& route) {
  if (!is_owned(route)) return to_string(route.verdict);
  if (route.stale) return "stale";
  return route.draining ? "draining" : "owned";
}

/// Its slots have no owner, or one that callers are not sure of.
bool is_urgent(const ObservedRoute& route) { return !is_owned(route) || route.stale; }

std::vector<Span> partition_cells(const ObservedRoute& route, std::uint32_t index, LocalTime now) {
  return {{std::to_string(index)},
          {std::string(state_of(route)), is_urgent(route) ? Ink::warning : Ink::plain},
          name_cell(route.owner),
          name_cell(next_of(route)),
          {route.since == kLongAgo ? "-" : age_text(now - route.since)},
          {route.owner ? shown(route.owner->info.endpoint) : "-"},
          {is_owned(route) ? to_string(route.epoch) : "-"}};
}

std::vector<Span> move_cells(const MoveRow& row, LocalTime now) {
  return {{age_text(now - row.at)},
          name_cell(row.from),
          row.to ? name_cell(row.to) : Span{"nobody", Ink::warning},
          count_cell(row.partitions.size()),
          {row.unowned.count() > 0 ? age_text(row.unowned) : "-"},
          {row.partitions.to_string()}};
}

/// Whether `part` is in it, ignoring the case of letters.
bool holds(std::string_view whole, std::string_view part) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::search(whole.begin(), whole.end(), part.begin(), part.end(),
                     [&](char a, char b) { return lower(a) == lower(b); }) != whole.end();
}

/// How wide each column is, of those that there is room for.
std::vector<std::size_t> widths_of(std::span<const WatchColumn> all,
                                   const std::vector<std::vector<Span>>& rows,
                                   std::size_t width) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < all.size(); ++c) {
    std::size_t wanted = 0;
    for (const auto& row : rows) wanted = std::max(wanted, columns_of(row[c].text));
    const bool is_last = c + 1 == all.size();
    if (width != kNoWidth && !is_last) wanted = std::min(wanted, kWidest);
    // A number is whole or not there.
    if (c > 0 && width < (all[c].to_the_right ? wanted : all[c].title.size())) break;
    widths.push_back(std::min(wanted, width));
    width -= std::min(width, widths.back() + kGap);
  }
  return widths;
}

}  // namespace

WatchTable table_of(const WatchModel& model, WatchPage page, LocalTime now) {
  if (page == WatchPage::owners) {
    const auto& rows = model.summary().owners;
    return {kOwnerColumns, rows.size(),
            [&](std::uint32_t row) { return owner_cells(model, rows[row]); }, {}};
  }
  if (page == WatchPage::partitions) {
    const auto& rows = model.partitions();
    return {kPartitionColumns, rows.size(),
            [&rows, now](std::uint32_t row) { return partition_cells(rows[row].route, row, now); },
            [&rows](std::uint32_t row) { return is_urgent(rows[row].route); }};
  }
  const auto& rows = model.moves();
  return {kMoveColumns, rows.size(),
          [&rows, now](std::uint32_t row) { return move_cells(rows[row], now); }, {}};
}

std::vector<std::uint32_t> list(const WatchTable& table, std::string_view filter) {
  std::vector<std::uint32_t> listing(table.rows);
  std::iota(listing.begin(), listing.end(), 0U);
  if (!filter.empty()) {
    std::erase_if(listing, [&](std::uint32_t row) {
      const std::vector<Span> cells = table.cells(row);
      for (std::size_t c = 0; c < cells.size(); ++c) {
        const bool is_number = table.columns[c].to_the_right;
        if (is_number ? cells[c].text == filter : holds(cells[c].text, filter)) return false;
      }
      return true;
    });
  }
  if (table.urgent) std::stable_partition(listing.begin(), listing.end(), table.urgent);
  return listing;
}

Picture picture_of(const WatchTable& table, std::span<const std::uint32_t> rows,
                   std::size_t width) {
  const auto all = table.columns;
  std::vector<std::vector<Span>> texts(1);
  for (const WatchColumn& one : all) texts[0].push_back({std::string(one.title), Ink::strong});
  for (const std::uint32_t row : rows) texts.push_back(table.cells(row));
  const std::vector<std::size_t> widths = widths_of(all, texts, width);
  Picture picture;
  for (const std::vector<Span>& cells : texts) {
    PictureLine& line = picture.emplace_back();
    for (std::size_t c = 0; c < widths.size(); ++c) {
      if (c > 0) line.push_back({std::string(kGap, ' ')});
      line.push_back({fitted(cells[c].text, widths[c], all[c].to_the_right), cells[c].ink});
    }
  }
  return picture;
}

std::string assigner_text(const WatchModel& model) {
  const PeerPtr& assigner = model.assigner();
  const bool paused = model.overrides() && model.overrides()->moves_paused;
  return (assigner ? "assigned by " + shown(assigner->info.name) : "nobody assigns") +
         (paused ? ", moves are paused" : "");
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

}  // namespace neliroute::tool
