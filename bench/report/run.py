#!/usr/bin/python3
"""Runs the benchmarks, writes all of it into one JSON, and draws it.

    scripts/bench                         every part, at most 2.8 hours, into build/bench
    scripts/bench --quick                 about a minute: that it still runs; not every part
    scripts/bench --only lookup,churn     these; others that are there from the same commit stay
    scripts/bench --draw-only             the pictures again
    scripts/bench --compare OLD.json      what got worse since (NEW.json: build/bench/bench.json)

In the folder: bench.json (machine, versions, commands, seeds, each bench's own JSON under its
name, and the figures that --compare looks at), plots/ (SVG and PNG), runs/ and logs/.
Exit code: 0 fine; 1 a bench failed, or something got worse; 2 this can't be done.
"""
import argparse
import datetime
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
sys.path[:0] = [str(REPOSITORY / "tests"), str(REPOSITORY / "bench")]
import compare  # noqa: E402
import machine  # noqa: E402
import parts  # noqa: E402
from harness import deps  # noqa: E402
from harness.process import tool_path  # noqa: E402

TAIL = 30  # lines of a failed bench's log


class Refused(Exception):
    """What was asked for can't be done; the message says why."""


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=REPOSITORY / "build" / "bench", metavar="DIR")
    parser.add_argument("--only", metavar="NAME,...", help="these parts (--list names them)")
    parser.add_argument("--quick", action="store_true", help="about a minute in all")
    parser.add_argument("--draw-only", action="store_true", help="measure nothing")
    parser.add_argument("--list", action="store_true", help="name the parts and their commands")
    parser.add_argument("--compare", nargs="+", type=Path, metavar=("OLD.json", "NEW.json"))
    parser.add_argument("--threshold", type=float, default=0.10, metavar="SHARE",
                        help="worse by more than this is a regression (default 0.10)")
    options = parser.parse_args()
    if options.compare and len(options.compare) > 2:
        parser.error("--compare takes OLD.json and at most one NEW.json")
    return options


def commit():
    """What is measured: the commit, and whether something was changed since."""
    def git(*words):
        done = subprocess.run(["git", "-C", str(REPOSITORY), *words], capture_output=True,
                              text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else None
    head = git("rev-parse", "--short=10", "HEAD")
    if head is None:
        return "unknown"
    return head + ("+changes" if git("status", "--porcelain", "--untracked-files=no") else "")


def context(quick):
    """Everything about a run that is the same for all its parts."""
    governor = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    return {
        "format": compare.FORMAT, "what": compare.WHAT, "quick": quick, "commit": commit(),
        "began": utc_now(),
        "machine": {**machine.described(),
                    "governor": governor.read_text().strip() if governor.exists() else "none"},
        "versions": {"neliroute": machine.first_line(tool_path(), "--version"),
                     "python": sys.version.split()[0]},
        "parts": {},
    }


def wanted(options):
    """The parts to run; refuses one whose script is not there."""
    if options.only:
        try:
            selected = parts.chosen(options.only.split(","))
        except ValueError as error:
            raise Refused(str(error)) from None
    else:
        selected = [part for part in parts.PARTS if part.in_quick or not options.quick]
    for part in selected:
        if not part.path().is_file():
            raise Refused(f"part {part.name}: {part.path()} does not exist; --only NAME,... "
                          "leaves it out")
    return selected


def execute(words, log, seconds):
    """Runs a bench into its log; its exit code, or None if it had to be ended."""
    with open(log, "wb") as sink:
        with subprocess.Popen(words, stdout=sink, stderr=subprocess.STDOUT, cwd=REPOSITORY,
                              start_new_session=True) as child:
            try:
                return child.wait(timeout=seconds)
            except BaseException as error:
                # Its brokers and processes are in its session; they get time to tidy up.
                for number in (signal.SIGTERM, signal.SIGKILL):
                    try:
                        os.killpg(child.pid, number)
                        child.wait(timeout=20)
                        break
                    except subprocess.TimeoutExpired:
                        continue
                if isinstance(error, subprocess.TimeoutExpired):
                    return None
                raise


def utc_now():
    """For the record."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def tail(log):
    """The end of a bench's log."""
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL:])


