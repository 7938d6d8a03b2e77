#include "ledgers/postgres/postgres_promise.h"

namespace neliroute {

std::string promise_statement(const PostgresConnection& connection) {
  return "SELECT current_setting('fsync'), current_setting('full_page_writes'),"
         " current_setting('synchronous_standby_names'), " + connection.schema +
         ".standbys(), (100 * pg_notification_queue_usage())::int";
}

std::vector<std::string> promise_doubts(const PostgresAnswer& answer) {
  std::vector<std::string> doubts;
  if (answer.rows() != 1) return doubts;
  for (const int column : {0, 1}) {
    if (answer.text(0, column) == "on") continue;
    doubts.push_back(std::string(column == 0 ? "fsync" : "full_page_writes") +
                     " is off, so a crash of the server's machine may lose records that were "
                     "read; turn it on");
  }
  if (answer.text(0, 2).empty() && answer.number(0, 3) > 0) {
    doubts.push_back("it has " + std::string(answer.text(0, 3)) + " standby servers, and "
                     "synchronous_standby_names is empty, so a failover may lose records that "
                     "were read; name them there, as in ANY 1 (a, b)");
  }
  return doubts;
}

std::string queue_doubt(const PostgresAnswer& answer) {
  constexpr std::int64_t kMuch = 10;
  if (answer.rows() != 1 || answer.number(0, 4) < kMuch) return "";
  return "its queue of notifications is " + std::string(answer.text(0, 4)) +
         " % full: a client that listens and reads nothing holds it up, and once it is full no "
         "record can be written; end that client";
}

}  // namespace neliroute
