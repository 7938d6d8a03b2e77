"""The sentences of a text, numbered, and what makes two of them the same."""

import hashlib
import re

# How the paper's formulas read when they are quoted: `j \\bmod \\text{size}(M)` is "j mod size(M)".
FORMULA = (("\\bmod", "mod"), ("\\rightarrow", ""), ("\\forall", ""), ("\\leq", ""), ("\\text", ""))
ENDS = re.compile(
    r"(?<=[.!?:])[\"')*]*\s+(?=[\"'(*$`\[]*[A-Z0-9])"  # a sentence
    r"|\s*•\s+|(?<=[.;:—|])\s+-\s+"  # an item of a list
    r"|\s//\s+(?=[A-Z(])|\s+(?=(?:log\.\w+\(|case \w+:|barrier :=|panic\())")  # a line of code
# Where a full stop ends no sentence.
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|etc|vol|pp|Proc|Int|Conf|Symp|Dependable Syst|[A-Z])\.$")


def words_of(sentence: str) -> str:
    """Only words count: no case, no marks, no typesetting, no number of a list's item."""
    sentence = re.sub(r"^\d+\.\s+(?=\S)", "", sentence)
    for command, spoken in FORMULA:
        sentence = sentence.replace(command, spoken)
    return " ".join(re.findall(r"[a-z0-9]+", sentence.lower()))


def key_of(sentence: str) -> str:
    return hashlib.sha256(words_of(sentence).encode()).hexdigest()[:12]


def paragraphs_of(text: str) -> list[str]:
    """Blank lines part paragraphs, but where a page of the paper ends in mid-sentence."""
    joined: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text):
        paragraph = re.sub(r"\s//\s+(?=[a-z])", " ", " ".join(paragraph.split()))
        if joined and paragraph[:1].islower() and joined[-1][-1:] not in ".!?:;":
            joined[-1] += " " + paragraph
        elif paragraph:
            joined.append(paragraph)
    return joined


def sentences_of(text: str) -> list[str]:
    """In order; what has no word is none."""
    found: list[str] = []
    for paragraph in paragraphs_of(text):
        pending = ""
        for piece in ENDS.split(paragraph):
            pending = f"{pending} {piece}".strip()
            if ABBREVIATION.search(pending):
                continue
            found.append(pending)
            pending = ""
        if pending:
            found.append(pending)
    return [sentence for sentence in found if words_of(sentence)]
