"""Finds the passages that support a reply, and the sentences that no passage supports.

A verified quotation is the text of the document at its range, letter by letter: it is taken from the passage,
never from the reply. Whether it supports the sentence is decided by rules that would rather miss support than
report it where there is none.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from memory.documents.statements import Statement, contradicts, has, sentences
from memory.summaries.evidence import is_small_talk


class SourceKind(StrEnum):
    """Where a passage comes from."""

    DOCUMENT = "document"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document or note that the model was shown as `[marker]`.

    `text` is the document's text from `begin` to `end`, exactly; raises ValueError if its length differs.
    `document` is the id of the document or note. `lines` are the first and last line of the passage.
    """

    marker: int
    kind: SourceKind
    document: str
    title: str
    page: int | None
    lines: tuple[int, int] | None
    begin: int
    end: int
    text: str = field(repr=False)
    heading: tuple[str, ...] = ()
    header: str = ""

    def __post_init__(self) -> None:
        if len(self.text) != self.end - self.begin:
            raise ValueError("The text of a passage must be as long as its range.")


@dataclass(frozen=True, slots=True)
class Citation:
    """A passage that a sentence of a reply is based on.

    If `verified`, `quote` is the document's text from `begin` to `end`, and it supports the sentence or is
    quoted by it. Otherwise `quote` is the text of the reply, and the range is that of the whole passage.
    `sentence` is the range of the sentence in the reply.
    """

    marker: int
    kind: SourceKind
    document: str
    page: int | None
    lines: tuple[int, int] | None
    begin: int
    end: int
    quote: str = field(repr=False)
    verified: bool
    sentence: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Cited:
    """The citations of a reply in its order, and the ranges of its sentences that claim something without
    support."""

    citations: tuple[Citation, ...]
    unsupported: tuple[tuple[int, int], ...]


LEAST_COVERAGE = 0.6
"""The share of a sentence's content words that its support must contain; of each clause more than
`_LEAST_OF_CLAUSE`."""
_LEAST_OF_CLAUSE = 0.6
_LEAST_OWN = 0.5
"""The share of a sentence's words that must be in the quotation itself, not in its title or headings."""
_MOST_SENTENCES = 3
"""The most sentences of a quotation."""
_LEAST_CLAIM = 2
"""The least content words of a claim without numbers."""

_PARALLEL = 2
"""Two clauses with this many words in common count as contrasted."""
_ROUNDING = 1e-9

_CELL = re.compile(r"[|\t]")
_YEAR_OR_CODE = re.compile(r"(?:19|20)\d\d|[^\W\d_]+\d+")

