"""The content of passages: their sentences, the subject of each, and the values and words in them."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from memory.documents.statements import Statement, sentences
from memory.summaries.evidence import fold
from memory.summaries.languages import lexicon
from memory.tasks.briefs import Attribute, Brief, Goal
from memory.tasks.entities import Evidence, EvidenceKind
from memory.tasks.lexicon import (
    Limit,
    Value,
    content,
    is_currency,
    is_number,
    known,
    limits,
    meaningful,
    money_in,
    root,
    value_in,
    values,
    words,
)

_SPLIT = re.compile(r"[,;](?=\s)|\s(?:and|but|while|und|aber|während|y|pero)(?=\s)")
_NAME = re.compile(r"[^\W\d_][\w'’-]*")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s")
_NUMBERED = re.compile(r"(?:§ ?)?\d{1,2}(?:\.\d{1,2})?[.)]? [^\W\d_]\S{0,30}(?: \S{1,30})?\.\Z")
"""The heading of a numbered part, which states nothing: "3. Deposit."."""
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,2}[.)])\s")
_LABEL = re.compile(r"\W*[^\W\d_][\w'’-]*: ")
_NOT_ABOUT = re.compile(r"\W*(?:i|my|we|our|you|your|ich|mein\w*|wir|unser\w*|du|dein\w*)\b", re.IGNORECASE)
_ABOUT_IT = re.compile(r"\b(?:it|its|them|this|that|es|ihn|sie|dafür|davon)\b", re.IGNORECASE)
"""What a sentence about the user or the reader says of the thing before ("you may swim with it")."""
_CELL = "|"
_MAIL_HEADER = re.compile(
    r"(?:From|To|Cc|Bcc|Reply-To): [^\n]*@|Date: \w{3}, \d{1,2} \w{3} \d{4} "
    r"|(?:From|To|Cc|Subject|Von|An|Betreff|De|Para|Asunto): [^\n.!?]{1,80}\Z"
)
_GREETING = re.compile(
    r"(?i:dear|hello|hi|liebe[rs]?|hallo|sehr geehrte[rs]?|querid[oa]s?|hola|estimad[oa]s?)"
    r"(?:\s+(?:[^\W\d_a-z][\w.'’-]*|and|und|y|all|alle|zusammen|everyone|tod[oa]s)){0,6}\s*[,!:]?\Z"
)
_NAME_END = re.compile(r"[:,;(|–—]|\s-\s")
_OPENING = re.compile(
    r"(?P<article>(?:The|Der|Die|Das|El|La|Los|Las) )?"
    r"(?P<name>[^\W\d_a-zß-öø-ÿ][\w'’&-]*"
    r"(?: (?:[^\W\d_a-zß-öø-ÿ][\w'’&-]*|\d+[\w-]*|de|of|la|le|am|an der)){0,4})"
    r" (?=[a-zß-öø-ÿ])"
)
_BARE_PRICE = re.compile(
    r"(?<!would )(?<!could )(?<!might )"
    r"\b(?:wants?|asks?|asking|costs?|charges?|paid|pays?|sells? \w+ for|(?:that[’']s|is|was|costs?) another"
    r"|kostete?|verlangt|bezahlt|cuesta|pide|pagado)"
    r" (?:about |around |only |just |etwa |rund |nur )?(?P<number>\d[\d.,]*\d)"
    r"(?=[.,;:)!?]|\Z| (?:for|each|and|but|in|für|und|por|y)\b)",
    re.IGNORECASE,
)
"""An amount without its currency: "He wants 7,250 for it"."""
_BEGINS = re.compile(
    r"\s*(?:the|an?|der|die|das|eine?|el|la|los|las|una?) (?P<noun>[^\W\d_]+)\b", re.IGNORECASE
)
_OWN_CLAUSE = 4.0
_LEAST_LISTED = 2
_LONGEST_NAME = 5
_YEAR = re.compile(r"(?:19|20)\d\d")
_FIRST_WORDS = 3
_HEAD = 300
"""Characters at the beginning of a source that say what it is."""
_LONGEST_WORDING = 90
_GENERAL = frozenset({"report", "document", "note", "file", "page"})


@dataclass(frozen=True, slots=True)
class Cell:
    """A part of a sentence: a clause, or a cell of a table with the words of its column."""

    begin: int
    end: int
    column: str = ""


class Sentence:
    """A sentence of a passage. `begin` and `end` are its range in the passage's text."""

    def __init__(
        self,
        evidence: Evidence,
        begin: int,
        end: int,
        *,
        columns: Sequence[str] = (),
        headings: Sequence[str] | None = None,
        label: str = "",
    ) -> None:
        """`headings` are those above it, if others than at the beginning of its passage; `label` is that of
        the numbered part that it is in ("3. Deposit.")."""
        self.evidence = evidence
        self.headings = tuple(evidence.heading if headings is None else headings)
        self.label = label
        self.begin = begin
        self.end = end
        self.text = evidence.text[begin:end]
        self.currency = ""
        """The currency of amounts that are written without one."""
        self._columns = columns

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset(map(root, words(self.text)))

    @cached_property
    def content(self) -> frozenset[str]:
        return frozenset(content(self.text))

    @cached_property
    def around(self) -> frozenset[str]:
        """The stems of what the passage is about: its title and headings."""
        return frozenset(map(root, words(" ".join((spaced(self.evidence.title), *self.headings)))))

    @cached_property
    def told(self) -> frozenset[str]:
        """The stems of all that says what it is about: itself, its title, headings, and heads of columns."""
        heads = map(root, words(" ".join(self._columns))) if self.is_row else ()
        return self.stems.union(self.around, heads)

    @cached_property
    def values(self) -> list[Value]:
        found = values(self.text)
        if not self.is_row:
            return self._with_bare_prices(found) if self.currency else found
        # A rate may be a share.
        prices = known().kinds["price"].stems - known().kinds["share"].stems
        # The unit of a number in a table is often in the head of its column or in the cell beside it only.
        texts = [self.text[cell.begin : cell.end] for cell in self.cells]
        currencies = _currencies(texts, [cell.column for cell in self.cells])
        for at, (cell, text) in enumerate(zip(self.cells, texts, strict=True)):
            number = text.strip()
            value = value_in(f"{cell.column} {currencies.get(at, '')}", number)
            if value is None and not prices.isdisjoint(map(root, words(cell.column))):
                # In a list of expenses, often no currency is named.
                value = money_in(number)
            if value is not None:
                begin = cell.begin + text.index(number)
                found = [one for one in found if not begin <= one.begin < begin + len(number)]
                found.append(replace(value, begin=begin, end=begin + len(number)))
        return sorted(found, key=lambda one: one.begin)

    def _with_bare_prices(self, found: list[Value]) -> list[Value]:
        bare = {match.start("number"): match["number"] for match in _BARE_PRICE.finditer(self.text)}
        return [
            replace(
                price,
                begin=one.begin,
                end=one.begin + len(price.text),
                unit=self.currency,
            )
            if one.dimension == "count" and (price := money_in(bare.get(one.begin, ""))) is not None
            else one
            for one in found
        ]

    @cached_property
    def limits(self) -> list[Limit]:
        return limits(self.text)

    @cached_property
    def cells(self) -> list[Cell]:
        """Its clauses, or the cells of its row, as ranges of its text."""
        if self.is_row:
            return self._row()
        found, at = [], 0
        for match in _SPLIT.finditer(self.text):
            found.append(Cell(at, match.start()))
            at = match.end()
        return [*found, Cell(at, len(self.text))]

    @property
    def is_row(self) -> bool:
        bars = _bars(self.text)
        return bars > 0 if len(self._columns) == bars + 1 else bars > 1

    @property
    def states(self) -> bool:
        """Whether it can state something."""
        if self.evidence.kind is EvidenceKind.MESSAGE and self.text.rstrip().endswith("?"):
            return False
        text = self.text.strip()
        return not (
            _HEADING.match(text) or _NUMBERED.match(text) or _MAIL_HEADER.match(text) or _GREETING.match(text)
        )

    @property
    def is_title(self) -> bool:
        """Whether it only says what its source is: "Tenancy agreement - Harbour Lane 3"."""
        begins = self.evidence.kind is EvidenceKind.DOCUMENT and self.whole[0] == 0
        return begins and not self.is_row and self.text.rstrip()[-1:] not in ".!?" and ":" not in self.text

    @property
    def whole(self) -> tuple[int, int]:
        """Its range in the source."""
        return self.evidence.begin + self.begin, self.evidence.begin + self.end

    def _row(self) -> list[Cell]:
        found, at = [], 0
        for number, part in enumerate(self.text.strip(_CELL).split(_CELL)):
            begin = self.text.index(part, at)
            at = begin + len(part)
            column = self._columns[number] if number < len(self._columns) else ""
            found.append(Cell(begin, at, column))
        return found


