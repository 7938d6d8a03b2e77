// Destroys a client without waiting for steps that may take long.
//
// rd_kafka_destroy() joins the client's threads, and one of them may be stuck in a name lookup for
// many seconds; purging a producer waits for them, too.
//
// Threads: any.   Units: std::chrono.   Errors: none.
#pragma once

#include <librdkafka/rdkafka.h>

#include <neliroute/time.h>

namespace neliroute::rdkafka {

/// Most clients end within this, so nothing of them is left when their owner is destroyed.
inline constexpr milliseconds kDestroyPatience{250};

/// Destroys it on a thread of its own, and waits at most so long. What the producer still holds is
/// purged. Null: nothing to do. This does not leave the group: to leave, close the consumer first.
/// `closing`: that was done. If it still waits for the group's answer it is destroyed after that,
/// or after 10 s.
void destroy(rd_kafka_t* handle, milliseconds within, bool closing = false) noexcept;

}  // namespace neliroute::rdkafka
