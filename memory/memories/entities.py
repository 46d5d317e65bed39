"""The value types of memories: their sources, versions and changes, and their full text."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from memory.recall.words import carries_meaning
from memory.storage.words import is_unspaced, pieces
from memory.summaries.languages import lexicon


class MemoryKind(StrEnum):
    """digest: a titled document of a whole session that was marked important."""

    FACT = "fact"
    PREFERENCE = "preference"
    DECISION = "decision"
    EVENT = "event"
    PROCEDURE = "procedure"
    CODE = "code"
    QUESTION = "question"
    DIGEST = "digest"


class MemoryTier(StrEnum):
    """How long a memory is meant to last: a session, days, as long as a project, permanently.

    procedural: how something is done; used only after the user has approved it.
    """

    WORKING = "working"
    SHORT_TERM = "short_term"
    EPISODIC = "episodic"
    LONG_TERM = "long_term"
    PROCEDURAL = "procedural"


class MemoryState(StrEnum):
    """inbox: new, in use, not reviewed yet; kept: accepted by the user or promoted; rejected: never learned
    again from the same quote; superseded: something newer replaces it; archived: out of use, not lost.
    """

    INBOX = "inbox"
    KEPT = "kept"
    REJECTED = "rejected"
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"


FINDABLE = frozenset({MemoryState.INBOX, MemoryState.KEPT})
"""States of memories that are recalled."""


class MemoryOrigin(StrEnum):
    """Who wrote it: the user, a pattern or a model reading the user's text, or a merger."""

    PERSON = "person"
    PATTERN = "pattern"
    MODEL = "model"
    CONSOLIDATION = "consolidation"


class UseKind(StrEnum):
    """recalled: was in a prompt, which alone strengthens nothing; the others do."""

    RECALLED = "recalled"
    CITED = "cited"
    CONFIRMED = "confirmed"
    OPENED = "opened"


@dataclass(frozen=True, slots=True)
class MemorySource:
    """The user's words behind a memory: the message contains `quote` verbatim.

    Without a session, `message_id` is the id of a note, which contained them when the memory was learned.
    """

    message_id: str
    session_id: str
    quote: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory. `confidence` and `importance` are 0 … 1; `uses` counts useful ones.

    `valid_from` and `valid_until` bound when it is true, `expires_at` how long it is in use. `superseded_by`
    is the id of the memory that replaces it. `proposed_by` is the id of the client that proposed it: it is in
    use only once the user has accepted it. Times are aware, in UTC.
    """

    id: str
    kind: MemoryKind
    tier: MemoryTier
    state: MemoryState
    origin: MemoryOrigin
    subject: str = field(repr=False)
    text: str = field(repr=False)
    confidence: float
    importance: float
    created_at: datetime
    updated_at: datetime
    pinned: bool = False
    version: int = 1
    uses: int = 0
    used_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    expires_at: datetime | None = None
    superseded_by: str | None = None
    project: str | None = None
    model: str | None = None
    proposed_by: str | None = None


def end_of(memory: Memory, moment: datetime) -> datetime:
    """Returns `moment`, but not before the memory becomes true."""
    return moment if memory.valid_from is None else max(moment, memory.valid_from)


def holds_after(memory: Memory, moment: datetime) -> bool:
    """Whether the memory remains true after `moment`; also if its end is unknown."""
    return memory.valid_until is None or memory.valid_until > moment


class TimesOutOfOrder(ValueError):
    """Something would end before it begins."""


def require_order(since: datetime | None, until: datetime | None) -> None:
    """Raises `TimesOutOfOrder`."""
    if since is not None and until is not None and until < since:
        raise TimesOutOfOrder("it would end before it begins")


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A memory before it is stored.

    `supersedes` are ids of memories that are no longer true. `parts` are ids of the memories merged into it,
    which are archived. `kept_in` is the session in which the user wrote it, if any. Raises `TimesOutOfOrder`.
    """

    kind: MemoryKind
    text: str = field(repr=False)
    origin: MemoryOrigin
    sources: tuple[MemorySource, ...] = ()
    tier: MemoryTier = MemoryTier.LONG_TERM
    state: MemoryState = MemoryState.INBOX
    subject: str = field(default="", repr=False)
    confidence: float = 1.0
    importance: float = 0.5
    pinned: bool = False
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    expires_at: datetime | None = None
    project: str | None = None
    model: str | None = None
    supersedes: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    kept_in: str | None = None
    proposed_by: str | None = None

    def __post_init__(self) -> None:
        require_order(self.valid_from, self.valid_until)


class Unset:
    """Marks a field that a patch leaves alone, where None is a value."""


UNSET = Unset()


@dataclass(frozen=True, slots=True)
class MemoryPatch:
    """Fields to change; None (or UNSET) leaves a field as it is. A new text or subject is a new version."""

    kind: MemoryKind | None = None
    tier: MemoryTier | None = None
    state: MemoryState | None = None
    subject: str | None = field(default=None, repr=False)
    text: str | None = field(default=None, repr=False)
    confidence: float | None = None
    importance: float | None = None
    pinned: bool | None = None
    valid_from: datetime | Unset | None = UNSET
    valid_until: datetime | Unset | None = UNSET
    expires_at: datetime | Unset | None = UNSET

    def require_order(self, memory: Memory) -> None:
        """Raises `TimesOutOfOrder` if `memory`, once patched, would end before it begins."""
        since = memory.valid_from if isinstance(self.valid_from, Unset) else self.valid_from
        until = memory.valid_until if isinstance(self.valid_until, Unset) else self.valid_until
        require_order(since, until)


