"""Plans what to summarise next, and splits texts into the sentences that summaries are made from."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import accumulate, pairwise

from memory.context.entities import Summary, SummaryState
from memory.entities import Message, MessageStatus
from memory.summaries.evidence import (
    DECAY,
    PIN_FROM,
    Importance,
    importance,
    is_small_talk,
    phrases,
    relevance,
)
from models.messages import Role


@dataclass(frozen=True, slots=True)
class Stretch:
    """Messages `[start, end)` of a branch, and the summary that represents them (None: there is none)."""

    start: int
    end: int
    summary: Summary | None = None


def active_summaries(ids: Sequence[str], summaries: Sequence[Summary], *, keep: int = 0) -> list[Stretch]:
    """Returns the beginning of a branch as adjacent stretches, up to the end of the last summary that fits.

    A summary fits when its messages are contiguous on the branch. Of several with one start the widest is
    used, so a merged summary is used again on a branch that forked before the end of the wider one. Stale
    ones are also used: their messages were read. A summary that reaches into the last `keep` messages does
    not fit.
    """
    branch = tuple(ids)
    place = {id_: index for index, id_ in enumerate(branch)}
    last = len(branch) - keep
    fitting: dict[int, Summary] = {}
    for summary in summaries:
        start = place.get(summary.covers[0]) if summary.covers else None
        if start is None or start + len(summary.covers) > last:
            continue
        if branch[start : start + len(summary.covers)] != summary.covers:
            continue
        other = fitting.get(start)
        if other is None or _preference(summary) > _preference(other):
            fitting[start] = summary
    found: list[Stretch] = []
    at = 0
    for start in sorted(fitting):
        if start < at:
            continue
        if start > at:
            found.append(Stretch(at, start))
        at = start + len(fitting[start].covers)
        found.append(Stretch(start, at, fitting[start]))
    return found


def _preference(summary: Summary) -> tuple[int, bool, bool, bool]:
    return (
        len(summary.covers),
        summary.state is SummaryState.CURRENT,
        summary.edited,
        not summary.fallback,
    )


MAX_ARCHIVED_IN_VIEW = 50


@dataclass(frozen=True, slots=True)
class TieredHistory:
    """`active` messages are verbatim, `archived` ones are represented by `summaries`; all oldest first.

    `archived` contains at most the requested number, the newest; `archived_total` counts all.
    """

    active: tuple[Message, ...]
    summaries: tuple[Summary, ...]
    archived: tuple[Message, ...]
    archived_total: int


def tiers(
    branch: Sequence[Message],
    summaries: Sequence[Summary],
    *,
    recent_messages_min: int = 4,
    max_archived_in_view: int = MAX_ARCHIVED_IN_VIEW,
) -> TieredHistory:
    """Returns the history of a branch (root to leaf), given all summaries of its session."""
    found = active_summaries([m.id for m in branch], summaries, keep=recent_messages_min)
    # A message without a summary is still verbatim: a later summary does not hide it.
    archived = [m for stretch in found if stretch.summary for m in branch[stretch.start : stretch.end]]
    hidden = {m.id for m in archived}
    return TieredHistory(
        active=tuple(m for m in branch if m.id not in hidden),
        summaries=tuple(stretch.summary for stretch in found if stretch.summary),
        archived=tuple(archived[max(0, len(archived) - max_archived_in_view) :]),
        archived_total=len(archived),
    )


_SMALL_TALK_STRETCH = 3
"""How many times its usual number of turns a batch may have when the others are small talk."""

_READ_AGAIN = 200
_READ_ONCE = 1_000
"""How many of the newest messages are read in full: if summarised, and if not."""
_BEGINS = 1_000
_PAST = Importance(0.0)

_LONGEST_TURN = 6
"""In messages. Longer runs without a user message (imported sessions) count as several turns."""


@dataclass(frozen=True, slots=True)
class Foldable:
    """The facts about a message that the plan needs; `tokens` is its size in a prompt."""

    id: str
    role: Role
    tokens: int
    importance: Importance


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """Names and defaults are those of the settings; tokens of the tiers come from the budget.

    `target_tokens` is what the verbatim messages may take, `pinned_tokens` what the pinned ones may, and
    `summary_tokens` what all summaries together may (None: at most 35 % of what they cover).
    """

    target_tokens: int
    pinned_tokens: int = 0
    summary_tokens: int | None = None
    immediate_turns: int = 10
    summary_turns: int = 5
    max_summaries: int = 3
    recent_messages_min: int = 4
    relevance_decay: float = DECAY


@dataclass(frozen=True, slots=True)
class Fold:
    """Messages that become one summary of level 0. `small_talk`: they contain nothing else."""

    covers: tuple[str, ...]
    small_talk: bool = False


@dataclass(frozen=True, slots=True)
class Merge:
    """Adjacent summaries that become one, each identified by what it covers."""

    parts: tuple[tuple[str, ...], ...]
    level: int

    @property
    def covers(self) -> tuple[str, ...]:
        return tuple(id_ for part in self.parts for id_ in part)


@dataclass(frozen=True, slots=True)
class SummaryPlan:
    """What to do, in this order: remake stale summaries (ids), fold, merge.

    `start` is the index of the first verbatim message after that. `pinned` are earlier messages that stay
    verbatim in addition to the summaries that cover them, in order. `most` is the most tokens of a new
    summary.
    """

    start: int
    folds: tuple[Fold, ...] = ()
    merges: tuple[Merge, ...] = ()
    remake: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()
    most: int | None = None

    @property
    def empty(self) -> bool:
        return not (self.folds or self.merges or self.remake)


@dataclass(frozen=True, slots=True)
class _Node:
    level: int
    parts: tuple[tuple[str, ...], ...]


def foldables(
    branch: Sequence[Message], tokens: Sequence[int], summaries: Sequence[Summary] = ()
) -> list[Foldable]:
    """Returns the facts about a branch that the plan needs; `tokens` are the messages' sizes in a prompt.

    A failed reply has no tokens and no importance. Messages summarised long ago, or at the far beginning of a
    long import, are not read in full: they are important only if marked or asked to be remembered.
    """
    found = active_summaries([message.id for message in branch], summaries)
    summarised = min(found[-1].end if found else 0, len(branch) - _READ_AGAIN)
    old = max(summarised, len(branch) - _READ_ONCE)
    return [
        _foldable(message, size, old=index < old)
        for index, (message, size) in enumerate(zip(branch, tokens, strict=True))
    ]


def _foldable(message: Message, tokens: int, *, old: bool) -> Foldable:
    text, role = message.content, message.role
    if message.status is MessageStatus.FAILED or not text.strip():
        return Foldable(message.id, role, 0, importance("", role))
    if old and not message.important and not (role is Role.USER and phrases().asked.search(text[:_BEGINS])):
        return Foldable(message.id, role, tokens, _PAST)
    return Foldable(message.id, role, tokens, importance(text, role, marked=message.important))


def turn_starts(roles: Sequence[Role]) -> list[int]:
    """Returns the indices at which turns begin: the start, and each user message."""
    starts: list[int] = []
    for index, role in enumerate(roles):
        if not starts or role is Role.USER or index - starts[-1] >= _LONGEST_TURN:
            starts.append(index)
    return starts


def plan(messages: Sequence[Foldable], summaries: Sequence[Summary], limits: PlanLimits) -> SummaryPlan:
    """Folds the oldest turns in batches until what stays verbatim is within the limits.

    `messages` are all of the branch, including failed replies, so that a summary covers no gaps. The last
    `recent_messages_min` messages never fold, whatever their size. Runs of small talk fold with the adjacent
    batch. If there are more batches than allowed summaries (a long import), the oldest become one batch.
    """
    found = active_summaries([m.id for m in messages], summaries, keep=limits.recent_messages_min)
    covered = found[-1].end if found else 0
    starts = turn_starts([m.role for m in messages])
    gaps = [range_ for s in found if s.summary is None for range_ in _within(s, starts, limits)]
    tail = _at_most(limits.max_summaries, _tail(messages, starts, covered, limits))
    folds = [_fold(messages[a:b]) for a, b in (*gaps, *tail)]
    nodes = {s.start: _Node(s.summary.level, (s.summary.covers,)) for s in found if s.summary is not None}
    nodes.update({a: _Node(0, (tuple(m.id for m in messages[a:b]),)) for a, b in (*gaps, *tail)})
    start = tail[-1][1] if tail else covered
    stale = [s.summary.id for s in found if s.summary and s.summary.state is SummaryState.STALE]
    return SummaryPlan(
        start=start,
        folds=tuple(folds),
        merges=_merges([nodes[at] for at in sorted(nodes)], limits.max_summaries),
        remake=tuple(stale),
        pinned=pinned(messages, start, limits),
        most=None if limits.summary_tokens is None else limits.summary_tokens // limits.max_summaries,
    )


def plan_all(messages: Sequence[Foldable], summaries: Sequence[Summary], limits: PlanLimits) -> SummaryPlan:
    """Like `plan`, but folds everything except the last `recent_messages_min` messages (to the turn)."""
    return plan(messages, summaries, replace(limits, target_tokens=-1))


def pinned(messages: Sequence[Foldable], start: int, limits: PlanLimits) -> tuple[str, ...]:
    """Returns important messages before `start`, most relevant first while they fit, in branch order.

    Relevance is importance times `relevance_decay` for every turn since.
    """
    turn_of = _turn_of(messages)
    found = [
        (relevance(m.importance, turn_of[-1] - turn_of[index], decay=limits.relevance_decay), index)
        for index, m in enumerate(messages[:start])
        if m.importance.score >= PIN_FROM and m.tokens <= limits.pinned_tokens
    ]
    left = limits.pinned_tokens
    kept: list[int] = []
    for _, index in sorted(found, reverse=True):
        if messages[index].tokens <= left:
            left -= messages[index].tokens
            kept.append(index)
    return tuple(messages[index].id for index in sorted(kept))


def _turn_of(messages: Sequence[Foldable]) -> list[int]:
    starts = set(turn_starts([m.role for m in messages]))
    return list(accumulate(1 if index in starts else 0 for index in range(len(messages))))


def _tail(
    messages: Sequence[Foldable], starts: Sequence[int], covered: int, limits: PlanLimits
) -> list[tuple[int, int]]:
    """Returns batches of the turns after `covered`, as many as needed to meet the limits."""
    latest = len(messages) - limits.recent_messages_min
    borders = [at for at in starts if covered < at <= latest]
    weights = [m.tokens for m in messages]
    left = sum(weights[covered:])
    turns = 1 + sum(at > covered for at in starts)
    batches: list[tuple[int, int]] = []
    at = covered
    while borders and (turns > limits.immediate_turns or left > limits.target_tokens):
        count = _batch(messages, at, borders, limits)
        end = borders[count - 1]
        batches.append((at, end))
        left -= sum(weights[at:end])
        turns -= count
        borders = borders[count:]
        at = end
    return batches


def _batch(messages: Sequence[Foldable], at: int, borders: Sequence[int], limits: PlanLimits) -> int:
    """Returns how many turns from `at` on make a batch; small talk does not count, up to a bound."""
    counted = 0
    for number, (begin, end) in enumerate(pairwise((at, *borders))):
        small = all(m.importance.small_talk for m in messages[begin:end])
        if counted == limits.summary_turns and not small:
            return number
        if number >= _SMALL_TALK_STRETCH * limits.summary_turns:
            return number
        counted += not small
    return len(borders)


def _within(stretch: Stretch, starts: Sequence[int], limits: PlanLimits) -> list[tuple[int, int]]:
    """Returns batches of all of a stretch between two summaries, which cannot stay verbatim."""
    inner = [at for at in starts if stretch.start < at < stretch.end]
    edges = [stretch.start, *inner[limits.summary_turns - 1 :: limits.summary_turns], stretch.end]
    return _at_most(limits.max_summaries, list(pairwise(edges)))


def _at_most(count: int, batches: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Joins the oldest batches into one so that at most `count` remain."""
    if len(batches) <= count:
        return batches
    cut = len(batches) - count
    return [(batches[0][0], batches[cut][1]), *batches[cut + 1 :]]


