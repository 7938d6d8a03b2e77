#!/usr/bin/python3
"""One member is sick all the time, and others die: these are replaced as soon as A1 to A5 say.

The sick one is the most senior, so it assigns at first. It is stopped for 1.4 s of each 4.8 s, as
no session of 3 s shows it to be dead. Others are killed in turn, and new ones take their places.
NELIROUTE_SICK_MINUTES=60 is the long one of `--full`.
"""
import os
import threading
import time

import case
from case import boot_now
from harness import growth
from harness.children import wait_until

MINUTES = float(os.environ.get("NELIROUTE_SICK_MINUTES") or (60 if case.full() else 0.5))
PARTITIONS = 32
SESSION_S, INTERVAL_S, STALL_S, PERIOD_S = 3.0, 0.5, 1.4, 4.8
MEMBERS = 5
# docs/protocol.md: the dead in two sessions where the sick one held the seat, A5 if it is named for
# what the dead led, an interval for each member; and what a busy machine adds.
NAMED_S = 2 * SESSION_S + 2 * SESSION_S + 4 * INTERVAL_S + (3 + MEMBERS) * INTERVAL_S
BOUND_S = {"non_exclusive": NAMED_S, "exclusive": NAMED_S + 2 * 0.75 * SESSION_S}
MODES = tuple(BOUND_S)
LONG_MINUTES = 20  # from so many on growth can be told


class Staller(threading.Thread):
    """Stops these processes again and again until it is to end."""

    def __init__(self, owners):
        super().__init__()
        self.owners, self.ends = owners, threading.Event()

    def run(self):
        while not self.ends.wait(PERIOD_S - STALL_S):
            for owner in self.owners:
                owner.stop()
            self.ends.wait(STALL_S)
            for owner in self.owners:
                owner.wake()

    def close(self):
        """They are awake."""
        self.ends.set()
        self.join()


class Sick(case.KafkaCase):
    """A lane in each mode."""

    def setUp(self):
        self.count = 0
        self.fleets = [self.fleet(PARTITIONS, topic=f"sick-{mode}".replace("_", "-"), mode=mode,
                                  profile="balanced", session=f"{SESSION_S:g}s", witness=False)
                       for mode in MODES]
        for fleet in self.fleets:
            self.join(fleet)
        for fleet in self.fleets:
            fleet.rest()  # it is senior to all others
            for _ in range(MEMBERS - 1):
                self.join(fleet)
        for fleet in self.fleets:
            fleet.rest()
        self.longest = dict.fromkeys(MODES, 0.0)
        self.samples = []

    def join(self, fleet):
        """One more, of a name of its own: nobody is on probation."""
        self.count += 1
        fleet.start(name=f"sick{self.count}", endpoint=f"127.0.0.1:{7000 + self.count}")

    def kill_one(self, number):
        """In each lane; the sick one and the first that is well are spared."""
        victims = []
        for fleet in self.fleets:
            fleet.refresh()
            live = fleet.live()
            victim = live[2 + number % (len(live) - 2)]
            led = set(victim.leading)
            victims.append((fleet, led, victim.kill()))
        for fleet, led, killed in victims:
            mode = fleet.defaults["mode"]
            bound = BOUND_S[mode] + case.TAKEOVER_SLACK_S

            def led_again(fleet=fleet, led=led):
                return not led & set(fleet.unled())
            wait_until(led_again, bound, lambda fleet=fleet: "what the dead led is led again\n"
                       + fleet.describe(), poll=0.05)
            self.longest[mode] = max(self.longest[mode], boot_now() - killed)
            self.join(fleet)

            def takes_part(fleet=fleet):
                fleet.refresh()
                return bool(fleet.live()[-1].leading)
            wait_until(takes_part, bound, lambda fleet=fleet: "the new one gets a share\n"
                       + fleet.describe(), poll=0.05)

    def test_the_dead_are_replaced_beside_it(self):
        staller = Staller([fleet.owners[0] for fleet in self.fleets])
        staller.start()
        self.addCleanup(staller.close)
        number, until = 0, boot_now() + 60 * MINUTES
        while number == 0 or boot_now() < until:
            self.kill_one(number)
            number += 1
            if MINUTES >= LONG_MINUTES:
                self.samples.append(growth.take_settled(self.fleets[0].owners[1].pid))
                time.sleep(10)  # the hour's load is that of the sick one, not of the deaths
        staller.close()
        self.note(f"{number} deaths in each mode; led again, seconds: {self.longest}, "
                  f"of at most {BOUND_S}")
        for fleet in self.fleets:
            fleet.rest()
        for fleet in self.fleets:
            self.assert_clean(fleet)
        if self.samples:
            self.note(growth.describe("well", self.samples))
            self.assertEqual(growth.judge("well", self.samples), [])


if __name__ == "__main__":
    case.main()
