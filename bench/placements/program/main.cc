// neliroute_placements: what placements move when the membership changes. Works offline.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>

#include "bench/placements/program/run.h"
#include "bench/placements/program/text.h"
#include "tool/command_line/command_line.h"
#include "tool/command_line/options.h"
#include "tool/command_line/take.h"
#include "tool/command_line/values.h"
#include "tool/print/output.h"

namespace neliroute::placement {
namespace {

using namespace tool;  // the command line

struct Options {
  Request request;
  std::optional<std::string> trace_file;
  bool trace_given = false;
  bool json = false;
  bool csv = false;
  bool measure = false;
};

std::string footer() {
  std::string text = "Placements:\n";
  for (const Kind& kind : kinds()) {
    const auto& parameter = kind.parameter;
    const std::string usual = parameter.usual ? fmt::format("={}", *parameter.usual) : "";
    const std::string name = parameter.name.empty()
                                 ? std::string(kind.name)
                                 : fmt::format("{}:{}{}", kind.name, parameter.name, usual);
    text += fmt::format("  {:<22}{}\n", name, kind.summary);
  }
  text += "Traces:\n";
  for (const TraceKind& kind : trace_kinds()) {
    const std::string name = kind.number.empty()
                                 ? std::string(kind.name)
                                 : fmt::format("{}:{}={}", kind.name, kind.number, kind.usual);
    text += fmt::format("  {:<22}{}\n", name, kind.summary);
  }
  return text +
         "Columns, in slots, of the whole trace: moved = had an owner and has another or\n"
         "none; least = what a placement that is always balanced moves; of it = moved /\n"
         "least (below 1: members are left uneven, see the peak); unavoid. = the owner\n"
         "left; excess = between two that stay; gain = the most one member got in a step;\n"
         "peak = largest load / mean, at first and at last; CV = deviation / mean;\n"
         "unowned = slots x seconds: a crashed member's slots for --session, then the\n"
         "revoked ones for --rebalance: those that move, or with --eager every slot. Each\n"
         "step ends before the next begins, however close they are.\n"
         "A file for --trace-file has lines `SECONDS join|leave|crash NAME [WEIGHT]`;\n"
         "lines of one time are one step, and the first step is the first placement.\n"
         "Examples:\n"
         "  neliroute_placements\n"
         "  neliroute_placements --trace rolling --placement range,sticky,ring --eager\n"
         "  neliroute_placements --trace walk:100 --placement ring:1000 --steps --csv\n"
         "  neliroute_placements --trace leave --members 1000 --slots 16384 --json";
}

Result<std::vector<Spec>> parse_specs(std::string_view text) {
  std::vector<Spec> specs;
  if (text == "all") {
    for (const Kind& kind : kinds()) {
      specs.push_back({&kind, kind.parameter.usual});
    }
    return specs;
  }
  while (true) {
    const std::string_view one = text.substr(0, text.find(','));
    const auto spec = parse_spec(one);
    if (!spec) {
      const std::string_view name = one.substr(0, one.find(':'));
      std::vector<std::string> names;
      for (const Kind& kind : kinds()) {
        names.emplace_back(kind.name);
        const Parameter& parameter = kind.parameter;
        if (kind.name != name) continue;
        if (parameter.name.empty()) {
          return Error{Errc::bad_option, fmt::format("\"{}\": {} takes no number; leave it out",
                                                     shown(one), name)};
        }
        return Error{Errc::bad_option,
                     fmt::format("\"{}\": after {}: goes the {}, a {} from {} to {}", shown(one),
                                 name, parameter.name, parameter.whole ? "whole number" : "number",
                                 parameter.least, parameter.most)};
      }
      const auto meant = nearest(name, names);
      return Error{Errc::bad_option,
                   fmt::format("\"{}\" is no placement; {}", shown(one),
                               meant ? fmt::format("did you mean {}?", *meant)
                                     : fmt::format("choose all, or of: {}",
                                                   fmt::join(names, ", ")))};
    }
    specs.push_back(*spec);
    if (one.size() == text.size()) return specs;
    text.remove_prefix(one.size() + 1);
  }
}

Result<Trace> read_trace(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  for (std::string row; std::getline(file, row);) text += row + '\n';
  if (!file.eof()) {  // it did not open, or it is a folder, or the disk is broken
    return Error{Errc::bad_option,
                 fmt::format("--trace-file {}: {}; give a file with lines of SECONDS "
                             "join|leave|crash NAME", path,
                             errno != 0 ? std::strerror(errno) : "cannot be read")};
  }
  auto parsed = parse_trace(text);
  if (parsed.error) {
    return Error{Errc::bad_option, fmt::format("--trace-file {}: line {}: {}", path,
                                               parsed.error->line, parsed.error->what)};
  }
  return std::move(parsed.trace);
}

/// Says on stderr, if it is a terminal, what takes more than a second.
class ProgressLine {
 public:
  void operator()(const std::string& what) {
    const auto now = std::chrono::steady_clock::now();
    if (!seen_ || now < next_) return;
    fmt::print(stderr, "\r{}\033[K", what);
    next_ = now + std::chrono::milliseconds(100);
    shown_ = true;
  }
  /// Before anything else is written.
  void clear() {
    if (shown_) fmt::print(stderr, "\r\033[K");
    shown_ = false;
  }

