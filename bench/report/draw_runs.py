"""Pictures of real processes on a real Kafka: a rebalance in time, kills, others beside ours."""
import bisect
import statistics

import style

COLUMNS = 800  # of time, in the strips
CHURN = {"range": (style.VERMILLION, "-"), "roundrobin": (style.ORANGE, "--"),
         "cooperative-sticky": (style.BLACK, "-"), "uniform": (style.BLUE, "-")}


def timelines(results):
    """The cells that kept one, of the number of partitions that most of them have: [cell]."""
    cells = [cell for result in results.values() for cell in result["cells"]
             if cell.get("timeline")]
    if not cells:
        return []
    counts = [cell["partitions"] for cell in cells]
    most = max(counts, key=lambda count: (counts.count(count), count))
    return sorted((cell for cell in cells if cell["partitions"] == most),
                  key=lambda cell: list(CHURN).index(cell["assignor"]))


def led_spans(cell):
    """{partition: [(from, to)]} merged, in seconds after the event."""
    made = {partition: [] for partition in range(cell["partitions"])}
    for partition, _, start, stop in sorted(cell["timeline"]["intervals"],
                                            key=lambda one: (one[0], one[2])):
        spans = made[partition]
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], stop))
        else:
            spans.append((start, stop))
    return made


def led_count(spans):
    """Steps of how many partitions are led: (times, counts)."""
    changes = sorted((at, by) for own in spans.values() for start, stop in own
                     for at, by in ((start, 1), (stop, -1)))
    times, counts, count = [], [], 0
    for at, by in changes:
        count += by
        if times and times[-1] == at:
            counts[-1] = count
        else:
            times.append(at)
            counts.append(count)
    return times, counts


def unavailable_ms(cell, spans):
    """How long each partition had no leader, after the event, in milliseconds; sorted."""
    until = cell["timeline"]["to"]
    return sorted(max(0.0, until - sum(max(0.0, min(stop, until) - max(start, 0.0))
                                       for start, stop in own)) * 1000
                  for own in spans.values())


def about(cells):
    """What was done, for the footer."""
    first = cells[0]["timeline"]
    return (f"{cells[0]['partitions']} partitions; {first['members']} processes after "
            f"'{first['event']}' at 0 s; by the merged event logs of all processes")


def timeline_step(cell):
    """The step of the walk that the timeline shows."""
    return next(row for row in cell["steps"] if row["event"] == cell["timeline"]["event"])


def settled(cells):
    """When the last change of leader was over, with some air."""
    last = max((start for cell in cells for *_, start, _ in cell["timeline"]["intervals"]),
               default=0.0)
    return max(last, 0.1) * 1.1


def owned(results, footer):
    """8: how many partitions are led through a rebalance, and for how long some are not."""
    cells = timelines(results)
    if not cells:
        return None
    figure, [(left, right)] = style.sheet(1, 2, height=4.6)
    for cell in cells:
        colour, dashes = CHURN[cell["assignor"]]
        spans = led_spans(cell)
        times, counts = led_count(spans)
        # The window's own end is no loss of leaders.
        shown = bisect.bisect_left(times, cell["timeline"]["to"])
        left.step([*times[:shown], cell["timeline"]["to"]], [*counts[:shown], counts[shown - 1]],
                  where="post", color=colour, linestyle=dashes, label=cell["assignor"])
        values = unavailable_ms(cell, spans)
        right.step([0, *values], [0, *((i + 1) / len(values) for i in range(len(values)))],
                   where="post", color=colour, linestyle=dashes, label=cell["assignor"])
    left.set(xlabel="seconds after the event", ylabel="partitions with a leader",
             xlim=(cells[0]["timeline"]["from"], settled(cells)))
    left.set_ylim(0, cells[0]["partitions"] * 1.05)
    right.set(xlabel="without a leader for at most, ms", ylabel="share of partitions",
              ylim=(0, 1.03))
    right.set_xscale("symlog", linthresh=1)
    style.plain(right.xaxis, (0, 1, 10, 100, 1000))
    right.set_xlim(left=0)
    right.legend(loc="lower left", bbox_to_anchor=(0, 0.18))
    moved = ", ".join(f"{cell['assignor']} {timeline_step(cell)['moved']}" for cell in cells)
    return style.finish(figure, "A rebalance takes leaders from the partitions that it moves, of "
                        f"{cells[0]['partitions']}:\n{moved}", footer + "\n" + about(cells))


