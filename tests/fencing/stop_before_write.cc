// Preloaded into the example: stops the process (SIGSTOP) when it has decided to write and is about
// to say so to the database, once for every time that the file $STOP_BEFORE_WRITE appears.
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

extern "C" {

struct PGconn;
struct PGresult;

__attribute__((visibility("default"))) PGresult* PQexecPrepared(
    PGconn* connection, const char* name, int count, const char* const* values, const int* lengths,
    const int* formats, int result_format) {
  using Function = decltype(&PQexecPrepared);
  static const auto real = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "PQexecPrepared"));
  const char* const file = std::getenv("STOP_BEFORE_WRITE");
  if (file != nullptr && std::strcmp(name, "write") == 0 && ::unlink(file) == 0) ::raise(SIGSTOP);
  return real(connection, name, count, values, lengths, formats, result_format);
}
}