def spaced(title: str) -> str:
    """Returns a title as words: of a file name, "letter-okafor.txt" would be a single one."""
    return title if " " in title else title.replace("-", " ").replace("_", " ").replace(".", " ")


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement about a subject: the value as it is written, with its sentence."""

    subject: str
    attribute: str
    text: str
    sentence: Sentence
    value: Value | None = None
    score: float = 0.0


def read_sentences(evidence: Iterable[Evidence]) -> list[Sentence]:
    """Returns the sentences of passages that state something: no headings, no lines of a message's head, and
    none of the user's own questions. Each range of a source once."""
    found: dict[tuple[str, int, int], Sentence] = {}
    for one in evidence:
        columns, label = _columns(one.header), ""
        above = [*enumerate(one.heading, 1)]
        places = sentences(one.text)
        for number, (begin, end) in enumerate(places):
            after = one.text[slice(*places[number + 1])] if number + 1 < len(places) else ""
            headings = [name for _level, name in above]
            sentence = Sentence(one, begin, end, columns=columns, headings=headings, label=label)
            if (heading := _HEADING.match(sentence.text)) is not None:
                level, label = heading[0].count("#"), ""
                columns = _columns(one.header)
                above = [other for other in above if other[0] < level]
                above.append((level, sentence.text[heading.end() :].strip()))
                continue
            if _NUMBERED.match(sentence.text.strip()):
                label = sentence.text.strip()
                continue
            if not columns and _is_head(sentence.text, after):
                columns = _columns(sentence.text)
                continue
            if sentence.is_row:
                if set(sentence.text) <= set("|-: \t"):
                    continue
            else:
                columns = _columns(one.header)
            if (sentence.stems or (sentence.is_row and sentence.values)) and sentence.states:
                found.setdefault((one.source, *sentence.whole), sentence)
    _tell_currencies([*found.values()])
    return list(found.values())


