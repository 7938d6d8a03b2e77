#include "tests/scenarios/script.h"

#include <utility>

namespace neliroute::scenario {
namespace {

constexpr std::string_view kRule = "----";
/// A block without output says so, lest it look forgotten.
constexpr std::string_view kNothing = "(nothing happens)";

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Error at_line(std::size_t line, const std::string& what) {
  return {Errc::bad_option, "line " + std::to_string(line) + ": " + what};
}

std::string difference_of(const Block& block, const std::vector<std::string>& told) {
  std::string text;
  for (const auto& command : block.commands) text += "  " + command + "\n";
  text += "expected:\n";
  for (const auto& line : block.expected) text += "  " + line + "\n";
  text += "told:\n";
  for (const auto& line : told) text += "  " + line + "\n";
  return text;
}

}  // namespace

Result<Script> Script::parse(std::string_view text) {
  Script script;
  std::vector<std::string> prose;
  const std::vector<std::string> lines = lines_of(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty() || lines[i].starts_with('#')) {
      prose.push_back(lines[i]);
      continue;
    }
    Block block;
    block.line = i + 1;
    block.before = std::exchange(prose, {});
    for (; i < lines.size() && lines[i] != kRule; ++i) {
      if (lines[i].empty() || lines[i].starts_with('#')) {
        return at_line(i + 1, "commands end with a line ----");
      }
      block.commands.push_back(lines[i]);
    }
    if (i == lines.size()) return at_line(block.line, "commands end with a line ----");
    while (i + 1 < lines.size() && !lines[i + 1].empty()) block.expected.push_back(lines[++i]);
    script.blocks.push_back(std::move(block));
  }
  if (script.blocks.empty()) return at_line(1, "a story without a command tells nothing");
  script.after = std::move(prose);
  return script;
}

std::string Script::to_string() const {
  std::string text;
  const auto add = [&](const std::vector<std::string>& lines) {
    for (const auto& line : lines) text += line + "\n";
  };
  for (const Block& block : blocks) {
    add(block.before);
    add(block.commands);
    text += std::string(kRule) + "\n";
    add(block.expected);
  }
  add(after);
  return text;
}

Result<std::vector<Difference>> perform(Script& script, const Perform& command) {
  std::vector<Difference> differences;
  for (Block& block : script.blocks) {
    std::vector<std::string> told;
    for (std::size_t i = 0; i < block.commands.size(); ++i) {
      auto lines = command(block.commands[i]);
      if (!lines) {
        return at_line(block.line + i, block.commands[i] + ": " + lines.error().message());
      }
      told.insert(told.end(), lines->begin(), lines->end());
    }
    if (told.empty()) told.emplace_back(kNothing);
    if (told == block.expected) continue;
    differences.push_back({block.line, difference_of(block, told)});
    block.expected = std::move(told);
  }
  return differences;
}

}  // namespace neliroute::scenario
