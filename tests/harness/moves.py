"""Partitions moved between two rest states, and the least that any assignor could have moved."""


def moved(before, after):
    """The partitions whose owner differs; both map a partition to its owner (or None)."""
    return sorted(p for p in before if before[p] is not None and before[p] != after.get(p))


def min_moves(current, members):
    """The least number of partitions that must change owner for `members` to be balanced.

    `current` maps each partition to its owner now, or None. With S partitions, n members, q = S div
    n and r = S mod n, a member can keep min(held, q), and r members that hold more keep one more.
    A partition without an owner, or whose owner left, counts as a move: somebody has to take it.
    """
    if not members:
        raise ValueError("nobody to move to")
    members = set(members)
    quotient, rest = divmod(len(current), len(members))
    held = dict.fromkeys(members, 0)
    for owner in current.values():
        if owner in held:
            held[owner] += 1
    kept = sum(min(count, quotient) for count in held.values())
    kept += min(rest, sum(count > quotient for count in held.values()))
    return len(current) - kept


def balanced(counts):
    """Whether the loads differ by at most one."""
    counts = list(counts)
    return not counts or max(counts) - min(counts) <= 1


def describe(assignment):
    """An assignment as text, a line an owner: for the list of exceptions in a report."""
    owners = {}
    for partition in sorted(assignment):
        owners.setdefault(str(assignment[partition]), []).append(partition)
    return "\n".join(f"  {owner}: {len(held)}: {','.join(map(str, held))}"
                     for owner, held in sorted(owners.items()))
