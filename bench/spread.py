"""The three summary figures that the benches report of many measurements."""
import statistics


def median_p90_worst(values):
    """The middle one, the one that nine of ten do not exceed, and the greatest."""
    ordered = sorted(values)
    ninety = ordered[min(len(ordered) - 1, int(len(ordered) * 0.9))]
    return statistics.median(ordered), ninety, ordered[-1]
