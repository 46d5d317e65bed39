"""How long memories last, and which need consent first: tiers, expiry, fading, promotion, and secrets."""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from unicodedata import decimal

from memory.memories.entities import (
    FINDABLE,
    Memory,
    MemoryChange,
    MemoryKind,
    MemoryOrigin,
    MemoryPatch,
    MemoryState,
    MemoryTier,
)

CARD = re.compile(r"(?<![\w.+-])\d(?:[ \u00a0\u202f\-\u2011]?\d){12,18}(?![\w-])")
"""What may be a payment card number, if `luhn` holds."""
IBAN = re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?:[ \u00a0-]?[A-Z0-9]){11,30}(?!\w)", re.IGNORECASE)
"""What may be an IBAN with words after it, if `iban` holds for its beginning."""

_IS = r"(?:\b(?:is|are|was|lautet|ist|heißt|est|es)\b|[:=：是为])\s*"
_GIVEN = re.compile(
    r"(?:(?<!\w)(?:pass ?(?:word|phrase|code)s?|pins?|puk|cvv|cvc|otp|(?:api|secret|access|private)"
    r"[ -]?key|licen[cs]e key|(?:recovery|seed|secret|security) (?:phrase|key|word|answer)|tokens?"
    r"|passwort|kennwort|geheim(?:zahl|code)|mot de passe|contraseñas?|clave)"
    r"(?:[ -](?:code|number|nummer|número))?\b"
    rf"|密码|口令|密钥|验证码).{{0,40}}?{_IS}(?P<value>\S.*)",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"(?:(?<!\w)(?:\w*codes?|(?:zahlen)?kombination|combination|keys?|tan|ssn|\w*schlüssel|códigos?"
    rf"|combinaison|combinación|social security number)\b|身份证号|卡号)"
    rf".{{0,40}}?{_IS}(?P<value>[\w#*-]*\d[\w#*-]{{2,}})",
    re.IGNORECASE,
)
# Words that are not the value of a password: "my password is too short".
_NO_VALUE = re.compile(
    r"(?:too|very|so|not|never|always|the same|stored|saved|weak|strong|wrong|lost|expired|safe|in|on|under"
    r"|with|zu|sehr|nicht|trop|très|pas|muy|no)\b|[很太不]",
    re.IGNORECASE,
)
_KNOWN = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY|\b(?:sk|pk|rk)[-_](?:live|test|proj|ant)?[-_]?[A-Za-z0-9_-]{16,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\bxox[abprs]-[\w-]{10,}"
    r"|\bAKIA[A-Z0-9]{16}\b|\bAIza[\w-]{30,}|\bhf_[A-Za-z0-9]{20,}|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+"
)
_RUN = re.compile(r"(?<![\w./:@-])[A-Za-z0-9+_=-]{20,}(?![\w./@-])")
_LEAST_DIGITS = 3


def digits(text: str) -> list[int]:
    """Returns the decimal digits of a text, in any script, as numbers."""
    return [value for char in text if (value := decimal(char, -1)) >= 0]


def luhn(number: list[int]) -> bool:
    """Returns whether the last digit is a valid check digit; a single repeated digit is not a card number."""
    total = 0
    for place, value in enumerate(reversed(number)):
        doubled = value * 2 if place % 2 else value
        total += doubled - 9 if doubled > 9 else doubled
    return len(number) >= 13 and total % 10 == 0 and len(set(number)) > 1


def iban(text: str) -> bool:
    """Returns whether the two check digits are valid (ISO 13616, ISO 7064 MOD 97-10)."""
    plain = re.sub(r"[\s-]", "", text).upper()
    if not (15 <= len(plain) <= 34 and plain.isascii() and plain.isalnum()):
        return False
    return int("".join(str(int(char, 36)) for char in plain[4:] + plain[:4])) % 97 == 1


def iban_end(text: str, start: int, end: int) -> int | None:
    """Returns where the longest valid IBAN that begins at `start` ends; None if there is none.

    Words after an IBAN look like part of it; a separator before the next word is not part of it.
    """
    for at in range(end, start + 14, -1):
        if text[at - 1].isalnum() and iban(text[start:at]):
            return at
    return None


@lru_cache(maxsize=20_000)
def looks_secret(text: str) -> bool:
    """Whether a text seems to contain a secret. Deterministic, and cached."""
    return any(check(text) for check in _CHECKS)


def _is_given(text: str) -> bool:
    found = _GIVEN.search(text)
    return found is not None and _NO_VALUE.match(found["value"]) is None


