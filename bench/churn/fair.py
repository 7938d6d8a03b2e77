"""Shares by weight, with pins, and the least that must move: worked out by itself, to judge plan().

Who is pinned partitions must have has them, and the others are shared out by weight: everybody has
the floor or the ceiling of a share. A process that must have more than its share by pins has just
that, and the others share what it leaves (placement/plan.h).
"""
import collections


def forced_of(owners, weights, pins):
    """partition -> who must have it: pinned to a process that lives and may own something."""
    return {partition: name for partition, name in pins.items()
            if partition in owners and weights.get(name, 0) > 0}


def bounds_of(weights, forced, items):
    """name -> (least, most); of those of weight 0 there are none. `forced`: name -> how many."""
    bounds, open_ones = {}, {name: weight for name, weight in weights.items() if weight > 0}
    while open_ones:
        total = sum(open_ones.values())
        for name, weight in open_ones.items():
            bounds[name] = (items * weight // total, -(-items * weight // total))
        full = [name for name in open_ones if forced.get(name, 0) > bounds[name][1]]
        floors = sum(max(bounds[name][0], forced.get(name, 0)) for name in open_ones)
        if not full and floors <= items:
            break
        full = full or [name for name in open_ones if forced.get(name, 0) > bounds[name][0]]
        for name in full:
            bounds[name] = (forced[name], forced[name])
            items -= forced[name]
            del open_ones[name]
    return bounds


def is_fair(owners, weights, pins):
    """Whether everybody has a share; `owners`: partition -> name, `weights` are of who lives."""
    forced = forced_of(owners, weights, pins)
    bounds = bounds_of(weights, collections.Counter(forced.values()), len(owners))
    have = collections.Counter(owners.values())
    return (set(have) <= set(bounds)
            and all(owners[partition] == name for partition, name in forced.items())
            and all(least <= have[name] <= most for name, (least, most) in bounds.items()))


def least_moves(owners, weights, pins):
    """The fewest partitions that must change owners from these to be fair."""
    forced = forced_of(owners, weights, pins)
    must = collections.Counter(forced.values())
    bounds = bounds_of(weights, must, len(owners))
    free = {partition: name for partition, name in owners.items() if partition not in forced}
    held = collections.Counter(free.values())
    # Everybody keeps what it may; if that is too much for the floors of others, some of it moves.
    kept, taken = 0, 0
    for name, (least, most) in bounds.items():
        room = min(max(held[name], least - must[name], 0), most - must[name])
        kept += min(held[name], room)
        taken += room
    kept -= max(0, taken - len(free))
    return len(free) - kept + sum(owners[partition] != name for partition, name in forced.items())
