// neliroute slot: which slot keys belong to. Works offline.
#include <fmt/format.h>

#include <neliroute/slot_space.h>

#include "slots/partition.h"
#include "tool/command_line/commands.h"
#include "tool/command_line/options.h"
#include "tool/command_line/take.h"
#include "tool/command_line/values.h"
#include "tool/keys.h"
#include "tool/print/output.h"

namespace neliroute::tool {
namespace {

bool say_slot(const std::string& key, Slot slot, const CommonOptions& options) {
  const auto& partitions = options.router.partitions;
  if (options.json) {
    boost::json::object row;
    put_text(row, "key", key);
    row["slot"] = slot.value();
    if (partitions) row["partition"] = partition_of(slot, *partitions);
    row["hash"] = to_string(options.router.hash);
    return say(row);
  }
  std::string text = fmt::format("{}  slot {}", shown(key), slot.value());
  if (partitions) text += fmt::format("  partition {}", partition_of(slot, *partitions));
  return say(text);
}

}  // namespace

int slot_command(const Arguments& arguments) {
  CommandLine line({"slot", "Prints the slot of every key. Works offline: a slot is the key's hash "
                    "modulo the number of slots.", "KEY...",
                    "Redis Cluster's slots: --hash crc16 --slots 16384 --hash-tags"});
  CommonOptions options;
  KeyOptions wanted;
  line.heading("Slots");
  add_slot_options(line, options.router);
  line.add({.field = "partitions", .flag = "--partitions", .type = "N",
            .help = "Print the partition that carries the slot, too"},
           into(options.router.partitions, [](const std::string& text) {
             return parse_number(text, 1, kPartitionCountMax);
           }));
  line.heading("General");
  add_key_options(line, wanted);
  add_json_flag(line, options.json);
  if (const auto code = line.parse(arguments)) return *code;
  if (const auto checked = options.check(); !checked) return fail(line.name(), checked.error());
  const auto keys = gather_keys(line.positionals(), wanted);
  if (!keys) return fail(line.name(), keys.error());
  const SlotSpace space(options.router.slots, options.router.hash);
  for (const std::string& key : *keys) {
    if (!say_slot(key, space.slot_of(key), options)) break;
  }
  return kExitYes;
}

}  // namespace neliroute::tool
