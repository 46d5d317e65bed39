"""What statements claim, and whether one takes the place of another: pure functions of their words."""

import re
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import lru_cache

from memory.learning.entities import Claim
from memory.learning.evidence import normal
from memory.learning.patterns import Reading, reading
from memory.learning.voice import LONGEST_SENTENCE, plain
from memory.lifecycle.evidence import fold, numbers, stem
from memory.lifecycle.languages import lexicon, words

EXCLUSIVE = frozenset({"name", "residence", "birthday", "age", "employer", "occupation", "called", "person"})
"""Attributes of which a subject has one at a time."""

_WHEN_CHANGED = frozenset({"identity", "vehicle", "origin", "diet", "project"})
_CHOICES = {
    attribute: frozenset(map(stem, choices.split()))
    for attribute, choices in (
        ("diet", "vegetarian vegan pescatarian pescetarian flexitarian"),
        ("family status", "married single divorced engaged widowed separated"),
    )
}
_ATTITUDES = frozenset({"like", "prefer", "favourite", "habit"})
# "I'm a nurse" and "I work as a nurse".
_ALIKE = {"identity": "occupation"}
_ONESELF = frozenset({"i"})
# "My new dentist" has taken the place of "my dentist".
_OWNED = frozenset({"my", "our", "new", "mein", "meine", "mon", "ma", "mi"})
_CHANGED = re.compile(
    r"\b(?:now|nowadays|these days|any ?more|any longer|no longer|instead|switched|changed|moved|became"
    r"|become|have (?:come|grown|started|stopped)|used to|from now on|after all|jetzt|nicht mehr|maintenant"
    r"|ne .{1,20} plus|ahora|ya no|(?:my|our) new)\b",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"(?<!\s)\s+(?:since|because|and (?!sons\b)|but|with (?:my|our|the|two|three|a)|right|now|as|"
    r"at the moment|at present|these days|currently|again|last|next|this|"
    r"for (?:work|now|years|a|the|\d+|two|three|many)|"
    r"in (?:19|20)\d\d|any ?more|any longer|too|"
    r"on \d|so|which|who|where|when|though|although|if|after|before|from|by the|together|alone|instead|ago|"
    r"a (?:few|couple)|two|three|several|recently|temporarily|seit|depuis|desde)\b.*$|[,;(].*$",
    re.IGNORECASE | re.DOTALL,
)
_RATHER_THAN = re.compile(
    r"\s(?:to|over|than|rather than|instead of|(?:better|more) than)\s.*$", re.IGNORECASE
)
_TOPIC = re.compile(r"\b(?:for|about|regarding|on) (?P<t>(?:the|our|my|this)\b[^,.;:]+)", re.IGNORECASE)
_TITLE = re.compile(r"\b(Dr|Mr|Mrs|Ms|Prof|St)\.(?=\s)")
_CAPITAL = re.compile(r"(?<![\w’'])[^\W\d_a-zß-öø-ÿ][\w’'\-]*")
_FIRST_PERSON = {
    "is": "am",
    "has": "have",
    "was": "was",
    "does": "do",
    "goes": "go",
    "doesn't": "don't",
    "doesn’t": "don’t",
}


@lru_cache(maxsize=20_000)
def claim(text: str) -> Claim:
    """What a memory's text claims. The same words always claim the same."""
    told = _TITLE.sub(r"\1", plain(text[:LONGEST_SENTENCE]))
    understood = reading(told)
    changed = _CHANGED.search(told) is not None
    if understood is None:
        return Claim(_ONESELF, words=_stems(told), changed=changed)
    made = _claimed(understood, told)
    return replace(made, words=_stems(told), changed=changed)


def same(new: Claim, old: Claim) -> bool:
    """Whether both say the same of the same: one attribute, one value, both that it is so or is not."""
    if not new.attribute or not new.value:
        return False
    one, other = (
        (each.subject, _ALIKE.get(each.attribute, each.attribute), each.value, each.denies, each.ended)
        for each in (new, old)
    )
    return one == other


