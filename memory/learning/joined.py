"""Statements that share a subject ("I live in Bergen and work as a nurse"), told apart: one of them may come
to an end without the other."""

import re
from collections.abc import Callable
from functools import cache

from memory.learning.evidence import denies
from memory.learning.patterns import piece
from memory.learning.voice import plain

_DOES = (
    r"(?:live|reside|work|am|are|have|own|drive|speak|play|study(?! (?:group|guide|hall|room|time)\b)|teach"
    r"|run|belong|come|moved|volunteer|collect|love|like|enjoy|prefer|hate|dislike)"
)
_OTHERS_DO = (
    r"(?:is|lives|works|has|owns|drives|speaks|plays|studies|teaches|runs|loves|likes|enjoys|prefers|hates)"
)
_DOING = r"(?:living|working|studying|learning|training|volunteering|teaching)"
# Behind these the second verb has another subject ("friends who live here and work there"), or another sense
# ("I want to live here and work there").
_BOUND = re.compile(
    r"\b(?:who|whose|that|which|when|where|how|why|what|if|while|used|see|hear|watch|let|make|help"
    r"|seeing|hearing|watching|letting|making|helping)\b|(?<!allergic )(?<!close )(?<!next )\bto (?-i:[a-z])",
    re.IGNORECASE,
)


@cache
def _first() -> re.Pattern[str]:
    """How a clause begins whose subject may do something else as well."""
    often, lead = f"(?:{piece('ADV')})", piece("LEAD").removesuffix("?")
    being = r"(?P<being>[’']m|[’']re| am| are)\b"
    own = rf"(?P<own>i|we|my \w+ and i)(?:{being}| (?:was|were)\b|[’']ve\b| {often}{_DOES}\b)"
    who = rf"(?P<who>(?:my|our) {piece('ROLE')}(?: {piece('NAME')})?|she|he)(?:[’']s| {often}{_OTHERS_DO})\b"
    return re.compile(rf"(?:{lead})?(?:{own}|{who})", re.IGNORECASE)


@cache
def _joint() -> re.Pattern[str]:
    """Where the clause goes on with something else that the same subject does."""
    verb = rf"(?:(?P<does>{_DOES})|(?P<others>{_OTHERS_DO})|(?P<doing>{_DOING}))\b"
    return re.compile(rf"(?:,?\s+and\s+|,\s+)(?=(?:{piece('ADV')}){verb})", re.IGNORECASE)


def apart(clause: str, tells: Callable[[str], bool]) -> list[tuple[str, str]]:
    """The statements of a clause, each with its subject and as it is written.

    It is one where any of them would not be understood by itself, which `tells` says of a text.
    """
    told = plain(clause)
    subject = _first().match(told)
    joints = [] if subject is None else list(_joint().finditer(clause))
    if subject is None or not joints or _BOUND.search(clause) or denies(clause):
        return [(clause, clause)]
    head = clause[: joints[0].start()]
    found = [(head, head)]
    ends = [*(one.start() for one in joints[1:]), len(clause)]
    for joint, end in zip(joints, ends, strict=True):
        rest = clause[joint.end() : end]
        doer = _doer(subject, joint)
        if doer is None:
            return [(clause, clause)]
        found.append((f"{doer} {rest}", rest))
    return found if all(tells(said) for said, _ in found) else [(clause, clause)]


def _doer(subject: re.Match[str], joint: re.Match[str]) -> str | None:
    """The subject in the form that the verb behind the joint asks for; None where they do not agree."""
    if joint["does"] and subject["own"]:
        return subject["own"]
    if joint["others"] and subject["who"]:
        return subject["who"]
    if joint["doing"] and subject["being"]:
        return subject["own"] + subject["being"]
    return None