def _fold(messages: Sequence[Foldable]) -> Fold:
    return Fold(tuple(m.id for m in messages), all(m.importance.small_talk for m in messages))


def _merges(nodes: list[_Node], most: int) -> tuple[Merge, ...]:
    """Merges neighbours until at most `most` remain: the pair most alike in length, of equals the oldest.

    A message is summarised again whenever its summary is merged, so a summary of many messages waits for an
    equally large one: of 10,000 messages the first are read 26 times, not 250. What would be merged twice in
    a row is merged once, from all its parts.
    """
    while len(nodes) > max(1, most):
        lengths = [sum(map(len, node.parts)) for node in nodes]
        unlike = [max(pair) / min(pair) for pair in pairwise(lengths)]
        at = unlike.index(min(unlike))
        a, b = nodes[at], nodes[at + 1]
        nodes[at : at + 2] = [_Node(max(a.level, b.level) + 1, a.parts + b.parts)]
    return tuple(Merge(node.parts, node.level) for node in nodes if len(node.parts) > 1)


LEAST = {Role.USER: 12, Role.ASSISTANT: 40, Role.SYSTEM: 40}
"""The least characters of a message that can have a copy.

"Thanks" is not a copy of anything, nor is "You are welcome, ask away": models say so in every other session.
"""


