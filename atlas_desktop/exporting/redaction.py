"""Redaction of personal data in exports: what is found, and the marks that replace it.

`spans` is a pure function of a text. A `Redactor` gives the same value the same mark throughout an export, so
that the redacted text can still be followed.
"""

import json
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from atlas_desktop.exporting.document import MemoryRecord, citations, named_speaker
from atlas_desktop.exporting.personal_data import FINDERS, KnownNames, digits
from memory.transfer import TravellingEvidence, TravellingMessage, TravellingSession

KINDS = ("names", "emails", "phones", "addresses", "cards", "ids", "words")
"""`words` are the user's own words."""

_SINGULAR = {
    "names": "name",
    "emails": "email",
    "phones": "phone",
    "addresses": "address",
    "cards": "card",
    "ids": "id",
    "words": "removed",
}
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OTHER_NAMES = {
    "e-mail": "emails",
    "mail": "emails",
    "numbers": "ids",
    "id-numbers": "ids",
    "address": "addresses",
}


@dataclass(frozen=True, slots=True)
class Redaction:
    """What to redact; the user's own words are matched in any case."""

    kinds: frozenset[str]
    words: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Found:
    """A value that was found `count` times, and the mark that replaces it."""

    kind: str
    text: str = field(repr=False)
    mark: str
    count: int


def kinds_of(text: str) -> frozenset[str] | None:
    """Parses a comma-separated list of kinds (`names,phones`; `all`); returns None if it is invalid."""
    kinds: set[str] = set()
    for word in text.lower().replace(" ", "").split(","):
        if word == "all":
            kinds.update(KINDS)
            continue
        kind = next((one for one in KINDS if word in (one, _SINGULAR[one])), _OTHER_NAMES.get(word))
        if kind is None:
            return None
        kinds.add(kind)
    return frozenset(kinds)


def pattern_of(words: Iterable[str]) -> "re.Pattern[str] | None":
    """Returns a pattern for any of the words, or None if there are none.

    It ignores case, the amount of whitespace and Unicode composition. A word with upper and lower case must
    stand alone; in scripts without case it may touch other words.
    """
    forms = {form for word in words if word.strip() for form in _forms(word.strip())}
    if not forms:
        return None
    ordered = sorted(forms, key=lambda form: (-len(form), form))
    return re.compile("|".join(map(_bounded, ordered)), re.IGNORECASE)


def _forms(word: str) -> set[str]:
    return {unicodedata.normalize(form, word) for form in ("NFC", "NFD")} | {word}


def _bounded(word: str) -> str:
    body = r"\s+".join(map(re.escape, word.split()))
    before = r"(?<!\w)" if _alphabetic(word[0]) else ""
    after = r"(?!\w)" if _alphabetic(word[-1]) else ""
    return f"{before}{body}{after}"


def _alphabetic(char: str) -> bool:
    return char.isdecimal() or char.lower() != char.upper() or unicodedata.combining(char) > 0


def spans(
    text: str, kinds: frozenset[str], names: KnownNames, words: "re.Pattern[str] | None"
) -> list[tuple[int, int, str]]:
    """Returns start, end and kind of the text to redact, in order.

    The spans do not overlap: the first kind wins.
    """
    taken: list[tuple[int, int, str]] = []
    if words is not None and "words" in kinds:
        taken.extend((*found.span(), "words") for found in words.finditer(text))
    for kind, find in FINDERS.items():
        if kind in kinds:
            _claim(taken, find(text), kind)
    if "names" in kinds:
        _claim(taken, names.spans(text), "names")
    return taken


def _claim(taken: list[tuple[int, int, str]], found: Iterable[tuple[int, int]], kind: str) -> None:
    """Adds the finds that do not overlap earlier ones; `taken` stays sorted."""
    for start, end in found:
        at = bisect_left(taken, (start, end, ""))
        if (at and taken[at - 1][1] > start) or (at < len(taken) and taken[at][0] < end):
            continue
        taken.insert(at, (start, end, kind))