@dataclass(frozen=True, slots=True)
class MemoryVersion:
    """An earlier text of a memory."""

    memory_id: str
    version: int
    subject: str = field(repr=False)
    text: str = field(repr=False)
    created_at: datetime


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """A reply in which a memory was used."""

    memory_id: str
    reply_id: str
    session_id: str
    how: UseKind
    used_at: datetime


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """A change of memories, by the user or (`automatic`) by the program.

    It can be undone once, while nothing else has changed the same memories.
    """

    id: str
    action: str
    automatic: bool
    memory_ids: tuple[str, ...]
    created_at: datetime
    undone_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """Which memories; None matches all. `containing` are words or prefixes.

    `project` matches memories of that project and those without one; `session` those with a source in it.
    """

    states: frozenset[MemoryState] | None = FINDABLE
    kinds: frozenset[MemoryKind] | None = None
    tiers: frozenset[MemoryTier] | None = None
    project: str | None = None
    session: str | None = None
    pinned: bool | None = None
    containing: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class MemoryCounts:
    """How many memories there are, by state, and by kind and tier (of those that can be found)."""

    by_state: dict[str, int]
    by_kind: dict[str, int]
    by_tier: dict[str, int]


@dataclass(frozen=True, slots=True)
class Unlearned:
    """Messages of a session not learned from yet: the newest has `seq`."""

    session_id: str
    project: str | None
    seq: int
    message_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Touched:
    """Ids of memories added, changed or deleted since a version; `version` is the one to pass next time."""

    version: int
    ids: frozenset[str]


ONESELF = "I"
"""The subject of statements about the user."""

_WORD = re.compile(r"\w+")
_SENTENCE_ENDS = frozenset(".!?\n")
_ENDINGS = ("ing", "es", "ed", "s", "d")
_SHORTEST_STEM = 3


def reading(subject: str, text: str) -> str:
    """Returns the text of a memory with its subject: this is embedded, and used in prompts.

    The subject is omitted when it is the user, or is in the text.
    """
    known = not subject or subject == ONESELF or subject.casefold() in text.casefold()
    return text if known else f"{subject}: {text}"


def depends_on(text: str, gone: Iterable[str], left: Iterable[str]) -> bool:
    """Whether `text` contains a word that occurs in `gone` and nowhere in `left`.

    Stop words ("the", "in") do not count. A word and its English endings are one; numbers are compared as
    they are.
    """
    words = _words(text)
    only_there = words - _without(words, gone)
    return bool(_without(only_there, left))


def rewords(text: str, gone: Sequence[str], left: Iterable[str]) -> bool:
    """Whether `text` is another wording of one of `gone`, and not something else with a word in common.

    It has a name or number of them that nothing of `left` has; or, beside a word that nothing of `left` has,
    two words and half of those of the shorter one, or the only one.
    """
    words, left = _words(text), list(left)
    each = [_words(one) for one in gone]
    # A word may be known as a name only from inside a sentence of the other text.
    named = particulars([*gone, text]) & words
    if _without({word for word in named if any(word in one for one in each)}, left):
        return True
    for one in each:
        shared = words & one
        shorter = min(len(words), len(one))
        most = 2 * len(shared) > shorter or (len(shared) > 1 and 2 * len(shared) == shorter)
        if most and _without(shared, left):
            return True
    return False


def particulars(texts: Iterable[str]) -> frozenset[str]:
    """Returns the names and numbers of the texts.

    These are words that contain a digit, and words with a capital letter that is not only due to a sentence
    start.
    """
    known = lexicon()
    found = set()
    for text in texts:
        end = 0
        for match in _WORD.finditer(text):
            word, between = match.group(), text[end : match.start()]
            begins = end == 0 or not _SENTENCE_ENDS.isdisjoint(between)
            end = match.end()
            numbered = len(word) > 1 and any(map(str.isdigit, word))
            capital = any(map(str.isupper, word[1:] if begins else word))
            if numbered or (capital and word.casefold() not in known.common | known.calendar):
                found.add(_stem(word.casefold()))
    return frozenset(found)


def names(text: str, wanted: frozenset[str], left: Iterable[str]) -> bool:
    """Whether `text` contains one of `wanted` (particulars) that nothing of `left` contains.

    Stricter than `depends_on`: for texts that may be unrelated to what is erased, where everyday words mean
    nothing.
    """
    return bool(_without(_words(text) & wanted, left))


def repeats(text: str, gone: Iterable[str], left: Iterable[str]) -> bool:
    """Whether `text` occurs word for word in `gone` and nowhere in `left`.

    Stop words count here: a text may consist of nothing else.
    """
    said = _in_a_row(text)
    return any(said in _in_a_row(one) for one in gone) and not any(said in _in_a_row(one) for one in left)


def _in_a_row(text: str) -> str:
    """Returns the words of the text, each with a space on both sides."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _without(words: set[str], texts: Iterable[str]) -> set[str]:
    """Returns those of `words` that none of the texts contains."""
    missing = set(words)
    for text in texts:
        if not missing:
            break
        folded = text.casefold()
        # A stem is the beginning of its word, so most texts need no closer check.
        if any(word in folded for word in missing):
            missing -= _words(text)
    return missing


def _words(text: str) -> set[str]:
    small = lexicon().common
    found = set()
    for word in _WORD.findall(text.casefold()):
        if is_unspaced(word):
            found.update(pieces(word))
        elif word not in small and carries_meaning([word]) and (len(word) > 1 or word.isdigit()):
            found.add(_stem(word))
    return found


def _stem(word: str) -> str:
    if word.isalpha():
        for ending in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
                return word[: -len(ending)].removesuffix("e")
    return word.removesuffix("e") if word.isalpha() and len(word) > _SHORTEST_STEM else word
