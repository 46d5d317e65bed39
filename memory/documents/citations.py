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

from memory.documents.statements import (
    Day,
    Quantity,
    Statement,
    contradicts,
    exceeds,
    has,
    sentences,
    without_article,
)
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
_LONG_QUOTATION = 6
"""Words from which on a quotation says something itself."""
_ANY_TIME = re.compile(
    r"\b(?:always|(?:at )?any ?time|jederzeit|immer|siempre|en cualquier momento)\b", re.IGNORECASE
)
"""What a passage must say itself: "not after 8 pm" is not "not at any time"."""
_LEAST_AROUND_VALUE = 3
_LEAST_CLAIM = 2
"""The least content words of a claim without numbers."""

_PARALLEL = 2
"""Two clauses with this many words in common count as contrasted."""
_ROUNDING = 1e-9

_CELL = re.compile(r"[|\t]")
_YEAR_OR_CODE = re.compile(r"(?:19|20)\d\d|[^\W\d_]+\d+")

_AROUND = " .,;:!?\"'“”„*_#|-•"
_MARKERS = re.compile(r"[^\S\n]{0,3}\[\d{1,3}(?:[,;] ?\d{1,3}){0,20}\]")
_DIGITS = re.compile(r"\d+")
_QUOTED = re.compile(
    r"“([^“”]{2,600})”|\"([^\"\n]{2,600})\"|„([^„“”\"]{2,600})[“”\"]|«([^«»]{2,600})»|»([^«»]{2,600})«"
    r"|「([^「」]{2,600})」|『([^『』]{2,600})』"
)
_PLACE = re.compile(r"(?:, [^\W\d_]{1,12} \d{1,6}(?:[-–]\d{1,6})?){0,2}:\s")
_PAUSE = re.compile(r"[,;:.!?]")
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
    titles = sorted({passage.title for passage in passages}, key=len, reverse=True)
    for begin, end in sentences(reply, sorted(hidden + quotes)):
        if any(first <= begin < last for first, last in hidden):
            continue
        supported = True
        for claim in _claims(reply, begin, end, titles):
            found, holds = _cited(claim, sources)
            citations += found
            supported = supported and (holds or not claim.claims_something(sources))
        if not supported:
            unsupported.append((begin, end))
    return Cited(tuple(dict.fromkeys(citations)), tuple(unsupported))


@dataclass(frozen=True, slots=True)
class _Quote:
    """What a reply quotes. `negated`: the reply's clause with the quotation in it denies something."""

    text: str
    negated: bool


class _Claim:
    """A sentence, or the part of one up to its markers."""

    def __init__(
        self, text: str, markers: Sequence[int], sentence: tuple[int, int], titles: Sequence[str] = ()
    ) -> None:
        self.text = text
        self.markers = tuple(dict.fromkeys(markers))
        self.sentence = sentence
        mark = _LIST_MARK.match(text)
        plain = text[mark.end() if mark is not None else 0 :].replace("**", "").strip()
        self.plain = _without_place(plain, titles)
        self.quotes = [
            _Quote(part.strip(), _denied_around(text, match, part))
            for match in _QUOTED.finditer(text)
            for part in _LEFT_OUT.split(next(filter(None, match.groups())))
            if _is_quotation(part.strip()) and (_stands_alone(part) or not self._says_more)
        ]

    @cached_property
    def statement(self) -> Statement:
        return Statement(self.plain)

    @cached_property
    def around(self) -> Statement:
        """What it says around its quotations, even if they are only terms."""
        return Statement(_QUOTED.sub(" ", self.plain))

    @cached_property
    def _says_more(self) -> bool:
        """Whether it claims something about what it quotes: '"Dogs in the garden" was carried by twelve
        votes'. That the passage has a few words of it does not support the claim."""
        around = self.around
        return len(around.words) >= _LEAST_CLAIM or bool(around.quantities or around.days)

    @property
    def is_bare(self) -> bool:
        """Whether it is hardly more than a number or a date: a passage may have it about something else."""
        return not self.statement.words and len(self.statement.stems) < _LEAST_AROUND_VALUE

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


@dataclass(frozen=True, slots=True)
class _Subject:
    """What a sentence is about: the word that it `opens` with, its `own` words with those of the sentence in
    front of it that it refers to, and the words `around` it, also of the one that it stands below as below a
    heading."""

    opening: str
    own: frozenset[str]
    around: frozenset[str]


