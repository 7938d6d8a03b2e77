// The quorum's unit tests with one clause broken on purpose: the cases of --gtest_filter must fail.
// Exit code 0: one of them did.
#include <gmock/gmock.h>

#include <cstdio>
#include <string_view>

#include "tests/quorum/mutations.h"

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  if (argc != 2 || !neliroute::quorum::mutate(argv[1])) {
    std::fputs("usage: unit_quorum_mutants MUTATION --gtest_filter=CASES\n", stderr);
    return 2;
  }
  const bool failed = RUN_ALL_TESTS() != 0;
  if (testing::UnitTest::GetInstance()->test_to_run_count() == 0) {
    std::fputs("no case has this name\n", stderr);
    return 2;
  }
  std::printf("%s: %s\n", argv[1], failed ? "noticed" : "NOT NOTICED");
  return failed ? 0 : 1;
}
