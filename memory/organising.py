"""How sessions are organised: marks, tags, projects and links; suggestions by vectors and tags in use."""

import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from memory.entities import CategorySource, MemoryMode, RoomKind
from memory.memories.entities import UNSET, Unset
from memory.summaries.languages import lexicon

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Marks:
    """All marks by which a user organises a session. `project` is a name."""

    tags: tuple[str, ...] = field(default=(), repr=False)
    starred: bool = False
    important: bool = False
    pinned_at: datetime | None = None
    archived_at: datetime | None = None
    deleted_at: datetime | None = None
    category: str = field(default="", repr=False)
    category_source: CategorySource = CategorySource.NONE
    project: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class MarksPatch:
    """What to change; None leaves a mark as it is.

    A `category` or `project` of "" removes it. Tags are compared without case.
    """

    add_tags: tuple[str, ...] = field(default=(), repr=False)
    remove_tags: tuple[str, ...] = field(default=(), repr=False)
    starred: bool | None = None
    important: bool | None = None
    pinned: bool | None = None
    archived: bool | None = None
    binned: bool | None = None
    category: str | None = field(default=None, repr=False)
    project: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Organised:
    """One session before and after a change."""

    session_id: str
    title: str = field(repr=False)
    before: Marks
    after: Marks

    @property
    def changed(self) -> bool:
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class TagCount:
    """A tag, and how many sessions outside the bin have it."""

    tag: str = field(repr=False)
    sessions: int


@dataclass(frozen=True, slots=True)
class TagSuggestion:
    """A tag that would suit a session. `score` is between 0 and 1."""

    session_id: str
    tag: str = field(repr=False)
    score: float
    title: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Filed:
    """The data from which categories and tags of a session are suggested.

    `words` are the title and the beginning of the user's messages. `vector` is the mean of the messages'
    vectors, of length 1, as little-endian float32 (None without any). `locked`: the user chose the category;
    `rejected` are tags that the user refused for this session.
    """

    session_id: str
    words: str = field(repr=False)
    tags: tuple[str, ...] = field(repr=False)
    category: str = field(repr=False)
    locked: bool
    vector: bytes | None = field(repr=False)
    rejected: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Merged:
    """A session that others were merged into.

    `sources` are those sessions, now empty and in the bin. Restoring one moves its messages back.
    """

    session_id: str
    sources: tuple[str, ...]
    messages: int


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """The settings that a project gives its sessions.

    `instructions` are added to the system prompt of all of them. `persona` (an id, with `persona_name`),
    `model` and `memory_mode` are the defaults of a new session; None leaves the choice to the room.
    `isolated`: nothing of the project is recalled elsewhere, and nothing from elsewhere in it.
    """

    instructions: str = field(default="", repr=False)
    persona: str | None = None
    persona_name: str | None = field(default=None, repr=False)
    model: str | None = None
    memory_mode: MemoryMode | None = None
    isolated: bool = False


@dataclass(frozen=True, slots=True)
class ProjectPatch:
    """What to change of a project's settings. `persona` is an id; None removes a default."""

    instructions: str | None = field(default=None, repr=False)
    persona: str | Unset | None = UNSET
    model: str | Unset | None = UNSET
    memory_mode: MemoryMode | Unset | None = UNSET
    isolated: bool | None = None


@dataclass(frozen=True, slots=True)
class ProjectContents:
    """How much belongs to a project, without what is in a bin.

    `sessions` includes the `archived_sessions`. `tiers` counts its memories that are in use, by tier;
    `archived_memories` those in the archive. `used_at` is when one of its sessions, documents or notes was
    last added to or changed.
    """

    sessions: int = 0
    archived_sessions: int = 0
    messages: int = 0
    documents: int = 0
    notes: int = 0
    tiers: dict[str, int] = field(default_factory=dict)
    archived_memories: int = 0
    used_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Project:
    """A project with the counts of what belongs to it; sessions in the bin are not counted."""

    id: str
    name: str = field(repr=False)
    room: RoomKind
    created_at: datetime
    archived_at: datetime | None = None
    sessions: int = 0
    messages: int = 0
    memories: int = 0
    used_at: datetime | None = None
    settings: ProjectSettings = ProjectSettings()


@dataclass(frozen=True, slots=True)
class ProjectDeleted:
    """A deleted project. Its sessions remain, without a project; `binned`: they were moved to the bin."""

    project: Project
    sessions: tuple[str, ...]
    memories: int
    binned: bool


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """A memory related to both sessions: learned in one, and learned or used in the other."""

    session_id: str
    memory_id: str
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Backlink:
    """A session that a memory links to.

    `how` is learned, or its strongest use there: opened, confirmed, cited, recalled. `message_id` is the
    first such message, `count` how many there are.
    """

    session_id: str
    title: str = field(repr=False)
    how: str
    message_id: str
    at: datetime
    count: int


CATEGORY_LEAST = 0.17
"""A session whose cosine to every category is below this has no category."""
CATEGORY_AHEAD = 0.02
"""The least lead of the nearest category over the next."""


@cache
def examples() -> Mapping[str, tuple[str, ...]]:
    """Returns, by category name, examples of its subjects."""
    text = (files("memory") / "categories.toml").read_text(encoding="utf-8")
    return {one["name"]: tuple(one["examples"]) for one in tomllib.loads(text)["category"]}


