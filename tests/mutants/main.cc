// Unit tests with clauses of the protocol broken on purpose (neli_core/mutation.h): do they notice?
//
//   --mutation NAME --gtest_filter=SUITE.CASE   0: the case fails with it, as it should
//   --gtest_filter=...                          0: without any, all of these pass
//   --complete FILE...                          0: a line of one of them begins with each mutation
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <string_view>

#include "tests/mutants/mutations.h"

namespace neliroute {
namespace {

constexpr int kUsage = 2;

/// Every mutation must be noticed by something: no seed and no test may be forgotten.
int check_complete(int count, char** files) {
  std::set<std::string, std::less<>> named;
  for (int i = 0; i < count; ++i) {
    std::ifstream file(files[i]);
    for (std::string names; file >> names;) {
      for (std::size_t plus = 0; (plus = names.find('+')) != std::string::npos;) {
        named.insert(names.substr(0, plus));
        names.erase(0, plus + 1);
      }
      named.insert(names);
      file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
  }
  int missing = 0;
  for (const std::string_view name : kMutationNames) {
    if (named.contains(name)) continue;
    std::printf("no seed and no unit test is named that notices %s\n", std::string(name).c_str());
    ++missing;
  }
  return missing == 0 ? 0 : 1;
}

int run(std::string_view mutation) {
  const int outcome = RUN_ALL_TESTS();
  const testing::UnitTest& tests = *testing::UnitTest::GetInstance();
  if (tests.test_to_run_count() == 0) {
    std::printf("no such case\n");
    return 1;
  }
  if (mutation.empty()) return outcome;
  const bool noticed = tests.failed_test_count() == tests.test_to_run_count();
  std::printf("%s: %s\n", std::string(mutation).c_str(), noticed ? "noticed" : "NOT NOTICED");
  return noticed ? 0 : 1;
}

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const std::string_view option = argc > 1 ? argv[1] : "";
  if (option == "--complete") return check_complete(argc - 2, argv + 2);
  if (option.empty()) return run("");
  if (option != "--mutation" || argc != 3 || !mutate(argv[2])) {
    std::printf("no such mutation, or usage: --mutation NAME | --complete FILE...\n");
    return kUsage;
  }
  return run(argv[2]);
}

}  // namespace
}  // namespace neliroute

int main(int argc, char** argv) { return neliroute::main(argc, argv); }
