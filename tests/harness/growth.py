"""What a process holds on to, sampled at rest, and whether that grows.

Memory is judged by the slope of a line fitted by Theil and Sen (the median of the slopes of all
pairs of samples): up to 29 % of the samples may be off by any amount, and what all of them are off
by at random cancels out. An allocator also takes and returns memory in steps, and one of 0.5 MiB
does not make an hour's line too steep; in a shorter run no growth below NOISE is a finding.
Descriptors and threads: librdkafka keeps a thread and its two descriptors more for each client now
and then, for as long as nothing happens, so samples of a process at rest differ by up to three and
six. One in eight has the lowest number, too few to wait for. But what there is beside these pairs
stands still, so of that the lowest but one of the last samples must not be above that of the first
ones after the warm-up. Of pairs themselves the means are compared, whose difference is off by 0.3.
"""
import dataclasses
import os
import statistics
from pathlib import Path

from .children import boot_now, wait_until

MIB = 1 << 20
MOST_AN_HOUR = 1 * MIB
NOISE = MIB // 4  # two of the 128 KiB from which on glibc returns a heap's end
GROUP = 20  # samples at least, at each end
PAIRS_MORE = 0.8  # in the mean
ANY_MORE = 0.3
LEAST_SAMPLES = 2 * GROUP
WARM_UP = 0.25  # of the whole time
SAME_READINGS = 4
COUNTS = ("descriptors", "threads")


@dataclasses.dataclass(frozen=True)
class Sample:
    """A process at one instant; `at` is CLOCK_BOOTTIME in seconds, `memory` in bytes."""
    at: float
    memory: int
    descriptors: int
    threads: int


def take(pid):
    """A sample now. Memory is anonymous memory, in swap too: all that can be leaked.

    smaps_rollup walks the page tables; what /proc/PID/status says is kept by CPU, and rounded.
    """
    kib = 0
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]:
        name, value = line.split()[:2]
        kib += int(value) if name in ("Anonymous:", "Swap:") else 0
    return Sample(boot_now(), 1024 * kib, len(os.listdir(f"/proc/{pid}/fd")),
                  len(os.listdir(f"/proc/{pid}/task")))


def take_settled(pid, timeout=20.0):
    """A sample of a process whose descriptors and threads stand still.

    A connection that was closed, and a thread that has ended, are gone a moment later.
    """
    seen = []

    def settled():
        seen.append(take(pid))
        last = [[getattr(one, name) for name in COUNTS] for one in seen[-SAME_READINGS:]]
        return len(last) == SAME_READINGS and all(one == last[0] for one in last)
    wait_until(settled, timeout, lambda: f"process {pid} standing still: {seen[-8:]}", poll=0.15)
    return seen[-1]


def slope(points):
    """Of (x, y): the median of the slopes of all pairs."""
    return statistics.median((y - before_y) / (x - before_x)
                             for i, (x, y) in enumerate(points)
                             for before_x, before_y in points[:i] if x > before_x)


def after_warm_up(samples):
    """Those that are judged."""
    begin = samples[0].at + WARM_UP * (samples[-1].at - samples[0].at)
    return [one for one in samples if one.at >= begin]


def memory_an_hour(samples):
    """By how many bytes an hour memory grows after the warm-up."""
    return 3600 * slope([(one.at, one.memory) for one in after_warm_up(samples)])


def judge(name, samples):
    """What grows, a text each."""
    judged = after_warm_up(samples) if samples else []
    if len(judged) < LEAST_SAMPLES:
        return [f"{name}: {len(judged)} samples after the warm-up, {LEAST_SAMPLES} are needed"]
    found = []
    group = max(GROUP, len(judged) // 6)
    ends = judged[:group], judged[-group:]
    an_hour = memory_an_hour(samples)
    seconds = judged[-1].at - judged[0].at
    first, last = (statistics.median(one.memory for one in part) for part in ends)
    if an_hour > MOST_AN_HOUR and last - first > NOISE:
        found.append(f"{name}: memory grows by {an_hour / MIB:.2f} MiB an hour, at most "
                     f"{MOST_AN_HOUR / MIB:g} may be; seen for {seconds:.0f} s")
    for what, number in grown(*ends):
        found.append(f"{name}: {what} grew by {number:.1f} in {seconds:.0f} s")
    return found


def grown(first, last):
    """Of COUNTS those that grew from the first samples to the last ones, and by how much."""
    def more(of, by):
        return by([of(one) for one in last]) - by([of(one) for one in first])

    def lowest_but_one(values):
        return sorted(values)[1]
    threads = more(lambda one: one.threads, statistics.mean)
    descriptors = more(lambda one: one.descriptors, statistics.mean)
    beside = more(lambda one: one.descriptors - 2 * one.threads, lowest_but_one)
    # A broker that closes an idle connection makes this rise, too, but not the threads.
    without = more(lambda one: 2 * one.threads - one.descriptors, lowest_but_one)
    if beside > 0 or descriptors > 2 * PAIRS_MORE:
        yield "descriptors", max(beside, descriptors)
    if threads > PAIRS_MORE or (without > 0 and threads > ANY_MORE):
        yield "threads", max(without / 2, threads)


def describe(name, samples):
    """A line for people."""
    judged = after_warm_up(samples)
    first, last = judged[0], judged[-1]
    counts = ", ".join(f"{what} {min(seen)} to {max(seen)}" for what in COUNTS
                       for seen in [[getattr(one, what) for one in judged]])
    return (f"{name}: {samples[0].memory / MIB:.2f} MiB at first, {first.memory / MIB:.2f} after "
            f"the warm-up, {last.memory / MIB:.2f} at last, {memory_an_hour(samples) / MIB:+.2f} "
            f"an hour; {counts}; {len(judged)} samples")
