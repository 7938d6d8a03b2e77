"""What is kept of a run: what log 0 said of assignments; and when owners do not come to rest, what
cannot be seen any more when they have ended."""
import json
import shutil
import subprocess

from harness.kafka_admin import AdminError

import cluster

LAST_RECORDS = 400
PATIENCE = 60


def stacks(fleet, folder):
    """Where every thread of the living owners stands, if there is a debugger."""
    gdb = shutil.which("gdb")
    for owner in fleet.live() if gdb else ():
        try:
            done = subprocess.run(
                [gdb, "-p", str(owner.pid), "-batch", "-ex", "thread apply all bt 30"],
                capture_output=True, text=True, timeout=PATIENCE, check=False)
        except subprocess.TimeoutExpired:
            continue  # what the others tell is worth having
        (folder / f"{owner.key}.stacks").write_text(done.stdout, encoding="utf-8")


def records(brokers, folder):
    """The end of each log as it is."""
    for log in range(cluster.LOGS):
        try:
            end = brokers.admin.end_offsets(brokers.topic)[log]
            rows = brokers.admin.read(brokers.topic, log, max(0, end - LAST_RECORDS))
        except (AdminError, RuntimeError, TimeoutError) as error:
            rows = [{"error": str(error)}]
        with open(folder / f"log{log}.jsonl", "w", encoding="utf-8") as file:
            for row in rows:
                if isinstance(row.get("value"), bytes):
                    row["value"] = row["value"].decode(errors="replace")
                file.write(json.dumps(row) + "\n")


def keep_assignments(fleet, folder):
    """Every record of log 0 that is no renewal, as far as it was read, where a member assigns."""
    if fleet.assigned:
        rows = "".join(json.dumps(row) + "\n" for row in fleet.lane.kept)
        (folder / "assignments.jsonl").write_text(rows, encoding="utf-8")


def keep(state, folder):
    """All of it."""
    records(state.cluster, folder)
    stacks(state.fleet, folder)