_MARKERS = re.compile(r"[^\S\n]{0,3}\[\d{1,3}(?:[,;] ?\d{1,3}){0,20}\]")
_DIGITS = re.compile(r"\d+")
_QUOTED = re.compile(
    r"“([^“”]{2,600})”|\"([^\"\n]{2,600})\"|„([^„“”\"]{2,600})[“”\"]|«([^«»]{2,600})»|»([^«»]{2,600})«"
    r"|「([^「」]{2,600})」|『([^『』]{2,600})』"
)
_LEFT_OUT = re.compile(r"\[(?:…|\.\.\.)\]|…|\.\.\.")
_LIST_MARK = re.compile(r"\s*(?:[-*+•>]\s+|#{1,6}\s|\d{1,3}[.)]\s+)+")
_REFERS = re.compile(
    r"(?:[^\s]{1,30} ){0,2}(?:it|its|they|their|them|this|that|these|those|he|she|his|her|him|both|such|then"
    r"|there|er|sie|es|ihr\w*|sein\w*|dies\w*|dort|dann|dabei|él|ella|ellos|ellas|su|sus|este|esta|estos)\b",
    re.IGNORECASE,
)
"""Matches a sentence that begins with a reference to the one in front of it."""
_FENCE = re.compile(r"^(?:```|~~~)[^\n]*+\n.*?(?:^(?:```|~~~)[^\n]*+$|\Z)", re.DOTALL | re.MULTILINE)
_NO_CLAIM = re.compile(
    r"(?:sure|of course|certainly|here (?:is|are)|here's|let me|i hope|i (?:do not|don't|can(?:no|')t"
    r"|could not"
    r"|couldn't|am not|was not|would|recommend|suggest)|i'm (?:not|sorry|afraid)|i'd|please|if you|feel free"
    r"|sorry|hier (?:ist|sind)|gerne|ich (?:kann|weiß|bin|habe) .{0,30}nicht|in summary:?$|sources?:?$)\b",
    re.IGNORECASE,
)
_NOT_THERE = re.compile(
    r"\b(?:passages?|documents?|texts?|sources?|excerpts?|notes?|reports?)\b.{0,40}"
    r"\b(?:do|does|did)(?: not|n't) (?:answer|contain|cover|describe|explain|give|include|indicate|list"
    r"|mention|name|provide|say|specify|state|tell)\b"
    r"|\b(?:passages?|documents?|texts?|sources?|excerpts?|notes?|reports?)\b.{0,40}"
    r"\b(?:contain|give|include|mention|provide|say)s? (?:no|nothing)\b"
    r"|\b(?:is|are|was|were) (?:not|nothing|no)\b.{0,40}"
    r"\b(?:passages?|documents?|texts?|sources?|excerpts?|notes?|reports?)\b"
    r"|\b(?:no|not any) (?:information|mention|details?)\b"
    r"|\b(?:dokument\w*|quellen?|texte?|notiz\w*)\b.{0,20}\b(?:enth[aä]lt\w*|erwähn\w*|nenn\w*|sag\w*|steh\w*)"
    r"\b.{0,30}\b(?:nicht|kein\w*|nichts)\b",
    re.IGNORECASE,
)
"""Matches a sentence that says of the sources themselves that something is not in them."""


def cite(reply: str, passages: Sequence[Passage]) -> Cited:
    """Finds the passages that support each sentence of the reply.

    The passages that a sentence names by markers (`[1]`, `[2, 3]`) come first. If they do not support it, or
    it names none, all others are searched. A marker that names no passage is ignored.
    """
    sources = {passage.marker: _Source(passage) for passage in passages}
    citations: list[Citation] = []
    unsupported: list[tuple[int, int]] = []
    hidden = [match.span() for match in _FENCE.finditer(reply)]
    quotes = [match.span() for match in _QUOTED.finditer(reply)]
    for begin, end in sentences(reply, sorted(hidden + quotes)):
        if any(first <= begin < last for first, last in hidden):
            continue
        supported = True
        for claim in _claims(reply, begin, end):
            found, holds = _cited(claim, sources)
            citations += found
            supported = supported and (holds or not claim.claims_something(sources))
        if not supported:
            unsupported.append((begin, end))
    return Cited(tuple(dict.fromkeys(citations)), tuple(unsupported))


class _Claim:
    """A sentence, or the part of one up to its markers."""

    def __init__(self, text: str, markers: Sequence[int], sentence: tuple[int, int]) -> None:
        self.text = text
        self.markers = tuple(dict.fromkeys(markers))
        self.sentence = sentence
        mark = _LIST_MARK.match(text)
        self.plain = text[mark.end() if mark is not None else 0 :].replace("**", "").strip()
        self.quotes = [
            part.strip()
            for match in _QUOTED.finditer(text)
            for part in _LEFT_OUT.split(next(filter(None, match.groups())))
            if part.strip()
        ]

    @cached_property
    def statement(self) -> Statement:
        return Statement(self.plain)

    def claims_something(self, sources: "dict[int, _Source]") -> bool:
        """Whether it needs support: it is not a question, heading, greeting, hedge or list of sources."""
        plain, statement = self.plain.strip(" *_"), self.statement
        if (
            self.text.lstrip().startswith("#")
            or plain.endswith(("?", "？", ":", "："))
            or is_small_talk(plain)
        ):
            return False
        facts = bool(statement.quantities or statement.days)
        if len(statement.words) < _LEAST_CLAIM and not facts:
            return False
        if _NOT_THERE.search(plain) or (_NO_CLAIM.match(plain) and not facts):
            return False
        return not any(statement.words <= source.named.words and not facts for source in sources.values())


