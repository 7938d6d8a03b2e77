"""Just enough of C++'s surface for tidy.py: what is code, what is included, where functions are."""

import bisect
import re
from typing import Iterator, NamedTuple

_NOT_CODE = re.compile(
    r"""
      (?P<comment> //(?:\\\n|[^\n])* | /\*.*?\*/ )
    | R"(?P<mark>[^()\\\s]{0,16})\((?P<raw>.*?)\)(?P=mark)"
    | "(?:\\.|[^"\\\n])*"
    | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'
    """,
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_INCLUDE = re.compile(r'[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]')
_NAME = (r"(?!(?:requires|sizeof|noexcept|decltype|alignof)\b)(?<![~\w:])"
         r"([~\w:]+|operator\s*\S+)\s*\(")
_NOT_A_FUNCTION = re.compile(
    r"(?:namespace|class|struct|union|enum|extern|if|else|for|while|do|switch|try|catch)\b")


class Include(NamedTuple):
    line: int
    quoted: bool
    path: str


class Function(NamedTuple):
    line: int
    lines: int
    name: str


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def code_of(text: str) -> str:
    """The text with comments, string and character literals blanked; every line keeps its place."""
    return _NOT_CODE.sub(lambda found: _blank(found.group()), text)


def without_comments(text: str) -> str:
    return _NOT_CODE.sub(
        lambda found: _blank(found.group()) if found.group("comment") else found.group(), text)


def includes_of(text: str) -> Iterator[Include]:
    for number, line in enumerate(without_comments(text).split("\n"), 1):
        found = _INCLUDE.match(line)
        if found:
            yield Include(number, found[1] == '"', found[2])


def _is_function(head: str) -> bool:
    """Whether `head`, the code between the last statement and a brace, begins a function."""
    head = re.sub(r"^\s*template\s*<[^{;]*?>\s*(?=\w|\[)", "", head).strip()
    if not head or _NOT_A_FUNCTION.match(head) or "(" not in head:
        return False
    return not head.endswith("=") and not re.search(r"\boperator\s*$", head)


def _is_initialiser(head: str) -> bool:
    """Whether the brace after `head` initialises a member in a constructor's list."""
    return bool(re.search(r"\)[\w\s]*:(?!:).*[\w>]\s*$", head, re.DOTALL)
                and re.search(r"[,:]\s*[\w:<>, ]+$", head))


def functions_of(text: str) -> Iterator[Function]:
    """Functions with a body, from the first line of their head to their closing brace.

    Counts braces; what is inside a function (blocks, lambdas, local classes) belongs to it.
    """
    code = _DIRECTIVE.sub(lambda found: _blank(found.group()), code_of(text))
    newlines = [found.start() for found in re.finditer("\n", code)]
    begin, parens = 0, 0
    stack: list[tuple[str, int, int]] = []  # kind of the brace, begin and parens outside of it
    depth = 0  # functions open: 0 or 1

    for found in re.finditer(r"[(){};]", code):
        at, mark = found.start(), found.group()
        if mark == "(":
            parens += 1
        elif mark == ")":
            parens -= 1
        elif mark == ";":
            if parens == 0:
                begin = at + 1
        elif mark == "{":
            head = code[begin:at]
            inner = parens > 0 or _is_initialiser(head)
            kind = "part" if depth or inner else "function" if _is_function(head) else "scope"
            stack.append((kind, begin, parens))
            depth += kind == "function"
            if not inner:
                begin, parens = at + 1, 0
        elif stack:
            kind, start, parens = stack.pop()
            if kind == "function":
                depth = 0
                head = code[start:at]
                start += len(head) - len(head.lstrip())
                first = bisect.bisect_left(newlines, start)
                name = re.search(_NAME, code[start:at])
                yield Function(first + 1, bisect.bisect_left(newlines, at) - first + 1,
                               name[1] if name else "?")
            if kind != "part":
                begin = at + 1
