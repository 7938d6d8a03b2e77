// neliroute schema: the SQL that keeps the logs in a PostgreSQL database.
#include <fmt/format.h>

#include "ledgers/ledgers.h"
#include "tool/command_line/command_line.h"
#include "tool/command_line/commands.h"
#include "tool/print/output.h"

namespace neliroute::tool {

int schema_command(const Arguments& arguments) {
  CommandLine line({"schema",
                    "Prints the SQL of the tables and functions with which a PostgreSQL database "
                    "keeps the logs, and the rights that a user needs.",
                    "[NAME]",
                    "NAME is the schema's (default neliroute). Run it once, as its owner:\n"
                    "  neliroute schema | psql shop\n"
                    "  neliroute run --ledger 'postgres://owner@db/shop?topic=neliroute'"});
  if (const auto code = line.parse(arguments)) return *code;
  const auto& given = line.positionals();
  if (given.size() > 1) return fail(line.name(), "one name of a schema is enough", kExitUsage);
  const auto text = schema_text(given.empty() ? "neliroute" : given.front());
  if (!text) return fail(line.name(), text.error().message(), kExitUsage);
  say(std::string_view(*text).substr(0, text->size() - 1));
  return kExitYes;
}

}  // namespace neliroute::tool