class _Source:
    """A passage with what its sentences state."""

    def __init__(self, passage: Passage) -> None:
        self.passage = passage
        self._ranges = sentences(passage.text)
        self._subjects: dict[str, list[frozenset[str]]] = {}

    @cached_property
    def named(self) -> Statement:
        """What the passage is about: its title, headings and the header of its table."""
        passage = self.passage
        return Statement(". ".join((passage.title, *passage.heading, self.header)))

    @cached_property
    def header(self) -> str:
        """The header of the table in the passage, or else its first row."""
        rows = (line for line in self.passage.text.split("\n") if _CELL.search(line))
        return self.passage.header or next(rows, "")

    @cached_property
    def _clauses_with(self) -> Counter[str]:
        """In how many clauses of the passage each word is."""
        return Counter(word for clause in Statement(self.passage.text).clauses for word in clause.words)

    def weight(self, word: str) -> float:
        """Returns how well a word distinguishes the clauses of the passage: not at all if the passage is
        about it, best if only one clause has it.
        """
        if word in self.named.words:
            return 0.0
        return 1 / max(1, self._clauses_with[word]) ** 2

    @cached_property
    def words(self) -> frozenset[str]:
        """The content words of the passage."""
        return Statement(self.passage.text).words

    def says_elsewhere(self, clause: Statement, words: frozenset[str]) -> bool:
        """Whether a word of the clause is in the passage, but neither among `words` nor in what the passage
        is about. A paraphrase has words that are nowhere in it; small models join what is said of different
        things.
        """
        known = words | self.named.words
        return any(has(word, self.words) for word in clause.words if not has(word, known))

    def subjects(self, window: Statement) -> list[frozenset[str]]:
        """Returns the words of each sentence of a window. One that refers to the sentence in front of it, or
        that stands below it as below a heading, has the words of that one, too."""
        if window.text not in self._subjects:
            found: list[frozenset[str]] = []
            before = ""
            for begin, end in sentences(window.text):
                text = window.text[begin:end]
                own = Statement(text).words
                follows = found and (_REFERS.match(text) or _stands_above(before))
                found.append(own | found[-1] if follows else own)
                before = text
            self._subjects[window.text] = found
        return self._subjects[window.text]

    @cached_property
    def windows(self) -> list[tuple[int, int, int, Statement]]:
        """The runs of one to three sentences, the shortest first: how many, and their range."""
        found = []
        for count in range(1, _MOST_SENTENCES + 1):
            for first in range(len(self._ranges) - count + 1):
                begin, end = self._ranges[first][0], self._ranges[first + count - 1][1]
                if count == 1 and self.passage.text[begin:end].startswith("#"):
                    # A heading alone states nothing.
                    continue
                found.append((count, begin, end, Statement(self.passage.text[begin:end])))
        return found

    def support(self, statement: Statement) -> tuple[int, int] | None:
        """Returns the shortest range of sentences that supports the statement, of those the most similar."""
        best: tuple[int, float, tuple[int, int]] | None = None
        for count, begin, end, window in self.windows:
            if best is not None and count > best[0]:
                break
            coverage = statement.coverage(window.words)
            if (best is None or coverage > best[1]) and _supports(window, statement, self):
                best = (count, coverage, (begin, end))
        return best[2] if best is not None else None

    def find(self, quote: str) -> tuple[int, int] | None:
        """Returns where the quotation is in the passage, letter by letter; line breaks are white space."""
        words = quote.split()
        for tried in (words, quote.rstrip(" .,;:!?").split()):
            if not tried:
                continue
            at = self.passage.text.find(" ".join(tried))
            if at >= 0:
                return at, at + len(" ".join(tried))
            match = re.search(r"\s+".join(map(re.escape, tried)), self.passage.text)
            if match is not None:
                return match.span()
        return None

    def verified(self, begin: int, end: int, sentence: tuple[int, int]) -> Citation:
        """Returns the citation of a range of the passage's text."""
        passage = self.passage
        lines = passage.lines
        if lines is not None:
            first = lines[0] + passage.text.count("\n", 0, begin)
            lines = (first, first + passage.text.count("\n", begin, end))
        return Citation(
            marker=passage.marker,
            kind=passage.kind,
            document=passage.document,
            page=passage.page,
            lines=lines,
            begin=passage.begin + begin,
            end=passage.begin + end,
            quote=passage.text[begin:end],
            verified=True,
            sentence=sentence,
        )

    def unverified(self, quote: str, sentence: tuple[int, int]) -> Citation:
        passage = self.passage
        return Citation(
            marker=passage.marker,
            kind=passage.kind,
            document=passage.document,
            page=passage.page,
            lines=passage.lines,
            begin=passage.begin,
            end=passage.end,
            quote=quote,
            verified=False,
            sentence=sentence,
        )