def _tell_currencies(items: Sequence[Sentence]) -> None:
    """Gives amounts without a currency the only one in their source."""
    bare = [item for item in items if not item.is_row and _BARE_PRICE.search(item.text)]
    for source in {item.evidence.source for item in bare}:
        near = (item.text for item in items if item.evidence.source == source)
        found = {value.unit for text in near for value in values(text) if value.dimension == "money"}
        if len(found) == 1:
            (currency,) = found
            for item in bare:
                if item.evidence.source == source:
                    item.currency = currency


def _currencies(cells: Sequence[str], columns: Sequence[str]) -> dict[int, str]:
    """Returns the currencies that have a cell of their own, by the cells with their numbers: the one in front
    of it, or else the one after it, and those whose column says that they are amounts."""
    found = {}
    amounts = known().totals | known().kinds["price"].stems
    for at, cell in enumerate(cells):
        if is_currency(cell):
            near = [one for one in (at - 1, at + 1) if 0 <= one < len(cells) and is_number(cells[one])]
            named = [
                one for one, column in enumerate(columns) if not amounts.isdisjoint(map(root, words(column)))
            ]
            found.update({one: cell.strip() for one in near[:1] + named})
    return found


def _bars(text: str) -> int:
    return text.strip().strip(_CELL).count(_CELL)


def _is_head(text: str, after: str) -> bool:
    """Whether a line names the columns of the row after it: none of its cells is only a number or a date."""
    if not (bars := _bars(text)) or bars != _bars(after):
        return False
    return all(names_something(cell) for cell in text.strip().strip(_CELL).split(_CELL) if cell.strip())


def names_something(cell: str) -> bool:
    """Whether a cell has words beside its values."""
    rest = cell
    for value in reversed(values(cell)):
        rest = rest[: value.begin] + rest[value.end :]
    return bool(words(rest))


def _columns(header: str) -> list[str]:
    first = header.strip().split("\n")[0].strip()
    return [cell.strip() for cell in first.strip(_CELL).split(_CELL)] if _CELL in first else []