class _Source:
    """A passage with what its sentences state."""

    def __init__(self, passage: Passage) -> None:
        self.passage = passage
        self._ranges = sentences(passage.text)
        self._subjects: dict[str, list[_Subject]] = {}

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

    def subjects(self, window: Statement) -> "list[_Subject]":
        """Returns what each sentence of a window is about."""
        if window.text not in self._subjects:
            found: list[_Subject] = []
            before = ""
            for begin, end in sentences(window.text):
                text = window.text[begin:end]
                one = Statement(text)
                own = around = one.words
                if found and _REFERS.match(text):
                    own |= found[-1].own
                    around |= found[-1].around
                elif found and _stands_above(before):
                    around |= found[-1].around
                found.append(_Subject(one.opening, own, around))
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
                if any(self.passage.text[slice(*one)].endswith("?") for one in self._ranges[first:][:count]):
                    # A question states nothing.
                    continue
                if count == 1 and self.passage.text[begin:end].startswith("#"):
                    # A heading alone states nothing.
                    continue
                found.append((count, begin, end, Statement(self.passage.text[begin:end])))
        return found

    def support(self, statement: Statement, around: Statement | None = None) -> tuple[int, int] | None:
        """Returns the shortest range of sentences that supports the statement, of those the most similar.
        Enough of what it says `around` its terms in quotation marks must be there, too.
        """
        around = around or statement
        best: tuple[int, float, tuple[int, int]] | None = None
        for count, begin, end, window in self.windows:
            if best is not None and count > best[0]:
                break
            if _bare(window.text) == _bare(statement.text):
                return begin, end
            coverage = statement.coverage(window.words)
            told = around.coverage(window.words | self.named.words) >= LEAST_COVERAGE
            if told and (best is None or coverage > best[1]) and _supports(window, statement, self):
                best = (count, coverage, (begin, end))
        return best[2] if best is not None else None

    def denies(self, place: tuple[int, int]) -> bool:
        """Whether a range of the passage, with two words of its sentences in front of it and one after it,
        denies something."""
        touched = [(begin, end) for begin, end in self._ranges if begin < place[1] and place[0] < end]
        begin, end = (touched[0][0], touched[-1][1]) if touched else place
        text = self.passage.text
        before, after = text[begin : place[0]].split()[-2:], text[place[1] : end].split()[:1]
        return Statement(" ".join((*before, text[slice(*place)], *after))).negated

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


def _denied_around(text: str, match: re.Match[str], quote: str) -> bool:
    """Whether the clause of a reply with the quotation in it denies something."""
    before, after = _PAUSE.split(text[: match.start()])[-1], _PAUSE.split(text[match.end() :])[0]
    return Statement(f"{before} {quote} {after}").negated


def _stands_alone(quote: str) -> bool:
    """Whether a quotation says something itself, whatever is said about it."""
    return len(quote.split()) >= _LONG_QUOTATION or any(map(str.isdigit, quote))


def _is_quotation(text: str) -> bool:
    """Whether what stands between quotation marks is more than a single common word, perhaps with an article
    ("the tenant")."""
    words = without_article(text).split()
    return len(words) > 1 or any(not letter.islower() for word in words for letter in word)


def _bare(text: str) -> list[str]:
    """Returns the words of a text, without case and the marks around them."""
    return [word for piece in text.casefold().split() if (word := piece.strip(_AROUND))]


def _stands_above(line: str) -> bool:
    """Whether the lines below a line are about it: it is a heading, a row of a table, or has no end."""
    ended = line.rstrip(" \n\"'”’»)]*_")
    return line.lstrip().startswith("#") or not ended.endswith((".", "!", "?", "。", "！", "？"))


def _without_place(text: str, titles: Sequence[str]) -> str:
    """Returns a text without the place of a passage in front of it, as the model was shown it: "manual.pdf,
    page 4: The burner …"."""
    title = next((one for one in titles if one and text.startswith(one)), None)
    if title is None:
        return text
    place = _PLACE.match(text, len(title))
    return text[place.end() :].strip() if place is not None else text


