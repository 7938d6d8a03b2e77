// docs/operating.md has a table of all options, which is that of the rows.
#include "router/options/option_table.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>

namespace neliroute {
namespace {

std::string table_of_rows() {
  std::string table;
  for (const OptionRow& row : router_options()) {
    table += "| `" + std::string(row.flag);
    if (!row.type.empty()) table += " " + std::string(row.type);
    table += "` | `" + std::string(row.field) + "` | " + std::string(row.help) + " |\n";
  }
  return table;
}

std::string table_of_docs() {
  std::ifstream page(NELIROUTE_OPERATING_DOC);
  std::string table;
  bool reached = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("|---") && reached) continue;
    if (reached && !line.starts_with("|")) break;
    if (reached) table += line + "\n";
    reached = reached || line == "| option | `RouterOptions` | what it says |";
  }
  return table;
}

TEST(OptionTableTest, IsThatOfTheDocs) {
  EXPECT_EQ(table_of_docs(), table_of_rows()) << "put this table there";
}

TEST(OptionTableTest, NamesEachOptionOnce) {
  std::set<std::string_view> fields;
  std::set<std::string_view> flags;
  for (const OptionRow& row : router_options()) {
    EXPECT_TRUE(fields.insert(row.field).second) << row.field;
    EXPECT_TRUE(flags.insert(row.flag).second) << row.flag;
  }
  EXPECT_EQ(variable_of("--group-protocol"), "NELIROUTE_GROUP_PROTOCOL");
  EXPECT_EQ(variable_of("-X"), "NELIROUTE_X");
}

}  // namespace
}  // namespace neliroute
