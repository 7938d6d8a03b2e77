#!/usr/bin/env python3
"""Checks the rules of this project that no compiler checks.

  tidy.py rules [ROOT]                        the rules below, over all files git would commit
  tidy.py headers [ROOT] --build FOLDER [--compiler C] [--only FOLDER] [-- FLAG...]
                                              each header compiles alone

A finding is one line, file:line: rule: what is wrong. A line may be excused from a rule by a
comment on it that gives the reason: tidy-allow(RULE): REASON. Exit code 1 if anything was found.
"""

import argparse
import ast
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
from typing import Callable, Iterator, NamedTuple

import cpp_text

FILE_LINES, FUNCTION_LINES, LINE_COLUMNS, FOLDER_FILES = 500, 70, 100, 25
PROTOCOLS = ("neli_core/assigner", "neli_core/claimed", "neli_core/broadcast")
HERE = pathlib.Path(__file__).resolve().parents[2]
# What stores share is none.
STORES = sorted(path.name for path in (HERE / "ledgers").iterdir()
                if path.is_dir() and path.name != "parts")
LEDGER_ROOMS = tuple(f"ledgers/{store}" for store in STORES)
# The longer first. The program is a user of all rooms, as other benchmarks are.
PLACEMENTS = ("bench/placements/program", "bench/placements")
INNER_ROOMS = (*PROTOCOLS, *LEDGER_ROOMS, *PLACEMENTS)
PURE_ROOMS = ("slots", "placement", "neli_core", *PROTOCOLS, "quorum", "audit",
              "bench/placements")
CPP = (".h", ".cc")
CODE = CPP + (".py", ".sh", ".cmake", ".java", ".js", ".css", ".html")


class File(NamedTuple):
    path: str  # relative to the root, with slashes
    text: str

    @property
    def suffix(self) -> str:
        return os.path.splitext(self.path)[1]

    @property
    def room(self) -> str:
        folder = os.path.dirname(self.path)
        inner = next((room for room in INNER_ROOMS if folder.startswith(room)), None)
        return inner or folder.split("/")[0]

    @property
    def is_cpp(self) -> bool:
        return self.suffix in CPP

    @property
    def is_code(self) -> bool:
        return (self.suffix in CODE or self.path.endswith("CMakeLists.txt")
                or (not self.suffix and self.text.startswith("#!")))

    def matches(self, pattern: str, text: str | None = None) -> Iterator[tuple[int, str]]:
        """The line and the text of everything that the pattern finds."""
        text = self.text if text is None else text
        for found in re.finditer(pattern, text, re.MULTILINE):
            yield text.count("\n", 0, found.start()) + 1, found.group().strip()


Findings = Iterator[tuple[int, str]]

# --- What a room may include ----------------------------------------------------------------------

# What stands in include/neliroute/ and every room may say; only a driver reads the clock.
VOCABULARY = (r"neliroute/(detail/\w+|error|hash|ids|options|route|settings"
              r"|slot_space|time|transition)\.h")
