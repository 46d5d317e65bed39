"""Stores what was learned: a repeated statement gains a source, a newer one replaces an older one."""

import asyncio
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache, lru_cache

from memory.clock import Clock
from memory.learning.entities import Candidate, Claim, Correction, content, normal, spaced
from memory.learning.reader import ASKED, dated, understand
from memory.learning.statement_filter import LONGEST_SENTENCE, PatternMatch, plain
from memory.learning.statement_filter import reading as read_patterns
from memory.memories.entities import (
    FINDABLE,
    Memory,
    MemoryFilter,
    MemoryKind,
    MemoryOrigin,
    MemoryPatch,
    MemorySource,
    MemoryState,
    NewMemory,
    reading,
)
from memory.memories.lifetime import Retention, route
from memory.memories.upkeep import KIND
from memory.search.terms import is_unspaced
from memory.storage.memories import MemoryStore
from memory.storage.organising import ProjectStore
from memory.storage.vectors import VectorStore
from memory.summaries.evidence import fold, names, numbers, stem
from memory.summaries.languages import lexicon, words
from models.ports import Embedder

EXCLUSIVE = frozenset({"name", "residence", "birthday", "age", "employer", "occupation", "called", "person"})
"""Attributes of which a subject has only one at a time."""

_WHEN_CHANGED = frozenset({"identity", "vehicle", "origin", "diet", "project"})
_CHOICES = {
    attribute: frozenset(map(stem, choices.split()))
    for attribute, choices in (
        ("diet", "vegetarian vegan pescatarian pescetarian flexitarian"),
        ("family status", "married single divorced engaged widowed separated"),
    )
}
_ONCE = frozenset(
    map(stem, ["marry", "married", "wedding", "due", "retire", "graduate", "heiraten", "heiratet"])
)
"""Stems of what happens to somebody once."""
_ATTITUDES = frozenset({"like", "prefer", "favourite", "habit"})
# "I'm a nurse" and "I work as a nurse" mean the same.
_ALIKE = {"identity": "occupation"}
_ONESELF = frozenset({"i"})
# "My new dentist" replaces "my dentist".
_OWNED = frozenset({"my", "our", "new", "mein", "meine", "mon", "ma", "mi"})
_CHANGED = re.compile(
    r"\b(?:now|nowadays|these days|any ?more|any longer|no longer|instead|switched|changed|moved|became"
    r"|become|have (?:come|grown|started|stopped)|used to|from now on|after all|jetzt|nicht mehr|maintenant"
    r"|ne .{1,20} plus|ahora|ya no|(?:my|our) new|inzwischen|mittlerweile|désormais)\b|现在|不再|如今|改",
    re.IGNORECASE,
)
_NOW = re.compile(
    r"[ ,](?:now|nowadays|these days|at the moment|currently|jetzt|inzwischen|mittlerweile|ahora)\W{0,3}\Z",
    re.IGNORECASE,
)
_NO_MORE = re.compile(
    r"\b(?:no longer|nicht (?:mehr|länger)|kein\w* \w{1,30} mehr|ya no)\b"
    r"|n(?:[’']t|ot) [^,.;]{1,60}\bany ?(?:more|longer)\b|不再",
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
    """Returns the claim of a memory's text. Deterministic, and cached."""
    told = _TITLE.sub(r"\1", plain(text[:LONGEST_SENTENCE]))
    # "My boss is Dan now."
    understood = read_patterns(_NOW.sub("", told)) or read_patterns(told)
    changed = _CHANGED.search(told) is not None
    if understood is None:
        return Claim(_ONESELF, words=_stems(told), changed=changed)
    made = _claimed(understood, told)
    # "Ich wohne seit August nicht mehr in …" says nothing of another place.
    denies = made.denies or (not made.ended and _NO_MORE.search(told) is not None)
    return replace(made, words=_stems(told), changed=changed, denies=denies)


def same(new: Claim, old: Claim) -> bool:
    """Whether both claim the same: subject, attribute, value, negation and what has ended."""
    if not new.attribute or not new.value:
        return False
    one, other = (
        (each.subject, _ALIKE.get(each.attribute, each.attribute), each.value, each.denies, each.ended)
        for each in (new, old)
    )
    return one == other


def supersedes(new: Claim, old: Claim) -> bool:
    """Whether `old` can no longer be true if `new` is.

    That is so if `new` states that `old` has ended or is false, gives another value to an attribute that has
    one at a time, or turns a like into a dislike.
    """
    if not _about_the_same(new.subject, old.subject):
        return False
    if old.attribute == "event":
        return new.attribute == "event" and _moved(new, old)
    if new.ended and not old.ended and _ends(new, old):
        return True
    if new.attribute in _ATTITUDES and old.attribute in _ATTITUDES and new.denies != old.denies:
        # A user who loves music may hate country music; one who hates tea does not like it hot.
        return bool(new.value) and new.value <= old.value
    if new.attribute != old.attribute or not new.attribute or not new.value or not old.value:
        return False
    if new.denies != old.denies:
        return _overlap(new.value, old.value)
    if new.denies or new.value <= old.value or old.value <= new.value:
        return False
    if _counted_anew(new.value, old.value):
        return True
    if new.attribute in _CHOICES:
        choices = _CHOICES[new.attribute]
        return bool(new.value & choices) and bool(old.value & choices)
    kind = new.attribute.partition(":")[0]
    if kind in EXCLUSIVE or ":" in new.attribute:
        return True
    return kind in _WHEN_CHANGED and new.changed


def _about_the_same(one: AbstractSet[str], other: AbstractSet[str]) -> bool:
    # "my sister Maja" and "my sister" cannot be distinguished, so they count as one person.
    return one <= other or other <= one


def _overlap(one: AbstractSet[str], other: AbstractSet[str]) -> bool:
    return bool(one) and bool(other) and (one <= other or other <= one)


def _ends(new: Claim, old: Claim) -> bool:
    if new.ended <= old.value or (bool(old.value) and old.value <= new.ended):
        return True
    return new.ended <= old.words or frozenset(map(stem, new.ended)) <= old.words


def _counted_anew(new: AbstractSet[str], old: AbstractSet[str]) -> bool:
    """Whether both say how many there are of the same, and not the same number."""
    counts = [frozenset(filter(str.isdecimal, one)) for one in (new, old)]
    rest = [one - count for one, count in zip((new, old), counts, strict=True)]
    return all(counts) and counts[0] != counts[1] and bool(rest[0]) and rest[0] == rest[1]


def _moved(new: Claim, old: Claim) -> bool:
    """Whether both are about an event that there is once, at different times: "… is getting married in July"
    after "… in June"."""
    months = _months()
    once = new.words - months == old.words - months and not _ONCE.isdisjoint(new.words)
    return once and bool(new.words & months) and bool(old.words & months) and new.words != old.words


@cache
def _months() -> frozenset[str]:
    return frozenset(stem(fold(word)) for word in lexicon().calendar)


def _claimed(understood: PatternMatch, told: str) -> Claim:
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


def _of_another(understood: PatternMatch, subject: frozenset[str]) -> Claim:
    """Reads a claim about somebody else as if that person had said it."""
    if understood.pattern.attribute == "person":
        return Claim(subject, "called", _core(understood.value, "called"))
    verb, _, rest = understood.value.partition(" ")
    if verb.casefold() in ("just", "now", "also", "always", "really", "recently"):
        verb, _, rest = rest.partition(" ")
    folded = verb.casefold()
    spoken = _FIRST_PERSON.get(folded) or (verb[:-1] if folded.endswith("s") and len(folded) > 3 else verb)
    own = read_patterns(f"I {spoken} {rest}".strip())
    if own is None or own.who:
        return Claim(subject)
    made = _claimed(own, f"I {spoken} {rest}")
    return replace(made, subject=subject)


def _ended(text: str) -> frozenset[str]:
    """Returns the value of what has ended."""
    for said in (f"I {text}", f"I am {text}"):
        understood = read_patterns(said)
        if understood is not None and not understood.ended:
            found = _core(understood.value, understood.pattern.attribute)
            if found:
                return found
    return _stems(_TAIL.sub("", text))


def _subject(who: str) -> frozenset[str]:
    found = frozenset(fold(word) for word in words(who)) - _OWNED
    return found or _ONESELF


def _core(value: str, attribute: str) -> frozenset[str]:
    """Returns the core of a value, without circumstances; of a place or a company its names, if any."""
    short = _TAIL.sub("", value) or value
    counts = frozenset(one for number in numbers(short) for one in number)
    if attribute in ("residence", "employer", "name", "called", "origin"):
        named = frozenset(fold(word) for word in _CAPITAL.findall(short))
        if named or (attribute == "residence" and not is_unspaced(short)):
            # "Ich habe zwei Kinder": all nouns have capitals.
            return named | counts if attribute == "called" else named
    return (_stems(short) - _number_stems()) | counts


@cache
def _number_stems() -> frozenset[str]:
    return frozenset(stem(fold(word)) for word in lexicon().number_words)


def _stems(text: str) -> frozenset[str]:
    small = lexicon().small
    found = (fold(word) for word in words(text))
    return frozenset(stem(word) for word in found if word not in small and len(word) > 1)


def same_words(one: str, other: str) -> bool:
    """Whether two texts are equal apart from case, punctuation and white space."""
    return normal(one) == normal(other)


NEAR = 0.1
"""The cosine distance below which two texts mean the same."""

_OF_THE_PERSON = frozenset({MemoryKind.FACT, MemoryKind.PREFERENCE})
"""These belong to the user, whatever project they came up in, unless it is isolated."""

_COMPARED = 24
_LATEST = 300
_LOOKED_FOR = 6
_TELLING = 3
_SHORTLY = timedelta(minutes=10)
_MEANT = 0.52
"""The least cosine of what a correction denies and the memory meant. Measured: 0.60 and more of the same
event in other words, 0.42 and less of another event in the same month."""
_ALL = MemoryFilter(states=None)
_ACTION = "learn"


@dataclass(frozen=True, slots=True)
class Meaning:
    """Compares texts by vectors; without it they are compared by their words."""

    vectors: VectorStore
    embedder: Embedder


@dataclass(frozen=True, slots=True)
class _Place:
    """The project of a statement, the names of isolated projects, and the time that counts as the end of the
    project if it is archived.
    """

    project: str | None
    isolated: frozenset[str] = frozenset()
    ended: datetime | None = None

    def of(self, kind: MemoryKind) -> str | None:
        """Returns the project of a memory of that kind."""
        return None if kind in _OF_THE_PERSON and self.project not in self.isolated else self.project

    def meets(self, memory: Memory) -> bool:
        """Whether a memory may be compared with a statement made here: both are in the same isolated project,
        or neither is in one.
        """
        if self.project in self.isolated:
            return memory.project == self.project
        return memory.project not in self.isolated


class MemoryWriter:
    """Adds candidates to the memories of one room. `rules` set how long memories are kept.

    Raises what the store, the vectors and the embedding model raise.
    """

    def __init__(
        self,
        memories: MemoryStore,
        clock: Clock,
        rules: Callable[[], Retention],
        projects: ProjectStore | None = None,
    ) -> None:
        """Without `projects`, none is isolated or archived."""
        self._memories = memories
        self._projects = projects
        self._clock = clock
        self._rules = rules

    async def add(
        self,
        candidates: Sequence[Candidate],
        *,
        project: str | None = None,
        meaning: Meaning | None = None,
        quick: bool = False,
    ) -> list[Memory]:
        """Stores what is new, in order; returns the memories that were added or changed.

        Skips what the user has rejected, and what was learned from the same quote before. With `quick`, for
        use while a user waits, comparison is limited to the latest memories and those that share a word.
        """
        if not candidates:
            return []
        known = await self._known([one.text for one in candidates], quick=quick)
        place = await self._place(project)
        made: list[Memory] = []
        corrections: list[Candidate] = []
        for candidate in candidates:
            if any(_part_of(candidate, one) for one in corrections):
                continue
            memory = await self._one(candidate, known, place, meaning, {one.id for one in made})
            if memory is not None:
                made.append(memory)
                corrections += [candidate] if candidate.correction else []
                await self._refresh(known, memory, candidate.correction)
        return made

    async def remember(
        self, text: str, *, project: str | None = None, session_id: str | None = None
    ) -> Memory:
        """Keeps the user's own text as a memory; memories that it contradicts are superseded.

        `session_id` is the session in which this is done: a new memory moves with it.
        """
        known = await self._known([text], quick=True)
        place = await self._place(project)
        holding = [one for one in known.values() if one.state in FINDABLE and place.meets(one)]
        said = [one for one in holding if same_words(one.text, text)]
        if said:
            patch = MemoryPatch(state=MemoryState.KEPT)
            return await self._memories.change(said[0].id, patch, action=_ACTION)
        claimed, understood, now = claim(text), understand(text), self._clock.now()
        project = place.of(understood.kind)
        way = route(
            understood.kind,
            ASKED,
            now,
            self._rules(),
            origin=MemoryOrigin.PERSON,
            project=project,
            project_ended=place.ended,
        )
        new = NewMemory(
            kind=understood.kind,
            text=text,
            origin=MemoryOrigin.PERSON,
            tier=way.tier,
            state=way.state,
            subject=understood.subject,
            importance=ASKED,
            valid_from=now,
            expires_at=way.expires_at,
            project=project,
            kept_in=session_id,
            supersedes=tuple(one.id for one in holding if supersedes(claimed, claim(one.text))),
        )
        return await self._memories.add(new, action=_ACTION)

    async def _place(self, project: str | None) -> "_Place":
        if self._projects is None:
            return _Place(project)
        isolated = await self._projects.isolated()
        archived = await self._projects.list(archived=True) if project is not None else []
        # A session of an archived project can continue: memories learned then last as long, counted from now.
        ended = self._clock.now() if any(one.name == project for one in archived) else None
        return _Place(project, isolated, ended)

    async def _known(self, said: Sequence[str], *, quick: bool) -> dict[str, Memory]:
        """Returns the memories to compare with, by id."""
        if quick:
            found = await self._memories.select(_ALL, limit=_LATEST)
            stems = {word for text in said for word in words(text) if len(word) >= _TELLING}
            for word in sorted(stems, key=len)[-_LOOKED_FOR:]:
                found += await self._memories.select(MemoryFilter(containing=word), limit=_LATEST)
        else:
            found = await self._memories.select(_ALL)
        known = {one.id: one for one in found}
        # The first time takes milliseconds for each; the claims are cached.
        await asyncio.to_thread(lambda: [claim(one.text) for one in known.values()])
        return known

    async def _refresh(
        self, known: dict[str, Memory], made: Memory, correction: Correction | None = None
    ) -> None:
        """Updates `known` with what adding `made` has changed."""
        replaced = [
            one.id
            for one in known.values()
            if supersedes(claim(made.text), claim(one.text))
            or (correction is not None and correction.applied(one.text) is not None)
        ]
        for one in (made, *await self._memories.get_many(replaced)):
            known[one.id] = one

    async def _one(
        self,
        candidate: Candidate,
        known: Mapping[str, Memory],
        place: "_Place",
        meaning: Meaning | None,
        made: AbstractSet[str],
    ) -> Memory | None:
        if await self._learned_before(candidate, known.values(), made):
            return None
        claimed = claim(candidate.text)
        project = place.of(candidate.kind)
        holding = [
            one
            for one in known.values()
            if one.state in FINDABLE
            and one.kind is not MemoryKind.DIGEST
            and place.meets(one)
            and one.project in {None, project}
        ]
        if candidate.correction is not None:
            wrong = await self._meant(candidate, candidate.correction, holding, meaning)
            if wrong is None or (text := candidate.correction.applied(wrong.text)) is None:
                return None
            corrected = replace(candidate, text=text, kind=wrong.kind, subject=wrong.subject, valid_from=None)
            return await self._stored(dated(corrected), [wrong], wrong.project, place.ended)
        contradicted = [one for one in holding if supersedes(claimed, claim(one.text))]
        if not contradicted:
            if candidate.only_ends:
                return None
            again = await self._again(candidate, claimed, holding, meaning)
            if again is not None:
                return await self._said_again(candidate, again)
        return await self._stored(candidate, contradicted, project, place.ended)

    async def _meant(
        self,
        candidate: Candidate,
        correction: Correction,
        holding: Iterable[Memory],
        meaning: Meaning | None,
    ) -> Memory | None:
        """Returns the one memory that a statement corrects, if there is no doubt which."""
        wrong = [one for one in holding if correction.applied(one.text) is not None]
        just_said = [one for one in wrong if await self._just_said(one, candidate)]
        if not correction.about:
            told = [one for one in wrong if content(one.text) <= correction.answered]
            return next((found[0] for found in (just_said, told) if len(found) == 1), None)
        named = [one for one in wrong if correction.about <= content(one.text)]
        if named or meaning is None or len(just_said) != 1:
            return named[0] if len(named) == 1 else None
        # "The wedding is in July, not June", after "My sister gets married in June".
        one, other = await meaning.embedder.embed([correction.denied, just_said[0].text])
        return just_said[0] if _cosine(one, other) > _MEANT else None

    async def _just_said(self, memory: Memory, candidate: Candidate) -> bool:
        """Whether the user said it in the same session, shortly before."""
        here = [
            one
            for one in await self._memories.sources(memory.id)
            if one.session_id == candidate.session_id and one.message_id != candidate.message_id
        ]
        said = (await self._memories.said_at([memory.id])).get(memory.id) if here else None
        return said is not None and timedelta(0) <= candidate.said_at - said <= _SHORTLY

    async def _learned_before(
        self, candidate: Candidate, known: Iterable[Memory], made: AbstractSet[str]
    ) -> bool:
        """Whether it was rejected, or learned from the same quote before. Of what is `made` now, a quote may
        be a part of another."""
        rejected = (one for one in known if one.state is MemoryState.REJECTED)
        if any(same_words(one.text, candidate.text) for one in rejected):
            return True
        quote = spaced(candidate.quote)
        for memory in await self._memories.learned_from([candidate.message_id]):
            if memory.id in made:
                continue
            for source in await self._memories.sources(memory.id):
                said = spaced(source.quote)
                if source.message_id == candidate.message_id and (quote in said or said in quote):
                    return True
        return False

    async def _again(
        self, candidate: Candidate, claimed: Claim, holding: Sequence[Memory], meaning: Meaning | None
    ) -> Memory | None:
        """Returns the memory that already states the same."""
        alike: list[tuple[int, Memory]] = []
        for memory in holding:
            known = claim(memory.text)
            if same_words(memory.text, candidate.text) or same(claimed, known):
                return memory
            shared = len(claimed.words & known.words)
            comparable = memory.kind is candidate.kind and known.denies == claimed.denies
            if (
                2 * shared >= len(claimed.words)
                and comparable
                and claimed.subject == known.subject
                and _same_facts(candidate, memory)
            ):
                alike.append((shared, memory))
        if meaning is None or not alike:
            return None
        alike.sort(key=lambda one: -one[0])
        return await _nearest(candidate, [memory for _, memory in alike[:_COMPARED]], meaning)

    async def _said_again(self, candidate: Candidate, memory: Memory) -> Memory:
        await self._memories.add_sources(memory.id, [_source(candidate)])
        patch = MemoryPatch(
            confidence=_surer(memory.confidence, candidate.confidence),
            importance=max(memory.importance, candidate.importance),
            state=MemoryState.KEPT if candidate.origin is MemoryOrigin.PERSON else None,
            text=candidate.text if _tells_more(candidate, memory) else None,
        )
        return await self._memories.change(memory.id, patch, action=_ACTION, automatic=True)

    async def _stored(
        self,
        candidate: Candidate,
        contradicted: Sequence[Memory],
        project: str | None,
        ended: datetime | None,
    ) -> Memory:
        way = route(
            candidate.kind,
            candidate.importance,
            self._clock.now(),
            self._rules(),
            origin=candidate.origin,
            project=project,
            project_ended=ended,
        )
        # The latest statement holds, whichever time its text refers to.
        said = await self._memories.said_at([one.id for one in contradicted])
        newer = [one for one in contradicted if said.get(one.id, one.created_at) > candidate.said_at]
        older = [one for one in contradicted if one not in newer]
        # A statement older than what is known (from imported old sessions) is already superseded.
        overtaken = bool(newer)
        until = min(map(_since, newer)) if newer else candidate.valid_until
        if until is not None and candidate.valid_from is not None:
            until = max(until, candidate.valid_from)
        new = NewMemory(
            kind=candidate.kind,
            text=candidate.text,
            origin=candidate.origin,
            sources=(_source(candidate),),
            tier=way.tier,
            state=MemoryState.SUPERSEDED if overtaken else way.state,
            subject=candidate.subject,
            confidence=candidate.confidence,
            importance=candidate.importance,
            valid_from=candidate.valid_from,
            valid_until=until,
            expires_at=way.expires_at,
            project=project,
            model=candidate.model,
            supersedes=() if overtaken else tuple(one.id for one in older),
        )
        return await self._memories.add(
            new, action=_ACTION, automatic=candidate.origin is not MemoryOrigin.PERSON
        )


def _part_of(candidate: Candidate, correction: Candidate) -> bool:
    same_message = candidate.message_id == correction.message_id
    return same_message and spaced(candidate.quote) in spaced(correction.quote)


def _source(candidate: Candidate) -> MemorySource:
    return MemorySource(candidate.message_id, candidate.session_id, candidate.quote)


def _since(memory: Memory) -> datetime:
    return memory.valid_from or memory.created_at


def _surer(one: float, other: float) -> float:
    """Returns the confidence after a second mention, higher than either."""
    return min(1.0, max(one, other) + (1 - max(one, other)) / 2)


def _tells_more(candidate: Candidate, memory: Memory) -> bool:
    """Whether the newer text contains all words of the older, and more. A user's own wording stays."""
    if memory.origin is MemoryOrigin.PERSON or memory.version > 1:
        return False
    return claim(memory.text).words < claim(candidate.text).words


def _same_facts(candidate: Candidate, memory: Memory) -> bool:
    """Whether both contain the same numbers and names, which vectors do not distinguish."""
    told = [{min(number) for number in numbers(text)} for text in (candidate.text, memory.text)]
    named = [{name.casefold() for name in names(text)} for text in (candidate.text, memory.text)]
    return told[0] == told[1] and named[0] == named[1]


async def _nearest(candidate: Candidate, others: Sequence[Memory], meaning: Meaning) -> Memory | None:
    model = await meaning.embedder.embedding_fingerprint()
    rows = await meaning.vectors.of(model, owners=[one.id for one in others])
    stored = {row.owner_id: _floats(row.data) for row in rows if row.kind == KIND and row.part == 0}
    missing = [one for one in others if one.id not in stored]
    texts = [reading(candidate.subject, candidate.text)]
    texts += [reading(one.subject, one.text) for one in missing]
    made = await meaning.embedder.embed(texts)
    stored |= {one.id: vector for one, vector in zip(missing, made[1:], strict=True)}
    best = max(others, key=lambda one: _cosine(made[0], stored[one.id]))
    return best if 1 - _cosine(made[0], stored[best.id]) < NEAR else None


def _floats(data: bytes) -> Sequence[float]:
    return memoryview(data).cast("f")


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    length = math.sqrt(sum(a * a for a in one) * sum(b * b for b in other))
    return sum(a * b for a, b in zip(one, other, strict=True)) / length if length else 0.0