def counts(role: Role, content: str) -> bool:
    """Whether a message is long enough for another one with the same text to be a copy of it."""
    return len(content.strip()) >= LEAST[role]


LABELS = {Role.USER: "User", Role.ASSISTANT: "Assistant", Role.SYSTEM: "System"}
"""The speaker's label when no name is known."""

_FENCE = re.compile(r"^(```|~~~).*?(?:^\1[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
_LINE_MARKS = re.compile(r"^\s*(?:#{1,6}\s+|>\s*|[-*+•]\s+|\d{1,2}[.)]\s+(?=\S)|\|)+\s*")
_RULE = re.compile(r"^[\s|:\-=*_+]*$")
_EMPHASIS = re.compile(r"\*\*|__|`")
_ENDS = re.compile(r"(?<=[.!?…])[\"”’»)\]]*\s+|(?<=[。！？])")
# A full stop after these does not end a sentence: Dr. Berg · e.g. this · J. L. Carr · the 3. of May (German).
_ABBREVIATED = re.compile(
    r"(?:^|[\s(])(?:[A-Z]|\d{1,2}|Mr|Mrs|Ms|Dr|Prof|St|Nr|No|vs|etc|approx|ca|bzw|usw|z\.\s?B|d\.\s?h|e\.g|i\.e|"
    r"p\.m|a\.m|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec)\.$",
    re.IGNORECASE,
)
_LONGEST_WORDS = 45
_LOOKED_BACK = 16
_LONGEST_JOINED = 1000
"""The most characters of a sentence that is continued after an abbreviation."""
_HEADER = re.compile(r"^\d+ messages?(?:,|\.|$)")
_LABELLED = re.compile(r"([^:\n]{1,40}): (.+)")


@dataclass(frozen=True, slots=True)
class SourceMessage:
    """A message that is to be summarised."""

    id: str
    role: Role
    speaker: str
    text: str = field(repr=False)
    at: datetime
    important: bool = False

    @property
    def label(self) -> str:
        return self.speaker or LABELS[self.role]


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence (or a line) and its speaker, empty when that is part of the text.

    `weight` is its importance in [0, 1].
    """

    text: str = field(repr=False)
    speaker: str = ""
    weight: float = 0.0

    @property
    def line(self) -> str:
        return f"{self.speaker}: {self.text}" if self.speaker else self.text


@dataclass(frozen=True, slots=True)
class Span:
    """How many messages something covers, and the times of the first and the last."""

    messages: int
    first: datetime
    last: datetime


def span_of(messages: Sequence[SourceMessage]) -> Span | None:
    times = [message.at for message in messages]
    return Span(len(times), min(times), max(times)) if times else None


def sentences(text: str) -> list[str]:
    """Returns the sentences of prose and the lines of lists and tables.

    Code and rules are left out; longer sentences are cut into pieces of 45 words.
    """
    found: list[str] = []
    for line in _FENCE.sub("\n", text).splitlines():
        if _RULE.match(line):
            continue
        plain = _unmarked(_LINE_MARKS.sub("", line)).strip()
        if line.lstrip().startswith("|"):
            plain = ", ".join(cell.strip() for cell in plain.split("|") if cell.strip())
        for sentence in _split(plain):
            found.extend(_pieces(sentence))
    return found


def _unmarked(line: str) -> str:
    """Removes emphasis and code marks around text, pairing each mark with the next of its kind."""
    closing: dict[str, list[int]] = {}
    marks = list(_EMPHASIS.finditer(line))
    for mark in reversed(marks):
        if not line[mark.start() - 1 : mark.start()].isspace():
            closing.setdefault(mark[0], []).append(mark.start())
    kept: list[str] = []
    at = 0
    for mark in marks:
        begin, ends = mark.end(), closing.get(mark[0], [])
        if mark.start() < at or not line[begin : begin + 1].strip():
            continue
        while ends and ends[-1] <= begin:
            ends.pop()
        if ends:
            kept += (line[at : mark.start()], line[begin : ends[-1]])
            at = ends[-1] + len(mark[0])
    return "".join((*kept, line[at:])) if kept else line


def _split(line: str) -> list[str]:
    found: list[str] = []
    for piece in _ENDS.split(line):
        if found and len(found[-1]) < _LONGEST_JOINED and _shortened(found[-1]):
            found[-1] += f" {piece}"
        elif piece.strip():
            found.append(piece.strip())
    return found


def _shortened(text: str) -> bool:
    """Whether the text ends with an abbreviation."""
    return _ABBREVIATED.search(text, max(0, len(text) - _LOOKED_BACK)) is not None


def _pieces(sentence: str) -> list[str]:
    words = sentence.split()
    return [" ".join(words[at : at + _LONGEST_WORDS]) for at in range(0, len(words), _LONGEST_WORDS)]


def of_messages(messages: Sequence[SourceMessage]) -> list[Passage]:
    """Returns their sentences in order; greetings, thanks and the like are left out unless important."""
    return [
        Passage(sentence, m.label, importance(sentence, m.role, marked=m.important).score)
        for m in messages
        for sentence in sentences(m.text)
        if m.important or not is_small_talk(sentence)
    ]


# A line break inside a sentence: the next line continues with a small letter or in brackets.
_WRAPPED = re.compile(r"(?<=[\w,;)’'\"”`*])\n(?=[^\W\d_A-Z]|\()")
_LEAD = (0.5, 0.3)
"""The weights of the first sentences of a part of a document, which often name its subject."""


def of_text(texts: Iterable[str]) -> list[Passage]:
    """Returns the sentences of parts of a document, in order; the first ones of each part weigh more."""
    return [
        Passage(sentence, "", _LEAD[at] if at < len(_LEAD) else 0.0)
        for text in texts
        for at, sentence in enumerate(sentences(_WRAPPED.sub(" ", text)))
    ]


def of_summary(text: str, speakers: Collection[str], *, important: bool = False) -> list[Passage]:
    """Returns the sentences of a summary; lines that quote one of `speakers` are attributed to them."""
    found: list[Passage] = []
    for line in text.splitlines():
        if _HEADER.match(line.strip()):
            continue
        labelled = _LABELLED.fullmatch(line.strip())
        speaker, told = labelled.groups() if labelled and labelled[1] in speakers else ("", line)
        role = Role.ASSISTANT if speaker == LABELS[Role.ASSISTANT] else Role.USER
        found += [
            Passage(sentence, speaker, importance(sentence, role, marked=important).score)
            for sentence in sentences(told)
        ]
    return found
