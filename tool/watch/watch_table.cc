#include "tool/watch/watch_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "tool/command_line/values.h"
#include "tool/print/output.h"
#include "tool/watch/watch_assignment.h"

namespace neliroute::tool {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kBar = 12;

constexpr std::array kOwnerColumns = {
    WatchColumn{"OWNER", 40, 0},
    WatchColumn{"ENDPOINT", 32, 3},
    WatchColumn{"SLOTS", 10, 1, true, true},
    WatchColumn{"SHARE", kBar, 7, false, true},
    WatchColumn{"PARTITIONS", 12, 5, true, true},
    WatchColumn{"COMING", 8, 8, true, true},
    WatchColumn{"DRAINING", 9, 4, true, true},
    WatchColumn{"HEARD", 8, 2, true, true},
    WatchColumn{"GAINED", 8, 6, true},
    WatchColumn{"NEWEST EPOCH", 28, 9},
};
// Where a member assigns, what is special about each.
constexpr std::array kMemberColumns = {
    WatchColumn{"OWNER", 40, 0},
    WatchColumn{"ENDPOINT", 32, 4},
    WatchColumn{"SLOTS", 10, 1, true, true},
    WatchColumn{"SHARE", kBar, 8, false, true},
    WatchColumn{"PARTITIONS", 12, 6, true, true},
    WatchColumn{"COMING", 8, 9, true, true},
    WatchColumn{"DRAINING", 9, 5, true, true},
    WatchColumn{"HEARD", 8, 3, true, true},
    WatchColumn{"GAINED", 8, 7, true},
    WatchColumn{"NEWEST EPOCH", 28, 10},
    WatchColumn{"NOTE", 48, 2, false, true},
};
constexpr std::array kPartitionColumns = {
    WatchColumn{"PARTITION", 10, 0, true},
    WatchColumn{"SLOTS", 8, 5, true, true},
    WatchColumn{"STATE", 9, 1},
    WatchColumn{"OWNER", 40, 2},
    WatchColumn{"ENDPOINT", 32, 4},
    WatchColumn{"NEXT", 40, 6},
    WatchColumn{"SINCE", 8, 3, true},
    WatchColumn{"HEARD", 8, 7, true, true},
    WatchColumn{"EPOCH", 28, 8},
};
constexpr std::array kMoveColumns = {
    WatchColumn{"AGO", 8, 0, true},
    WatchColumn{"FROM", 32, 1},
    WatchColumn{"TO", 32, 2},
    WatchColumn{"PARTITIONS", 12, 3, true, true},
    WatchColumn{"SLOTS", 10, 4, true, true},
    WatchColumn{"UNOWNED", 9, 5, true, true},
    WatchColumn{"WHICH", 60, 6},
};

constexpr std::array kRequestColumns = {
    WatchColumn{"PROCESS", 40, 0},
    WatchColumn{"SERVED", 10, 1, true, true},
    WatchColumn{"FORWARDED", 11, 2, true, true},
    WatchColumn{"421", 10, 5, true, true},
    WatchColumn{"WAITED", 10, 4, true, true},
    WatchColumn{"REFUSED", 10, 6, true, true},
    WatchColumn{"FAILED", 10, 3, true, true},
    WatchColumn{"NOTE", 48, 7},
    WatchColumn{"AT", 32, 8},
};

const std::string& name_of(const PeerPtr& peer) {
  static const std::string nobody;
  return peer ? peer->info.name : nobody;
}

const std::string& endpoint_of(const PeerPtr& peer) {
  static const std::string nowhere;
  return peer ? peer->info.endpoint : nowhere;
}

bool is_owned(const ObservedRoute& route) {
  return route.verdict == Verdict::remote || route.verdict == Verdict::local;
}

/// Who claimed it, or else is designated to claim it.
const PeerPtr& to_of(const ObservedRoute& route) {
  return route.next ? route.next : route.designee;
}

std::string_view state_of(const ObservedRoute& route) {
  if (!is_owned(route)) return to_string(route.verdict);
  if (route.stale) return "stale";
  return route.draining ? "draining" : "owned";
}

// --- Order and filter ----------------------------------------------------------------------------

using SortKey = std::tuple<std::int64_t, std::int64_t, std::string_view>;

SortKey number(std::uint64_t value) { return {static_cast<std::int64_t>(value), 0, {}}; }
SortKey text(std::string_view value) { return {0, 0, value}; }
SortKey epoch(const Epoch& value) { return {value.incarnation, value.offset, {}}; }
SortKey age(microseconds value) { return {value.count(), 0, {}}; }
/// As an age: the latest is the smallest, and an unknown one the greatest.
SortKey since(LocalTime value) { return {~value.time_since_epoch().count(), 0, {}}; }

SortKey key_of(const WatchModel& model, const OwnerRow& row, std::size_t column) {
  switch (column) {
    case 0: return text(row.peer->info.name);
    case 1: return text(row.peer->info.endpoint);
    case 2: case 3: return number(row.slots);
    case 4: return number(row.partitions);
    case 5: return number(row.coming);
    case 6: return number(row.draining);
    case 7: return age(row.heard);
    case 8: return since(row.since);
    case 9: return epoch(row.newest_epoch);
    default: return number(notes_of(model, row).size());  // those with any
  }
}

SortKey key_of(const WatchModel&, const PartitionRow& row, std::size_t column) {
  switch (column) {
    case 0: return number(0);  // unchanged
    case 1: return number(row.slots);
    case 2: return text(state_of(row.route));
    case 3: return text(name_of(row.route.owner));
    case 4: return text(endpoint_of(row.route.owner));
    case 5: return text(name_of(to_of(row.route)));
    case 6: return since(row.route.since);
    case 7: return age(is_owned(row.route) ? row.heard : microseconds{-1});
    default: return epoch(row.route.epoch);
  }
}

SortKey key_of(const WatchModel&, const MoveRow& row, std::size_t column) {
  switch (column) {
    case 0: return since(row.at);
    case 1: return text(name_of(row.from));
    case 2: return text(name_of(row.to));
    case 3: return number(row.partitions.size());
    case 4: return number(row.slots);
    case 5: return age(row.unowned);
    default: return number(row.partitions.ranges().front().first);
  }
}

SortKey key_of(const WatchModel&, const RequestRow& row, std::size_t column) {
  if (column == 0) return text(row.process.empty() ? row.address : row.process);
  if (column == kRequestKinds.size() + 1) return text(row.trouble);
  if (column > kRequestKinds.size()) return text(row.address);
  return {static_cast<std::int64_t>(1000 * row.per_second[column - 1].value_or(-1)), 0, {}};
}

/// Whether `part` is in it, ignoring the case of letters.
bool holds(std::string_view whole, std::string_view part) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::search(whole.begin(), whole.end(), part.begin(), part.end(),
                     [&](char a, char b) { return lower(a) == lower(b); }) != whole.end();
}

