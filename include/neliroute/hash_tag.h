// Hash tags: let the caller put related keys into one slot, by Redis Cluster's exact rules.
//
// Only what stands between the first '{' and the first '}' after it is hashed, so
// "{user1000}.following" and "{user1000}.followers" share a slot. If either brace is missing, or
// nothing stands between them, the whole key is hashed. Tags are off unless asked for, with every
// hash: in binary keys a brace is just a byte, and would make slots uneven for no visible reason.
//
// Threads: any.   Units: bytes.   Errors: none.
#pragma once

#include <string_view>

namespace neliroute {

enum class HashTags : bool { off, on };

/// The part of the key that is hashed when tags are on. It points into the key.
[[nodiscard]] std::string_view hash_tag(std::string_view key) noexcept;

}  // namespace neliroute
