// Carries out the commands of a story. README.md lists them.
//
// Threads: one.   Units: durations need one: 500ms, 3s, 1h.
// Errors: a command that is unknown, or makes no sense now, is an Error that says why.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/scenarios/stage.h"

namespace neliroute::scenario {

class Director {
 public:
  [[nodiscard]] Result<Lines> perform(const std::string& command);
  /// What is wrong with the story as a whole.
  [[nodiscard]] std::optional<Error> verdict() const;

 private:
  struct Words {
    std::vector<std::string> plain;
    std::map<std::string, std::string> named;

    [[nodiscard]] std::optional<std::string> take(const std::string& name);
  };
  using Handler = Result<Lines> (Director::*)(Words& words);
  [[nodiscard]] static Words words_of(const std::string& command);
  [[nodiscard]] static const std::map<std::string, std::pair<std::size_t, Handler>>& handlers();

  Result<Lines> ledger(Words& words);
  Result<Lines> start(Words& words);
  Result<Lines> watch(Words& words);
  Result<Lines> assign(Words& words);
  Result<Lines> revoke(Words& words);
  Result<Lines> lost(Words& words);
  Result<Lines> run(Words& words);
  Result<Lines> crash(Words& words);
  Result<Lines> pause(Words& words);
  Result<Lines> lag(Words& words);
  Result<Lines> resume(Words& words);
  Result<Lines> close(Words& words);
  Result<Lines> cut(Words& words);
  Result<Lines> heal(Words& words);
  Result<Lines> arrive(Words& words);
  Result<Lines> finish_barrier(Words& words);
  Result<Lines> topic(Words& words);
  Result<Lines> broker_clock(Words& words);
  Result<Lines> who(Words& words);
  Result<Lines> tally(Words& words);
  Result<Lines> log(Words& words);
  Result<Lines> route(Words& words);

  Result<Lines> rebalance(Words& words, const std::string& what);
  [[nodiscard]] Result<Actor*> actor(const std::string& name);
  /// One that runs: neither crashed nor paused, nor a watcher.
  [[nodiscard]] Result<Actor*> running(const std::string& name);
  /// "log1", if there is one.
  [[nodiscard]] std::optional<Log> log_of(const std::string& text) const;
  /// The same, or all of these: `everyone`.
  [[nodiscard]] Result<std::vector<Actor*>> those_running(const std::string& name);

  std::unique_ptr<Stage> stage_;
  std::optional<Error> wrong_;
};

}  // namespace neliroute::scenario