def measure(part, name, run, out):
    """One run of a part; what it gave, or None and why on the output."""
    files = {"json": out / "runs" / f"{part.name}.{name}.json", "cache": out / "cache"}
    log = out / "logs" / f"{part.name}.{name}.log"
    for path in (files["json"], log):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
    words = part.program() + [word.format(**files) for word in run.arguments]
    print(f"bench: {part.name} {name} (at most {run.minutes:g} min; {log})", flush=True)
    began = time.monotonic()
    code = execute(words, log, run.minutes * 60)
    seconds = round(time.monotonic() - began, 1)
    try:
        if code is None:
            raise ValueError(f"not done after {run.minutes:g} min")
        result = json.loads(files["json"].read_text(encoding="utf-8"))
        made = [figure.as_row() for figure in part.figures(result)]
    except (OSError, ValueError, KeyError) as error:
        print(tail(log))
        print(f"bench: error: {part.name} {name}, exit code {code}: "
              f"{type(error).__name__}: {error}", flush=True)
        return None
    print(f"bench: {part.name} {name} took {seconds:g} s, {len(made)} figures"
          + (f", EXIT CODE {code}" if code else ""), flush=True)
    if code:
        print(tail(log))
    known = {key: result[key] for key in part.parameters}
    return {"command": " ".join(words), "exit_code": code, "seconds": seconds,
            "parameters": {"arguments": list(run.arguments), **known},
            "figures": made, "result": result}


def earlier(target, new, replaced):
    """What an earlier run of other parts left there, if it measured the same thing."""
    try:
        old = json.loads(target.read_text(encoding="utf-8"))
        same = all(old[key] == new[key] for key in ("format", "quick", "commit", "versions"))
        same &= old["machine"]["processor"] == new["machine"]["processor"]
        kept = {name: part for name, part in old["parts"].items() if name not in replaced}
    except (OSError, ValueError, KeyError):
        return {}
    if kept and not same:
        print(f"bench: dropping {', '.join(kept)}: measured at {old['commit']}, or elsewhere")
        return {}
    return kept


def measure_all(options):
    """bench.json, rewritten after every run; whether every bench succeeded."""
    selected = wanted(options)
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    whole = context(options.quick)
    target = out / "bench.json"
    if options.only:
        whole["parts"] = earlier(target, whole, [part.name for part in selected])
    content = True
    for part in selected:
        whole["parts"][part.name] = {"began": utc_now(), "runs": {}}
        for name, run in part.runs(options.quick).items():
            made = measure(part, name, run, out)
            content &= made is not None and made["exit_code"] == 0
            if made:
                whole["parts"][part.name]["runs"][name] = made
            target.write_text(json.dumps(whole) + "\n", encoding="utf-8")
    print(f"bench: wrote {target}")
    return content


def draw(out):
    """Draws with the Python that has matplotlib; whether it all could be drawn."""
    python = deps.cache_folder() / "python" / "bin" / "python"
    if not python.is_file():
        raise Refused(f"{python} not found: run `scripts/setup --tests`")
    if not (out / "bench.json").is_file():
        raise Refused(f"{out / 'bench.json'} does not exist: nothing was measured there yet")
    return subprocess.run([str(python), "-B", str(HERE / "draw.py"), str(out)],
                          check=False).returncode == 0


def main():
    """Exit code as above."""
    options = arguments()
    try:
        if options.compare:
            new = options.compare[1:] or [options.out / "bench.json"]
            return compare.compare(options.compare[0], new[0], options.threshold)
        if options.list:
            for part in parts.PARTS:
                for name, run in part.full.items():
                    print(f"{part.name:<12} {name:<14} {part.script} {' '.join(run.arguments)}")
            return 0
        content = True
        if not options.draw_only:
            content = measure_all(options)
        return 0 if draw(options.out) and content else 1
    except (Refused, compare.Refused, deps.MissingTool, FileNotFoundError) as error:
        print(f"bench: error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