def _stands_above(line: str) -> bool:
    """Whether the lines below a line are about it: it is a heading, a row of a table, or has no end."""
    ended = line.rstrip(" \n\"'”’»)]*_")
    return line.lstrip().startswith("#") or not ended.endswith((".", "!", "?", "。", "！", "？"))


def _claims(reply: str, begin: int, end: int) -> Iterator[_Claim]:
    """Splits a sentence at its markers: the text in front of a marker belongs to it. Markers at the beginning
    of a sentence belong to all of it.
    """
    text, at = "", begin
    markers: list[int] = []
    for match in _MARKERS.finditer(reply, begin, end):
        before = reply[at : match.start()]
        if any(map(str.isalnum, before)) and markers and any(map(str.isalnum, text)):
            yield _Claim(text, markers, (begin, end))
            text, markers = "", []
        text += before
        markers.extend(map(int, _DIGITS.findall(match[0])))
        at = match.end()
    rest = reply[at:end]
    yield _Claim(text + rest, markers, (begin, end))


def _cited(claim: _Claim, sources: dict[int, _Source]) -> tuple[list[Citation], bool]:
    """Returns the citations of a claim, and whether it is supported."""
    named = [sources[marker] for marker in claim.markers if marker in sources]
    others = [source for marker, source in sources.items() if marker not in claim.markers]
    if claim.quotes:
        return _quoted(claim, named, others)
    found = _supporting(claim, named)
    if found:
        cited = {citation.marker for citation in found}
        found += [
            source.unverified(claim.plain, claim.sentence)
            for source in named
            if source.passage.marker not in cited
        ]
        return found, True
    found = [source.unverified(claim.plain, claim.sentence) for source in named]
    if len(claim.statement.words) < _LEAST_CLAIM and not (claim.statement.quantities or claim.statement.days):
        return found, False
    for source in others:
        place = source.support(claim.statement)
        if place is not None:
            return [*found, source.verified(*place, claim.sentence)], True
    return found, False


def _supporting(claim: _Claim, named: Sequence[_Source]) -> list[Citation]:
    """Returns the citations of the passages that support the claim, each alone or all of them together."""
    statement = claim.statement
    if not statement.says_something:
        return []
    alone = [(source, source.support(statement)) for source in named]
    found = [source.verified(*place, claim.sentence) for source, place in alone if place is not None]
    if found or len(named) < 2:
        return found
    for clause in statement.clauses:
        place = None
        for source in named:
            place = source.support(clause)
            if place is not None:
                found.append(source.verified(*place, claim.sentence))
                break
        if place is None:
            return []
    return found