STD = VOCABULARY + r"|(?!.*\.h$)[a-z_0-9]+"
PURE = STD + r"|boost/(?!asio|beast).*"
ANY_BUT_RDKAFKA = r"(?!librdkafka/).*"
NO_STORE = f"(?!(?:{'|'.join(STORES)})/)"
LEDGERS = f"ledgers/{NO_STORE}"
# room -> its own project's rooms, and everything else, that it may include.
MAY_INCLUDE = {
    "include": (r"(?!)", STD + r"|neliroute/\w+\.h|boost/(asio|system)/.*|fmt/.*|prometheus/.*"),
    "slots": (r"slots/", STD + r"|xxhash\.h"),
    "placement": (r"placement/", STD),
    "bench/placements": (r"placement/|bench/placements/(?!program/)", STD),
    "neli_core": (r"neli_core/(?!assigner/|claimed/|broadcast/)", PURE),
    "neli_core/assigner": (r"(neli_core/(?!broadcast/)|placement/)", PURE),
    "neli_core/claimed": (r"neli_core/(?!assigner/|broadcast/)", PURE),
    "neli_core/broadcast": (r"neli_core/(?!assigner/|claimed/)", PURE),
    "quorum": (r"quorum/", STD),
    "voter": (r"(base|net|placement|quorum|voter)/",
              STD + r"|boost/.*|neliroute/clock\.h|fcntl\.h|unistd\.h|sys/.*\.h"),
    "audit": (r"(neli_core|audit)/(?!assigner/|claimed/|broadcast/)", PURE),
    "net": (r"(base|net)/", ANY_BUT_RDKAFKA),
    "base": (r"base/", STD + r"|boost/(asio|system)/.*|neliroute/clock\.h|time\.h"),
    # A store is one of many: above its folder FACTORIES alone name it.
    "ledgers": (rf"(base/|net/|neli_core/|{LEDGERS}|voter/)", ANY_BUT_RDKAFKA),
    **{room: (rf"(base/|net/|neli_core/|{LEDGERS}|{room}/"
              + (r"|quorum/)" if room == "ledgers/quorum" else ")"),
              r".*" if room == "ledgers/kafka" else ANY_BUT_RDKAFKA) for room in LEDGER_ROOMS},
    "embedded_broker": (rf"(neli_core/|{LEDGERS}|ledgers/kafka/|embedded_broker/)", r".*"),
    "router": (rf"(base/|slots/|neli_core/|{LEDGERS}|router/)", r"(?!librdkafka/|boost/beast).*"),
    "metrics": (rf"(base/|slots/|neli_core/|{LEDGERS}|router/|metrics/|voter/statistics/)",
                r"(?!librdkafka/|boost/beast).*"),
    "admin": (rf"(base/|slots/|neli_core/|{LEDGERS}|router/|metrics/|admin/)", ANY_BUT_RDKAFKA),
    "forward": (rf"(base/|net/|slots/|neli_core/|{LEDGERS}|router/|metrics/|forward/)",
                ANY_BUT_RDKAFKA),
    "tool": (rf"(?!tests|bench|examples|ledgers/)|{LEDGERS}", ANY_BUT_RDKAFKA),
    # Applications, with a Kafka client.
    "examples": (rf"(slots/|neli_core/|{LEDGERS}|router/|metrics/|admin/|examples/)", r".*"),
}
FACTORIES = ("ledgers/ledgers.cc", "ledgers/ledger_address.cc")
ROOM = re.compile(r"(base|net|slots|placement|neli_core|quorum|voter|audit|ledgers|embedded_broker"
                  r"|router|metrics|admin|forward|tool|examples|bench|tests)/")


def layering(file: File) -> Findings:
    """A room includes only what its place in the design allows."""
    if not file.is_cpp or file.room not in MAY_INCLUDE:
        return
    rooms, others = MAY_INCLUDE[file.room]
    if file.path in FACTORIES:
        rooms = r"ledgers/"
    for include in cpp_text.includes_of(file.text):
        if include.quoted and not ROOM.match(include.path):
            yield include.line, f'write "{include.path}" with its folder, from the top'
        elif include.quoted and not re.match(rooms, include.path):
            yield include.line, f'{file.room} may not include "{include.path}"'
        elif not include.quoted and not re.fullmatch(others, include.path):
            yield include.line, f"{file.room} may not include <{include.path}>"


# --- What pure rooms may not do -------------------------------------------------------------------

IMPURE = {
    "reads a clock": r"::now\s*\(|\b(clock_gettime|gettimeofday|timespec_get)\s*\("
                     r"|\btime\s*\(\s*(nullptr|NULL|0|&)",
    "sleeps": r"\b(sleep|usleep|nanosleep|sleep_for|sleep_until)\s*\(",
    "has threads or locks": r"\bstd::(jthread|thread|this_thread|async|future|promise|call_once"
                            r"|\w*mutex|condition_variable\w*|\w+_lock|lock_guard|latch|barrier"
                            r"|\w*_semaphore)\b|\bthread_local\b",
    "draws random numbers": r"\brandom_device\b|\bmt19937|\b(rand|srand|rand_r|drand48|getrandom"
                            r"|random|arc4random\w*)\s*\(",
    "does I/O": r"\bstd::(cout|cerr|clog|cin|print\w*|[io]?fstream|fopen|getenv|system)\b"
                r"|\b(f?printf|fputs|puts|fwrite|fopen|getenv)\s*\(",
}
UNORDERED = r"\bunordered_(?:multi)?(?:map|set)\s*<[^;{}()]*>\s*&?\s*(\w+)\s*[;{=,)]"


def impure(file: File) -> Findings:
    """slots/ and neli_core/ proper: no clock, sleep, thread, lock, random number or I/O."""
    if not file.is_cpp or file.room not in PURE_ROOMS:
        return
    code = cpp_text.code_of(file.text)
    for what, pattern in IMPURE.items():
        for line, found in file.matches(pattern, code):
            yield line, f"{file.room} {what}: {found}"
    for name in set(re.findall(UNORDERED, code)):
        loop = rf"\bfor\s*\([^;{{}}]*:\s*[\w.>\-]*\b{name}\s*\)|\b{name}(?:\.|->)c?begin\s*\("
        for line, _ in file.matches(loop, code):
            yield line, f"the order of the unordered {name} is not the same everywhere"


