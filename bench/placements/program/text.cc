#include "bench/placements/program/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace neliroute::placement {
namespace {

struct Field {
  std::string_view name;
  double Outcome::* value;
};

constexpr Field kFields[] = {
    {"members_before", &Outcome::members_before},
    {"members_after", &Outcome::members_after},
    {"moved", &Outcome::moved},
    {"least", &Outcome::least},
    {"least_from_here", &Outcome::least_from_here},
    {"unavoidable", &Outcome::unavoidable},
    {"excess", &Outcome::excess},
    {"gain", &Outcome::gain},
    {"peak_before", &Outcome::peak_before},
    {"peak_after", &Outcome::peak_after},
    {"peak_worst", &Outcome::peak_worst},
    {"cv_before", &Outcome::cv_before},
    {"cv_after", &Outcome::cv_after},
    {"unowned_slot_seconds", &Outcome::unowned_s},
};

constexpr Field kMeasured[] = {
    {"first_seconds", &Outcome::first_s},
    {"slowest_step_seconds", &Outcome::slowest_s},
    {"memory_bytes", &Outcome::memory_bytes},
};

constexpr Field kAt = {"at_seconds", &Outcome::at_s};
constexpr Field kSteps = {"steps", &Outcome::steps};

std::vector<Field> fields_of(Columns columns) {
  std::vector<Field> fields = {columns.each_step ? kAt : kSteps};
  fields.insert(fields.end(), std::begin(kFields), std::end(kFields));
  if (columns.measured) {
    fields.insert(fields.end(), std::begin(kMeasured), std::end(kMeasured));
  }
  return fields;
}

std::string_view unit_text(Unit unit) {
  return unit == Unit::slots ? "slots" : "partitions";
}

/// To six places: enough for any reader, and the same text on every machine.
double rounded(double value) { return std::round(value * 1e6) / 1e6; }

std::string count_text(double value) {
  value = rounded(value);  // a mean of whole numbers may miss one by a rounding error
  return fmt::format("{:.{}f}", value, value == std::floor(value) ? 0 : 1);
}

/// How many times the least moved.
std::string ratio_text(const Outcome& outcome) {
  if (outcome.least > 0) return fmt::format("{:.2f}x", outcome.moved / outcome.least);
  return outcome.moved > 0 ? "inf" : "-";
}

std::string peak_text(double peak) { return peak > 0 ? fmt::format("{:.3f}", peak) : "-"; }

std::vector<std::string> cells_of(const Outcome& outcome, Columns columns) {
  std::vector<std::string> cells = {outcome.spec, std::string(unit_text(outcome.unit))};
  if (columns.each_step) {
    cells.push_back(fmt::format("{}", outcome.seed.value_or(0)));
    cells.push_back(fmt::format("{:g}", outcome.at_s));
  }
  for (const std::string& cell :
       {fmt::format("{}>{}", count_text(outcome.members_before),
                    count_text(outcome.members_after)),
        count_text(outcome.moved), count_text(outcome.least), ratio_text(outcome),
        count_text(outcome.unavoidable), count_text(outcome.excess), count_text(outcome.gain),
        peak_text(outcome.peak_before), peak_text(outcome.peak_after),
        fmt::format("{:.1f}", outcome.cv_before * 100),
        fmt::format("{:.1f}", outcome.cv_after * 100), fmt::format("{:.1f}", outcome.unowned_s)}) {
    cells.push_back(cell);
  }
  if (columns.measured) {
    cells.push_back(fmt::format("{:.2f}", outcome.first_s));
    cells.push_back(fmt::format("{:.3f}", outcome.slowest_s));
    cells.push_back(fmt::format("{:.1f}", outcome.memory_bytes / (1 << 20)));
  }
  return cells;
}

std::vector<std::string> heads_of(Columns columns) {
  std::vector<std::string> heads = {"placement", "places"};
  if (columns.each_step) heads.insert(heads.end(), {"seed", "at s"});
  heads.insert(heads.end(), {"members", "moved", "least", "of it", "unavoid.", "excess", "gain",
                             "peak", "after", "CV %", "after", "unowned"});
  if (columns.measured) heads.insert(heads.end(), {"first s", "step s", "MiB"});
  return heads;
}

}  // namespace

std::vector<std::string> table_of(const std::vector<Outcome>& outcomes, Columns columns) {
  std::vector<std::vector<std::string>> rows = {heads_of(columns)};
  for (const Outcome& outcome : outcomes) rows.push_back(cells_of(outcome, columns));
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::vector<std::string> lines;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      // Words to the left, numbers to the right.
      line += i < 2 ? fmt::format("{}{:<{}}", i == 0 ? "" : "  ", row[i], widths[i])
                    : fmt::format("  {:>{}}", row[i], widths[i]);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

boost::json::object json_of(const Outcome& outcome, Columns columns) {
  boost::json::object row;
  row["placement"] = outcome.spec;
  row["places"] = unit_text(outcome.unit);
  if (outcome.seed) row["seed"] = *outcome.seed;
  for (const Field& field : fields_of(columns)) {
    const double value = rounded(outcome.*field.value);
    if (value == std::floor(value)) {
      row[field.name] = static_cast<std::int64_t>(value);
    } else {
      row[field.name] = value;
    }
  }
  return row;
}

std::string csv_header(Columns columns) {
  std::string line = columns.each_step ? "placement,places,seed" : "placement,places";
  for (const Field& field : fields_of(columns)) line += fmt::format(",{}", field.name);
  return line;
}

std::string csv_of(const Outcome& outcome, Columns columns) {
  std::string line = fmt::format("{},{}", outcome.spec, unit_text(outcome.unit));
  if (outcome.seed) line += fmt::format(",{}", *outcome.seed);
  for (const Field& field : fields_of(columns)) {
    line += fmt::format(",{:.12g}", rounded(outcome.*field.value));
  }
  return line;
}

}  // namespace neliroute::placement
