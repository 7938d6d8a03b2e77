"""Which interval a number of members needs, by what each reads and what a broker sends to all.

With L' = min(L, M) logs and an interval i, N members write N L' / i records a second; each member
reads all of them, at c of processor time a record, and the leader of a log sends each of b bytes to
N readers. So i must be at least N L' c / (the share of a core that a member may take), and at least
N^2 b / (what a broker may send), for each log that it leads.
"""
MEMBERS = (10, 60, 100, 200, 500, 1000, 2000, 5000)
CORE_SHARE = 0.05
BROKER_BYTES_S = (100e6, 1e9)  # a link of 1 Gb/s and of 10 Gb/s, nearly full
# What Kafka adds to a record that is sent alone; and what a process takes for it beyond what this
# bench counts, in librdkafka and the kernel: between 10 and 60 owners with one log (cost.py --cells
# assigner and sixty) each record a second more cost 34 us, of which some 9 are counted here.
KAFKA_BYTES = 80
CLIENT_S = 25e-6
INTERVAL_LEAST_S = 0.06  # session 300 ms, of which a fifth
SESSION_INTERVALS = 5


def of_one_log(cells):
    """Processor seconds and bytes a record, of the lanes with one log: the greatest. After deaths
    members own partitions in more pieces, and say so.
    """
    seconds, size = 0.0, 0.0
    for rest in (cell[when] for cell in cells for when in ("at_rest", "after")):
        if len(rest["logs"]) != 1:
            continue
        log = rest["logs"][0]
        share = (rest["member"]["core_percent"] + rest["member"]["directory_percent"]
                 + rest["decoding_percent"]) / 100
        seconds = max(seconds, share / log["records_per_s"])
        size = max(size, log["bytes_per_s"] / log["records_per_s"])
    return seconds + CLIENT_S, size + KAFKA_BYTES


def least(members, seconds, size, broker_bytes_s):
    """The least interval in seconds, with one log."""
    return max(members * seconds / CORE_SHARE, members**2 * size / broker_bytes_s,
               INTERVAL_LEAST_S)


def text(seconds):
    """60 ms, 1.5 s."""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def table(cells):
    """In Markdown; empty where no lane had one log."""
    if not any(len(cell["at_rest"]["logs"]) == 1 for cell in cells):
        return ""
    seconds, size = of_one_log(cells)
    lines = ["",
             f"One log; a record takes {seconds * 1e6:.0f} us and has {size:.0f} bytes.", "",
             "| members | a member's processor alone | a broker that may send 100 MB/s | "
             "and 1 GB/s | session there |", "|---|---|---|---|---|"]
    for members in MEMBERS:
        narrow, wide = (least(members, seconds, size, rate) for rate in BROKER_BYTES_S)
        alone = least(members, seconds, 0, 1)
        lines.append(f"| {members:,} | {text(alone)} | {text(narrow)} | {text(wide)} | "
                     f"{text(SESSION_INTERVALS * narrow)}, {text(SESSION_INTERVALS * wide)} |")
    return "\n".join(lines)