OPTION_TABLE = "router/options/option_table.cc"
FLAG = (r"--(?:" + "|".join(sorted(set(re.findall(r'"--([a-z-]+)"',
                                                  (HERE / OPTION_TABLE).read_text("utf-8")))))
        + r")\b(?!-)")
LIBRARY = ("include", "base", "slots", "neli_core", *PROTOCOLS, "ledgers", *LEDGER_ROOMS,
           "embedded_broker", "router", "metrics", "admin", "forward")


def flag(file: File) -> Findings:
    """Only its table of options knows the command's flags: its texts name options, as
    `timing.lease`."""
    if (not file.is_cpp or file.room not in LIBRARY
            or file.path.startswith("router/options/option_table.")):
        return
    for line, text in file.matches(r'"(?:[^"\\\n]|\\.)*"'):
        for found in re.findall(FLAG, text):
            yield line, f"names the flag {found}; write the option's name in backquotes"


# --- Size and shape -------------------------------------------------------------------------------


def file_length(file: File) -> Findings:
    """No file of code is longer than 500 lines."""
    lines = file.text.count("\n")
    if file.is_code and lines > FILE_LINES:
        yield FILE_LINES + 1, f"the file has {lines} lines, more than {FILE_LINES}"


def function_length(file: File) -> Findings:
    """No function is longer than 70 lines, from its head to its closing brace."""
    functions: list[cpp_text.Function] = []
    if file.is_cpp:
        functions += cpp_text.functions_of(file.text)
    elif file.suffix == ".py":
        functions += (
            cpp_text.Function(node.lineno, (node.end_lineno or 0) - node.lineno + 1, node.name)
            for node in ast.walk(ast.parse(file.text))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
    for function in functions:
        if function.lines > FUNCTION_LINES:
            yield function.line, (
                f"{function.name} has {function.lines} lines, more than {FUNCTION_LINES}")


def line_length(file: File) -> Findings:
    """No line of code is longer than 100 columns."""
    if file.is_code:
        for number, line in enumerate(file.text.split("\n"), 1):
            if len(line) > LINE_COLUMNS:
                yield number, f"{len(line)} columns, more than {LINE_COLUMNS}"


def whitespace(file: File) -> Findings:
    """No tab, no blank at a line's end, no carriage return, and the last line ends."""
    if file.is_code:
        for line, _ in file.matches(r"[ \t\r]+$"):
            yield line, "a blank at the end of the line"
        for line, _ in file.matches(r"^[^\n]*?\t"):
            yield line, "a tab"
        if file.text and not file.text.endswith("\n"):
            yield file.text.count("\n") + 1, "the last line does not end"


# --- Tests and what they need ---------------------------------------------------------------------


def skipped_test(file: File) -> Findings:
    """A test that is switched off proves nothing: mend it or delete it."""
    if file.is_cpp:
        code = cpp_text.code_of(file.text)
        yield from file.matches(r"\bDISABLED_\w*|\bGTEST_SKIP\w*", code)
        for line, found in file.matches(r"(//|/\*).*\b(TEST|TEST_F|TEST_P|TYPED_TEST)\s*\("):
            yield line, f"a test commented out: {found}"
    elif file.suffix == ".py":
        yield from file.matches(
            r"unittest[.]skip\w*|[.]skipTest\b|\bmark[.]skip\w*|\braise\s+SkipTest\b")
        for line, found in file.matches(r"^\s*#\s*(def test_|class \w+\(unittest)"):
            yield line, f"a test commented out: {found}"


HOSTS = (r"npmjs[.](org|com)|\bpypi[.]org|pythonhosted[.]org|\bcrates[.]io|proxy[.]golang[.]org"
         r"|\brepo1?[.]maven|central[.]sonatype|\b(deb|security|ftp)[.]debian[.]org"
         r"|\barchive[.]ubuntu[.]com")


def host(file: File) -> Findings:
    """No file names the host of a package registry: the clients know theirs."""
    for line, found in file.matches(HOSTS):
        yield line, f"names the host of a registry: {found}"


RULES: dict[str, Callable[[File], Findings]] = {
    "layering": layering,
    "impure": impure,
    "flag": flag,
    "file-length": file_length,
    "function-length": function_length,
    "line-length": line_length,
    "whitespace": whitespace,
    "skipped-test": skipped_test,
    "host": host,
}


def check(file: File) -> list[tuple[int, str, str]]:
    """The findings of all rules in one file: line, rule, what is wrong."""
    lines = file.text.split("\n")
    findings = []
    for name, rule in RULES.items():
        excuse = re.compile(rf"tidy-allow\({name}\): \S")
        for number, what in rule(file):
            if number > len(lines) or not excuse.search(lines[number - 1]):
                findings.append((number, name, what))
    return sorted(findings)


# --- Rules over several files ---------------------------------------------------------------------

TEST = r"\b(?:TYPED_)?TEST(?:_[FP])?\s*\(\s*(\w+)\s*,\s*(\w+)\s*\)"
NAMED_TEST = r"`([A-Z]\w*)\.(?!md`)([a-z]\w*)`"


def unknown_tests(files: list[File]) -> Iterator[tuple[str, int, str]]:
    """A page names as its proof only tests that exist: path, line, what is wrong."""
    known = {found.groups() for file in files if file.path.startswith("tests/") and file.is_cpp
             for found in re.finditer(TEST, file.text)}
    for file in files:
        if file.suffix != ".md":
            continue
        for line, name in file.matches(NAMED_TEST):
            if tuple(name.strip("`").split(".")) not in known:
                yield file.path, line, f"no test in tests/ is named {name}"


def project_path(include: cpp_text.Include) -> str:
    """What an include names, from the top of the project if it is the project's own."""
    return "include/" + include.path if include.path.startswith("neliroute/") else include.path


def reached_rdkafka(files: list[File]) -> Iterator[tuple[str, int, str]]:
    """Whoever may not include librdkafka reaches it by no chain of headers either, where each
    machine that has the system's hides it: path, line, what is wrong."""
    includes = {file.path: list(cpp_text.includes_of(file.text)) for file in files if file.is_cpp}
    towards: dict[str, str] = {}  # file -> what it includes on the way to librdkafka
    known = -1
    while known < len(towards):
        known = len(towards)
        for path, included in includes.items():
            names = map(project_path, included)
            step = next((n for n in names if n in towards or n.startswith("librdkafka/")), None)
            if step is not None:
                towards.setdefault(path, step)
    inner = {file.path for file in files if file.room in MAY_INCLUDE
             and not re.fullmatch(MAY_INCLUDE[file.room][1], "librdkafka/rdkafka.h")}
    for path in sorted(inner & includes.keys()):
        for include in includes[path]:
            chain = [project_path(include)]
            if chain[0] in towards and chain[0] not in inner:  # those have a finding of their own
                while chain[-1] in towards:
                    chain.append(towards[chain[-1]])
                yield path, include.line, f"reaches <{chain[-1]}> by " + ", ".join(chain[:-1])


# --- The two commands -----------------------------------------------------------------------------


def project_files(root: pathlib.Path) -> Iterator[File]:
    """The text files that git tracks, or would if they were added."""
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        check=True, capture_output=True, text=True).stdout
    for path in sorted(set(filter(None, listed.split("\0")))):
        try:
            yield File(path, (root / path).read_bytes().decode())
        except (FileNotFoundError, IsADirectoryError, UnicodeDecodeError):
            continue  # deleted but not yet committed, or not text


