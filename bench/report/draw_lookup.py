"""The picture of bench/lookup: nanoseconds against processes, beside hash only."""
import extract
import style

ORDER = ("hash_only", "slot_of", "owns", "route_local", "route_remote")
MARKERS = "oshPXDv^<>*"
# What panels or the whole picture are chosen by, not a curve of its own.
NOT_A_CURVE = ("processes", "threads", "key", "cold", "hot", "cache", "real_time", "process_time",
               "min_time", "iterations", "repeats")


def points(result):
    """(head, its parameters, least ns, all ns) of each benchmark."""
    for name, times in extract.nanoseconds(result).items():
        head, about = extract.taken_apart(name)
        yield head, about, min(times), times


def is_cold(about):
    """Whether the table was not in the cache."""
    return "cold" in about or about.get("cache") == "cold"


def panel_of(about):
    """Which panel a benchmark belongs to; None if to none."""
    threads = about.get("threads", "1")
    if is_cold(about):
        return "table out of cache, 1 thread" if threads == "1" else None
    return {"1": "hot, 1 thread", "2": "hot, 2 threads"}.get(threads)


def curves(result, key):
    """{panel: {label: [(processes or None, least, worst)]}} for one length of key."""
    made = {}
    for head, about, least, times in points(result):
        panel = panel_of(about)
        if panel is None or about.get("key", key) != key:
            continue
        more = "".join(f", {name} {value}".rstrip() for name, value in about.items()
                       if name not in NOT_A_CURVE)
        processes = int(about["processes"]) if "processes" in about else None
        made.setdefault(panel, {}).setdefault(head + more, []).append(
            (processes, least, max(times)))
    return made


def shortest_key(result):
    """The key length that the picture is of: 16 bytes, or the shortest there is."""
    keys = {about["key"] for _, about, _, _ in points(result) if "key" in about}
    return "16" if "16" in keys else min(keys, key=int, default="")


def by_processes(results, footer):
    """6: what a lookup costs, by how many processes there are."""
    result = results["table"]
    key = shortest_key(result)
    panels = curves(result, key)
    labels = sorted({label for curve in panels.values() for label in curve},
                    key=lambda label: (ORDER.index(label) if label in ORDER else 99, label))
    looks = {label: (style.PALETTE[i % 7] if label != "hash_only" else style.GREY,
                     MARKERS[i % len(MARKERS)], "-" if i < 7 else "--")
             for i, label in enumerate(labels)}
    figure, [axes_of] = style.sheet(1, len(panels), height=5.0, sharey=True)
    for axes, (title, lines) in zip(axes_of, sorted(panels.items())):
        for label in labels:
            if label in lines:
                curve(axes, sorted(lines[label], key=lambda point: point[0] or 0), looks[label])
        axes.set(title=title, xscale="log", xlabel="processes")
        style.plain(axes.xaxis, (3, 10, 30, 100, 300, 1000, 10000, 100000))
    highest = max(least for lines in panels.values() for own in lines.values()
                  for _, least, _ in own)
    axes_of[0].set_ylim(0, highest * 1.1)
    axes_of[0].set_ylabel(f"processor time a lookup, ns ({key}-byte keys)")
    handles = [style.plt.Line2D([], [], color=colour, marker=marker, linestyle=dashes)
               for colour, marker, dashes in looks.values()]
    figure.legend(handles, labels, loc="lower center", ncol=4, bbox_to_anchor=(0.5, 0.04),
                  fontsize=8.5)
    repetitions = max(len(times) for *_, times in points(result))
    return style.finish(figure, title_of(panels), footer + "\n"
                        f"least of {repetitions} repetitions, bars to the worst; a writer "
                        "publishes 100 times a second", bottom=0.07 + 0.05 * -(-len(labels) // 4))


def title_of(panels):
    """How much the routes cost beside the hash, in the first of the panels with both."""
    for _, lines in sorted(panels.items()):
        routes = [least for label, own in lines.items() if label.startswith("route")
                  for _, least, _ in own]
        if routes and "hash_only" in lines:
            base = lines["hash_only"][0][1]
            return (f"Hashing a key takes {base:.1f} ns; finding its owner, too, "
                    f"{min(routes):.1f} to {max(routes):.1f} ns")
    return "What a lookup costs"


def curve(axes, own, look):
    """A curve over the number of processes, or a level line for what has none."""
    colour, marker, dashes = look
    if own[0][0] is None:
        axes.axhline(own[0][1], color=colour, linewidth=1.4,
                     linestyle=":" if colour == style.GREY else "-.")
        return
    x, least, worst = zip(*own)
    axes.plot(x, least, color=colour, marker=marker, linestyle=dashes, markersize=5)
    axes.errorbar(x, least, yerr=[[0] * len(x), [w - y for y, w in zip(least, worst)]],
                  fmt="none", ecolor=colour, elinewidth=0.7, alpha=0.6, capsize=2)