 private:
  bool seen_ = ::isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(1);
};

Result<double> seconds(const std::string& text) {
  const auto duration = parse_duration(text);
  if (!duration) return duration.error();
  return static_cast<double>(duration->count()) / 1000;
}

auto count_to(std::uint32_t most) {
  return [most](const std::string& text) { return parse_number(text, 1, most); };
}

Result<bool> parse_unit(const std::string& text) {
  if (text == "slots" || text == "partitions") return text == "partitions";
  return Error{Errc::bad_option, "\"" + shown(text) + "\" is neither slots nor partitions"};
}

Result<Names> parse_names(const std::string& text) {
  if (text == "shuffled") return Names::shuffled;
  if (text == "ordered") return Names::ordered;
  return Error{Errc::bad_option, "\"" + shown(text) + "\" is no way to name members; choose "
                                 "shuffled (a newcomer sorts anywhere) or ordered (last)"};
}

void add_options(CommandLine& line, Options& options) {
  using Takes = OptionText::Takes;
  Request& request = options.request;
  line.heading("What is placed");
  line.add({.flag = "--placement", .takes = Takes::list, .type = "NAME,...",
            .help = "Which placements, or all (default all)"},
           into(request.specs, parse_specs));
  line.add({.flag = "--slots", .type = "N", .help = "How many slots there are (default 1024)"},
           into(request.slots, parse_slots));
  line.add({.flag = "--partitions", .type = "N",
            .help = "How many partitions carry them: what Kafka's assignors and assigner place "
                    "(default 64)"},
           into(request.partitions, count_to(65'536)));
  line.add({.flag = "--on", .type = "UNIT", .choices = "slots partitions",
            .help = "slots, or partitions: hash schemes place those, too (default slots)"},
           into(request.all_on_partitions, parse_unit));
  line.heading("What happens");
  line.add({.flag = "--trace", .type = "NAME[:N]",
            .help = "A trace from the list below (default join)"},
           [&options](const std::string& text) -> Result<void> {
             options.trace_given = true;
             options.request.trace = text;
             return {};
           });
  line.add({.flag = "--trace-file", .type = "FILE", .help = "Or a trace of your own"},
           into(options.trace_file));
  line.add({.flag = "--members", .type = "N", .help = "How many there are at first (default 10)"},
           into(request.members, count_to(kMembersMax)));
  line.add({.flag = "--names", .type = "HOW", .choices = "shuffled ordered",
            .help = "shuffled: a newcomer's name sorts anywhere, as Kafka's ids do; ordered: after "
                    "all others (default shuffled)"},
           into(request.names, parse_names));
  line.add({.flag = "--seeds", .type = "N",
            .help = "Means over so many runs with other names and hashes (default 10)"},
           into(request.seeds, count_to(10'000)));
  line.add({.flag = "--seed", .type = "N", .help = "The first of them (default 1)"},
           into(request.first_seed, count_to(1'000'000)));
  line.heading("Time");
  line.add({.flag = "--session", .type = "TIME",
            .help = "How long a crash goes unnoticed (default 500ms)"},
           into(request.timing.session_s, seconds));
  line.add({.flag = "--rebalance", .type = "TIME",
            .help = "How long revoked slots have no owner (default 50ms)"},
           into(request.timing.rebalance_s, seconds));
  add_flag(line, "--eager",
           "Every change revokes everything, not only what moves", request.timing.eager);
  line.heading("General");
  add_flag(line, "--steps", "A row for each step of each seed, not their sums", request.each_step);
  add_flag(line, "--measure",
           "Memory, and processor seconds of the first placement and the slowest step, too",
           options.measure);
  add_json_flag(line, options.json);
  add_flag(line, "--csv", "Comma-separated values with a header line", options.csv);
  line.add({.flag = "--algorithm", .takes = Takes::list, .type = "NAME,...",
            .help = "The same as --placement", .shown = 0},
           into(request.specs, parse_specs));
}

Result<void> complete(Options& options) {
  Request& request = options.request;
  if (options.json && options.csv) {
    return Error{Errc::bad_option, "--json and --csv contradict each other; choose one"};
  }
  if (options.trace_file && options.trace_given) {
    return Error{Errc::bad_option,
                 "--trace and --trace-file contradict each other; choose one"};
  }
  if (const auto even = check_even(request.slots, request.partitions, false); !even) {
    return even.error().detail().find("--allow-uneven") == std::string::npos
               ? even.error()
               : Error{Errc::bad_option,
                       fmt::format("--slots {} is not a multiple of --partitions {}, so a move of "
                                   "a partition would not be one number of slots; choose "
                                   "multiples", request.slots.value(), request.partitions)};
  }
  if (options.trace_file) {
    auto trace = read_trace(*options.trace_file);
    if (!trace) return trace.error();
    request.trace_of_file = std::move(*trace);
  }
  if (request.specs.empty()) {
    request.specs = *parse_specs("all");
    // Not requested by name: those that do not know weights are just left out.
    const auto& file = request.trace_of_file;
    const bool weighted = file && std::any_of(file->roster.begin(), file->roster.end(),
                                              [](const auto& one) { return one.weight > 1; });
    std::erase_if(request.specs, [weighted](const Spec& spec) {
      return weighted && !spec.kind->knows_weights;
    });
  }
  return check(request);
}

void print(const Options& options) {
  const Columns columns{options.request.each_step, options.measure};
  ProgressLine line;
  std::vector<Outcome> outcomes;
  const Progress progress = [&line](const std::string& what) { line(what); };
  if (options.csv && !say(csv_header(columns))) return;
  run(options.request, progress, [&](const Outcome& outcome) {
    if (options.json || options.csv) {
      line.clear();
      return options.json ? say(json_of(outcome, columns)) : say(csv_of(outcome, columns));
    }
    outcomes.push_back(outcome);
    return true;
  });
  line.clear();
  if (options.json || options.csv) return;
  for (const std::string& row : table_of(outcomes, columns)) {
    if (!say(row)) return;
  }
}

int show_what_moves(const std::vector<std::string>& arguments) {
  CommandLine line({"neliroute_placements",
                    "Shows what placements of slots move when the membership changes, compared "
                    "with the least possible. Works offline.", "", footer()});
  Options options;
  add_options(line, options);
  if (const auto code = line.parse({arguments})) return *code;
  if (const auto fits = complete(options); !fits) return fail(line.name(), fits.error());
  print(options);
  return kExitYes;
}

}  // namespace
}  // namespace neliroute::placement

int main(int count, char** arguments) {
  using namespace neliroute;
  return tool::after_output(placement::show_what_moves({arguments + 1, arguments + count}));
}
