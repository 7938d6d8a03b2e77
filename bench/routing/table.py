"""The figures of the runs, for people and for docs/benchmarks.md."""

HEAD = ("way", "move", "mode", "calls", "rate", "failed", "as", "lost or doubled", "p50 ms", "p99",
        "p99.9", "worst", "421", "sent again", "moved (least)", "busy (others)")


def _failed_as(row):
    """Statuses, and what had none."""
    parts = [f"{status}: {count}" for status, count in row["statuses"].items()]
    parts += [f"{name}: {count}" for name, count in row["failed_as"].items()
              if name != "refused"]
    return ", ".join(parts) or "-"


def _cells(row):
    latency = row["latency_ms"] or {}

    def times(name):
        return f"{latency[name]:.1f}" if latency else "-"
    moves = row.get("moves")
    wrong = row["values"]["wrong"]
    return (row["way"], f"{row['letter']} {row['move']}", row["mode"], f"{row['calls']:,}",
            f"{row['rate']:.0f}", f"{row['failed']:,}", _failed_as(row),
            "; ".join(wrong) if wrong else "none", times("p50"), times("p99"), times("p999"),
            times("worst"), f"{100 * row['misdirected_calls'] / row['calls']:.3f} %",
            f"{row['sent_again']:,}",
            f"{moves['moved']} ({moves['least']})" if moves else "-",
            f"{row['busy']['machine_percent']:.0f} % ({row['busy']['others_percent']:.0f})")


def text(rows):
    """A table in Markdown, and what must not be overlooked."""
    done = [row for row in rows if "problem" not in row]
    lines = [f"| {' | '.join(HEAD)} |", "|" + "---|" * len(HEAD)]
    lines += [f"| {' | '.join(_cells(row))} |" for row in done]
    for row in done:
        lines += notes(row)
    lines += [f"FAILED {row['way']} {row['move']} {row['mode']}: {row['problem']}"
              for row in rows if "problem" in row]
    return "\n".join(lines)


def notes(row):
    """What belongs to one run and has no column."""
    about = f"{row['way']} {row['move']} {row['mode']}"
    found = []
    if "taken_over_s" in row:
        last = row["last_failed_due_s"]
        found.append(
            f"{about}: taken over after {row['taken_over_s']:.2f} s; failed of others' slots "
            f"{row['failed_elsewhere']}, due later than {row['bound_s']:.1f} s after it "
            f"{row['failed_beyond_bound']}, the last one "
            + ("none" if last is None else f"{last:.2f} s"))
    if row.get("without_key"):
        some = row["without_key"]
        said = ", ".join(f"{name}: {count}" for name, count in some["failed_as"].items())
        found.append(f"{about}: without an idempotency key {some['failed']} of {some['calls']:,} "
                     f"failed ({said or '-'})"
                     + (f", of them {row['failed_without_key_later']} begun after the victim was "
                        f"gone; with one {row['failed_with_key']} failed"
                        if "failed_with_key" in row else ""))
    if row["move"] == "broker":
        found.append(f"{about}: the broker was away for {row['outage_s']:.2f} s, T is "
                     f"{row['lease_ms'] / 1000:g} s")
    values = row["values"]
    if values["stale"] or values["repeats"] or values["applied_and_failed"]:
        found.append(f"{about}: the store refused {values['stale']} writes under older epochs and "
                     f"answered {values['repeats']} repeats; {values['applied_and_failed']} calls "
                     "failed and were carried out")
    if row["late_ms"]["p99"] > 5:
        found.append(f"{about}: the load itself was late, p99 {row['late_ms']['p99']:.1f} ms, "
                     f"worst {row['late_ms']['worst']:.1f} ms: the machine was too busy")
    return found


def added(rows):
    """p99.9 of the rolling restart over that of the run in which nothing happens: text lines."""
    at_rest = {(row["way"], row["mode"]): row for row in rows
               if row["move"] == "rest" and row.get("latency_ms")}
    lines = []
    for row in rows:
        beside = at_rest.get((row["way"], row["mode"]))
        if row["move"] == "rolling" and beside and row.get("latency_ms"):
            more = row["latency_ms"]["p999"] - beside["latency_ms"]["p999"]
            lines.append(f"{row['way']} {row['mode']}: a rolling restart adds {more:.1f} ms to "
                         f"p99.9 ({beside['latency_ms']['p999']:.1f} ms at rest)")
    return "\n".join(lines)