def strip(cell, owners, until):
    """A row a partition, a column an instant: the owner's index, -1 for nobody."""
    since = cell["timeline"]["from"]
    step = (until - since) / COLUMNS
    rows = [[-1] * COLUMNS for _ in range(cell["partitions"])]
    for partition, owner, start, stop in cell["timeline"]["intervals"]:
        first = max(0, round((start - since) / step))
        last = min(COLUMNS, round((stop - since) / step))
        rows[partition][first:last] = [owners.index(owner)] * max(0, last - first)
    return rows


def owner_colours(count):
    """White for nobody, then a colour an owner, the last of which is the newcomer.

    Where the palette is too short for the others, they have shades.
    """
    others = [colour for colour in style.PALETTE if colour != style.VERMILLION]
    if count - 1 > len(others):
        others = [style.plt.get_cmap("cividis")(i / (count - 2)) for i in range(count - 1)]
    return style.matplotlib.colors.ListedColormap(
        ["white", *others[:count - 1], style.VERMILLION])


def owners(results, footer):
    """9: every partition's owner through a rebalance."""
    cells = timelines(results)
    if not cells:
        return None
    newcomer = cells[0]["timeline"]["event"].split()[-1]
    names = sorted({owner for cell in cells for _, owner, *_ in cell["timeline"]["intervals"]},
                   key=lambda name: (name == newcomer, name))
    columns = min(2, len(cells))
    lines = -(-len(cells) // columns)
    figure, panels = style.sheet(lines, columns, height=1.6 + 2.6 * lines, sharex=True)
    colours = owner_colours(len(names))
    until = settled(cells)
    for axes, cell in zip(panels.flat, cells):
        known = min(until, cell["timeline"]["to"])
        axes.set_facecolor(style.FAINT)  # what was not watched any more
        axes.imshow(strip(cell, names, known), aspect="auto", interpolation="nearest",
                    cmap=colours, vmin=-1.5, vmax=len(names) - 0.5,
                    extent=(cell["timeline"]["from"], known, cell["partitions"] - 0.5, -0.5))
        axes.set_xlim(cell["timeline"]["from"], until)
        axes.axvline(0, color="black", linewidth=0.8, linestyle=":")
        step = timeline_step(cell)
        axes.set_title(f"{cell['assignor']}: {step['moved']} moved, least {step['least']}")
        axes.set_ylabel("partition")
        axes.grid(False)
    for axes in panels.flat[len(cells):]:
        axes.set_visible(False)
    for axes in panels[-1]:
        axes.set_xlabel("seconds after the event")
    handles = [style.plt.Rectangle((0, 0), 1, 1, color=colours(i + 1)) for i in range(len(names))]
    figure.legend(handles, [f"{name} (new)" if name == newcomer else name for name in names],
                  loc="lower center", ncol=6, bbox_to_anchor=(0.5, 0.05), fontsize=8.5)
    return style.finish(figure, "Who leads what while one process joins, by assignor",
                        f"{footer}\n{about(cells)}; white: nobody, grey: not watched any more",
                        bottom=0.12)


def kills(results, footer):
    """10: how long after a SIGKILL every slot is led again, over the session timeout."""
    figure, [[axes]] = style.sheet(height=4.6)
    for index, (name, result) in enumerate(results.items()):
        values = sorted(result["kill_over_session"])
        axes.step([values[0], *values], [0, *((i + 1) / len(values) for i in range(len(values)))],
                  where="post", color=style.PALETTE[index % 8],
                  linestyle="-" if index % 2 == 0 else "--",
                  label=f"{name}, {result['protocol']} protocol, session "
                        f"{result['session_ms']} ms, {len(values)} kills")
    axes.axvline(1, color=style.GREY, linestyle=":", linewidth=2)
    axes.annotate("the session timeout", (1, 0.02), (4, 0), textcoords="offset points",
                  fontsize=8.5, color=style.GREY)
    axes.set(xlabel="SIGKILL until every slot is led again, in session timeouts",
             ylabel="share of kills", ylim=(0, 1.08), xlim=(0.9, None))
    axes.legend(loc="lower right")
    first = next(iter(results.values()))
    medians = [sorted(one["kill_over_session"])[len(one["kill_over_session"]) // 2]
               for one in results.values()]
    return style.finish(figure, "After a kill, every slot is led again after "
                        f"{' and '.join(f'{median:.2f}' for median in medians)} session timeouts "
                        "in the median", footer + f"\n{first['processes']} processes, "
                        f"{first['partitions']} partitions, broker and processes on one machine")


SYSTEMS = {"neliroute": (style.BLUE, "o"), "zookeeper": (style.ORANGE, "s"),
           "etcd": (style.GREEN, "D")}


def system_of(row):
    """The key of SYSTEMS that a cell's own name begins with."""
    return next(name for name in SYSTEMS if row["system"].lower().startswith(name))


def peers(results, footer):
    """11: the same kill with etcd's and ZooKeeper's elections: every time of it."""
    rows = [row for result in results.values() for row in result["cells"] if row["times_ms"]]
    if not rows:
        return None
    shapes = sorted({(row["processes"], row["roles"]) for row in rows})
    sessions = sorted({row["session_ms"] for row in rows if row["session_ms"]})
    figure, [panels] = style.sheet(1, len(shapes), height=4.8, sharey=True)
    for axes, shape in zip(panels, shapes):
        for row in rows:
            if (row["processes"], row["roles"]) != shape:
                continue
            system, times = system_of(row), row["times_ms"]
            colour, marker = SYSTEMS[system]
            place = len(sessions) if system == "etcd" else sessions.index(row["session_ms"]) + (
                -0.17 if system == "neliroute" else 0.17)
            spread = [place + 0.1 * (i / len(times) - 0.5) for i in range(len(times))]
            axes.scatter(spread, times, color=colour, marker=marker, s=12, alpha=0.7, linewidth=0)
            axes.hlines(statistics.median(times), place - 0.15, place + 0.15, color=colour,
                        linewidth=2.2)
        for place, session in enumerate(sessions):
            axes.hlines(session, place - 0.38, place + 0.38, color=style.GREY, linestyle=":")
        axes.set(title=f"{shape[0]} processes, {shape[1]} role{'s' * (shape[1] > 1)}",
                 yscale="log", xlabel="session, ms", xlim=(-0.6, len(sessions) + 0.6))
        axes.set_xticks(range(len(sessions) + 1), [f"{one}" for one in sessions] + ["etcd's"],
                        fontsize=8.5)
        style.plain(axes.yaxis, (100, 200, 300, 500, 1000, 2000, 3000, 5000, 10000))
    every = [time for row in rows for time in row["times_ms"]]
    panels[0].set_ylim(0.8 * min(every), 1.25 * max(every))
    panels[0].set_ylabel("SIGKILL until others hold all its roles, ms")
    handles = [style.plt.Line2D([], [], color=colour, marker=marker)
               for colour, marker in SYSTEMS.values()]
    handles.append(style.plt.Line2D([], [], color=style.GREY, linestyle=":"))
    figure.legend(handles, [*SYSTEMS, "session timeout"], loc="lower center", ncol=4,
                  bbox_to_anchor=(0.5, 0.05))
    return style.finish(figure, peers_title(rows, shapes[-1]), f"{footer}\nthe same kill on one "
                        "machine, bar: median; etcd's lease is the smallest it grants", bottom=0.1)


def peers_title(rows, shape):
    """The medians of one shape, ours and ZooKeeper's at the session nearest to 500 ms."""
    medians = {}
    for row in sorted(rows, key=lambda row: -abs((row["session_ms"] or 0) - 500)):
        if (row["processes"], row["roles"]) == shape:
            medians[system_of(row)] = (statistics.median(row["times_ms"]), row["session_ms"])
    said = [f"{name} {median:.0f} ms" + (f" (session {session})" if session else "")
            for name, (median, session) in sorted(medians.items(), key=lambda one: one[1][0])]
    return f"After a kill, {shape[1]} roles of {shape[0]} processes are held again:\n" + ", ".join(
        said)