# --- subjects ---------------------------------------------------------------------------------------


def subjects_of(brief: Brief, evidence: Sequence[Evidence]) -> list[str]:
    """Returns the subjects of a brief, by name: those that it names itself, or else those called by its noun
    ("Alpine stove"), or else the sources that are such things ("the leases"), or else the items of a list.

    At most as many as the brief counts.
    """
    # In "the bikes of Downs Cycles", the name is that of their shop.
    owned = brief.goal is Goal.COMPARE and len(brief.subjects) == 1 and fold(brief.nouns).endswith("s")
    if owned:
        shop = frozenset(map(root, words(brief.subjects[0])))
        near = {item.evidence.source for item in read_sentences(evidence) if shop <= item.told}
        things = subjects_of(replace(brief, subjects=()), [one for one in evidence if one.source in near])
        return things if len(things) >= _LEAST_LISTED else list(brief.subjects)
    if brief.subjects and not (brief.count and brief.count > len(brief.subjects)):
        return list(brief.subjects)
    if brief.further:
        others = (replace(brief, noun=root(one), nouns=one, further=()) for one in brief.further)
        each = [subjects_of(one, evidence) for one in (replace(brief, further=()), *others)]
        return list(dict.fromkeys(name for found in each for name in found))
    if not brief.noun:
        return []
    least = max(brief.count or 0, _LEAST_LISTED)
    called = _by_noun(brief, evidence)
    if len(called) >= least or not (brief.goal is Goal.COMPARE or brief.attributes):
        return called
    items = [one for one in read_sentences(evidence) if one.evidence.kind is not EvidenceKind.MEMORY]
    for found in (_papers(brief, items), _listed(items, _alike(brief.noun))):
        if len(found) >= least:
            return found
    return called


def _alike(noun: str) -> frozenset[str]:
    return frozenset({noun}).union(*(group for group in known().alike if noun in group))


def _by_noun(brief: Brief, evidence: Sequence[Evidence]) -> list[str]:
    """Returns the names beside the noun of a brief, each once: "Alpine stove" in a title and "the Alpine
    stove" in a sentence are one. Of more than the brief counts, those found most often and in most sources;
    in the order in which they were found.
    """
    names: dict[frozenset[str], str] = {}
    weights: dict[frozenset[str], float] = {}
    for one in evidence:
        if one.kind is EvidenceKind.MEMORY:
            continue
        places = [(one.title, 3.0), *((head, 2.0) for head in one.heading)]
        places += [(sentence.text, 1.0) for sentence in read_sentences([one])]
        for text, weight in places:
            for name in _called(text, brief.noun, brief.nouns):
                key = frozenset(map(root, words(name))) - {brief.noun}
                if not key or key & known().asking:
                    continue
                names.setdefault(key, name)
                weights[key] = weights.get(key, 0.0) + weight
    keys = [key for key in names if not any(other < key for other in names)]
    if brief.count is not None and len(keys) > brief.count:
        best = sorted(keys, key=lambda key: -weights[key])[: brief.count]
        keys = [key for key in keys if key in best]
    return [names[key] for key in keys]


def _listed(items: Sequence[Sentence], nouns: frozenset[str]) -> list[str]:
    """Returns the names of the things in lists, tables and sections: those of one kind in a source, if there
    are several, and its title, its headings or the head of the names say that they are such things."""
    found: dict[tuple[str, Callable[[Sentence], str]], dict[str, str]] = {}
    for item in items:
        about = item.around | frozenset(map(root, words(item.cells[0].column if item.is_row else "")))
        if not any(stem in nouns or stem.rpartition("-")[2] in nouns for stem in about):
            continue
        for entry in (_section, _entry, _opening):
            name = entry(item)
            if name and nouns.isdisjoint(map(root, words(name))):
                found.setdefault((item.evidence.source, entry), {}).setdefault(fold(name), name)
    names: dict[str, str] = {}
    done: set[str] = set()
    for entry in (_section, _entry, _opening):
        for (source, by), ones in found.items():
            if by is entry and source not in done and len(ones) >= _LEAST_LISTED:
                done.add(source)
                names |= {key: name for key, name in ones.items() if key not in names}
    return list(names.values())