def full_folders(paths: list[str]) -> dict[str, int]:
    """The folders that hold more files of code than a reader takes in at a glance."""
    held = collections.Counter(os.path.dirname(path) for path in paths)
    return {folder: count for folder, count in held.items() if count > FOLDER_FILES}


def rules(root: pathlib.Path) -> int:
    found = 0
    files = list(project_files(root))
    for file in files:
        for line, rule, what in check(file):
            found += 1
            print(f"{file.path}:{line}: {rule}: {what}")
    for path, line, what in unknown_tests(files):
        found += 1
        print(f"{path}:{line}: unknown-test: {what}")
    for path, line, what in reached_rdkafka(files):
        found += 1
        print(f"{path}:{line}: layering: {what}")
    for folder, count in full_folders([file.path for file in files if file.is_code]).items():
        found += 1
        print(f"{folder}:1: folder: has {count} files of code, more than {FOLDER_FILES}")
    print(f"tidy: {len(files)} files, {found} findings")
    return found


# What many headers include and is expensive to compile, precompiled: the richest first.
DEAR = (
    ("boost/asio/any_io_executor.hpp", "boost/system/result.hpp", "chrono", "functional",
     "memory", "string", "vector"),
    ("boost/system/result.hpp", "chrono", "functional", "optional", "string", "variant", "vector"),
    ("functional", "string", "vector"),
    ("string",),
)