def _quoted(
    claim: _Claim, named: Sequence[_Source], others: Sequence[_Source]
) -> tuple[list[Citation], bool]:
    """Searches the quotations of a claim. It is supported if all are found and, where there are names or
    numbers around them, a passage supports the whole claim.
    """
    found: list[Citation] = []
    holding: list[_Source] = []
    holds = True
    whole = Statement(_QUOTED.sub(lambda match: next(filter(None, match.groups())), claim.plain))
    for quote in claim.quotes:
        there = [(source, place) for source in named if (place := source.find(quote)) is not None]
        if not there:
            found += [source.unverified(quote, claim.sentence) for source in named]
            there = [(source, place) for source in others if (place := source.find(quote)) is not None]
            there = [pair for pair in there if pair[0].support(whole) is not None][:1] or there[:1]
        found += [source.verified(*place, claim.sentence) for source, place in there]
        holding += [source for source, _ in there]
        holds = holds and bool(there)
    around = Statement(_QUOTED.sub(" ", claim.plain))
    if around.names or around.quantities or around.days:
        holds = holds and any(source.support(whole) is not None for source in holding)
    return found, holds


# --- support -----------------------------------------------------------------------------------------


def _supports(window: Statement, statement: Statement, source: _Source) -> bool:
    """Whether the sentences of `window`, a part of the source, say what the statement says."""
    around = window.words | source.named.words
    return (
        _has_numbers(window, statement, source.named)
        and statement.coverage(around) >= LEAST_COVERAGE
        and _covers_own(window, statement, source.named)
        and around.issuperset(statement.names)
        and all(_supports_clause(window, clause, statement, source) for clause in statement.clauses)
        and _in_column(window, statement, source.header)
    )


def _covers_own(window: Statement, statement: Statement, named: Statement) -> bool:
    """Whether enough of what is not in the headings is in the window itself."""
    own = [word for word in statement.words if not has(word, named.words)]
    found = sum(has(word, window.words) for word in own)
    return found >= _LEAST_OWN * len(own) if own else not window.words.isdisjoint(statement.words)


def _has_numbers(window: Statement, statement: Statement, named: Statement) -> bool:
    """Whether all numbers and dates of the statement are in the window. Years and codes such as Q1 may be in
    a heading or in the header of the table."""
    years = {str(day.year) for days in (*window.days, *named.days) for day in days if day.year}
    codes = {
        value for quantity in named.quantities for value in quantity.values if _YEAR_OR_CODE.fullmatch(value)
    }
    return all(
        any(quantity.agrees(other) for other in window.quantities)
        or not quantity.values.isdisjoint(years | codes)
        for quantity in statement.quantities
    ) and all(
        any(one.within(other) for one in days for others in window.days for other in others)
        for days in statement.days
    )


def _in_column(window: Statement, statement: Statement, header: str) -> bool:
    """Whether the numbers of a row are in the columns that the statement names."""
    columns = [Statement(column) for column in _CELL.split(header)]
    named = [bool(column.words & statement.words) or _share_number(column, statement) for column in columns]
    if len(columns) < 2 or not any(named):
        return True
    rows = [list(map(Statement, _CELL.split(row))) for row in window.text.split("\n") if row != header]
    numbered = [
        named[at]
        for row in rows
        if len(row) == len(columns)
        for at, cell in enumerate(row)
        if _share_number(cell, statement)
    ]
    return not numbered or any(numbered)


def _share_number(one: Statement, other: Statement) -> bool:
    return any(first.agrees(second) for first in one.quantities for second in other.quantities)


def _supports_clause(window: Statement, clause: Statement, whole: Statement, source: _Source) -> bool:
    """Whether the clauses of the window about the same subject say the same: with the same names, the same
    numbers, and both negated or neither.
    """
    if len(clause.words) > 1 and not any(
        clause.coverage(about | source.named.words) > _LEAST_OF_CLAUSE
        and not source.says_elsewhere(clause, about)
        for about in source.subjects(window)
    ):
        return False
    known = window.words | source.named.words
    if len(clause.words) == 1 and not any(has(word, known) for word in clause.words):
        # "In winter, …" states a condition.
        return False
    topic = clause if clause.words else whole
    # A single word in front of a colon applies to the rest of the sentence.
    heading = len(clause.words) == 1 and not (clause.quantities or clause.days)
    about = topic.words - set(topic.names)
    ranked = [(sum(has(word, other.words) for word in about), other) for other in window.clauses]
    most = max((shared for shared, _ in ranked), default=0)
    nearest = [other for shared, other in ranked if shared == most] if most else [window]
    return (
        (heading or any(_agrees(other, clause) for other in nearest))
        and not _mixes(window, clause)
        and _names_agree(window, clause, source.named)
        and _numbers_stand_there(window, clause, topic, source)
    )