def _is_code(text: str) -> bool:
    return _CODE.search(text) is not None


def _is_known(text: str) -> bool:
    return _KNOWN.search(text) is not None


def _is_card(text: str) -> bool:
    return any(luhn(digits(found[0])) for found in CARD.finditer(text))


def _is_account(text: str) -> bool:
    return any(iban_end(text, *found.span()) is not None for found in IBAN.finditer(text))


def _is_random(text: str) -> bool:
    """Whether a text contains a long run of small and capital letters and digits."""
    return any(
        run != run.lower() and run != run.upper() and len(digits(run)) >= _LEAST_DIGITS
        for run in _RUN.findall(text)
    )


_CHECKS: tuple[Callable[[str], bool], ...] = (
    _is_given,
    _is_code,
    _is_known,
    _is_card,
    _is_account,
    _is_random,
)


PROCEDURAL_VERSIONS = 10
"""How many earlier versions of a procedure the store keeps."""

PASSING = frozenset({MemoryTier.WORKING, MemoryTier.SHORT_TERM, MemoryTier.EPISODIC})
"""Tiers that end on their own. Memories of the others stay until a user removes them."""


@dataclass(frozen=True, slots=True)
class Retention:
    """The table of rules.

    `archive_days` 0 keeps archived memories permanently. Weights and importances are 0 … 1.
    """

    working_hours: float = 2.0
    short_term_hours_min: float = 24.0
    short_term_hours_max: float = 72.0
    episodic_days: float = 30.0
    archive_days: int = 0
    lasting_importance: float = 0.4
    forgetting_weight: float = 0.01
    fading_share: float = 0.25
    often: int = 3
    promote_uses: int = 5
    promote_importance: float = 0.8
    promote_turns: int = 3
    promote_similarity: float = 0.7
    consolidate_similarity: float = 0.75
    detail_words: int = 40
    detail_words_max: int = 160


def short_term_hours(importance: float, rules: Retention) -> float:
    """Returns hours between the shortest and the longest, in proportion to importance."""
    share = min(max(importance, 0.0), 1.0)
    least, most = sorted((rules.short_term_hours_min, rules.short_term_hours_max))
    return least + (most - least) * share


def expires_at(
    tier: MemoryTier,
    importance: float,
    now: datetime,
    rules: Retention,
    *,
    project: str | None = None,
    project_ended: datetime | None = None,
) -> datetime | None:
    """Returns when a memory routed to `tier` now goes out of use; None: it has no expiry time.

    An episodic memory of a project lasts as long as the project plus `episodic_days`; one of no project,
    `episodic_days`.
    """
    match tier:
        case MemoryTier.WORKING:
            return now + timedelta(hours=rules.working_hours)
        case MemoryTier.SHORT_TERM:
            return now + timedelta(hours=short_term_hours(importance, rules))
        case MemoryTier.EPISODIC:
            if project is not None and project_ended is None:
                return None
            return (project_ended or now) + timedelta(days=rules.episodic_days)
        case MemoryTier.LONG_TERM | MemoryTier.PROCEDURAL:
            return None


def in_use(memory: Memory, *, ask_first: bool = False) -> bool:
    """Whether a memory may be recalled.

    Procedures, and memories for which `needs_consent` is true, need the user's approval first; with
    `ask_first`, all memories do.
    """
    if memory.state not in FINDABLE:
        return False
    needs_approval = memory.tier is MemoryTier.PROCEDURAL or needs_consent(memory)
    return memory.state is MemoryState.KEPT or not (ask_first or needs_approval)


def needs_consent(memory: Memory) -> bool:
    """Whether a memory is used only once the user has accepted it: a client proposed it, or it looks like a
    secret.
    """
    return memory.proposed_by is not None or looks_secret(memory.text)


def awaits_consent(memory: Memory) -> bool:
    """Whether a memory is in the inbox, and not used before the user has accepted it."""
    return memory.state is not MemoryState.KEPT and needs_consent(memory)


def life_left(memory: Memory, now: datetime) -> float:
    """Returns the share of its time that is left, 0 … 1; 1 when it does not expire."""
    if memory.expires_at is None:
        return 1.0
    whole = (memory.expires_at - memory.created_at).total_seconds()
    left = (memory.expires_at - now).total_seconds()
    return min(max(left / whole, 0.0), 1.0) if whole > 0 else float(left > 0)


