#include "tool/xds/lua_filter.h"

#include <fmt/format.h>
#include <neliroute/detail/assert.h>

#include <string_view>

namespace neliroute::tool {
namespace {

constexpr std::string_view kTags = R"lua(
-- Only what stands between the first { and the first } after it, if anything does.
local function hashed(key)
  local open = key:find("{", 1, true)
  local close = open and key:find("}", open + 1, true)
  return close and close > open + 1 and key:sub(open + 1, close - 1) or key
end
)lua";

constexpr std::string_view kNoTags = R"lua(
local function hashed(key) return key end
)lua";

// CRC16 of Redis Cluster.
constexpr std::string_view kCrc16 = R"lua(
local band, bxor, lshift, rshift = bit.band, bit.bxor, bit.lshift, bit.rshift
local remainders = {}
for value = 0, 255 do
  local r = lshift(value, 8)
  for _ = 1, 8 do
    r = band(r, 0x8000) ~= 0 and bxor(lshift(r, 1), 0x1021) or lshift(r, 1)
  end
  remainders[value] = band(r, 0xffff)
end
local function hash(s)
  local crc = 0
  for i = 1, #s do
    crc = bxor(band(lshift(crc, 8), 0xffff), remainders[bxor(rshift(crc, 8), s:byte(i))])
  end
  return crc
end
)lua";

// Products of two 32-bit numbers do not fit into a double: one of them is taken in two halves.
constexpr std::string_view kMurmur2 = R"lua(
local band, bxor, lshift, rshift = bit.band, bit.bxor, bit.lshift, bit.rshift
local function times(a)
  return bit.tobit(band(a, 0xffff) * 0x5bd1e995 +
                   lshift(band(rshift(a, 16) * 0x5bd1e995, 0xffff), 16))
end
local function hash(s)
  local h, length = bxor(0x9747b28c, #s), #s
  local whole = length - length % 4
  for i = 1, whole, 4 do
    local a, b, c, d = s:byte(i, i + 3)
    local word = times(a + b * 0x100 + c * 0x10000 + d * 0x1000000)
    h = bxor(times(h), times(bxor(word, rshift(word, 24))))
  end
  if whole < length then
    for i = whole + 1, length do h = bxor(h, lshift(s:byte(i), 8 * (i - whole - 1))) end
    h = times(h)
  end
  h = times(bxor(h, rshift(h, 13)))
  return band(bxor(h, rshift(h, 15)), 0x7fffffff)
end
)lua";

// XXH3_64bits without a seed, as its specification has it: one way for each range of lengths.
constexpr std::string_view kXxh3Parts = R"lua(
local band, bxor, rshift, rol, bswap = bit.band, bit.bxor, bit.rshift, bit.rol, bit.bswap
local byte, floor = string.byte, math.floor
local SECRET = ([[
b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f
cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c
3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8
a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364
eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e
2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e
]]):gsub("%s", ""):gsub("%x%x", function(two) return string.char(tonumber(two, 16)) end)
local LOW = 0xffffffffULL
local P1, P2, P3 = 0x9e3779b1ULL, 0x85ebca77ULL, 0xc2b2ae3dULL
local Q1, Q2, Q3 = 0x9e3779b185ebca87ULL, 0xc2b2ae3d27d4eb4fULL, 0x165667b19e3779f9ULL
local Q4, Q5 = 0x85ebca77c2b2ae63ULL, 0x27d4eb2f165667c5ULL

-- Little endian, from the byte `at`, counted from 0.
local function read32(s, at)
  local a, b, c, d = byte(s, at + 1, at + 4)
  return a + b * 0x100 + c * 0x10000 + d * 0x1000000
end
local function read64(s, at)
  return read32(s, at + 4) * 0x100000000ULL + read32(s, at)
end
local K = {}
for at = 0, #SECRET - 8 do K[at] = read64(SECRET, at) end

-- Both halves of a product of 128 bits, by exclusive or.
local function fold(a, b)
  local al, ah, bl, bh = band(a, LOW), rshift(a, 32), band(b, LOW), rshift(b, 32)
  local one, other = al * bh, ah * bl
  local carry = rshift(al * bl, 32) + band(one, LOW) + band(other, LOW)
  return bxor(a * b, ah * bh + rshift(one, 32) + rshift(other, 32) + rshift(carry, 32))
end
local function mix(s, at, k)
  return fold(bxor(read64(s, at), K[k]), bxor(read64(s, at + 8), K[k + 8]))
end
local function avalanche(h)
  h = bxor(h, rshift(h, 37)) * 0x165667919e3779f9ULL
  return bxor(h, rshift(h, 32))
end
local function avalanche64(h)
  h = bxor(h, rshift(h, 33)) * Q2
  h = bxor(h, rshift(h, 29)) * Q3
  return bxor(h, rshift(h, 32))
end
)lua";

