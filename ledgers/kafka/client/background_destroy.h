// Destroys a client without waiting for steps that may take long.
//
// rd_kafka_destroy() joins the client's threads, and one of them may be stuck in a name lookup for
// many seconds; purging a producer waits for them, too.
//
// Threads: any.   Units: std::chrono.   Errors: none.
#pragma once

#include <librdkafka/rdkafka.h>

#include <functional>
#include <neliroute/time.h>

namespace neliroute::rdkafka {

/// Most clients end within this, so nothing of them is left when their owner is destroyed.
inline constexpr milliseconds kDestroyPatience{250};

/// Destroys it on a thread of its own, and waits at most so long. What the producer still holds is
/// purged. Null: nothing to do. This does not leave the group: that is for `first`, which that
/// thread calls before.
void destroy(rd_kafka_t* handle, milliseconds within, std::function<void()> first = {}) noexcept;

}  // namespace neliroute::rdkafka