def _section(item: Sentence) -> str:
    """Returns the heading right above a sentence, below another one or the title of its source."""
    above = [one for one in item.headings if fold(one) != fold(item.evidence.title)]
    return above[-1] if above and len(words(above[-1])) <= _LONGEST_NAME else ""


def _entry(item: Sentence) -> str:
    """Returns the name of a row, or of an item of a list with values: "- Hobby 460: 1,150 kg"."""
    if item.is_row:
        cell = item.cells[0]
        name = item.text[cell.begin : cell.end].strip(" *_`")
        return name if names_something(name) and len(words(name)) <= _LONGEST_NAME else ""
    item_ = _ITEM.match(item.text)
    if item_ is None or not item.values:
        return ""
    name = _NAME_END.split(item.text[item_.end() :], maxsplit=1)[0].strip(" *_`")
    begins = bool(name) and (name[0].isupper() or name[0].isdigit())
    numbers = [one for one in values(name) if not (one.dimension == "count" and name[: one.begin].strip())]
    return name if begins and 1 <= len(words(name)) <= _LONGEST_NAME and not numbers else ""


def _opening(item: Sentence) -> str:
    """Returns the name at the beginning of a sentence with values: "The Hobby 460 weighs 1,150 kg"."""
    match = _OPENING.match(item.text) if item.values else None
    if match is None:
        return ""
    several = len(words(match["name"])) > 1 or any(map(str.isdigit, match["name"]))
    # In German all nouns have capitals: "Die Heizung kostet 80 Euro" names none.
    named = several or fold((match["article"] or "").strip()) == "the"
    return match["name"] if named and _is_name(words(match["name"])[0]) else ""


def _papers(brief: Brief, items: Sequence[Sentence]) -> list[str]:
    """Returns the titles of the sources that are such things themselves ("the two leases"): they are called
    so in their titles, in the singular, or else where they begin. None if the brief counts others."""
    nouns = _alike(brief.noun)
    if brief.noun in _GENERAL or (brief.goal is Goal.LIST and brief.noun in known().papers):
        return []
    found: dict[str, int] = {}
    for item in items:
        title = item.evidence.title
        begins = words(item.text)[:_FIRST_WORDS] if item.evidence.begin + item.begin < _HEAD else ()
        for rank, said in ((2, words(title)), (1, begins)):
            if any(root(word) in nouns and fold(word) != fold(brief.nouns) for word in said):
                found[title] = max(found.get(title, 0), rank)
    best = sorted(found, key=lambda title: -found[title])
    chosen = best if brief.count is None else best[: brief.count]
    return [title for title in found if title in chosen]


def _called(text: str, noun: str, nouns: str) -> Iterator[str]:
    """Yields the names next to the noun: "Alpine stove", "Hotel Miramar". "City bikes", a plural as in
    the brief, is none, nor is "Bannerman teaches" one of the teachers."""
    found = list(_NAME.finditer(text))
    for at, match in enumerate(found):
        if root(match[0]) != noun or _is_no_single(fold(match[0]), fold(nouns)):
            continue
        first = at
        while first and _is_name(found[first - 1][0]) and _next_to(text, found[first - 1], found[first]):
            first -= 1
        if first < at:
            yield text[found[first].start() : match.end()]
            continue
        last = at
        while (
            last + 1 < len(found)
            and _is_name(found[last + 1][0])
            and _next_to(text, found[last], found[last + 1])
        ):
            last += 1
        if last > at:
            yield text[match.start() : found[last].end()]


def _is_no_single(word: str, plural: str) -> bool:
    """Whether a word is the plural itself, or a verb like it ("teaches" of "teachers"); a bus is one of the
    buses."""
    single = plural.startswith(word) and word != plural
    return word.endswith("s") and plural.endswith("s") and not single


def _is_name(word: str) -> bool:
    return word[0].isupper() and fold(word) not in known().openers and bool(meaningful(word))


def _next_to(text: str, one: re.Match[str], other: re.Match[str]) -> bool:
    return text[one.end() : other.start()] in (" ", "-")


