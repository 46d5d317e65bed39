"""Chooses the skill that fits a message, and drafts new ones from the user's messages."""

import re
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from math import log

from memory.memories.entities import Memory
from memory.skills.entities import (
    LONGEST_DESCRIPTION,
    NewSkill,
    SkillAuthor,
    SkillSource,
    SkillText,
    SourceKind,
    name_from,
)

_WORDS = 0.15


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The lowest scores at which a skill is used: for messages that want something done, and for others.

    `python -m benchmarks.skills` measures them.
    """

    requests: float
    others: float


WITH_VECTORS = Thresholds(0.4, 0.64)
BY_WORDS = Thresholds(0.38, 0.7)
"""Without an embedding model the score is the share of words alone."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A skill that could be used: its id, the stems of its text, and how close its meaning is to the message
    (cosine; None without an embedding model)."""

    id: str
    stems: frozenset[str]
    cosine: float | None


@dataclass(frozen=True, slots=True)
class Fit:
    """How well a skill fits a message; `words` is the share of the message's words that it has."""

    id: str
    score: float
    words: float
    cosine: float | None


def fits(asked: Collection[str], candidates: Sequence[Candidate]) -> list[Fit]:
    """Returns how well the candidates fit the stems of a message, best first.

    A word that many skills share tells little: each counts by its rarity among them.
    """
    weights = _weights([one.stems for one in candidates])
    found = [_fit(asked, one, weights) for one in candidates]
    return sorted(found, key=lambda one: (-one.score, one.id))


def _weights(known: Sequence[Collection[str]]) -> Mapping[str, float]:
    counts: dict[str, int] = {}
    for stems in known:
        for stem in stems:
            counts[stem] = counts.get(stem, 0) + 1
    return {stem: log(1 + len(known) / count) for stem, count in counts.items()}


def _fit(asked: Collection[str], one: Candidate, weights: Mapping[str, float]) -> Fit:
    unknown = max(weights.values(), default=1.0)
    total = sum(weights.get(stem, unknown) for stem in asked)
    common = sum(weights[stem] for stem in asked if stem in one.stems)
    words = common / total if total else 0.0
    # Words alone: sharing the only word of a message means little.
    score = common / (total + unknown) if one.cosine is None else one.cosine + _WORDS * words
    return Fit(one.id, score, words, one.cosine)


def chosen(best_first: Sequence[Fit], *, request: bool, limits: Thresholds | None = None) -> str | None:
    """Returns the skill to use, or None. `request`: the message wants something done."""
    if not best_first:
        return None
    best = best_first[0]
    if limits is None:
        limits = BY_WORDS if best.cosine is None else WITH_VECTORS
    return best.id if best.score >= (limits.requests if request else limits.others) else None


_LONGEST = 1000
_DATA = tomllib.loads(files("memory.skills").joinpath("requests.toml").read_text(encoding="utf-8"))
_WHY = re.compile(_DATA["why"], re.IGNORECASE)
_WANTS = re.compile(
    "|".join(one for language in ("english", "german", "spanish") for one in _DATA[language]["patterns"]),
    re.IGNORECASE,
)


def asks_for_work(text: str) -> bool:
    """Returns whether a message wants something done, or to know how to do it."""
    line = " ".join(text[:_LONGEST].split())
    return _WHY.match(line) is None and _WANTS.search(line) is not None


ENOUGH_TIMES = 3
SAME_REQUEST = 0.72
"""Cosine from which two requests count as the same; they are in different conversations."""
SAME_WORDS = 0.6
"""The same without an embedding model: common stems of all stems."""
_LEAST_WORDS = 5
_DRAFTING_LONGEST = 600
_TITLE_WORDS = 6
_WORD = re.compile(r"\w+")
_FENCED = re.compile(r"```|~~~|^>", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True)
class Request:
    """A request whose reply the user kept: it was neither made again nor edited.

    `remarks` are the user's next messages in the conversation about how it should be done.
    """

    message: str
    session: str
    text: str
    remarks: tuple[tuple[str, str], ...] = ()


def is_request(text: str) -> bool:
    """Whether a message can be a request for a skill: one of the user's own sentences, not pasted text."""
    return (
        len(text) <= _DRAFTING_LONGEST
        and len(text.split()) >= _LEAST_WORDS
        and _FENCED.search(text) is None
        and asks_for_work(text)
    )


def is_remark(text: str) -> bool:
    """Whether a later message is about how something should be done."""
    return (
        len(text) <= _DRAFTING_LONGEST
        and len(text.split()) > 1
        and _FENCED.search(text) is None
        and "?" not in text
    )


def repeated(
    requests: Sequence[Request], alike: Callable[[Request, Request], bool]
) -> list[tuple[Request, ...]]:
    """Returns groups of requests that are alike, one a conversation, of at least `ENOUGH_TIMES`.

    Each request is in one group at most; the first of a group is like all others.
    """
    left = list(requests)
    found = []
    while left:
        first, *others = left
        group, sessions = [first], {first.session}
        for one in others:
            if one.session not in sessions and alike(first, one):
                group.append(one)
                sessions.add(one.session)
        if len(group) >= ENOUGH_TIMES:
            found.append(tuple(group))
            left = [one for one in left if one not in group]
        else:
            left = others
    return found


def of_memory(memory: Memory, known: Collection[str]) -> NewSkill | None:
    """Returns a draft from a how-to that the user has accepted; None if it contains too little.

    `known` are names that are taken.
    """
    text = " ".join(memory.text.split())
    if len(text.split()) < _LEAST_WORDS:
        return None
    name = _free_name(text, known)
    if not name:
        return None
    steps = [one for one in _SENTENCE_END.split(text) if one]
    body = "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1)) + "\n"
    return NewSkill(
        name,
        SkillText(_described(steps[0]), body),
        SkillAuthor.ATLAS,
        (SkillSource(SourceKind.MEMORY, memory.id),),
    )


def of_requests(group: Sequence[Request], known: Collection[str]) -> NewSkill | None:
    """Returns a draft from requests that are alike: the task, and the user's remarks on how to do it."""
    newest = group[-1]
    name = _free_name(newest.text, known)
    if not name:
        return None
    asked = list(dict.fromkeys(" ".join(one.text.split()) for one in group))
    remarks = list(dict.fromkeys(" ".join(text.split()) for one in group for _id, text in one.remarks))
    lines = ["What you asked for:", "", *(f"- {one}" for one in asked)]
    if remarks:
        lines += ["", "What you said about it:", "", *(f"- {one}" for one in remarks)]
    sources = [one.message for one in group] + [source for one in group for source, _text in one.remarks]
    return NewSkill(
        name,
        SkillText(_described(asked[-1]), "\n".join(lines) + "\n"),
        SkillAuthor.ATLAS,
        tuple(SkillSource(SourceKind.MESSAGE, one) for one in dict.fromkeys(sources)),
    )


def _described(text: str) -> str:
    return text if len(text) <= LONGEST_DESCRIPTION else text[: LONGEST_DESCRIPTION - 2].rstrip() + " …"


def _free_name(text: str, known: Collection[str]) -> str:
    """Returns a name that is not taken, made of the first words; "" if there are no usable letters."""
    name = name_from(" ".join(_WORD.findall(text)[:_TITLE_WORDS]))
    if not name:
        return ""
    number, free = 2, name
    while free in known:
        free, number = f"{name[:60]}-{number}", number + 1
    return free