class Included:
    """What each header includes, by way of headers of the project: those, and others' headers."""

    def __init__(self, files: dict[str, File]) -> None:
        self.files = files
        self.ours: dict[str, set[str]] = {path: set() for path in files}
        self.foreign: dict[str, set[str]] = {path: set() for path in files}
        for path in files:
            self._add(path, path)

    def _add(self, path: str, header: str) -> None:
        for include in cpp_text.includes_of(self.files[header].text):
            named = project_path(include)
            if named in self.files:
                if named != path and named not in self.ours[path]:
                    self.ours[path].add(named)
                    self._add(path, named)
            elif not include.quoted:
                self.foreign[path].add(include.path)

    def dear_part(self, path: str) -> int | None:
        """Which of DEAR a header may find precompiled: it must include all of it in any case, as
        it could forget what it is given, and nobody would notice."""
        return next((n for n, part in enumerate(DEAR) if self.foreign[path].issuperset(part)), None)

    def chains(self) -> list[list[str]]:
        """All headers, in lists in which each header is included by the next one. Such a list is
        compiled at once, in this order: no header finds there what it does not include anyway."""
        left, chains = set(self.files), []
        for top in sorted(self.files, key=lambda path: (-len(self.ours[path]), path)):
            if top not in left:
                continue
            number = self.dear_part(top)
            given = set() if number is None else set(DEAR[number])
            chain, below = [], {top}
            while below:
                chain.insert(0, max(below, key=lambda path: (len(self.ours[path]), path)))
                left.discard(chain[0])
                below = {path for path in self.ours[chain[0]] & left
                         if self.foreign[path] >= given}
            chains.append(chain)
        return chains


def written(path: pathlib.Path, text: str) -> pathlib.Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
    return path


def headers(root: pathlib.Path, build: pathlib.Path, compiler: list[str],
            flags: list[str], only: str | None) -> int:
    """Compiles each header to an object, and with -MD, as that is what ccache remembers. Those in
    the folder `only` include no others."""
    files = {file.path: file for file in project_files(root)
             if file.suffix == ".h" and (only is None or file.path.startswith(only + "/"))}
    if not files:
        raise SystemExit(f"tidy: no headers in {only or root}/")
    included = Included(files)
    chains = included.chains()
    options = ["-std=c++20", "-O0", "-I", str(root), "-I", str(root / "include"), *flags]

    def run(*arguments: str) -> str:
        done = subprocess.run([*compiler, *arguments], capture_output=True, text=True, check=False)
        return done.stderr if done.returncode else ""

    def precompiles(number: int) -> str:
        text = "".join(f"#include <{include}>\n" for include in DEAR[number])
        source = str(written(build / f"dear_{number}.h", text))
        return run(*options, "-MD", "-x", "c++-header", source, "-o", source + ".gch")

    def compiles(chain: list[str]) -> tuple[str, str]:
        source = written(build / (chain[-1] + ".cc"),
                         "".join(f'#include "{path}"\n' for path in chain))
        number = included.dear_part(chain[-1])
        given = [] if number is None else ["-include", str(build / f"dear_{number}.h")]
        return chain[-1], run(*given, *options, "-MD", "-c", str(source),
                              "-o", str(source.with_suffix(".o")))

    found = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        used = {included.dear_part(chain[-1]) for chain in chains}
        for errors in pool.map(precompiles, sorted(used - {None})):
            if errors:
                raise SystemExit(f"tidy: no precompiled header\n{errors}")
        for path, errors in pool.map(compiles, chains):
            if errors:
                found += 1
                print(f"{path}:1: header: does not compile alone\n{errors}")
    print(f"tidy: {len(files)} headers, {found} findings")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Checks the project's own rules.")
    parser.add_argument("command", choices=("rules", "headers"))
    parser.add_argument("root", type=pathlib.Path, nargs="?",
                        default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--compiler", default="c++", help="with its launcher, split at ;")
    parser.add_argument("--only", help="the headers of this folder; it needs no others")
    parser.add_argument("--build", type=pathlib.Path, help="where headers are compiled")
    arguments, flags = sys.argv[1:], []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, flags = arguments[:at], arguments[at + 1:]
    options = parser.parse_args(arguments)
    if options.command == "rules":
        return int(rules(options.root) > 0)
    if options.build is None:
        parser.error("headers: --build FOLDER is needed")
    compiler = [word for word in options.compiler.split(";") if word]
    return int(headers(options.root, options.build, compiler, flags, options.only) > 0)


if __name__ == "__main__":
    sys.exit(main())