def detail_words(mentions: int, rules: Retention) -> int:
    """Returns how many words a merged memory may have: more if its topic came up more often."""
    grown = rules.detail_words * (1 + math.log2(1 + max(mentions, 0)) / 2)
    return max(rules.detail_words, min(round(grown), rules.detail_words_max))


ARCHIVE = "archive"
"""The name of archiving by garbage collection in the change log."""
Weigh = Callable[[Memory], float]
"""The temporal weight of a memory now, 0 … 1, without a floor."""


class FadingReason(StrEnum):
    """expired, faded: is archived at the next garbage collection; fading, expires_soon: will be soon; faint:
    has hardly any weight, but stays; comes_up: given more time; old_archive: in the archive for long enough.
    """

    EXPIRED = "expired"
    FADED = "faded"
    FADING = "fading"
    FAINT = "faint"
    EXPIRES_SOON = "expires_soon"
    OLD_ARCHIVE = "old_archive"
    COMES_UP = "comes_up"


@dataclass(frozen=True, slots=True)
class Expiry:
    memory: Memory
    why: FadingReason


@dataclass(frozen=True, slots=True)
class RetentionPlan:
    """A plan for garbage collection.

    `archive` is put out of use, `prolong` is given more time, `erase` has been in the archive longer than the
    user wants.
    """

    archive: tuple[Expiry, ...] = ()
    prolong: tuple[Expiry, ...] = ()
    erase: tuple[Expiry, ...] = ()


def fading(memory: Memory, now: datetime, weight: float, rules: Retention) -> FadingReason | None:
    """Returns why a memory is leaving use or has become faint; None if it is not. Pinned ones never are.

    A memory with an expiry time follows it. A passing one without (and without a project) follows its weight:
    below the forgetting weight it is fading, below half of that it has faded; between the two lies one
    half-life. A lasting one can only become faint.
    """
    if memory.pinned or memory.state not in FINDABLE:
        return None
    if memory.expires_at is not None:
        if memory.expires_at <= now:
            return FadingReason.EXPIRED
        return FadingReason.EXPIRES_SOON if life_left(memory, now) <= rules.fading_share else None
    if weight >= rules.forgetting_weight:
        return None
    if memory.tier not in PASSING or memory.project is not None:
        return FadingReason.FAINT
    return FadingReason.FADED if weight < rules.forgetting_weight / 2 else FadingReason.FADING


def plan(
    memories: Iterable[Memory],
    now: datetime,
    rules: Retention,
    weigh: Weigh,
    mentions: Callable[[Memory], int] = lambda _memory: 0,
) -> RetentionPlan:
    """Plans garbage collection.

    `mentions` is how often a memory's topic came up recently: memories of frequent topics stay, and get more
    time.
    """
    archive, prolong, erase = [], [], []
    for memory in memories:
        if memory.state is MemoryState.ARCHIVED:
            if old_archive(memory, now, rules):
                erase.append(Expiry(memory, FadingReason.OLD_ARCHIVE))
            continue
        why = fading(memory, now, weigh(memory), rules)
        if why not in (FadingReason.EXPIRED, FadingReason.FADED):
            continue
        if memory.tier not in PASSING or mentions(memory) < rules.often:
            archive.append(Expiry(memory, why))
        elif why is FadingReason.EXPIRED:
            prolong.append(Expiry(memory, FadingReason.COMES_UP))
    return RetentionPlan(tuple(archive), tuple(prolong), tuple(erase))


def old_archive(memory: Memory, now: datetime, rules: Retention) -> bool:
    """Whether it has been archived for longer than `archive_days`, if that limit is set."""
    if memory.state is not MemoryState.ARCHIVED or memory.pinned or not rules.archive_days:
        return False
    return now - memory.updated_at > timedelta(days=rules.archive_days)


def archived() -> MemoryPatch:
    return MemoryPatch(state=MemoryState.ARCHIVED)


def prolonged(memory: Memory, now: datetime, rules: Retention) -> MemoryPatch:
    """Returns a patch with another period of the same length and, as its topic is active, more importance."""
    until = expires_at(memory.tier, memory.importance, now, rules, project=None)
    return MemoryPatch(expires_at=until, importance=min(memory.importance + 0.1, 1.0))


def with_project(
    memories: Iterable[Memory], log: Iterable[MemoryChange], end: datetime | None
) -> list[tuple[str, MemoryPatch]]:
    """Returns the patches for a project's memories when it ends (they last to `end`) or resumes (None).

    Memories that garbage collection archived meanwhile return to the inbox when the project resumes.
    """
    collected = {key for one in log if one.action == ARCHIVE and one.automatic for key in one.memory_ids}
    made = []
    for one in memories:
        if one.state in FINDABLE:
            made.append((one.id, MemoryPatch(expires_at=end)))
        elif end is None and one.state is MemoryState.ARCHIVED and one.id in collected:
            made.append((one.id, MemoryPatch(state=MemoryState.INBOX, expires_at=None)))
    return made


