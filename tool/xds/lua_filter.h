// The text of Envoy's Lua filter that finds the partition of a request's key.
//
// Pure Lua of LuaJIT, as Envoy embeds it: no library, and no call out of Envoy. It computes the
// slot exactly as SlotSpace does, for keys of any bytes and length.
//
// Threads: pure functions, any.   Units: none.   Errors: none.
#pragma once

#include <neliroute/slot_space.h>

#include <cstdint>
#include <string>

namespace neliroute::tool {

/// What its text begins with, in each version.
inline constexpr const char* kLuaHead = "-- `neliroute watch --xds-dir` writes this";
/// The field of a request that holds its key, and the one that holds its partition, if the caller
/// knows that and is trusted.
inline constexpr const char* kKeyField = "x-neli-key";
inline constexpr const char* kPartitionField = "x-neli-partition";

[[nodiscard]] std::string lua_filter(const SlotSpace& space, std::uint32_t partitions);

}  // namespace neliroute::tool
