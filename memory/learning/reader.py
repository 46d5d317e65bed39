"""Reads what a person writes: what of it is worth remembering, by patterns alone, each with its evidence."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from memory.clock import LocalZone
from memory.knowledge.entities import MemoryKind, MemoryOrigin
from memory.knowledge.wording import ONESELF
from memory.learning.dating import held
from memory.learning.entities import Candidate, Heard
from memory.learning.evidence import found, normal, supported
from memory.learning.forms import Told, code, open_question, procedure, to_remember
from memory.learning.joined import apart
from memory.learning.patterns import Reading, reading, tells_date, vague
from memory.learning.voice import LONGEST, LONGEST_SENTENCE, Sentence, blocks, lists, plain, sentences
from memory.lifecycle.importance import importance
from models.messages import Role

_LEAST_IMPORTANCE = 0.5
_IMPORTANT = {"health": 0.85, "name": 0.85, "diet": 0.8, "birthday": 0.75, "residence": 0.7, "employer": 0.7}
ASKED = 0.9
"""The importance of what is asked to be remembered."""

_LONGEST = 400
# All wishes to have something remembered hold one of these: most messages need not be read closely.
_HINT = re.compile(
    r"remember|memor|forget|note|jot|write down|save|store|in mind|merk|vergiss|denk|notier|behalt|souv|reti|"
    r"rappelle|oubli|recuerd|acuérd|olvid|anota|ten en cuenta",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"(?:and |but |also )*(?P<who>she|he|they)(?:(?P<is>[’']s)|(?P<are>[’']re))?\s+", re.IGNORECASE
)
_POSSESSIVE = re.compile(r"(?:and |but |also )*(?:his|her|their) name(?=[’' ])", re.IGNORECASE)


@dataclass(slots=True)
class _Person:
    """Who was spoken of last: `called` as in the text, `role` without the name."""

    called: str = field(repr=False)
    role: str = field(repr=False)
    name: str = field(default="", repr=False)


def read(heard: Heard) -> list[Candidate]:
    """What a message tells that is worth remembering, in its order, each thing once."""
    heard = replace(heard, text=heard.text[:LONGEST])
    seen: set[str] = set()
    kept: list[Candidate] = []
    for one in (*_wholes(heard), *_statements(heard)):
        key = normal(one.text)
        held_already = any(key in known or known in key for known in seen)
        if not held_already and supported(one.text, one.quote, heard.text):
            seen.add(key)
            kept.append(one)
    return kept


def asked_to_remember(heard: Heard) -> list[Candidate]:
    """Only what the message asks to be remembered in so many words."""
    if _HINT.search(heard.text[:LONGEST]) is None:
        return []
    return [one for one in read(heard) if one.origin is MemoryOrigin.PERSON]


def worded(text: str) -> str:
    """A statement as a sentence."""
    line = " ".join(text.split()).strip(" ,;:–—-")
    line = line[:1].upper() + line[1:]
    return line if line.endswith((".", "!", "…", "。")) else f"{line}."


def _wholes(heard: Heard) -> Iterator[Candidate]:
    """Code, and lists of steps."""
    for block in blocks(heard.text):
        told = code(block)
        if told is not None:
            yield _whole(heard, MemoryKind.CODE, told, told.words)
    for text in lists(heard.text):
        told = procedure(text)
        if told is not None:
            yield _whole(heard, MemoryKind.PROCEDURE, told, told.words)


def _whole(heard: Heard, kind: MemoryKind, told: Told, text: str) -> Candidate:
    return Candidate(
        kind,
        text,
        told.words,
        heard.message_id,
        heard.session_id,
        heard.at,
        subject=told.about,
        confidence=0.85,
        importance=_weight(text, heard, _LEAST_IMPORTANCE),
        valid_from=heard.at,
    )


def _statements(heard: Heard) -> Iterator[Candidate]:
    person: _Person | None = None
    for sentence in sentences(heard.text):
        wish = to_remember(sentence.text)
        if wish is not None:
            for said, quote in apart(wish, partial(_tells, person=None)):
                yield _wished(heard, said, quote)
            continue
        whole = _whole_sentence(heard, sentence)
        if whole is not None:
            yield whole
            continue
        for clause in sentence.clauses:
            told = plain(clause)
            asked = open_question(told)
            if asked is not None:
                yield _whole(heard, MemoryKind.QUESTION, asked, worded(asked.words))
                continue
            for said, quote in apart(clause, partial(_tells, person=person)):
                told = _resolved(plain(said), person)
                understood = reading(told)
                if understood is None:
                    continue
                person = _spoken_of(understood) or person
                candidate = _understood(heard, told, quote, understood)
                if candidate is not None:
                    yield candidate


def _tells(said: str, person: _Person | None) -> bool:
    return reading(_resolved(plain(said), person)) is not None


def _whole_sentence(heard: Heard, sentence: Sentence) -> Candidate | None:
    steps = procedure(sentence.text)
    if steps is not None:
        return _whole(heard, MemoryKind.PROCEDURE, steps, worded(steps.words))
    asked = open_question(sentence.text)
    if asked is not None:
        return _whole(heard, MemoryKind.QUESTION, asked, worded(asked.words))
    return None


@dataclass(frozen=True, slots=True)
class Understood:
    """What kind of thing a text tells, and of whom."""

    kind: MemoryKind
    subject: str = field(repr=False)


def understand(text: str) -> Understood:
    """A fact where it is not clear what it is."""
    understood = reading(plain(text)) if len(text) <= LONGEST_SENTENCE else None
    if understood is None:
        return Understood(MemoryKind.FACT, "")
    return Understood(understood.pattern.kind, _subject(understood))


def _wished(heard: Heard, wish: str, quote: str) -> Candidate:
    understood = understand(wish)
    candidate = Candidate(
        understood.kind,
        worded(wish),
        quote,
        heard.message_id,
        heard.session_id,
        heard.at,
        subject=understood.subject,
        origin=MemoryOrigin.PERSON,
        confidence=1.0,
        importance=max(ASKED, _weight(wish, heard, 0.0)),
    )
    return _dated(candidate)


def _understood(heard: Heard, told: str, clause: str, understood: Reading) -> Candidate | None:
    pattern = understood.pattern
    if pattern.dated and not tells_date(told):
        return None
    if not pattern.only_ends and _vague(understood.value):
        return None
    text = worded(told)
    if len(text) > _LONGEST:
        return None
    floor = _IMPORTANT.get(pattern.attribute, _LEAST_IMPORTANCE)
    quote = clause if found(clause, heard.text) else told
    return _dated(
        Candidate(
            pattern.kind,
            text,
            quote,
            heard.message_id,
            heard.session_id,
            heard.at,
            subject=_subject(understood),
            confidence=pattern.confidence,
            importance=_weight(text, heard, floor),
            only_ends=pattern.only_ends,
        )
    )


def statement(
    heard: Heard, kind: MemoryKind, text: str, quote: str, *, confidence: float, subject: str = ONESELF
) -> Candidate:
    """A candidate with the importance that its words have and the time that they name."""
    return _dated(
        Candidate(
            kind,
            text,
            quote,
            heard.message_id,
            heard.session_id,
            heard.at,
            subject=subject,
            confidence=confidence,
            importance=_weight(text, heard, _LEAST_IMPORTANCE),
        )
    )


def _dated(candidate: Candidate) -> Candidate:
    """With the time that its words name; else it holds from when it was said."""
    time = held(candidate.text, candidate.said_at.astimezone(LocalZone()))
    if time.since is None and time.until is None:
        return replace(candidate, valid_from=candidate.said_at)
    if candidate.kind is MemoryKind.EVENT or time.until is None:
        return replace(candidate, valid_from=time.since)
    return replace(candidate, valid_from=candidate.said_at, valid_until=time.until)


def _weight(text: str, heard: Heard, floor: float) -> float:
    return max(floor, importance(text, Role.USER, marked=heard.important).score)


def _vague(value: str) -> bool:
    said = re.findall(r"[\w’'\-]+", value.casefold())
    empty = vague()
    return not said or (said[0] in empty and len(said) <= 2) or all(word in empty for word in said)


def _subject(understood: Reading) -> str:
    who = understood.who
    return who[:1].lower() + who[1:] if who.lower().startswith(("my ", "our ")) else who or ONESELF


def _spoken_of(understood: Reading) -> _Person | None:
    who, value = understood.who, understood.value
    if not who or understood.pattern.attribute not in ("person", "relation"):
        return None
    words = who.replace(",", "").split()
    name = words[-1] if len(words) > 1 and words[-1][:1].isupper() and words[-1][1:].islower() else ""
    role = " ".join(words[:-1]) if name else " ".join(words)
    if understood.pattern.attribute == "person" and not name:
        given = re.match(r"[^\W\d_][\w’'\-]*", value) if value[:1].isupper() else None
        called = re.search(r"\b(?:called|named) ([^\W\d_][\w’'\-]*)", value)
        name = called[1] if called else given[0] if given else ""
        if not role.lower().startswith(("my ", "our ")):
            role = f"my {role}"
    if role[:1].isupper() and not role.lower().startswith(("my ", "our ")):
        return None
    called_so = f"{role} {name}".strip()
    return _Person(called_so[:1].upper() + called_so[1:], role, name)


def _resolved(told: str, person: _Person | None) -> str:
    """The clause with "she" or a bare name made into who that is."""
    if person is None:
        return told
    match = _PRONOUN.match(told)
    if match is not None:
        link = " is" if match["is"] else " are" if match["are"] else ""
        return f"{person.called}{link} {told[match.end() :]}"
    if _POSSESSIVE.match(told):
        return _POSSESSIVE.sub(f"{person.role}'s name", told)
    bare = re.sub(r"^(?:and|but|also) ", "", told, flags=re.IGNORECASE)
    if person.name and re.match(rf"{re.escape(person.name)}(?:[’']s)?\s", bare):
        return f"{person.called}{bare[len(person.name) :]}"
    return told