def rescued(memory: Memory) -> MemoryPatch:
    """Makes a memory permanent at the user's request; one of a lasting tier is pinned and fades no more."""
    pinned = True if memory.tier not in PASSING else None
    tier = MemoryTier.LONG_TERM if memory.tier in PASSING else None
    return MemoryPatch(tier=tier, state=MemoryState.KEPT, pinned=pinned, expires_at=None)


class Ground(StrEnum):
    """Why a memory is promoted. lasting_theme: an ended session was about a topic of lasting memories."""

    USED = "used"
    IMPORTANT = "important"
    LASTING_THEME = "lasting_theme"


@dataclass(frozen=True, slots=True)
class Standing:
    """The facts for a memory's promotion.

    `ended_turns` is the number of turns of the longest ended session it was learned in (0: none has ended);
    `similarity` is its cosine to the nearest lasting memory.
    """

    memory: Memory
    ended_turns: int = 0
    similarity: float = 0.0


def ground(standing: Standing, rules: Retention) -> Ground | None:
    """Returns why to promote it, or None. What awaits the user's approval is never promoted past it."""
    memory = standing.memory
    if awaits_consent(memory):
        return None
    if memory.tier not in PASSING or memory.state not in (MemoryState.INBOX, MemoryState.KEPT):
        return None
    if memory.uses > rules.promote_uses:
        return Ground.USED
    if memory.importance >= rules.promote_importance:
        return Ground.IMPORTANT
    themed = standing.similarity >= rules.promote_similarity
    if themed and standing.ended_turns >= rules.promote_turns:
        return Ground.LASTING_THEME
    return None


def promoted(memory: Memory, why: Ground) -> MemoryPatch:
    """Makes a memory permanent; one used often is kept, others keep their state."""
    state = MemoryState.KEPT if why is Ground.USED else memory.state
    return MemoryPatch(tier=MemoryTier.LONG_TERM, state=state, expires_at=None)


_ABOUT_THE_PERSON = frozenset({MemoryKind.FACT, MemoryKind.DECISION, MemoryKind.DIGEST, MemoryKind.EVENT})
_OF_A_PROJECT = frozenset({MemoryKind.DECISION, MemoryKind.EVENT, MemoryKind.CODE, MemoryKind.DIGEST})


@dataclass(frozen=True, slots=True)
class Route:
    tier: MemoryTier
    state: MemoryState
    expires_at: datetime | None


def tier_of(
    kind: MemoryKind,
    importance: float,
    rules: Retention,
    *,
    project: str | None = None,
    wish: MemoryTier | None = None,
) -> MemoryTier:
    """Returns the tier; the user's `wish` overrides the rules.

    Procedures are procedural and preferences long-term. Other memories are long-term if important (at least
    `lasting_importance`). Decisions, events, code, digests and open questions of a project last as long as
    the project; an open question without one, and everything else, is short-term.
    """
    if wish is not None:
        return wish
    if kind is MemoryKind.PROCEDURE:
        return MemoryTier.PROCEDURAL
    if kind is MemoryKind.PREFERENCE:
        return MemoryTier.LONG_TERM
    if project is not None and kind in _OF_A_PROJECT | {MemoryKind.QUESTION}:
        return MemoryTier.EPISODIC
    matters = importance >= rules.lasting_importance
    if matters and kind in _ABOUT_THE_PERSON | {MemoryKind.CODE}:
        return MemoryTier.LONG_TERM
    return MemoryTier.SHORT_TERM


def route(
    kind: MemoryKind,
    importance: float,
    now: datetime,
    rules: Retention,
    *,
    origin: MemoryOrigin,
    project: str | None = None,
    project_ended: datetime | None = None,
    wish: MemoryTier | None = None,
) -> Route:
    """Routes a new memory: one the user worded is kept at once; a learned one is put into the inbox."""
    tier = tier_of(kind, importance, rules, project=project, wish=wish)
    state = MemoryState.KEPT if origin is MemoryOrigin.PERSON else MemoryState.INBOX
    end = expires_at(tier, importance, now, rules, project=project, project_ended=project_ended)
    return Route(tier, state, end)
