#!/usr/bin/env python3
"""Every sentence of the seeds is quoted by a paper test, or named in docs/seeds.md with a reason.

  coverage.py check          what is missing, named twice or quoted wrongly; exit code 1 if any
  coverage.py list [SEED]    all sentences: number, where it is tested or named, how it begins
  coverage.py index FOLDER   writes sentences.txt anew from the texts, one FOLDER/SEED.txt each

The texts are others'. sentences.txt keeps of each sentence its number, a hash of its words and its
first words, so a quotation that is not to the word is found out.
"""

import argparse
import pathlib
import re
import sys
from typing import Iterator, NamedTuple

from sentences import key_of, sentences_of, words_of

HERE = pathlib.Path(__file__).resolve().parent
INDEX = HERE / "sentences.txt"
REASONS = HERE.parents[1] / "docs" / "seeds.md"
SEEDS = ("neli-paper", "goneli", "leader-and-followers", "leader-election-lease",
         "zeebe-priority-election")


class Sentence(NamedTuple):
    seed: str
    number: int
    key: str
    head: str


def read_index() -> list[Sentence]:
    found = []
    for line in INDEX.read_text().splitlines():
        seed, number, key, head = line.split(" ", 3)
        found.append(Sentence(seed, int(number), key, head))
    return found


def write_index(folder: pathlib.Path) -> None:
    lines = []
    for seed in SEEDS:
        for number, sentence in enumerate(sentences_of((folder / f"{seed}.txt").read_text()), 1):
            head = " ".join(words_of(sentence).split()[:7])[:60]
            lines.append(f"{seed} {number} {key_of(sentence)} {head}\n")
    INDEX.write_text("".join(lines))


def quotes_in(path: pathlib.Path) -> Iterator[tuple[str, str]]:
    """Seed and sentence of each quotation: a comment that begins with `// SEED: "`."""
    paragraph: list[str] = []
    for line in path.read_text().splitlines() + [""]:
        starts = re.match(r"// (%s): \"" % "|".join(SEEDS), line)
        if paragraph and (starts or not line.startswith("// ")):
            yield from quoted(" ".join(paragraph))
            paragraph = []
        if starts or (paragraph and line.startswith("// ")):
            paragraph.append(line[3:])


def quoted(paragraph: str) -> Iterator[tuple[str, str]]:
    """From the first to the last quotation mark; what follows is our own remark."""
    seed, text = paragraph.split(": ", 1)
    for sentence in sentences_of(text[1:text.rindex('"')]):
        yield seed, sentence


def reasons() -> Iterator[tuple[str, int]]:
    """Seed and number of every sentence that a row of docs/seeds.md names: | 4, 7-9 | why |."""
    seed = ""
    for line in REASONS.read_text().splitlines():
        heading = re.match(r"## .*`([a-z-]+)`", line)
        row = re.match(r"\| ([0-9, -]+) \| *\S", line)
        if heading:
            seed = heading.group(1)
        elif row:
            for part in row.group(1).split(","):
                first, _, last = part.strip().partition("-")
                yield from ((seed, number) for number in range(int(first), int(last or first) + 1))


def where() -> tuple[dict[tuple[str, int], list[str]], list[str]]:
    """For each sentence where it is tested or named; and what is wrong with quotations and rows."""
    by_key: dict[tuple[str, str], list[int]] = {}
    for sentence in read_index():
        by_key.setdefault((sentence.seed, sentence.key), []).append(sentence.number)
    places: dict[tuple[str, int], list[str]] = {
        (sentence.seed, sentence.number): [] for sentence in read_index()}
    wrong = []
    for path in sorted(HERE.glob("*_test.cc")):
        for seed, sentence in quotes_in(path):
            numbers = by_key.get((seed, key_of(sentence)), [])
            if not numbers:
                wrong.append(f"{path.name}: not in {seed} to the word: {sentence}")
            for number in numbers:
                places[seed, number].append(path.name)
    for seed, number in reasons():
        if (seed, number) in places:
            places[seed, number].append("docs/seeds.md")
        else:
            wrong.append(f"docs/seeds.md: {seed} has no sentence {number}")
    return places, wrong


def check() -> int:
    places, wrong = where()
    for sentence in read_index():
        at = set(places[sentence.seed, sentence.number])
        if not at:
            wrong.append(f"{sentence.seed} {sentence.number}: neither tested nor named: "
                         f"{sentence.head}")
        elif "docs/seeds.md" in at and len(at) > 1:
            wrong.append(f"{sentence.seed} {sentence.number}: tested, and yet in docs/seeds.md")
    tested = sum(any(at != "docs/seeds.md" for at in found) for found in places.values())
    print("\n".join(wrong + [f"coverage: {len(places)} sentences, {tested} tested, "
                             f"{len(wrong)} findings"]))
    return int(bool(wrong))


def show(seed: str | None) -> int:
    places, _ = where()
    for sentence in read_index():
        if seed in (None, sentence.seed):
            at = " ".join(sorted(set(places[sentence.seed, sentence.number]))) or "?"
            print(f"{sentence.seed} {sentence.number:3} {at:34} {sentence.head}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Which sentence of the seeds is tested where.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check")
    commands.add_parser("list").add_argument("seed", nargs="?", choices=SEEDS)
    commands.add_parser("index").add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    if options.command == "index":
        write_index(options.folder)
        return 0
    return check() if options.command == "check" else show(options.seed)


if __name__ == "__main__":
    sys.exit(main())
