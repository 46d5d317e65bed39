"""The sentences that a summary is made of, with their speakers, and which messages can have copies."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from memory.summaries.importance import importance, is_small_talk
from models.messages import Role

LEAST = {Role.USER: 12, Role.ASSISTANT: 40, Role.SYSTEM: 40}
"""The least characters of a message that can have a copy.

"Thanks" is no copy of anything, nor is "You are welcome, ask away": a model says so in every other session.
"""


def counts(role: Role, content: str) -> bool:
    """Whether a message is long enough for another one with the same text to be a copy of it."""
    return len(content.strip()) >= LEAST[role]


LABELS = {Role.USER: "User", Role.ASSISTANT: "Assistant", Role.SYSTEM: "System"}
"""The speaker's label when no name is known."""

_FENCE = re.compile(r"^(```|~~~).*?(?:^\1[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
_LINE_MARKS = re.compile(r"^\s*(?:#{1,6}\s+|>\s*|[-*+•]\s+|\d{1,2}[.)]\s+(?=\S)|\|)+\s*")
_RULE = re.compile(r"^[\s|:\-=*_+]*$")
_EMPHASIS = re.compile(r"\*\*|__|`")
_ENDS = re.compile(r"(?<=[.!?…])[\"”’»)\]]*\s+|(?<=[。！？])")
# A full stop after these ends no sentence: Dr. Berg · e.g. this · J. L. Carr · the 3. of May (German).
_ABBREVIATED = re.compile(
    r"(?:^|[\s(])(?:[A-Z]|\d{1,2}|Mr|Mrs|Ms|Dr|Prof|St|Nr|No|vs|etc|approx|ca|bzw|usw|z\.\s?B|d\.\s?h|e\.g|i\.e|"
    r"p\.m|a\.m|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec)\.$",
    re.IGNORECASE,
)
_LONGEST_WORDS = 45
_LOOKED_BACK = 16
_LONGEST_JOINED = 1000
"""The most characters of a sentence that is continued after an abbreviation."""
_HEADER = re.compile(r"^\d+ messages?(?:,|\.|$)")
_LABELLED = re.compile(r"([^:\n]{1,40}): (.+)")


@dataclass(frozen=True, slots=True)
class SourceMessage:
    """A message that is to be summarised."""

    id: str
    role: Role
    speaker: str
    text: str = field(repr=False)
    at: datetime
    important: bool = False

    @property
    def label(self) -> str:
        return self.speaker or LABELS[self.role]


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence (or a line) and its speaker, empty when that is part of the text.

    `weight` is its importance in [0, 1].
    """

    text: str = field(repr=False)
    speaker: str = ""
    weight: float = 0.0

    @property
    def line(self) -> str:
        return f"{self.speaker}: {self.text}" if self.speaker else self.text


@dataclass(frozen=True, slots=True)
class Span:
    """How many messages something covers, and the times of the first and the last."""

    messages: int
    first: datetime
    last: datetime


def span_of(messages: Sequence[SourceMessage]) -> Span | None:
    times = [message.at for message in messages]
    return Span(len(times), min(times), max(times)) if times else None


def sentences(text: str) -> list[str]:
    """Returns the sentences of prose and the lines of lists and tables.

    Code and rules are left out; longer sentences are cut into pieces of 45 words.
    """
    found: list[str] = []
    for line in _FENCE.sub("\n", text).splitlines():
        if _RULE.match(line):
            continue
        plain = _unmarked(_LINE_MARKS.sub("", line)).strip()
        if line.lstrip().startswith("|"):
            plain = ", ".join(cell.strip() for cell in plain.split("|") if cell.strip())
        for sentence in _split(plain):
            found.extend(_pieces(sentence))
    return found


def _unmarked(line: str) -> str:
    """Removes emphasis and code marks around text, pairing each mark with the next of its kind."""
    closing: dict[str, list[int]] = {}
    marks = list(_EMPHASIS.finditer(line))
    for mark in reversed(marks):
        if not line[mark.start() - 1 : mark.start()].isspace():
            closing.setdefault(mark[0], []).append(mark.start())
    kept: list[str] = []
    at = 0
    for mark in marks:
        begin, ends = mark.end(), closing.get(mark[0], [])
        if mark.start() < at or not line[begin : begin + 1].strip():
            continue
        while ends and ends[-1] <= begin:
            ends.pop()
        if ends:
            kept += (line[at : mark.start()], line[begin : ends[-1]])
            at = ends[-1] + len(mark[0])
    return "".join((*kept, line[at:])) if kept else line


def _split(line: str) -> list[str]:
    found: list[str] = []
    for piece in _ENDS.split(line):
        if found and len(found[-1]) < _LONGEST_JOINED and _shortened(found[-1]):
            found[-1] += f" {piece}"
        elif piece.strip():
            found.append(piece.strip())
    return found


def _shortened(text: str) -> bool:
    """Whether the text ends with an abbreviation."""
    return _ABBREVIATED.search(text, max(0, len(text) - _LOOKED_BACK)) is not None


def _pieces(sentence: str) -> list[str]:
    words = sentence.split()
    return [" ".join(words[at : at + _LONGEST_WORDS]) for at in range(0, len(words), _LONGEST_WORDS)]


def of_messages(messages: Sequence[SourceMessage]) -> list[Passage]:
    """Returns their sentences in order; greetings, thanks and the like are left out unless important."""
    return [
        Passage(sentence, m.label, importance(sentence, m.role, marked=m.important).score)
        for m in messages
        for sentence in sentences(m.text)
        if m.important or not is_small_talk(sentence)
    ]


# A line break inside a sentence: the next line goes on with a small letter or in brackets.
_WRAPPED = re.compile(r"(?<=[\w,;)’'\"”`*])\n(?=[^\W\d_A-Z]|\()")
_LEAD = (0.5, 0.3)
"""The weights of the first sentences of a part of a document, which often say what it is about."""


def of_text(texts: Iterable[str]) -> list[Passage]:
    """Returns the sentences of parts of a document, in order; the first ones of each part weigh more."""
    return [
        Passage(sentence, "", _LEAD[at] if at < len(_LEAD) else 0.0)
        for text in texts
        for at, sentence in enumerate(sentences(_WRAPPED.sub(" ", text)))
    ]


def of_summary(text: str, speakers: Collection[str], *, important: bool = False) -> list[Passage]:
    """Returns the sentences of a summary; lines that quote one of `speakers` are attributed to them."""
    found: list[Passage] = []
    for line in text.splitlines():
        if _HEADER.match(line.strip()):
            continue
        labelled = _LABELLED.fullmatch(line.strip())
        speaker, told = labelled.groups() if labelled and labelled[1] in speakers else ("", line)
        role = Role.ASSISTANT if speaker == LABELS[Role.ASSISTANT] else Role.USER
        found += [
            Passage(sentence, speaker, importance(sentence, role, marked=important).score)
            for sentence in sentences(told)
        ]
    return found