def _agrees(other: Statement, clause: Statement) -> bool:
    return other.negated == clause.negated and not contradicts(clause, other)


def _mixes(window: Statement, clause: Statement) -> bool:
    """Whether the clause takes its words from two contrasted clauses: "The old pump runs at night, the new
    pump runs at noon" does not say that the old one runs at noon.
    """
    clauses = window.clauses
    for number, one in enumerate(clauses):
        for other in clauses[number + 1 :]:
            if len(one.words & other.words) < _PARALLEL:
                continue
            first, second = one.words - other.words, other.words - one.words
            if not clause.words.isdisjoint(first) and not clause.words.isdisjoint(second):
                return True
    return False


def _names_agree(window: Statement, clause: Statement, named: Statement) -> bool:
    """Whether the window says the same about the names in the clause: for each of its words, a clause of the
    window with that word is about nobody else, and two names are in the same order.
    """
    # A word that begins a sentence is not a name if it is in lower case in the window.
    names = [name for name in clause.names if name in window.names or name not in window.words]
    others: dict[str, bool] = {}
    before = named.words
    for sentence in window.sentences:
        before = before.union(*(other.words for other in sentence))
        subject: Statement | None = None
        for other in sentence:
            subject = other if other.names else subject
            wrong = _is_about_another(subject, other, clause, names, before)
            for word in clause.words.difference(clause.names):
                if has(word, other.words):
                    others[word] = others.get(word, True) and wrong
    return not any(others.values()) and all(_same_order(other, clause) for other in window.clauses)


def _is_about_another(
    subject: Statement | None,
    other: Statement,
    clause: Statement,
    names: Sequence[str],
    before: frozenset[str],
) -> bool:
    """Whether `other` is about somebody whom the clause does not name. It is about the first name of itself,
    or of a clause in front of it in the sentence (`subject`), or else about what was named `before`."""
    if subject is not None and subject.names[0] in clause.words:
        return False
    around = other.words if subject is other else before if subject is None else subject.words | other.words
    missing = [name for name in names if name not in around]
    return len(missing) == len(names) > 0 if subject is None else bool(missing)


def _same_order(other: Statement, clause: Statement) -> bool:
    """Ada hired Bob: then Bob did not hire Ada, but was hired by her."""
    if not clause.opens_with_name or clause.passive != other.passive:
        return True
    shared = [name for name in clause.names if name in other.names]
    return shared == [name for name in other.names if name in shared]


def _numbers_stand_there(window: Statement, clause: Statement, topic: Statement, source: _Source) -> bool:
    """Whether no number of the clause belongs to something else: the clause of the window that contains it is
    as similar as the others with numbers. Names count twice.
    """

    def similar(other: Statement) -> float:
        shared = [word for word in topic.words if has(word, other.words)]
        return sum(source.weight(word) * (2 if word in topic.names else 1) for word in shared)

    numbered = [other for other in window.clauses if other.quantities]
    best = max(map(similar, numbered), default=0.0)
    for quantity in clause.quantities:
        counts = [one for one in window.quantities if one.counted and one.counted == quantity.counted]
        if counts and not any(quantity.agrees(one) for one in counts):
            return False
        holding = [other for other in numbered if any(quantity.agrees(one) for one in other.quantities)]
        if any(other.words and other.coverage(clause.words) == 1 for other in holding):
            continue
        if holding and max(map(similar, holding)) < best - _ROUNDING:
            return False
    return True