class Redactor:
    """Redacts sessions, memories and text, after `learn` has seen all of them for their names."""

    def __init__(self, redaction: Redaction) -> None:
        self._kinds = redaction.kinds | ({"words"} if redaction.words else frozenset())
        self._words = pattern_of(redaction.words)
        self._names = KnownNames()
        self._marks: dict[tuple[str, str], str] = {}
        self._counts: dict[tuple[str, str], int] = {}
        self._first: dict[tuple[str, str], str] = {}
        self._numbers: dict[str, int] = {}
        self._people: dict[str, str] = {}

    def learn(self, session: TravellingSession) -> None:
        """Learns the personal names in a session."""
        if "names" not in self._kinds:
            return
        self._names.learn(session.title)
        for message in session.messages:
            self._names.learn(message.content)
            for line in citations(message):
                self._names.learn(line)
            if name := named_speaker(message):
                self._names.add(name)

    def learn_text(self, text: str) -> None:
        """Learns the personal names in a text."""
        if "names" in self._kinds:
            self._names.learn(text)

    @property
    def found(self) -> list[Found]:
        """Values redacted so far, by kind, the most frequent first."""
        listed = [
            Found(kind, self._first[kind, key], mark, self._counts[kind, key])
            for (kind, key), mark in self._marks.items()
        ]
        return sorted(listed, key=lambda one: (KINDS.index(one.kind), -one.count, one.text))

    def counts(self) -> dict[str, int]:
        """Returns the number of redactions so far, by kind."""
        totals: dict[str, int] = {}
        for (kind, _), count in self._counts.items():
            totals[kind] = totals.get(kind, 0) + count
        return {kind: totals[kind] for kind in KINDS if kind in totals}

    def text(self, text: str) -> str:
        """Returns a text with marks in place of what was found."""
        if not text:
            return text
        parts = []
        at = 0
        for start, end, kind in spans(text, self._kinds, self._names, self._words):
            parts += [text[at:start], self._mark(kind, text[start:end])]
            at = end
        return "".join([*parts, text[at:]]) if parts else text

    def session(self, session: TravellingSession) -> TravellingSession:
        """Returns a session with all its text redacted, including unknown fields."""
        return replace(
            session,
            id=self._id(session.id),
            title=self.text(session.title),
            project=None if session.project is None else self.text(session.project),
            tags=tuple(map(self.text, session.tags)),
            category=self.text(session.category),
            system_prompt=None if session.system_prompt is None else self.text(session.system_prompt),
            head=None if session.head is None else self._id(session.head),
            messages=tuple(map(self._message, session.messages)),
            meta=self._meta(session.meta),
        )

    def memory(self, memory: MemoryRecord) -> MemoryRecord:
        """Returns a redacted memory."""
        return replace(
            memory,
            text=self.text(memory.text),
            subject=self.text(memory.subject),
            project=None if memory.project is None else self.text(memory.project),
            sources=tuple(map(self._id, memory.sources)),
            evidence=tuple(
                TravellingEvidence(self._id(one.session), self._id(one.message), self.text(one.quote))
                for one in memory.evidence
            ),
        )

    def _message(self, message: TravellingMessage) -> TravellingMessage:
        return replace(
            message,
            id=self._id(message.id),
            parent=None if message.parent is None else self._id(message.parent),
            speaker=self.text(message.speaker) if named_speaker(message) else message.speaker,
            content=self.text(message.content),
            meta=self._meta(message.meta),
        )

    def _next(self, kind: str) -> int:
        self._numbers[kind] = self._numbers.get(kind, 0) + 1
        return self._numbers[kind]

    def _part_of(self, key: tuple[str, str]) -> str | None:
        """Returns the mark of a name; None for a single name that is unknown, and for other kinds.

        A full name gets a new mark, and its parts share it: they most likely refer to the same person.
        """
        kind, name = key
        if kind != "names":
            return None
        words = name.split()
        if len(words) == 1:
            return self._people.get(name)
        mark = f"[name {self._next(kind)}]"
        for word in words:
            for part in (word, *word.split("-")):
                self._people.setdefault(part, mark)
        return mark

    def _id(self, name: str) -> str:
        return name if _UUID.fullmatch(name) else self.text(name)

    def _meta(self, meta: str) -> str:
        return meta if meta == "{}" else json.dumps(self._value(json.loads(meta)))

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._id(value)
        if isinstance(value, list):
            return [self._value(one) for one in value]
        if isinstance(value, dict):
            return {self.text(key): self._value(one) for key, one in value.items()}
        return value

    def _mark(self, kind: str, text: str) -> str:
        key = (kind, _same(kind, text))
        if key not in self._marks:
            self._marks[key] = self._part_of(key) or f"[{_SINGULAR[kind]} {self._next(kind)}]"
            self._first[key] = text
        self._counts[key] = self._counts.get(key, 0) + 1
        return self._marks[key]


def _same(kind: str, text: str) -> str:
    """Returns a key that is the same for different spellings of one value."""
    if kind in ("phones", "cards"):
        return "".join(map(str, digits(text)))
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())
