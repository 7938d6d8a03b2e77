// XXH3 by xxHash's own code, inlined: a call of the library costs as much as hashing a short key.
// Private, as in a public header it would put a hundred macros into every file of every user.
//
// Threads: any.   Units: bytes.   Errors: none.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>
