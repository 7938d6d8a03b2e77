// The filter for Envoy against SlotSpace, by LuaJIT, which is in Envoy, too.
#include "tool/xds/lua_filter.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "slots/partition.h"
#include "tests/tool/xds/temporary_folder.h"

namespace neliroute::tool {
namespace {

// What the filter sees of Envoy; a key a line, in hexadecimal digits.
constexpr const char* kDriver = R"lua(
dofile(arg[1])
local fields, answer, chosen
local handle = {
  headers = function()
    return {getNumValues = function(_, name) return name == "x-neli-key" and #fields or 0 end,
            get = function(_, name) return fields[1] end}
  end,
  respond = function(_, head, body) answer = head[":status"] .. " " .. body end,
  streamInfo = function()
    return {dynamicMetadata = function()
      return {set = function(_, space, name, value)
        chosen = space .. " " .. name .. " " .. value
      end}
    end}
  end}
for line in io.lines(arg[2]) do
  fields, answer, chosen = {}, nil, nil
  for one in line:gmatch("[^,]+") do
    fields[#fields + 1] = one == "-" and "" or
      one:gsub("%x%x", function(two) return string.char(tonumber(two, 16)) end)
  end
  envoy_on_request(handle)
  local said = answer or chosen or "nothing"
  print((said:gsub("\n", "")))
end
)lua";

std::string hex(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) {
    constexpr const char* kDigits = "0123456789abcdef";
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text.empty() ? "-" : text;
}

/// What the filter does about each line.
std::vector<std::string> run(const SlotSpace& space, std::uint32_t partitions,
                             const std::vector<std::string>& lines) {
  const TemporaryFolder folder;
  folder.write("filter.lua", lua_filter(space, partitions));
  folder.write("driver.lua", kDriver);
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  folder.write("lines", text);
  const std::string command =
      "cd " + folder.path + " && luajit driver.lua filter.lua lines > said 2> trouble";
  const int status = std::system(command.c_str());  // NOLINT: nothing of others is in it
  EXPECT_EQ(status, 0) << folder.text("trouble") << "is there luajit? scripts/setup --tests";
  std::istringstream said(folder.text("said"));
  std::vector<std::string> answers;
  for (std::string line; std::getline(said, line);) answers.push_back(line);
  return answers;
}

/// Of each length up to 300, and some longer ones; bytes of any kind, or braces often.
std::vector<std::string> keys_of(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::string> keys;
  const auto add = [&](std::size_t length, bool braces) {
    std::string key;
    while (key.size() < length) {
      key += braces ? "{}ab"[random() % 4] : static_cast<char>(random() % 256);
    }
    keys.push_back(std::move(key));
  };
  for (std::size_t length = 1; length <= 300; ++length) {
    for (int n = 0; n < 6; ++n) add(length, n % 3 == 2);
  }
  for (const std::size_t length : {511u, 512u, 513u, 1023u, 1024u, 1025u, 1087u, 1088u, 1089u,
                                   2047u, 2048u, 2049u, 4096u, 10'000u, 60'000u}) {
    add(length, false);
  }
  for (int n = 0; n < 300; ++n) add(1 + random() % 2000, n % 3 == 2);
  return keys;
}

TEST(LuaFilterTest, FindsThePartitionThatWeFind) {
  std::uint64_t seed = 1;
  for (const Hash hash : {Hash::xxh3, Hash::crc16, Hash::murmur2}) {
    for (const HashTags tags : {HashTags::off, HashTags::on}) {
      for (const auto& [slots, partitions] :
           {std::pair{16384u, 256u}, std::pair{1'048'576u, 65'536u}, std::pair{1000u, 7u}}) {
        const SlotSpace space(SlotCount{slots}, {hash, tags});
        const std::vector<std::string> keys = keys_of(seed++);
        std::vector<std::string> lines;
        for (const std::string& key : keys) lines.push_back(hex(key));
        const auto answers = run(space, partitions, lines);
        ASSERT_EQ(answers.size(), keys.size());
        for (std::size_t i = 0; i < keys.size(); ++i) {
          const std::uint32_t partition = partition_of(space.slot_of(keys[i]), partitions);
          ASSERT_EQ(answers[i], "envoy.lb partition " + std::to_string(partition))
              << to_string(space.scheme()) << " of " << keys[i].size() << " bytes: " << lines[i];
        }
      }
    }
  }
}

TEST(LuaFilterTest, WantsOneKeyOrNone) {
  const auto answers = run(SlotSpace(SlotCount{64}), 4, {"", "-", "61,61", "61"});
  ASSERT_EQ(answers.size(), 4u);
  EXPECT_EQ(answers[0], "nothing") << "the caller may know the partition";
  EXPECT_TRUE(answers[1].starts_with("400 x-neli-key is empty")) << answers[1];
  EXPECT_TRUE(answers[2].starts_with("400 ")) << answers[2];
  EXPECT_TRUE(answers[3].starts_with("envoy.lb partition ")) << answers[3];
}

TEST(LuaFilterTest, SaysWhatItIs) {
  const std::string text = lua_filter(SlotSpace(SlotCount{64}, {Hash::crc16, HashTags::on}), 4);
  EXPECT_NE(text.find("hash crc16+tags"), std::string::npos);
  EXPECT_NE(text.find("= \"x-neli-key\", 64, 4\n"), std::string::npos);
}

}  // namespace
}  // namespace neliroute::tool
