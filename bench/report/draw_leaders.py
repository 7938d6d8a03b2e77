"""The picture of bench/leaders: how often leaders are even, and how long logs had none."""
import style

LOOKS = {"priorities": (style.BLUE, "priorities"), "random": (style.ORANGE, "random timeouts")}


def shape_of(row):
    """Of a cluster, as it is labelled."""
    return f"{row['nodes']} nodes, {row['logs']} logs"


def spread(results, footer):
    """15: a pair of bars for each course of events, above the logs without a leader."""
    whole = next(iter(results.values()))
    rows = whole["rows"]
    shapes = list(dict.fromkeys(map(shape_of, rows)))
    courses = list(dict.fromkeys(row["course"] for row in rows))
    figure, panels = style.sheet(2, len(shapes), height=6.0, sharey="row", sharex=True)
    for column, shape in enumerate(shapes):
        for shift, (timeouts, (colour, _)) in zip((-0.2, 0.2), LOOKS.items()):
            found = [next(row for row in rows if (shape_of(row), row["course"], row["timeouts"])
                          == (shape, course, timeouts)) for course in courses]
            places = [place + shift for place in range(len(courses))]
            panels[0][column].bar(places, [100 * row["balanced"] for row in found], 0.38,
                                  color=colour)
            panels[1][column].bar(places, [row["unled_ms_worst"] for row in found], 0.38,
                                  color=colour, alpha=0.35)
            panels[1][column].bar(places, [row["unled_ms_median"] for row in found], 0.38,
                                  color=colour)
        panels[0][column].set(title=shape, ylim=(0, 105))
        panels[1][column].set_xticks(range(len(courses)), courses, rotation=35, ha="right",
                                     fontsize=8)
    panels[0][0].set_ylabel("runs with even leaders, %")
    panels[1][0].set_ylabel("a log without leader, ms\n(median, worst)")
    figure.legend([style.plt.Rectangle((0, 0), 1, 1, color=colour) for colour, _ in LOOKS.values()],
                  [label for _, label in LOOKS.values()], loc="lower center", ncol=2,
                  bbox_to_anchor=(0.5, 0.055))
    means = {name: sum(row["balanced"] for row in rows if row["timeouts"] == name
                       and row["course"] == courses[0]) / len(shapes) for name in LOOKS}
    return style.finish(
        figure, f"After a common start leaders are even in {100 * means['priorities']:.0f} % of "
        f"the runs\nwith priorities, in {100 * means['random']:.0f} % with random timeouts",
        f"{footer}\n{whole['seeds']} simulated runs each, election timeout "
        f"{whole['election_ms']} ms; even: nobody leads more than the share, rounded up",
        bottom=0.12)