bool peer_holds(const PeerPtr& peer, std::string_view part) {
  return peer && (holds(peer->info.name, part) || holds(peer->info.endpoint, part));
}

bool passes(const WatchModel& model, const OwnerRow& row, std::uint32_t,
            std::string_view filter) {
  return peer_holds(row.peer, filter) || holds(notes_of(model, row), filter);
}

bool passes(const WatchModel&, const PartitionRow& row, std::uint32_t index,
            std::string_view filter) {
  return std::to_string(index) == filter || holds(state_of(row.route), filter) ||
         peer_holds(row.route.owner, filter) || peer_holds(to_of(row.route), filter);
}

bool passes(const WatchModel&, const MoveRow& row, std::uint32_t, std::string_view filter) {
  return peer_holds(row.from, filter) || peer_holds(row.to, filter);
}

bool passes(const WatchModel&, const RequestRow& row, std::uint32_t, std::string_view filter) {
  return holds(row.process, filter) || holds(row.address, filter) || holds(row.trouble, filter);
}

template <class Rows>
Listing list_of(const WatchModel& model, const Rows& rows, const WatchState& state) {
  Listing listing;
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    if (state.filter.empty() || passes(model, rows[i], i, state.filter)) listing.push_back(i);
  }
  std::vector<SortKey> keys(rows.size());
  for (const std::uint32_t i : listing) keys[i] = key_of(model, rows[i], state.table().sort);
  const bool descending = state.table().descending;
  std::stable_sort(listing.begin(), listing.end(), [&](std::uint32_t a, std::uint32_t b) {
    return descending ? keys[b] < keys[a] : keys[a] < keys[b];
  });
  // A table ordered by its index alone can be reversed, too.
  if (descending && state.page == WatchPage::partitions && state.table().sort == 0) {
    std::reverse(listing.begin(), listing.end());
  }
  return listing;
}

