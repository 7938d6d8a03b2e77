// Preloaded into the example: stops the process (SIGSTOP) when it is about to send $STOP_BEFORE to
// the database (the name of a prepared statement, or BEGIN), once for every time that the file
// $STOP_BEFORE_WRITE appears.
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace {

void stop_before(const char* statement) {
  const char* const file = std::getenv("STOP_BEFORE_WRITE");
  const char* const wanted = std::getenv("STOP_BEFORE");
  if (file == nullptr || wanted == nullptr) return;
  if (std::strncmp(statement, wanted, std::strlen(wanted)) != 0) return;
  if (::unlink(file) == 0) ::raise(SIGSTOP);
}

}  // namespace

extern "C" {

struct PGconn;
struct PGresult;

__attribute__((visibility("default"))) PGresult* PQexec(PGconn* connection, const char* query) {
  using Function = decltype(&PQexec);
  static const auto real = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "PQexec"));
  stop_before(query);
  return real(connection, query);
}

__attribute__((visibility("default"))) PGresult* PQexecPrepared(
    PGconn* connection, const char* name, int count, const char* const* values, const int* lengths,
    const int* formats, int result_format) {
  using Function = decltype(&PQexecPrepared);
  static const auto real = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "PQexecPrepared"));
  stop_before(name);
  return real(connection, name, count, values, lengths, formats, result_format);
}
}