def nearest(
    vector: "NDArray[np.float32]",
    categories: Mapping[str, Sequence[Sequence[float]]],
    *,
    least: float = CATEGORY_LEAST,
    ahead: float = CATEGORY_AHEAD,
) -> str:
    """Returns the category whose two nearest examples are most similar to `vector`, or "".

    `vector` is `float32[dim]`, of length 1. `categories` contains vectors of length 1 of the examples, by
    name.
    """
    import numpy as np

    scores = []
    for name, held in categories.items():
        found = np.sort(np.asarray(held, dtype=np.float32) @ vector)[::-1]
        scores.append((float(found[:2].mean()), name))
    scores.sort(reverse=True)
    if not scores or scores[0][0] < least:
        return ""
    if len(scores) > 1 and scores[0][0] - scores[1][0] < ahead:
        return ""
    return scores[0][1]


TAG_LEAST = 0.25
"""The least similarity (0 … 1) of a session to those that have a tag."""
TAG_AHEAD = 0.05
"""How much more similar the sessions with a tag must be than those without."""
MOST = 3
"""The most suggestions for one session."""
_NEAREST = 2
_ALONE = 0.85
_NAMED = 0.2
_WORDS = 0.4
_WORD = re.compile(r"[^\W\d_]{3,}")
_MOST_WORDS = 60


class Tagger:
    """Learns from tagged sessions once, then suggests tags for any number of others."""

    def __init__(self, tagged: Sequence[Filed]) -> None:
        self._tagged = [one for one in tagged if one.tags]
        counts = [words_of(one.words) for one in self._tagged]
        self._rarity = rarity(counts)
        self._words = [weighed(one, self._rarity) for one in counts]
        self._vectors = [_numbers(one.vector) for one in self._tagged]

    def suggest(self, session: Filed) -> dict[str, float]:
        """Returns at most three tags, neither present nor rejected, with scores of 0 … 1."""
        likeness = self._likeness(session)
        spoken = set(words_of(session.words))
        scores: dict[str, float] = {}
        for tag in {tag for one in self._tagged for tag in one.tags} - {*session.tags, *session.rejected}:
            score = self._score(tag, session, likeness, named=_named(tag, spoken))
            if score >= TAG_LEAST:
                scores[tag] = min(score, 1.0)
        best = sorted(scores.items(), key=lambda one: (-one[1], one[0]))[:MOST]
        return dict(best)

    def _score(self, tag: str, session: Filed, likeness: Sequence[float], *, named: bool) -> float:
        """Returns the score of a tag; 0 when the sessions without it are about as similar."""
        having: list[float] = []
        others: list[float] = []
        for one, value in zip(self._tagged, likeness, strict=True):
            if one.session_id != session.session_id:
                (having if tag in one.tags else others).append(value)
        if not having:
            return 0.0
        nearest = sorted(having, reverse=True)[:_NEAREST]
        score = sum(nearest) / len(nearest) * (_ALONE if len(nearest) == 1 else 1.0)
        score += _NAMED if named else 0.0
        rivals = sorted(others, reverse=True)[: max(len(nearest), 2)]
        behind = sum(rivals) / len(rivals) if rivals else 0.0
        return score if score - behind >= TAG_AHEAD else 0.0

    def _likeness(self, session: Filed) -> list[float]:
        own, vector = weighed(words_of(session.words), self._rarity), _numbers(session.vector)
        found = []
        for words, other in zip(self._words, self._vectors, strict=True):
            by_words = min(math.sqrt(max(dot(own, words), 0.0)), 1.0)
            if vector is None or other is None or len(vector) != len(other):
                found.append(by_words)
                continue
            meaning = max(float(vector @ other), 0.0)
            found.append(min(meaning + _WORDS * by_words, 1.0))
        return found


def words_of(text: str) -> Counter[str]:
    """Counts content words, folded; only the first sixty different ones."""
    small = lexicon().common
    found: Counter[str] = Counter()
    for word in _WORD.findall(text.casefold()):
        if word not in small and (word in found or len(found) < _MOST_WORDS):
            found[word] += 1
    return found


def rarity(texts: Iterable[Mapping[str, int]]) -> dict[str, float]:
    """Returns, by word, its smoothed inverse document frequency."""
    held = list(texts)
    counts = Counter(word for one in held for word in one)
    return {word: math.log((1 + len(held)) / (1 + count)) + 1 for word, count in counts.items()}


def weighed(words: Mapping[str, int], rare: Mapping[str, float]) -> dict[str, float]:
    """Returns weights of length 1. A word in no text counts as the rarest."""
    most = max(rare.values(), default=1.0)
    found = {word: (1 + math.log(count)) * rare.get(word, most) for word, count in words.items()}
    length = math.sqrt(sum(value * value for value in found.values()))
    return {word: value / length for word, value in found.items()} if length else {}


def dot(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    small, large = (first, second) if len(first) <= len(second) else (second, first)
    return sum(value * large[word] for word, value in small.items() if word in large)


def _named(tag: str, spoken: set[str]) -> bool:
    """Whether all words of the tag occur."""
    words = _WORD.findall(tag.casefold())
    return bool(words) and all(word in spoken for word in words)


def _numbers(data: bytes | None):  # type: ignore[no-untyped-def]  # numpy is imported only where it is needed
    if data is None:
        return None
    import numpy as np

    return np.frombuffer(data, dtype="<f4")
