#include "tests/unit/ledgers/postgres/postgres_server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <neliroute/clock.h>
#include <thread>

#include "ledgers/postgres/postgres_address.h"
#include "tests/unit/ledgers/free_port.h"

namespace neliroute {
namespace {

namespace fs = std::filesystem;

/// Debian keeps the server's programs off the PATH.
std::string program(const std::string& name) {
  std::string newest = name;
  std::error_code ignored;
  for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", ignored)) {
    const fs::path path = version.path() / "bin" / name;
    if (fs::exists(path)) newest = path;
  }
  return newest;
}

/// It refuses root.
const passwd* unprivileged() {
  if (getuid() != 0) return nullptr;
  const passwd* const found = getpwnam("postgres");
  return found != nullptr ? found : getpwnam("nobody");
}

pid_t run(std::vector<std::string> words, const std::string& log) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const passwd* const user = unprivileged();
  const pid_t pid = fork();
  if (pid != 0) return pid;
  if (user != nullptr && (setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0)) _exit(126);
  prctl(PR_SET_PDEATHSIG, SIGQUIT);
  const int out = open(log.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  dup2(out, 1);
  dup2(out, 2);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

PostgresProcess& PostgresProcess::shared() {
  static PostgresProcess one;
  return one;
}

PostgresProcess::PostgresProcess() : port_(free_port()) {
  make_folder();
  start();
}

PostgresProcess::~PostgresProcess() {
  stop();
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void PostgresProcess::make_folder() {
  folder_ = (fs::temp_directory_path() / "neliroute-postgres-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder_.data()), nullptr);
  if (const passwd* const user = unprivileged()) {
    ASSERT_EQ(chown(folder_.c_str(), user->pw_uid, user->pw_gid), 0);
  }
  const pid_t made = run({program("initdb"), "--pgdata", folder_ + "/data", "--auth=trust",
                          "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync"},
                         folder_ + "/log");
  int status = 0;
  ASSERT_EQ(waitpid(made, &status, 0), made);
  ASSERT_EQ(status, 0) << "initdb (package postgresql) failed, see " << folder_ << "/log";
}

void PostgresProcess::start() {
  pid_ = run({program("postgres"), "-D", folder_ + "/data", "-p", std::to_string(port_), "-c",
              "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off"},
             folder_ + "/log");
  const LocalTime until = later(boot_now(), milliseconds{60'000});
  while (PQping((uri() + "&connect_timeout=2").c_str()) != PQPING_OK) {
    ASSERT_LT(boot_now(), until) << "PostgreSQL does not serve, see " << folder_ << "/log";
    ASSERT_EQ(waitpid(pid_, nullptr, WNOHANG), 0) << "PostgreSQL has ended, see " << folder_;
    std::this_thread::sleep_for(milliseconds{20});
  }
}

void PostgresProcess::stop() {
  if (pid_ < 0) return;
  kill(pid_, SIGQUIT);  // the others end with it
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void PostgresProcess::kill_and_start() {
  stop();
  start();
}

std::string PostgresProcess::uri() const {
  return "postgres://postgres@127.0.0.1:" + std::to_string(port_) + "/postgres?sslmode=disable";
}

PostgresConnection PostgresProcess::connection(const std::string& topic,
                                               const std::string& query) const {
  auto found = postgres_connection(uri() + "&topic=" + topic + query);
  EXPECT_TRUE(found) << found.error().message();
  return found ? *found : PostgresConnection{};
}

std::vector<pid_t> PostgresProcess::processes() const {
  std::vector<pid_t> all{pid_};
  const std::string number = std::to_string(pid_);
  std::ifstream children("/proc/" + number + "/task/" + number + "/children");
  for (pid_t child = 0; children >> child;) all.push_back(child);
  return all;
}

// The first that stands makes no others any more.
void PostgresProcess::freeze() {
  kill(pid_, SIGSTOP);
  int status = 0;
  EXPECT_EQ(waitpid(pid_, &status, WUNTRACED), pid_);
  for (const pid_t one : processes()) kill(one, SIGSTOP);
}

void PostgresProcess::thaw() {
  for (const pid_t one : processes()) kill(one, SIGCONT);
}

std::vector<std::vector<std::string>> PostgresProcess::query(const std::string& sql) {
  const std::unique_ptr<PGconn, void (*)(PGconn*)> connection(PQconnectdb(uri().c_str()),
                                                              PQfinish);
  const std::unique_ptr<PGresult, void (*)(PGresult*)> result(
      PQexec(connection.get(), sql.c_str()), PQclear);
  const ExecStatusType status = PQresultStatus(result.get());
  EXPECT_TRUE(status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
      << sql << ": " << PQerrorMessage(connection.get());
  std::vector<std::vector<std::string>> rows;
  for (int row = 0; row < PQntuples(result.get()); ++row) {
    auto& texts = rows.emplace_back();
    for (int column = 0; column < PQnfields(result.get()); ++column) {
      texts.emplace_back(PQgetvalue(result.get(), row, column));
    }
  }
  return rows;
}

}  // namespace neliroute