def speaks_of(
    items: Sequence[Sentence], subjects: Sequence[str], attributes: Sequence[Attribute] = (), noun: str = ""
) -> list[str]:
    """Returns the subject of each sentence, "" for none.

    A sentence that names none has the subject of the one before it in its passage, unless it begins with a
    thing of its own ("The deposit is …"), which is none of the `attributes`, no kind of value, and not called
    by the `noun` of the subjects; and an item
    of a list not that of another item. The first has that of the title or the headings, or else the one that
    its passage was found for, if its source names it anywhere. The numbered parts of a paper that names only
    one are about that one ("for the flat at 14 Linden Street. … 3. The rent is 980 euros").
    """
    told = frozenset().union(
        _alike(noun),
        *(one.spoken for one in attributes),
        *(one.stems for one in known().kinds.values()),
    )
    keys = {name: _key(name, subjects) for name in subjects}
    naming = {
        (item.evidence.source, name)
        for item in items
        for name, key in keys.items()
        if key <= item.stems | item.around
    }
    several = {
        source for source, name in naming if any((source, other) in naming for other in keys if other != name)
    }
    found: list[str] = []
    passage: tuple[str, ...] = ()
    first, current, by_item = "", "", False
    latest = ""
    for item in items:
        evidence = item.evidence
        if (evidence.id, *item.headings) != passage:
            passage, by_item = (evidence.id, *item.headings), False
            wanted = evidence.subject if (evidence.source, evidence.subject) in naming else ""
            first = current = latest = _named(item.around, keys) or wanted
        named = _named(item.stems, keys)
        if item.is_row:
            found.append(named or current)
            continue
        is_item = _ITEM.match(item.text) is not None
        if named:
            current = latest = named
            by_item = is_item
        elif (is_item and by_item) or _opens_with_another(item.text, told):
            current, by_item = first, False
        elif is_item and not current and evidence.source not in several:
            current = latest
        found.append(current)
        if named and len(_all_named(item.stems, keys)) > 1:
            # What comes after it may be about each of them.
            current = latest = ""
    return found


def _opens_with_another(text: str, told: Collection[str]) -> bool:
    """Whether a sentence is about a thing of its own, and not about a value ("The boiling time is …"), whose
    words `told` has."""
    if _NOT_ABOUT.match(text) and not _ABOUT_IT.search(text):
        return True
    one = Statement(text)
    if not one.opening or not (one.opens_with_noun or _LABEL.match(text) is not None):
        return False
    first, second = [*content(text), "", ""][:2]
    return first not in told and (second not in told or second in known().valued)


def _key(name: str, subjects: Sequence[str]) -> frozenset[str]:
    """Returns the stems that distinguish a subject from the others."""
    own = frozenset(map(root, words(name)))
    others = [frozenset(map(root, words(other))) for other in subjects if other != name]
    shared = frozenset.intersection(own, *others) if others else frozenset[str]()
    return own - shared or own


def _named(stems: Collection[str], keys: dict[str, frozenset[str]]) -> str:
    best = [name for name, key in keys.items() if key and key.issubset(stems)]
    return max(best, key=lambda name: len(keys[name])) if best else ""


# --- values -----------------------------------------------------------------------------------------


def named_in(item: Sentence, subjects: Sequence[str]) -> list[str]:
    """Returns the subjects that a sentence names; of two names one of which is part of the other, the
    longer."""
    return _all_named(item.stems, {name: _key(name, subjects) for name in subjects})


def _all_named(stems: frozenset[str], keys: dict[str, frozenset[str]]) -> list[str]:
    found = [name for name, key in keys.items() if key and key <= stems]
    return [name for name in found if not any(keys[name] < keys[other] for other in found)]


def facts_about(
    subject: str, attribute: Attribute, items: Sequence[Sentence], subjects: Sequence[str] = ()
) -> list[Fact]:
    """Returns what these sentences, all about the subject, state about an attribute, best first.

    Only sentences with the attribute's own words count: what something else costs is not the kitchen's price.
    Of a sentence that names several of the `subjects`, only the clauses about this one.
    """
    found = [
        fact
        for item in items
        for fact in _facts(subject, attribute, item, _clauses_of(subject, item, subjects))
    ]
    return sorted(found, key=lambda one: -one.score)