def supersedes(new: Claim, old: Claim) -> bool:
    """Whether `old` cannot hold any more if `new` does.

    It says that what `old` tells has ended or is not so; it gives another value to something that has one at
    a time; or it turns a like into a dislike.
    """
    if not _about_the_same(new.subject, old.subject) or old.attribute == "event":
        return False
    if new.ended and not old.ended and _ends(new, old):
        return True
    if new.attribute in _ATTITUDES and old.attribute in _ATTITUDES and new.denies != old.denies:
        # Who loves music may hate country music; who hates tea does not like it hot.
        return bool(new.value) and new.value <= old.value
    if new.attribute != old.attribute or not new.attribute or not new.value or not old.value:
        return False
    if new.denies != old.denies:
        return _overlap(new.value, old.value)
    if new.denies or new.value <= old.value or old.value <= new.value:
        return False
    if new.attribute in _CHOICES:
        choices = _CHOICES[new.attribute]
        return bool(new.value & choices) and bool(old.value & choices)
    kind = new.attribute.partition(":")[0]
    if kind in EXCLUSIVE or ":" in new.attribute:
        return True
    return kind in _WHEN_CHANGED and new.changed


def _about_the_same(one: AbstractSet[str], other: AbstractSet[str]) -> bool:
    # "my sister Maja" and "my sister" are the same person, as far as anybody can tell.
    return one <= other or other <= one


def _overlap(one: AbstractSet[str], other: AbstractSet[str]) -> bool:
    return bool(one) and bool(other) and (one <= other or other <= one)


def _ends(new: Claim, old: Claim) -> bool:
    return new.ended <= old.value or (bool(old.value) and old.value <= new.ended) or new.ended <= old.words


def _claimed(understood: Reading, told: str) -> Claim:
    pattern, value = understood.pattern, understood.value
    subject = _subject(understood.who)
    attribute = pattern.attribute
    if attribute in ("relation", "person") and understood.who:
        return _of_another(understood, subject)
    ended = _ended(understood.ended) if understood.ended else frozenset()
    if pattern.only_ends and pattern.attribute:
        ended = _core(value, attribute)
    if understood.key:
        attribute = f"{attribute}:{' '.join(sorted(_stems(understood.key)))}"
    if pattern.kind == "decision":
        topic = _TOPIC.search(told)
        attribute = f"decision:{' '.join(sorted(_stems(topic['t'])))}" if topic else ""
        value = told[: topic.start()] if topic else value
    if attribute == "prefer":
        value = _RATHER_THAN.sub("", value)
    core = _core(value, attribute)
    if attribute == "residence" and not core:
        attribute = ""
    return Claim(subject, attribute, core, denies=pattern.denies, ended=ended)


def _of_another(understood: Reading, subject: frozenset[str]) -> Claim:
    """What is told of somebody else, read as if that one had said it."""
    if understood.pattern.attribute == "person":
        return Claim(subject, "called", _core(understood.value, "called"))
    verb, _, rest = understood.value.partition(" ")
    if verb.casefold() in ("just", "now", "also", "always", "really", "recently"):
        verb, _, rest = rest.partition(" ")
    folded = verb.casefold()
    spoken = _FIRST_PERSON.get(folded) or (verb[:-1] if folded.endswith("s") and len(folded) > 3 else verb)
    own = reading(f"I {spoken} {rest}".strip())
    if own is None or own.who:
        return Claim(subject)
    made = _claimed(own, f"I {spoken} {rest}")
    return replace(made, subject=subject)


def _ended(text: str) -> frozenset[str]:
    """The value of what has ended."""
    for said in (f"I {text}", f"I am {text}"):
        understood = reading(said)
        if understood is not None and not understood.ended:
            found = _core(understood.value, understood.pattern.attribute)
            if found:
                return found
    return _stems(_TAIL.sub("", text))


def _subject(who: str) -> frozenset[str]:
    found = frozenset(fold(word) for word in words(who)) - _OWNED
    return found or _ONESELF


def _core(value: str, attribute: str) -> frozenset[str]:
    """What a value comes down to: without circumstances; of a place or a firm its names, if it has any."""
    short = _TAIL.sub("", value) or value
    if attribute in ("residence", "employer", "name", "called", "origin"):
        named = frozenset(fold(word) for word in _CAPITAL.findall(short))
        if named or attribute == "residence":
            return named
    return _stems(short) | frozenset(one for number in numbers(short) for one in number)


def _stems(text: str) -> frozenset[str]:
    small = lexicon().small
    found = (fold(word) for word in words(text))
    return frozenset(stem(word) for word in found if word not in small and len(word) > 1)


def same_words(one: str, other: str) -> bool:
    """Whether two texts are the same but for case, marks and white space."""
    return normal(one) == normal(other)