def _claims(reply: str, begin: int, end: int, titles: Sequence[str] = ()) -> Iterator[_Claim]:
    """Splits a sentence at its markers: the text in front of a marker belongs to it. Markers at the beginning
    of a sentence belong to all of it.
    """
    text, at = "", begin
    markers: list[int] = []
    for match in _MARKERS.finditer(reply, begin, end):
        before = reply[at : match.start()]
        if any(map(str.isalnum, before)) and markers and any(map(str.isalnum, text)):
            yield _Claim(text, markers, (begin, end), titles)
            text, markers = "", []
        text += before
        markers.extend(map(int, _DIGITS.findall(match[0])))
        at = match.end()
    rest = reply[at:end]
    yield _Claim(text + rest, markers, (begin, end), titles)


def _cited(claim: _Claim, sources: dict[int, _Source]) -> tuple[list[Citation], bool]:
    """Returns the citations of a claim, and whether it is supported."""
    named = [sources[marker] for marker in claim.markers if marker in sources]
    others = [source for marker, source in sources.items() if marker not in claim.markers]
    if claim.quotes:
        return _quoted(claim, named, others)
    if claim.is_bare:
        return [source.unverified(claim.plain, claim.sentence) for source in named], False
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
        place = source.support(claim.statement, claim.around)
        if place is not None:
            return [*found, source.verified(*place, claim.sentence)], True
    return found, False


def _supporting(claim: _Claim, named: Sequence[_Source]) -> list[Citation]:
    """Returns the citations of the passages that support the claim, each alone or all of them together."""
    statement = claim.statement
    if not statement.says_something:
        return []
    alone = [(source, source.support(statement, claim.around)) for source in named]
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
        there = [(source, place) for source in named if (place := source.find(quote.text)) is not None]
        if not there:
            found += [source.unverified(quote.text, claim.sentence) for source in named]
            there = [(source, place) for source in others if (place := source.find(quote.text)) is not None]
            there = [pair for pair in there if pair[0].support(whole) is not None][:1] or there[:1]
        # "Do not take aspirin" does not say "take aspirin".
        alike = [(source, place) for source, place in there if source.denies(place) == quote.negated]
        found += [source.verified(*place, claim.sentence) for source, place in alike]
        found += [source.unverified(quote.text, claim.sentence) for source, _ in there if not alike]
        holding += [source for source, _ in alike]
        holds = holds and bool(alike)
    around = claim.around
    if around.names or around.quantities or around.days:
        holds = holds and any(source.support(whole) is not None for source in holding)
    return found, holds


# --- support -----------------------------------------------------------------------------------------


def _supports(window: Statement, statement: Statement, source: _Source) -> bool:
    """Whether the sentences of `window`, a part of the source, say what the statement says."""
    around = window.words | source.named.words
    return (
        _has_numbers(window, statement, source.named)
        and not exceeds(statement, window)
        and _as_often(window, statement)
        and not (statement.is_universal and any(clause.excepted for clause in window.clauses))
        and statement.coverage(around) >= LEAST_COVERAGE
        and _covers_own(window, statement, source.named)
        and all(has(word, source.words) or has(word, source.named.words) for word in statement.things)
        and around.issuperset(statement.names)
        and all(
            _supports_clause(window, clause, statement, names, source)
            for clause, names in _with_names(statement.clauses)
        )
        and _in_column(window, statement, source.header)
    )


def _as_often(window: Statement, statement: Statement) -> bool:
    """Whether the window says "always" where the statement does, and of something denied only if it is."""
    return _ANY_TIME.search(statement.text) is None or any(
        clause.negated == statement.negated and _ANY_TIME.search(clause.text) is not None
        for clause in window.clauses
    )


