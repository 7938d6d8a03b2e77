"""The shell blocks of a page, as one script that does what its reader would.

A block is a fence without a language, or with `sh` or `bash`. Each of its commands must end with
exit code 0. A comment before a block says what is different about it:

    <!-- stays: COMMAND: TEXT -->   this command runs in a terminal of its own: what follows begins
                                    when it has said TEXT, and it gets SIGTERM where the section
                                    ends, the last one first
    <!-- not run: REASON -->        nobody runs this block

Nor are run: scripts/test, which runs this, and what has --kafka, which other tests show.
"""
import re
import shlex
from typing import NamedTuple

SHELL = ("", "sh", "bash")
ELSEWHERE = re.compile(r"scripts/test\b|.*--kafka\b")
MARKER = re.compile(r"<!-- (stays|not run): (.*) -->")

PRELUDE = """set -uo pipefail
fail() { printf '%s: %s\\n' "$1" "$2" >&2; exit 1; }
pids=() logs=() places=()
stay() {  # PLACE TEXT COMMAND
  local log; log=$(mktemp)
  mkfifo "$log.in"  # of which nothing comes, and that does not end
  (eval "exec $3") >"$log" 2>&1 <>"$log.in" &
  pids=($! "${pids[@]}") logs=("$log" "${logs[@]}") places=("$1" "${places[@]}")
  local until=$((SECONDS + 300))
  until grep -qF -- "$2" "$log"; do
    kill -0 $! 2>/dev/null || { cat "$log" >&2; fail "$1" "ended before it said $2"; }
    ((SECONDS < until)) || { cat "$log" >&2; fail "$1" "has not said $2"; }
    sleep 0.1
  done
}
end_section() {
  local i status
  for i in "${!pids[@]}"; do
    status=0
    kill -TERM "${pids[i]}" || status=gone
    wait "${pids[i]}" || status=$?
    [[ $status == 0 ]] || { cat "${logs[i]}" >&2; fail "${places[i]}" "exit $status, not 0"; }
  done
  pids=() logs=() places=()
}
"""


class Block(NamedTuple):
    """A fence, with the comments before it."""

    line: int  # of its first line, from 1
    language: str
    lines: list[str]
    markers: list[tuple[str, str]]


def elements(text):
    """The headings, as text, and the blocks of a page, in order."""
    markers, block = [], None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            if block:
                yield block
                markers, block = [], None
            else:
                block = Block(number + 1, line[3:].strip(), [], markers)
        elif block:
            block.lines.append(line)
        elif found := MARKER.fullmatch(line):
            markers.append(found.groups())
        elif line.startswith("#"):
            yield line


def block(text, language, has):
    """The text of the only block of this language in which that stands."""
    found, = ("\n".join(one.lines) + "\n" for one in elements(text)
              if isinstance(one, Block) and one.language == language and has in "".join(one.lines))
    return found


def _commands(name, found, without):
    """The lines of the script for one block."""
    kinds = [kind for kind, _ in found.markers]
    staying = dict(what.split(": ", 1) for kind, what in found.markers if kind == "stays")
    if "not run" in kinds:
        return
    number = found.line
    for line in re.split(r"(?<!\\)\n", "\n".join(found.lines)):
        place = f"{name}:{number}"
        number += line.count("\n") + 1
        command = re.sub(r"\s+#.*|^#.*", "", line)
        if not command or ELSEWHERE.match(command) or without and without in command:
            continue
        if command in staying:
            yield f"stay {place} {shlex.quote(staying.pop(command))} {shlex.quote(command)}"
        else:
            yield f"printf '+ %s\\n' {shlex.quote(command)}"
            yield f"{{ {command}\n}} || fail {place} \"exit $?: \"{shlex.quote(command)}"
    if staying:
        raise ValueError(f"{name}:{found.line}: no such command: {', '.join(staying)}")


def script(name, text, without=None):
    """What to run, in bash, for a page of this name and text; `without` commands that say this."""
    lines = [PRELUDE]
    for element in elements(text):
        if isinstance(element, str):
            lines.append("end_section")
        elif element.language in SHELL:
            lines += _commands(name, element, without)
        elif element.markers:
            raise ValueError(f"{name}:{element.line}: marked, and no shell block")
    return "\n".join([*lines, "end_section", ""])