// --- Cells ---------------------------------------------------------------------------------------

/// The same for every process of this name: FNV-1a.
std::size_t colour_of(std::string_view name) {
  std::uint32_t hash = 2166136261U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

Span name_cell(std::string_view name) { return {shown(name), Ink::owner, colour_of(name)}; }

Span owner_cell(const PeerPtr& peer) {
  return peer ? name_cell(peer->info.name) : Span{"-", Ink::faint};
}

Span count_cell(std::uint64_t count) {
  return {count == 0 ? "-" : text_of(count), count == 0 ? Ink::faint : Ink::plain};
}

/// The fair share is at its middle.
Span share_cell(const OwnerRow& row, double fair) {
  const double share = static_cast<double>(row.slots) / std::max(fair, 1e-9) * (kBar / 2.0);
  const auto filled = static_cast<std::size_t>(std::min<double>(std::round(share), kBar));
  std::string bar(filled, '#');
  bar.resize(kBar, ' ');
  if (filled <= kBar / 2) bar[kBar / 2] = '|';
  if (share > kBar) bar.back() = '+';
  return {bar};
}

std::vector<Span> owner_cells(const WatchModel& model, const OwnerRow& row, LocalTime now) {
  const bool owns = row.partitions > 0;
  std::vector<Span> cells = {
          owner_cell(row.peer),
          {shown(row.peer->info.endpoint) + (row.endpoint_shared ? " (shared)" : ""),
           row.endpoint_shared ? Ink::warning : Ink::plain},
          count_cell(row.slots),
          share_cell(row, model.fair_slots(row)),
          count_cell(row.partitions),
          count_cell(row.coming),
          {count_cell(row.draining).text, row.draining > 0 ? Ink::strong : Ink::faint},
          {owns ? age_text(row.heard) : "-"},
          {age_text(row.since, now)},
          {owns ? to_string(row.newest_epoch) : "-"}};
  if (model.assigned()) cells.push_back({notes_of(model, row)});
  return cells;
}

std::vector<Span> partition_cells(const PartitionRow& row, std::uint32_t index, LocalTime now) {
  const bool owned = is_owned(row.route);
  const bool well = owned && !row.route.stale;
  const Ink ink = !well ? Ink::warning : row.route.draining ? Ink::strong : Ink::plain;
  return {{std::to_string(index)},
          count_cell(row.slots),
          {std::string(state_of(row.route)), ink},
          owner_cell(row.route.owner),
          {row.route.owner ? shown(endpoint_of(row.route.owner)) : "-"},
          owner_cell(to_of(row.route)),
          {age_text(row.route.since, now)},
          {owned ? age_text(row.heard) : "-"},
          {owned ? to_string(row.route.epoch) : "-"}};
}

std::vector<Span> move_cells(const MoveRow& row, LocalTime now) {
  const Span to = row.to ? owner_cell(row.to) : Span{"nobody", Ink::warning};
  return {{age_text(row.at, now)},
          owner_cell(row.from),
          to,
          count_cell(row.partitions.size()),
          count_cell(row.slots),
          {row.unowned.count() > 0 ? age_text(row.unowned) : "-"},
          {row.partitions.to_string()}};
}

Span rate_cell(std::optional<double> per_second, Ink ink) {
  if (!per_second) return {"-", Ink::faint};
  if (*per_second < 9.95) return {fmt::format("{:.1f}", *per_second), ink};
  return {text_of(static_cast<std::uint64_t>(std::llround(*per_second))), ink};
}

std::vector<Span> request_cells(const RequestRow& row) {
  const std::string& who = row.process.empty() ? row.address : row.process;
  std::vector<Span> cells{row.trouble.empty() ? name_cell(who) : Span{shown(who), Ink::warning}};
  for (std::size_t kind = 0; kind < kRequestKinds.size(); ++kind) {
    const auto& rate = row.per_second[kind];
    const bool bad = kind == kFailedRequests && rate.value_or(0) > 0;
    cells.push_back(rate_cell(rate, bad ? Ink::warning : Ink::plain));
  }
  cells.push_back({shown(row.trouble), Ink::warning});
  cells.push_back({shown(row.address)});
  return cells;
}

// --- Lines ---------------------------------------------------------------------------------------

/// A column's title as shown, with the mark of the order.
std::string title_of(const WatchColumn& column, bool sorted, bool descending) {
  return std::string(column.title) + (!sorted ? "" : descending ? " v" : " ^");
}

/// How wide each column is; 0: there is no room for it.
std::vector<std::size_t> widths_of(std::span<const WatchColumn> all,
                                   const std::vector<std::vector<Span>>& rows,
                                   std::size_t width) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < all.size(); ++c) {
    std::size_t wanted = all[c].title.size() + 2;
    for (const auto& row : rows) wanted = std::max(wanted, columns_of(row[c].text));
    widths.push_back(std::max(std::min(wanted, all[c].most), all[c].title.size() + 2));
  }
  const auto total = [&] {
    std::size_t sum = 0;
    for (const std::size_t one : widths) sum += one == 0 ? 0 : one + kGap;
    return sum;
  };
  for (std::size_t rank = all.size(); rank-- > 1 && total() > width + kGap;) {
    for (std::size_t c = 0; c < all.size(); ++c) {
      if (all[c].rank == rank) widths[c] = 0;
    }
  }
  return widths;
}

