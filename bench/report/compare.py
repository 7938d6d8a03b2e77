"""Compares two bench.json: what got worse, by ratio, beyond a threshold and the noise of both."""
import json
import math
from pathlib import Path

FORMAT = 1
WHAT = "neliroute bench"
NOISES = 2.0  # how many times the noise of both a difference must be


class Refused(Exception):
    """These two can't be compared; the message says why."""


def load(path):
    """A bench.json of this format."""
    try:
        whole = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise Refused(f"{path} is not JSON: {error}") from None
    if not isinstance(whole, dict) or whole.get("what") != WHAT:
        raise Refused(f"{path} was not written by scripts/bench")
    if whole.get("format") != FORMAT:
        raise Refused(f"{path} has format {whole.get('format')!r}, this compares format {FORMAT}; "
                      "compare with the scripts/bench that wrote it")
    return whole


def different(old, new, path=""):
    """The names and both values of what differs in two settings."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from different(old.get(key), new.get(key), f"{path} {key}")
    elif old != new:
        yield f"{path.strip()}: {old!r} against {new!r}"


def paired(old, new):
    """(part and run, old run, new run) of those in both; refuses other parameters."""
    if old["quick"] != new["quick"]:
        raise Refused("one is of a quick run, the other of a full one")
    pairs = []
    for name, part in old["parts"].items():
        for run_name, run in part["runs"].items():
            other = new["parts"].get(name, {}).get("runs", {}).get(run_name)
            if other is None:
                continue
            found = list(different(run["parameters"], other["parameters"]))
            if found:
                raise Refused(f"{name} {run_name} was run with other parameters: "
                              + "; ".join(found))
            pairs.append((f"{name} {run_name}", run, other))
    if not pairs:
        raise Refused("they have no run in common")
    return pairs


def times_worse(old, new):
    """How many times worse the new one is; below 1 it is better."""
    before, after = old["value"], new["value"]
    if old["worse"] == "lower":
        before, after = after, before
    if before == after:
        return 1.0
    if min(before, after) <= 0:
        return math.inf if after > before else 0.0
    return after / before


def judge(old, new, threshold, same_machine):
    """(times worse, times allowed, verdict) of one figure."""
    allowed = 1 + max(threshold, NOISES * math.hypot(old["noise"], new["noise"]))
    times = times_worse(old, new)
    if not (same_machine or old["ratio"]):
        return times, allowed, "other machine"
    if abs(new["value"] - old["value"]) <= max(old["floor"], new["floor"]):
        return times, allowed, "same"
    if times > allowed:
        return times, allowed, "WORSE"
    return times, allowed, "better" if times < 1 / allowed else "same"


def rows_of(pairs, threshold, same_machine):
    """A row a figure: where, old, new (one of them may be missing), times, allowed, verdict."""
    for where, old_run, new_run in pairs:
        new = {figure["name"]: figure for figure in new_run["figures"]}
        for figure in old_run["figures"]:
            other = new.pop(figure["name"], None)
            if other is None:
                yield where, figure, None, math.nan, math.nan, "GONE"
            elif (figure["unit"], figure["worse"]) != (other["unit"], other["worse"]):
                raise Refused(f"{where}: {figure['name']} is counted in another unit or direction")
            else:
                yield where, figure, other, *judge(figure, other, threshold, same_machine)
        for figure in new.values():
            yield where, None, figure, math.nan, math.nan, "new"


def line(row):
    """One row for people."""
    _, old, new, times, allowed, verdict = row
    def cell(figure):
        return "-" if figure is None else f"{figure['value']:.4g}"
    def factor(value):
        return "-" if math.isnan(value) else f"{value:.3f}"
    about = old or new
    return (f"  {about['name']:<46} {cell(old):>10} {cell(new):>10} {about['unit']:<9} "
            f"{factor(times):>7} {factor(allowed):>7}  {verdict}")


def compare(old_path, new_path, threshold):
    """Prints the table; 1 if a figure is worse, or gone."""
    old, new = load(old_path), load(new_path)
    pairs = paired(old, new)
    same_machine = all(old["machine"].get(key) == new["machine"].get(key)
                       for key in ("processor", "cores", "memory_gib"))
    rows = list(rows_of(pairs, threshold, same_machine))
    print(f"old: {old['commit']} of {old['began']}, new: {new['commit']} of {new['began']}")
    if not same_machine:
        print("measured on different machines: only ratios taken within a run are judged")
    print(f"  {'':<46} {'old':>10} {'new':>10} {'':<9} {'worse x':>7} {'allowed':>7}")
    where = None
    for row in rows:
        if row[0] != where:
            where = row[0]
            print(where)
        print(line(row))
    for name in sorted(set(old["parts"]) ^ set(new["parts"])):
        print(f"not compared: {name} is in one of the files only")
    bad = [row for row in rows if row[5] in ("WORSE", "GONE")]
    print(f"{len(rows)} figures compared, {len(bad)} worse or gone")
    for row in bad:
        print(f"REGRESSION {row[0]}: {line(row).strip()}")
    return 1 if bad else 0
