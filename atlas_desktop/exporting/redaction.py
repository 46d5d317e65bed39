"""Personal data taken out of what leaves: what is found, and what stands in its place.

`spans` is a pure function of a text. A `Redactor` gives the same thing the same mark throughout an export, so
that what is left can still be followed.
"""

import json
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from atlas_desktop.exporting.document import MemoryRecord, named_speaker
from atlas_desktop.exporting.personal_data import FINDERS, KnownNames, digits
from memory.transfer import TravellingEvidence, TravellingMessage, TravellingSession

KINDS = ("names", "emails", "phones", "addresses", "cards", "ids", "words")
"""`words` are the person's own."""

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
    """What is to be taken out; words of the person's own are matched whatever their capitals."""

    kinds: frozenset[str]
    words: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Found:
    """Something that was found `count` times, and what stands in its place."""

    kind: str
    text: str = field(repr=False)
    mark: str
    count: int


def kinds_of(text: str) -> frozenset[str] | None:
    """Kinds from a list with commas (`names,phones`; `all`); None when it is not one."""
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
    """Any of the words, whatever their capitals, spaces and way of composing letters; None for no words.

    A word with capitals and small letters stands alone; in scripts without them it may touch others.
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
    """Start, end and kind of what is to go, in order and apart; where finds overlap the first kind has it."""
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
    """Takes the finds that lie apart from all before; `taken` stays in order."""
    for start, end in found:
        at = bisect_left(taken, (start, end, ""))
        if (at and taken[at - 1][1] > start) or (at < len(taken) and taken[at][0] < end):
            continue
        taken.insert(at, (start, end, kind))


class Redactor:
    """First shown everything with `learn`, for the names, it then gives back what may go out."""

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
        """Takes up the names of people in a session."""
        if "names" not in self._kinds:
            return
        self._names.learn(session.title)
        for message in session.messages:
            self._names.learn(message.content)
            if name := named_speaker(message):
                self._names.add(name)

    def learn_text(self, text: str) -> None:
        """Takes up the names of people in a text."""
        if "names" in self._kinds:
            self._names.learn(text)

    @property
    def found(self) -> list[Found]:
        """What was taken out so far, by kind, the most frequent first."""
        listed = [
            Found(kind, self._first[kind, key], mark, self._counts[kind, key])
            for (kind, key), mark in self._marks.items()
        ]
        return sorted(listed, key=lambda one: (KINDS.index(one.kind), -one.count, one.text))

    def counts(self) -> dict[str, int]:
        """How many places of each kind were found so far."""
        totals: dict[str, int] = {}
        for (kind, _), count in self._counts.items():
            totals[kind] = totals.get(kind, 0) + count
        return {kind: totals[kind] for kind in KINDS if kind in totals}

    def text(self, text: str) -> str:
        """A text with marks in the place of what was found."""
        if not text:
            return text
        parts = []
        at = 0
        for start, end, kind in spans(text, self._kinds, self._names, self._words):
            parts += [text[at:start], self._mark(kind, text[start:end])]
            at = end
        return "".join([*parts, text[at:]]) if parts else text

    def session(self, session: TravellingSession) -> TravellingSession:
        """A session with all its texts as they may go out, the fields that nobody knows among them."""
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
        """A memory as it may go out."""
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
        """The mark of a full name for a part of it: it is the same person, most likely."""
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
            return self.text(value)
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
    """What two ways of writing the same thing have in common."""
    if kind in ("phones", "cards"):
        return "".join(map(str, digits(text)))
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())
