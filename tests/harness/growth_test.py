#!/usr/bin/python3
"""The judge of the soak: made-up samples with and without each kind of leak, and a real one."""
import math
import os
import random
import sys
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import growth  # noqa: E402
from harness.growth import MIB, Sample  # noqa: E402

HOUR = 3600.0
EVERY = 15.0
BASE = 12 * MIB
SEEDS = range(20)


def flat(_):
    """No growth at all."""
    return 0.0


def leak(mib_an_hour):
    """A steady one."""
    return lambda at: mib_an_hour * MIB * at / HOUR


def step(mib, when):
    """Taken at once, and kept."""
    return lambda at: mib * MIB if at >= when else 0.0


def warming_up(at):
    """Arenas fill, three MiB in all, most of them in the first minutes."""
    return 3 * MIB * (1 - math.exp(-at / 150))


def samples(memory, seed=1, seconds=HOUR, descriptors=flat, threads=flat, spikes=0.2, every=EVERY,
            pairs=(0, 0, 0, 1, 1, 1, 1, 2, 2, 3)):
    """Of a process whose allocator is off by up to 128 KiB in each sample, and now and then by as
    much as a MiB more."""
    chance = random.Random(seed)
    made = []
    for i in range(int(seconds / every) + 1):
        at = i * every
        noise = chance.uniform(-MIB / 8, MIB / 8)
        if chance.random() < spikes:
            noise += chance.uniform(0, MIB)
        more = chance.choice(pairs)  # clients with one connection more
        made.append(Sample(1000 + at, int(BASE + memory(at) + noise),
                           32 + 2 * more + int(descriptors(at)), 12 + more + int(threads(at))))
    return made


class Judge(unittest.TestCase):
    """What it must find, and what it must not."""

    def found(self, *args, **options):
        """The findings."""
        return growth.judge("owner", samples(*args, **options))

    def test_a_leak_of_two_mib_an_hour(self):
        for seed in SEEDS:
            found = self.found(leak(2), seed)
            self.assertEqual(len(found), 1, found)
            self.assertIn("owner: memory grows by", found[0])

    def test_a_leak_beside_the_warm_up(self):
        for seed in SEEDS:
            self.assertEqual(len(self.found(lambda at: leak(2)(at) + warming_up(at), seed)), 1)

    def test_a_leak_by_steps(self):
        """128 KiB every 4 minutes."""
        self.assertEqual(len(self.found(lambda at: at // 240 * MIB / 8)), 1)

    def test_noise_is_no_leak(self):
        for seed in SEEDS:
            self.assertEqual(self.found(flat, seed), [])

    def test_a_warm_up_is_no_leak(self):
        for seed in SEEDS:
            self.assertEqual(self.found(warming_up, seed), [])

    def test_one_step_is_no_leak(self):
        for when in range(900, 3600, 300):
            self.assertEqual(self.found(step(0.5, when)), [])

    def test_less_than_what_is_allowed_is_no_leak(self):
        for seed in SEEDS:
            self.assertEqual(self.found(leak(0.7), seed), [])

    def test_memory_that_is_given_back_is_no_leak(self):
        self.assertEqual(self.found(leak(-5)), [])

    def test_a_short_run_stands_an_allocators_step(self):
        """In ten minutes one of 128 KiB is no finding, and what leaks fast is."""
        self.assertEqual(self.found(step(1 / 8, 480), seconds=900, spikes=0), [])
        self.assertEqual(len(self.found(leak(6), seconds=900)), 1)

    def test_one_descriptor_or_thread_an_hour(self):
        for what in growth.COUNTS:
            for seed, when in enumerate(range(1200, 3001, 200)):
                found = self.found(flat, seed, **{what: lambda at, when=when: at >= when})
                self.assertEqual(len(found), 1, (when, found))
                self.assertIn(what, found[0])

    def test_three_clients_of_which_half_have_a_connection_more(self):
        """As in the soak: a sample each 45 s, the lowest number in one of eight."""
        soak = {"every": 45.0, "pairs": (0, 1, 1, 1, 2, 2, 2, 3)}
        self.assertLess(sum(bool(self.found(flat, seed, **soak)) for seed in range(300)), 9)
        for what in growth.COUNTS:
            found = [self.found(flat, seed, **{what: lambda at: at >= 2000}, **soak)
                     for seed in SEEDS]
            self.assertTrue(all(found) or what == "threads" and sum(map(bool, found)) > 17, found)
        found = [self.found(flat, seed, descriptors=lambda at: 4 * (at >= 2000),
                            threads=lambda at: 2 * (at >= 2000), **soak) for seed in SEEDS]
        self.assertTrue(all(found), "two connections and their threads")

    def test_what_is_open_for_a_moment_is_not_kept(self):
        for what in growth.COUNTS:
            for seed in SEEDS:
                self.assertEqual(self.found(flat, seed, **{what: lambda at: at % 60 == 0}), [])

    def test_one_sample_with_fewer_is_no_leak(self):
        for what in growth.COUNTS:
            self.assertEqual(self.found(flat, **{what: lambda at: -4 if at == 1200 else 0}), [])

    def test_fewer_are_no_leak(self):
        """A broker closes connections that are idle."""
        self.assertEqual(self.found(flat, descriptors=lambda at: -2 if at > 2000 else 0), [])

    def test_too_few_samples_are_a_finding(self):
        self.assertEqual(len(growth.judge("owner", [])), 1)
        self.assertEqual(len(self.found(flat, seconds=10 * EVERY)), 1)

    def test_a_line_for_people(self):
        self.assertIn("descriptors 32 to 38", growth.describe("owner", samples(leak(2))))


class Take(unittest.TestCase):
    """This very process."""

    def test_what_is_held_is_seen(self):
        before = growth.take_settled(os.getpid())
        held = bytearray(os.urandom(1) * (8 * MIB))
        pipe = os.pipe()
        enough = threading.Event()
        thread = threading.Thread(target=enough.wait)
        thread.start()
        after = growth.take_settled(os.getpid())
        enough.set()
        thread.join()
        for end in pipe:
            os.close(end)
        self.assertGreaterEqual(after.memory - before.memory, len(held) - MIB // 4)
        self.assertEqual(after.descriptors - before.descriptors, 2)
        self.assertEqual(after.threads - before.threads, 1)
        last = growth.take_settled(os.getpid())
        self.assertEqual((last.descriptors, last.threads), (before.descriptors, before.threads))


if __name__ == "__main__":
    unittest.main()
