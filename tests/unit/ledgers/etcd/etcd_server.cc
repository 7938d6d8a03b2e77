#include "tests/unit/ledgers/etcd/etcd_server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <neliroute/clock.h>
#include <thread>
#include <vector>

#include "tests/unit/ledgers/free_port.h"

namespace neliroute {
namespace {

constexpr milliseconds kPatience{2'000};
constexpr int kAttempts = 3;

std::string new_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "neliroute-etcd-XXXXXX").string();
  EXPECT_NE(mkdtemp(name.data()), nullptr);
  return name;
}

/// Waits until it stands: SIGSTOP returns before all threads do.
bool stands_still(pid_t pid) {
  int status = 0;
  return waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status);
}

}  // namespace

EtcdProcess::EtcdProcess() : folder_(new_folder()) {
  connection_.prefix = "contract";
  // Another test may take a port that is free now, before it listens there.
  for (int attempt = 1; pid_ < 0 && attempt <= kAttempts; ++attempt) {
    peer_port_ = free_port();
    use_port(free_port());
    launch();
    if (!serves()) {
      stop();
      wipe();
    }
  }
  EXPECT_GE(pid_, 0) << "etcd (package etcd-server) does not serve at any port";
}

void EtcdProcess::use_port(std::uint16_t port) {
  client_port_ = port;
  connection_.servers = {{"127.0.0.1", std::to_string(port)}};
  connection_.shown = "etcd://127.0.0.1:" + std::to_string(port) + "/contract";
}

void EtcdProcess::restart_apart(const std::function<void(EtcdProcess&)>& work) {
  const std::uint16_t own = client_port_;
  stop();
  wipe();
  use_port(free_port());
  start();
  work(*this);
  stop();
  use_port(own);
  start();
}

EtcdProcess::~EtcdProcess() {
  stop();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void EtcdProcess::start() {
  launch();
  EXPECT_TRUE(serves()) << "etcd (package etcd-server) does not serve, see " << folder_ << "/log";
}

void EtcdProcess::launch() {
  const std::string client = "http://127.0.0.1:" + std::to_string(client_port_);
  const std::string peer = "http://127.0.0.1:" + std::to_string(peer_port_);
  std::vector<std::string> words{
      "etcd", "--data-dir", folder_ + "/data", "--listen-client-urls", client,
      "--advertise-client-urls", client, "--listen-peer-urls", peer,
      "--initial-advertise-peer-urls", peer, "--initial-cluster", "default=" + peer,
      "--log-level", "error"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::string log = folder_ + "/log";
  pid_ = fork();
  ASSERT_GE(pid_, 0);
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int out = open(log.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    dup2(out, 1);
    dup2(out, 2);
    execvp("etcd", arguments.data());
    _exit(127);
  }
}

bool EtcdProcess::serves() {
  BlockingEtcd etcd(connection_);
  const LocalTime until = later(boot_now(), milliseconds{30'000});
  for (;;) {
    const bool answers = etcd.call("/v3/maintenance/status", {}, kPatience).ok();
    if (waitpid(pid_, nullptr, WNOHANG) != 0) {  // so that was another one's answer
      pid_ = -1;
      return false;
    }
    if (answers || boot_now() >= until) return answers;
    std::this_thread::sleep_for(milliseconds{20});
  }
}

void EtcdProcess::stop() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void EtcdProcess::wipe() { std::filesystem::remove_all(folder_ + "/data"); }

void EtcdProcess::freeze() {
  kill(pid_, SIGSTOP);
  EXPECT_TRUE(stands_still(pid_));
}

void EtcdProcess::thaw() { kill(pid_, SIGCONT); }

void EtcdProcess::commit(boost::json::array operations) {
  BlockingEtcd etcd(connection_);
  const EtcdAnswer answer =
      etcd.call("/v3/kv/txn", transaction({}, std::move(operations)), kPatience);
  EXPECT_TRUE(answer.ok()) << answer.trouble;
}

EtcdFound EtcdProcess::find(const EtcdRange& range) {
  BlockingEtcd etcd(connection_);
  const EtcdAnswer answer = etcd.call("/v3/kv/range", json_of(range), kPatience);
  EXPECT_TRUE(answer.ok()) << answer.trouble;
  return found_in(answer.body).value_or(EtcdFound{});
}

}  // namespace neliroute