constexpr std::string_view kXxh3 = R"lua(
local function short(s, n)  -- to 16 bytes
  if n > 8 then
    local low = bxor(read64(s, 0), K[24], K[32])
    local high = bxor(read64(s, n - 8), K[40], K[48])
    return avalanche(n + bswap(low) + high + fold(low, high))
  elseif n > 3 then
    local h = bxor(read32(s, n - 4) + read32(s, 0) * 0x100000000ULL, K[8], K[16])
    h = bxor(h, rol(h, 49), rol(h, 24)) * 0x9fb21c651e98df25ULL
    h = bxor(h, rshift(h, 35) + n) * 0x9fb21c651e98df25ULL
    return bxor(h, rshift(h, 28))
  elseif n > 0 then
    local first, middle, last = byte(s, 1), byte(s, floor(n / 2) + 1), byte(s, n)
    local all = 0ULL + last + n * 0x100 + first * 0x10000 + middle * 0x1000000
    return avalanche64(bxor(all, band(bxor(K[0], rshift(K[0], 32)), LOW)))
  end
  return avalanche64(bxor(K[56], K[64]))
end
local function medium(s, n)  -- to 240
  local acc = n * Q1
  if n <= 128 then
    for i = floor((n - 1) / 32), 0, -1 do
      acc = acc + mix(s, 16 * i, 32 * i) + mix(s, n - 16 * (i + 1), 32 * i + 16)
    end
    return avalanche(acc)
  end
  for i = 0, 7 do acc = acc + mix(s, 16 * i, 16 * i) end
  acc = avalanche(acc)
  for i = 8, floor(n / 16) - 1 do acc = acc + mix(s, 16 * i, 16 * (i - 8) + 3) end
  return avalanche(acc + mix(s, n - 16, 119))
end
local function long(s, n)
  local acc = {[0] = P3, Q1, Q2, Q3, Q4, P2, Q5, P1}
  local function stripe(at, k)
    for i = 0, 7 do
      local word = read64(s, at + 8 * i)
      local keyed, other = bxor(word, K[k + 8 * i]), i % 2 == 0 and i + 1 or i - 1
      acc[other] = acc[other] + word
      acc[i] = acc[i] + band(keyed, LOW) * rshift(keyed, 32)
    end
  end
  for number = 0, floor((n - 1) / 64) - 1 do
    local turn = number % 16
    stripe(64 * number, 8 * turn)
    if turn == 15 then
      for i = 0, 7 do acc[i] = bxor(acc[i], rshift(acc[i], 47), K[128 + 8 * i]) * P1 end
    end
  end
  stripe(n - 64, 121)
  local merged = n * Q1
  for i = 0, 3 do
    merged = merged + fold(bxor(acc[2 * i], K[11 + 16 * i]), bxor(acc[2 * i + 1], K[19 + 16 * i]))
  end
  return avalanche(merged)
end
local function hash(s)
  if #s <= 16 then return short(s, #s) end
  if #s <= 240 then return medium(s, #s) end
  return long(s, #s)
end
)lua";

constexpr std::string_view kFilter = R"lua(
function envoy_on_request(handle)
  local headers = handle:headers()
  local count = headers:getNumValues(KEY)
  if count == 0 then return end
  local key = headers:get(KEY)
  if count > 1 or key == "" then
    handle:respond({[":status"] = "400", ["cache-control"] = "no-store"},
                   KEY .. " is empty, or there are several; send one key\n")
    return
  end
  local partition = tonumber(hash(hashed(key)) % SLOTS) % PARTITIONS
  handle:streamInfo():dynamicMetadata():set("envoy.lb", "partition", string.format("%d", partition))
end
)lua";

std::string hash_text(Hash hash) {
  switch (hash) {
    case Hash::xxh3:
      return std::string(kXxh3Parts) + std::string(kXxh3);
    case Hash::crc16:
      return std::string(kCrc16);
    case Hash::murmur2:
      return std::string(kMurmur2);
  }
  NELIROUTE_UNREACHABLE("not a value of Hash");
}

}  // namespace

std::string lua_filter(const SlotSpace& space, std::uint32_t partitions) {
  std::string text = fmt::format(
      "{5}, and replaces it at its next start.\n"
      "-- A filter of Envoy: the key of a request -> its slot (hash {0}) -> its partition, put\n"
      "-- where the subset load balancer looks. The key is the field {1}, byte for byte and of\n"
      "-- any length. A request without it may name its partition in the field {2}, if\n"
      "-- the configuration lets it; one that has neither has no owner, and gets 503.\n"
      "local KEY, SLOTS, PARTITIONS = \"{1}\", {3}, {4}\n"
      "local bit = require(\"bit\")\n",
      to_string(space.scheme()), kKeyField, kPartitionField, space.count().value(), partitions,
      kLuaHead);
  text += space.scheme().tags == HashTags::on ? kTags : kNoTags;
  text += hash_text(space.scheme().hash);
  text += kFilter;
  return text;
}

}  // namespace neliroute::tool
