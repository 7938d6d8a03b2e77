"""The picture of bench/lookup: nanoseconds against processes, beside hash only."""
import extract
import style

ORDER = ("hash_only", "slot_of", "owns", "route_local", "route_remote")
MARKERS = "oshPXDv^<>*"
COLD = "table out of cache, 1 thread"


def points(result):
    """(head, its parameters, least ns, worst ns) of each benchmark."""
    for name, times in extract.nanoseconds(result).items():
        head, about = extract.taken_apart(name)
        yield head, about, min(times), max(times)


def panel_of(about):
    """Which panel a benchmark belongs to; None if to none: latencies are no throughput."""
    if "chained" in about:
        return None
    threads = about.get("threads", "1")
    if "cold" in about:
        return COLD if threads == "1" else None
    return {"1": "hot, 1 thread", "2": "hot, 2 threads"}.get(threads)


def most_seen(result, name):
    """The value of a parameter with which there are most numbers of processes; None if unused."""
    seen = {}
    for _, about, *_ in points(result):
        if name in about:
            seen.setdefault(about[name], set()).add(about.get("processes"))
    return max(seen, key=lambda value: (len(seen[value]), value == "16"), default=None)


def curves(result, key, partitions):
    """{panel: {label: [(processes or None, least, worst)]}} for one length of key.

    Hot, of one number of partitions; out of cache, where the table's size counts, of all.
    """
    made = {}
    for head, about, least, worst in points(result):
        panel = panel_of(about)
        if panel is None or about.get("key", key) != key:
            continue
        label = head
        if about.get("partitions", partitions) != partitions:
            if panel != COLD:
                continue
            label += f", {int(about['partitions']):,} partitions"
        processes = int(about["processes"]) if "processes" in about else None
        made.setdefault(panel, {}).setdefault(label, []).append((processes, least, worst))
    return made


def by_processes(results, footer):
    """6: what a lookup costs, by how many processes there are."""
    result = results["table"]
    key, partitions = most_seen(result, "key"), most_seen(result, "partitions")
    panels = curves(result, key, partitions)
    labels = sorted({label for curve in panels.values() for label in curve},
                    key=lambda label: (ORDER.index(label) if label in ORDER else 99, label))
    looks = {label: (style.PALETTE[i % 6] if label != "hash_only" else style.GREY,
                     MARKERS[i % len(MARKERS)], "-" if i < 6 else "--")
             for i, label in enumerate(labels)}
    figure, [axes_of] = style.sheet(1, len(panels), height=5.2)
    hot = max(least for title, lines in panels.items() for own in lines.values()
              for _, least, _ in own if title != COLD)
    for axes, (title, lines) in zip(axes_of, sorted(panels.items())):
        for label in labels:
            if label in lines:
                curve(axes, sorted(lines[label], key=lambda point: point[0] or 0), looks[label])
        axes.set(title=title, xscale="log", xlabel="processes")
        style.plain(axes.xaxis, (3, 10, 30, 100, 300, 1000, 10000, 100000))
        axes.set_ylim(0, None if title == COLD else hot * 1.1)
    axes_of[0].set_ylabel(f"processor time a lookup, ns ({key}-byte keys)")
    handles = [style.plt.Line2D([], [], color=colour, marker=marker, linestyle=dashes)
               for colour, marker, dashes in looks.values()]
    figure.legend(handles, labels, loc="lower center", ncol=3, bbox_to_anchor=(0.5, 0.05),
                  fontsize=8.5)
    of = f"; {int(partitions):,} partitions, where not said" if partitions else ""
    return style.finish(figure, title_of(panels), f"{footer}\nleast of all repetitions, bars to "
                        f"the worst; a writer publishes 100 times a second{of}",
                        bottom=0.08 + 0.042 * -(-len(labels) // 3))


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


def schemes(results, footer):
    """6, second half: the owner of a hashed key without neliroute's table, by members."""
    lines = {}
    for head, about, least, _ in points(results["table"]):
        if "members" in about:
            lines.setdefault(head, []).append((int(about["members"]), least))
    if not lines:
        return None
    figure, [[axes]] = style.sheet()
    ends = []
    for index, (head, own) in enumerate(lines.items()):
        known = style.LOOKS.get(head)
        colour = known.colour if known else style.PALETTE[index % len(style.PALETTE)]
        axes.plot(*zip(*sorted(own)), color=colour, marker=known.marker if known else "o",
                  linestyle=known.dashes if known else "-", markersize=5)
        ends.append((max(own), head.replace("_", " "), colour))
    axes.set(xscale="log", yscale="log", xlabel="processes",
             ylabel="processor time from hash to owner, ns")
    members = sorted({x for own in lines.values() for x, _ in own})
    style.plain(axes.xaxis, members)
    style.plain(axes.yaxis, (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000))
    style.finish(figure, "From hash to owner: a table of slots costs the same for any number\n"
                 "of processes, hash schemes do not", f"{footer}\nhot cache, 1 thread, least of "
                 "all repetitions; keys are hashed before")
    figure.subplots_adjust(right=0.74)
    style.labels_apart(axes, ends, 0.055)
    return figure