def _covers_own(window: Statement, statement: Statement, named: Statement) -> bool:
    """Whether enough of what is not in the headings is in the window itself; of a statement with only common
    words ("The next work day is on 6 May"), all of them."""
    if not statement.words:
        return statement.stems <= window.stems
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
    return (
        all(
            any(quantity.agrees(other) for other in window.quantities)
            or not quantity.values.isdisjoint(years | codes)
            for quantity in statement.quantities
        )
        and all(
            any(
                one.within(other) and (not turn or not turned or turn == turned)
                for one in days
                for others, turned in zip(window.days, window.turns, strict=True)
                for other in others
            )
            for days, turn in zip(statement.days, statement.turns, strict=True)
        )
        and all(window.moments.get(word, turn) == turn for word, turn in statement.moments.items())
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


def _share_value(one: Statement, other: Statement) -> bool:
    """Whether two statements have a number or a date in common."""
    return _share_number(one, other) or any(_share_day(days, other) for days in one.days)


def _share_day(days: Sequence[Day], other: Statement) -> bool:
    return any(day.within(same) for day in days for meant in other.days for same in meant)


def _share_number(one: Statement, other: Statement) -> bool:
    return any(first.agrees(second) for first in one.quantities for second in other.quantities)


def _with_names(clauses: Sequence[Statement]) -> Iterator[tuple[Statement, tuple[str, ...]]]:
    """Yields each clause with the names in it, or in the clause that it refers to: "he gave it back"."""
    names: tuple[str, ...] = ()
    for clause in clauses:
        refers = not clause.who and _REFERS.match(clause.text.strip())
        names = (*names, *clause.names) if refers else clause.names
        yield clause, names


def _supports_clause(
    window: Statement, clause: Statement, whole: Statement, names: Sequence[str], source: _Source
) -> bool:
    """Whether the clauses of the window about the same subject say the same: with the same `names`, the same
    numbers, and both negated or neither.
    """
    if len(clause.words) > 1 and not any(
        clause.coverage(subject.around | source.named.words) > _LEAST_OF_CLAUSE
        and not source.says_elsewhere(clause, subject.around)
        and not _is_about_something_else(clause, subject.opening, subject.own, source.named)
        for subject in source.subjects(window)
    ):
        return False
    known = window.words | source.named.words
    if len(clause.words) == 1 and not any(has(word, known) for word in clause.words):
        # "In winter, …" states a condition.
        return False
    topic = clause if clause.words else whole
    # A single word in front of a colon applies to the rest of the sentence.
    first = clause.text == whole.clauses[0].text
    heading = first and len(clause.words) == 1 and not (clause.quantities or clause.days)
    about = topic.words - set(topic.names)
    ranked = [(sum(has(word, other.words) for word in about), other) for other in window.clauses]
    most = max((shared for shared, _ in ranked), default=0)
    nearest = [other for shared, other in ranked if shared == most] if most else [window]
    return (
        (heading or any(_agrees(other, topic) for other in nearest))
        and not _mixes(window, clause)
        and (heading or not _is_denied(window, clause))
        and _names_agree(window, clause, names, source.named)
        and _numbers_stand_there(window, clause, topic, source)
    )


def _is_about_something_else(clause: Statement, opening: str, own: frozenset[str], named: Statement) -> bool:
    """Whether the clause and a sentence with its `own` words each open with what the other does not mention,
    or the clause with a noun that is not even in a heading: "The gutter was cleaned" does not say, even under
    the heading "Roof", that the roof was cleaned, and "Cleaned in May" not that the gutter was.
    """
    if not clause.opening or has(clause.opening, own):
        return False
    unknown = clause.opens_with_noun and not has(clause.opening, named.words)
    return unknown or (bool(opening) and not has(opening, clause.words | named.words))


def _agrees(other: Statement, clause: Statement) -> bool:
    return other.negated == clause.negated and not contradicts(clause, other)


def _is_denied(window: Statement, clause: Statement) -> bool:
    """Whether a word of the clause, which denies nothing, is only in clauses of the window that do: "They may
    stand in the yard, but not in the hall" does not say that they may stand in the hall."""
    if clause.negated:
        return False
    return any(
        bool(holding) and all(other.negated for other in holding)
        for word in clause.words
        if (holding := [other for other in window.clauses if has(word, other.words)])
    )


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


def _names_agree(window: Statement, clause: Statement, whose: Sequence[str], named: Statement) -> bool:
    """Whether the window says the same about the names in or of the clause: for each of its words, a clause
    of the window with that word is about nobody else, and two names are in the same order.
    """
    # A word that begins a sentence is not a name if it is in lower case in the window.
    names = [name for name in whose if name in window.names or name not in window.words]
    others: dict[str, bool] = {}
    before = named.words
    for sentence in window.sentences:
        before = before.union(*(other.words for other in sentence))
        subject: Statement | None = None
        for other in sentence:
            subject = other if other.names else subject
            wrong = _is_about_another(subject, other, clause.words.union(whose), names, before)
            told = [word for word in clause.words.difference(whose) if has(word, other.words)]
            if clause.words <= {*whose} and _share_value(clause, other):
                # "She came in 2019."
                told.append("")
            for word in told:
                others[word] = others.get(word, True) and wrong
    return not any(others.values()) and all(_same_order(other, clause) for other in window.clauses)


def _is_about_another(
    subject: Statement | None,
    other: Statement,
    said: frozenset[str],
    names: Sequence[str],
    before: frozenset[str],
) -> bool:
    """Whether `other` is about somebody whom a clause with the words `said` does not name.

    It is about the first name of itself, or of a clause in front of it in the sentence (`subject`), or else
    about what was named `before`.
    """
    if subject is not None and subject.names[0] in said:
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


def _subjects_of(clauses: Sequence[Statement]) -> Iterator[tuple[Statement, tuple[str, frozenset[str]]]]:
    """Yields the clauses of a sentence, each with its opening, or else that of the clause in front of it
    ("Insurance: 612 €"), and the words of the sentence."""
    words = frozenset[str]().union(*(one.words for one in clauses))
    opening = ""
    for one in clauses:
        opening = one.opening or opening
        yield one, (opening, words)


def _is_of(later: Statement, quantity: Quantity, clause: Statement, other: Statement) -> bool:
    """Whether the clause is about what a `later` clause of the sentence says, with a number of its own: "It
    stands at 42 degrees, in winter at 48 degrees" does not say 42 degrees of winter."""
    rivals = [one for one in later.quantities if (one.unit, one.counted) == (quantity.unit, quantity.counted)]
    if not rivals or any(quantity.agrees(one) for one in rivals):
        return False
    return any(has(word, clause.words) and not has(word, other.words) for word in later.words)


def _belongs_elsewhere(window: Statement, clause: Statement, holding: Sequence[Statement]) -> bool:
    """Whether the clauses of the window that hold a value are about something else: each has words of its
    own, none of which the clause has, and the clause has a word of another one. "Eco: 195 min. Quick: 30 min"
    does not say that Eco takes 30 minutes.
    """
    told: list[tuple[Statement, frozenset[str]]] = []
    before = frozenset[str]()
    for clauses in window.sentences:
        carried = before if _REFERS.match(clauses[0].text.strip()) else frozenset[str]()
        told += [(one, one.words | carried) for one in clauses]
        before = carried.union(*(one.words for one in clauses))
    held = [(one, words) for one, words in told if any(one is other for other in holding)]
    for one, words in held:
        others = [said for other, said in told if other is not one]
        own = [word for word in words if not any(has(word, said) for said in others)]
        if not own or any(has(word, clause.words) for word in own):
            return False
        if not any(has(word, said) and not has(word, words) for said in others for word in clause.words):
            return False
    return bool(held)


def _numbers_stand_there(window: Statement, clause: Statement, topic: Statement, source: _Source) -> bool:
    """Whether no number of the clause belongs to something else: the clause of the window that contains it is
    as similar as the others with numbers. Names count twice.
    """

    def similar(other: Statement) -> float:
        shared = [word for word in topic.words if has(word, other.words)]
        return sum(source.weight(word) * (2 if word in topic.names else 1) for word in shared)

    subjects = {
        id(other): subject for clauses in window.sentences for other, subject in _subjects_of(clauses)
    }
    following = {
        id(other): clauses[at:] for clauses in window.sentences for at, other in enumerate(clauses, 1)
    }
    holders = [
        [one for one in window.clauses if any(quantity.agrees(other) for other in one.quantities)]
        for quantity in clause.quantities
    ]
    holders += [[one for one in window.clauses if _share_day(days, one)] for days in clause.days]
    if any(_belongs_elsewhere(window, topic, holding) for holding in holders):
        return False
    numbered = [other for other in window.clauses if other.quantities]
    best = max(map(similar, numbered), default=0.0)
    for quantity in clause.quantities:
        counts = [one for one in window.quantities if one.counted and one.counted == quantity.counted]
        if counts and not any(quantity.agrees(one) for one in counts):
            return False
        holding = [other for other in numbered if any(quantity.agrees(one) for one in other.quantities)]
        if holding and all(
            contradicts(clause, other)
            or _is_about_something_else(clause, *subjects[id(other)], source.named)
            or any(_is_of(later, quantity, clause, other) for later in following[id(other)])
            for other in holding
        ):
            return False
        if any(other.words and other.coverage(clause.words) == 1 for other in holding):
            continue
        if holding and max(map(similar, holding)) < best - _ROUNDING:
            return False
    return True