PictureLine line_of(std::span<const WatchColumn> all, const std::vector<std::size_t>& widths,
                    const std::vector<Span>& cells, bool selected) {
  PictureLine line;
  for (std::size_t c = 0; c < all.size(); ++c) {
    if (widths[c] == 0) continue;
    if (!line.empty()) line.push_back({std::string(kGap, ' ')});
    Span cell = cells[c];
    cell.text = fitted(cell.text, widths[c], all[c].to_the_right);
    line.push_back(std::move(cell));
  }
  if (selected) {
    for (Span& span : line) span.ink = Ink::selected;
  }
  return line;
}

}  // namespace

std::span<const WatchColumn> columns(const WatchModel& model, WatchPage page) {
  switch (page) {
    case WatchPage::owners:
      if (model.assigned()) return kMemberColumns;
      return kOwnerColumns;
    case WatchPage::partitions: return kPartitionColumns;
    case WatchPage::requests: return kRequestColumns;
    case WatchPage::moves: break;
  }
  return kMoveColumns;
}

std::size_t row_count(const WatchModel& model, WatchPage page) {
  switch (page) {
    case WatchPage::owners: return model.owners().size();
    case WatchPage::partitions: return model.partitions().size();
    case WatchPage::requests: return model.requests().size();
    case WatchPage::moves: break;
  }
  return model.moves().size();
}

Listing list(const WatchModel& model, const WatchState& state) {
  switch (state.page) {
    case WatchPage::owners: return list_of(model, model.owners(), state);
    case WatchPage::partitions: return list_of(model, model.partitions(), state);
    case WatchPage::requests: return list_of(model, model.requests(), state);
    case WatchPage::moves: break;
  }
  return list_of(model, model.moves(), state);
}

std::vector<Span> cells(const WatchModel& model, WatchPage page, std::uint32_t row,
                        LocalTime now) {
  switch (page) {
    case WatchPage::owners: return owner_cells(model, model.owners()[row], now);
    case WatchPage::partitions: return partition_cells(model.partitions()[row], row, now);
    case WatchPage::requests: return request_cells(model.requests()[row]);
    case WatchPage::moves: break;
  }
  return move_cells(model.moves()[row], now);
}

std::vector<PictureLine> table(const WatchModel& model, WatchPage page,
                               std::span<const std::uint32_t> rows, LocalTime now,
                               const WatchState::Table& state, std::size_t width) {
  const auto all = columns(model, page);
  std::vector<std::vector<Span>> texts;
  for (const std::uint32_t row : rows) texts.push_back(cells(model, page, row, now));
  const std::vector<std::size_t> widths = widths_of(all, texts, width);
  std::vector<Span> titles;
  for (std::size_t c = 0; c < all.size(); ++c) {
    titles.push_back({title_of(all[c], c == state.sort, state.descending)});
  }
  std::vector<PictureLine> lines{line_of(all, widths, titles, false)};
  for (Span& span : lines.front()) span.ink = Ink::heading;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    lines.push_back(line_of(all, widths, texts[i], state.top + i == state.selected));
  }
  return lines;
}

}  // namespace neliroute::tool
