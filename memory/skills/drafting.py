"""Drafts skills from what the user said: how-to memories, and requests that the user made again and again.

A draft consists of the user's own words. Replies and documents are no evidence, and no model words a draft.
"""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from memory.memories.entities import Memory
from memory.skills.choosing import asks_for_work
from memory.skills.entities import NewSkill, SkillAuthor, SkillSource, SkillText, SourceKind
from memory.skills.markdown import LONGEST_DESCRIPTION, name_from

ENOUGH_TIMES = 3
SAME_REQUEST = 0.72
"""Cosine from which two requests count as the same; they are in different conversations."""
SAME_WORDS = 0.6
"""The same without an embedding model: common stems of all stems."""
_LEAST_WORDS = 5
_LONGEST = 600
_TITLE_WORDS = 6
_WORD = re.compile(r"\w+")
_FENCED = re.compile(r"```|~~~|^>", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True)
class Request:
    """A request whose reply the user kept: it was neither made again nor edited.

    `remarks` are the user's next messages in the conversation that say how it should be done.
    """

    message: str
    session: str
    text: str
    remarks: tuple[tuple[str, str], ...] = ()


def is_request(text: str) -> bool:
    """Whether a message can be a request for a skill: one of the user's own sentences, not pasted text."""
    return (
        len(text) <= _LONGEST
        and len(text.split()) >= _LEAST_WORDS
        and _FENCED.search(text) is None
        and asks_for_work(text)
    )


def is_remark(text: str) -> bool:
    """Whether a later message says how something should be done."""
    return (
        len(text) <= _LONGEST and len(text.split()) > 1 and _FENCED.search(text) is None and "?" not in text
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
    """Returns a draft from a how-to that the user has accepted; None if it says too little.

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
    """Returns a draft from requests that are alike: what the user asked for, and said about how to do it."""
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
