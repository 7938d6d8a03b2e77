// scenario_test [--rewrite] FILE...: runs stories, and reports where their results differ.
//
// Exit codes: 0 as expected (or rewritten), 1 not, 2 a file that cannot be run.
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/scenarios/director.h"
#include "tests/scenarios/script.h"

namespace {

using namespace neliroute;

int cannot(const std::string& file, const std::string& why) {
  std::cerr << file << ": " << why << '\n';
  return 2;
}

int run_story(const std::string& file, bool rewrite) {
  std::ifstream in(file);
  if (!in) return cannot(file, "cannot be read");
  std::stringstream text;
  text << in.rdbuf();
  auto script = scenario::Script::parse(text.str());
  if (!script) return cannot(file, script.error().message());
  scenario::Director director;
  const auto differences = scenario::perform(
      *script, [&](const std::string& command) { return director.perform(command); });
  if (!differences) return cannot(file, differences.error().message());
  if (const auto wrong = director.verdict()) return cannot(file, wrong->message());
  if (rewrite) {
    std::ofstream out(file, std::ios::trunc);
    out << script->to_string();
    if (!out.flush()) return cannot(file, "cannot be written");
    std::cout << file << ": " << differences->size() << " blocks rewritten\n";
    return 0;
  }
  for (const auto& difference : *differences) {
    std::cerr << file << ":" << difference.line << ":\n" << difference.text;
  }
  if (differences->empty()) return 0;
  std::cerr << "If this is what should happen now: scenario_test --rewrite " << file
            << ", and have the difference reviewed.\n";
  return 1;
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string> files(arguments + 1, arguments + count);
  const bool rewrite = std::erase(files, "--rewrite") > 0;
  if (files.empty()) {
    std::cerr << "usage: scenario_test [--rewrite] FILE...\n";
    return 2;
  }
  int worst = 0;
  for (const auto& file : files) worst = std::max(worst, run_story(file, rewrite));
  return worst;
}