def _clauses_of(subject: str, item: Sentence, subjects: Sequence[str]) -> Sequence[Cell]:
    """Returns the clauses of a sentence about the subject: those that name it, and those after one that name
    no other. "The Corsa costs 8,900 €; the Fabia costs 9,400 €" has one about each."""
    if item.is_row or len(named_in(item, subjects)) < 2:
        return item.cells
    keys = {name: _key(name, subjects) for name in subjects}
    found, current = [], ""
    for cell in item.cells:
        current = _named(frozenset(map(root, words(item.text[cell.begin : cell.end]))), keys) or current
        if current == subject:
            found.append(cell)
    return found


def _facts(subject: str, attribute: Attribute, item: Sentence, cells: Sequence[Cell]) -> Iterator[Fact]:
    kind = attribute.kind
    needed = (attribute.special or attribute.particular) if kind is not None else frozenset()
    name = frozenset(map(root, words(subject)))
    first = frozenset(map(root, words(item.text[: cells[0].end]))) if cells and not item.is_row else name
    for cell in cells:
        text = item.text[cell.begin : cell.end]
        column = frozenset(map(root, words(cell.column)))
        if needed and needed.isdisjoint(item.stems | column | frozenset(map(root, words(item.label)))):
            continue
        stems = frozenset(map(root, words(text))) | column
        special = stems & attribute.special
        own = len(stems & attribute.spoken) + len(special)
        near = len(item.stems & attribute.spoken)
        inside = [one for one in item.values if cell.begin <= one.begin and one.end <= cell.end]
        fitting = [
            one
            for one in inside
            if kind is not None
            and one.dimension in kind.dimensions
            # "Built 2014, sleeps four": a year is no number of people.
            and not (one.dimension == "count" and _YEAR.fullmatch(one.text))
        ]
        for value in fitting:
            score = 2.0 + 2.0 * min(own, 2) + 0.5 * min(near, 2) - 0.01 * _distance(item, value, attribute)
            if not name.isdisjoint(stems) and name.isdisjoint(first):
                # "Wimmer asks 2,450 €, Hofbauer 2,180 €."
                score += _OWN_CLAUSE
            elif cell is not cells[0] and _is_about_another(text, attribute.spoken | name):
                score = 1.0
            yield Fact(subject, attribute.name, value.text, item, value, score)
        # "Open from 7:30" tells the opening hours, although it is no number of hours; so does "none" below
        # "minimum term".
        other_values = any(one.dimension != "date" and one.unit for one in inside)
        worded = column & attribute.stems or (special and _tells_number(text) and not other_values)
        if not fitting and own and (kind is None or worded) and not item.is_title:
            only = inside[0] if len(inside) == 1 else None
            item_ = _ITEM.match(text)
            wording = _short(text[item_.end() if item_ else 0 :].strip(" .,:;*_|-"))
            yield Fact(subject, attribute.name, wording, item, only, 1.0 + own + (0.5 if cell.column else 0))


def _is_about_another(clause: str, told: frozenset[str]) -> bool:
    """Whether a clause begins with a thing of its own: "the cello costs £12 a month"."""
    match = _BEGINS.match(clause)
    return match is not None and root(match["noun"]) not in told


def _tells_number(text: str) -> bool:
    return any(map(str.isdigit, text)) or any(fold(word) in lexicon().number_words for word in words(text))


def _distance(item: Sentence, value: Value, attribute: Attribute) -> float:
    """Returns how far a value is from the nearest word for the attribute, in characters, at most 100."""
    places = [
        min(abs(match.start() - value.begin), abs(value.end - match.end()))
        for match in _NAME.finditer(item.text)
        if root(match[0]) in attribute.spoken
    ]
    return float(min([*places, 100]))


def _short(text: str) -> str:
    if len(text) <= _LONGEST_WORDING:
        return text
    return text[:_LONGEST_WORDING].rpartition(" ")[0] + " …"


def disagreeing(facts: Sequence[Fact]) -> Fact | None:
    """Returns a fact that contradicts the first and is about as clear; None if there is none."""
    if not facts or facts[0].value is None:
        return None
    first = facts[0]
    for other in facts[1:]:
        if other.value is None or other.sentence is first.sentence or first.value is None:
            continue
        if other.value.dimension == first.value.dimension and not other.value.same(first.value):
            alike = other.sentence.content & first.sentence.content
            if (
                other.score > 0.75 * first.score
                and len(alike) >= 2
                and other.sentence.evidence.source != first.sentence.evidence.source
            ):
                return other
    return None
