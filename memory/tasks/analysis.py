"""Computes findings from passages: tables, choices, totals, contradictions, plans, the best sentences."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import islice

from memory.documents.statements import Day, Statement, contradicts, has
from memory.memories.upkeep import negated
from memory.tasks.briefs import Attribute, Brief, Goal
from memory.tasks.entities import Evidence, EvidenceKind
from memory.tasks.facts import (
    Fact,
    Sentence,
    disagreeing,
    facts_about,
    named_in,
    names_something,
    read_sentences,
    spaced,
    speaks_of,
    subjects_of,
)
from memory.tasks.lexicon import (
    Kind,
    Limit,
    Value,
    days_in,
    is_currency,
    is_month,
    known,
    months_in,
    plain,
    rate_of,
    root,
    values,
    words,
)

OWN = frozenset({EvidenceKind.MEMORY, EvidenceKind.MESSAGE})
_MOST_POINTS = 12
_MOST_PAIRS = 12
_MOST_UNSPOKEN = 5
_MOST_COMPARED = 400
_ALIKE = 0.5
_HEAD = 300
"""Characters at the beginning of a source that may be its letterhead."""
_LONGEST_HEAD = 6
"""Words of a line with a full stop that may still be one of a head: "Invoice no. 311 of 14 April."."""
_MOST_BEFORE = 30
_MOST_BESIDE_DATE = 4
"""Words beside the date of a letter: "Invoice no. 311 of 14 April 2026"."""
_BETWEEN = re.compile(r"\b(?:each other|one another|einander|zwischen|between|entre)\b", re.IGNORECASE)
_WITHIN = re.compile(r"\b(?:itself|themselves|sich selbst|in sich|s[ií] mism[oa]s?)\b", re.IGNORECASE)
_BOUND = re.compile(
    r"\b(?:not?|nicht|kein\w{0,2}|no) (?:\w+er|more|less|mehr|weniger|más|menos) (?:than|als|que|de) ",
    re.IGNORECASE,
)
"""A bound, which denies nothing: "not lower than 1.20 m"."""
_LEAST_NAMED = 2
_MOST_OF = 0.6
_LONG_PAPER = 6
_BESIDE = 2
"""Sentences in front of and after an amount that are looked at for others."""
_BALANCE = re.compile(
    r"\W*(?:you pay|amount due|balance(?: due)?|due now|to pay|payable|zu zahlen|zahlbetrag|restbetrag"
    r"|(?:importe |total )?a pagar)\b",
    re.IGNORECASE,
)
_COMES_TO = re.compile(
    r"\b(?:so|that is|that[’']s|makes|in all|altogether|insgesamt|zusammen|also|macht|en total)\b",
    re.IGNORECASE,
)
_TIMES = re.compile(
    r"\d(?:[.,]\d+)? ?(?:hours?|h|days?|pieces?|stunden?|std\.?|tage?|stück|horas?|días?|piezas?)"
    r" (?:at|à|zu(?: je)?|je|a) $",
    re.IGNORECASE,
)
"""In front of the price of one: "6 hours at 48 euros"."""
_NUMBERED = re.compile(r"\bN[or]\.\s*\d+")
"""The number of an invoice, whose first letters look like "no"."""


@dataclass(frozen=True, slots=True)
class Row:
    """A subject with the fact found for each attribute, by the attribute's name; `others` contradict it."""

    subject: str
    facts: dict[str, Fact]
    others: dict[str, Fact] = field(default_factory=dict)
    sentences: tuple[Sentence, ...] = ()


@dataclass(frozen=True, slots=True)
class Wish:
    """A sentence of the user's that bears on a choice or plan, with the limit that it sets, if any."""

    sentence: Sentence
    limit: Limit | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a subject keeps to a limit, and the value that was compared with it."""

    subject: str
    fact: Fact
    limit: Limit
    wish: Sentence | None
    fits: bool


@dataclass(frozen=True, slots=True)
class Total:
    """A sum of values: the values added, and the result in one unit."""

    facts: tuple[Fact, ...]
    amount: Decimal
    unit: str


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything computed for a brief.

    `missing` are the parts of the brief for which nothing was found; `unspoken` are words of it that are in
    none of the sentences that were found. `not_added` are amounts in these sentences that are in no total;
    `repeated` are those of them that are in one already, with the same date, from another source.
    """

    goal: Goal
    attributes: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    wishes: tuple[Wish, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    chosen: tuple[str, ...] = ()
    best: Fact | None = None
    totals: tuple[Total, ...] = ()
    contradictions: tuple[tuple[Sentence, Sentence], ...] = ()
    dated: tuple[tuple[Value, Sentence], ...] = ()
    duties: tuple[Sentence, ...] = ()
    points: tuple[Sentence, ...] = ()
    missing: tuple[str, ...] = ()
    unspoken: tuple[str, ...] = ()
    not_added: tuple[Fact, ...] = ()
    repeated: tuple[Fact, ...] = ()

    @property
    def empty(self) -> bool:
        return not (
            any(row.facts or row.sentences for row in self.rows)
            or self.totals
            or self.contradictions
            or self.dated
            or self.duties
            or self.points
        )


def analyse(brief: Brief, evidence: Sequence[Evidence]) -> Findings:
    """Returns the findings from the passages for a brief."""
    items = read_sentences(evidence)
    match brief.goal:
        case Goal.COMPARE | Goal.LIST:
            return _table(brief, evidence, items)
        case Goal.SUM:
            return _sum(brief, items)
        case Goal.CONTRADICTION:
            return _contradictions(brief, items)
        case Goal.PLAN:
            return _plan(brief, items)
        case _:
            return _answer(brief, items)


# --- tables -----------------------------------------------------------------------------------------


def _table(brief: Brief, evidence: Sequence[Evidence], items: Sequence[Sentence]) -> Findings:
    subjects = subjects_of(brief, evidence)
    if not subjects:
        papers = _papers(brief, items) if brief.goal is Goal.LIST else None
        return papers or _answer(brief, items)
    memories = [item for item in items if item.evidence.kind is EvidenceKind.MEMORY]
    remembered = _by_subject(brief, subjects, memories)
    read = [item for item in items if item.evidence.kind is not EvidenceKind.MEMORY]
    by_subject = _by_subject(brief, subjects, read)
    attributes = brief.attributes or _usual(by_subject.values())
    rows = []
    for name, own in by_subject.items():
        facts: dict[str, Fact] = {}
        others: dict[str, Fact] = {}
        for attribute in attributes:
            found = _stated(name, attribute, own, subjects)
            found = found or _stated(name, attribute, remembered[name], subjects)
            if found:
                facts[attribute.name] = found[0]
                if (other := disagreeing(found)) is not None:
                    others[attribute.name] = other
        rows.append(Row(name, facts, others, tuple(_telling(own, brief))[:2]))
    told = {name: [*own, *remembered[name]] for name, own in by_subject.items()}
    if brief.goal is Goal.LIST:
        rows = _kept(brief, rows, told)
    missing = []
    for row in rows:
        lacking = [f"{row.subject}: {one.name}" for one in attributes if one.name not in row.facts]
        # Nobody asked for the usual attributes: of what is found nowhere, its name says enough.
        missing += lacking if row.facts or row.sentences or brief.attributes else [row.subject]
    if brief.count is not None and len(rows) < brief.count and brief.goal is Goal.COMPARE:
        missing += [f"{brief.nouns} {number + 1}" for number in range(len(rows), brief.count)]
    findings = Findings(
        brief.goal, tuple(one.name for one in attributes), tuple(rows), missing=tuple(missing)
    )
    return _choose(brief, findings, items, told) if brief.choice else findings


def _papers(brief: Brief, items: Sequence[Sentence]) -> Findings | None:
    """Returns the invoices or the like in a table, with their dates and amounts; None if the brief asks for
    something else, or none is found."""
    asked = brief.topic | {stem for one in brief.attributes for stem in one.stems}
    if not any(has(word, known().papers) for word in asked):
        return None
    wanted = [one for one in brief.attributes if not one.stems & known().papers]
    names = {one.kind.name: one.name for one in wanted if one.kind is not None}
    names = {kind: names[kind] for kind in ("date", "price") if kind in names} or {
        "date": "date",
        "price": "price",
    }
    headed, rows = _letterheads(items), []

    def when(source: str) -> tuple[int, int, int]:
        day = headed[source].day if source in headed else Day(None, None, None)
        return day.year or 0, day.month or 0, day.day or 0

    for source in sorted(_invoices(items), key=lambda one: (when(one), one)):
        own = [item for item in items if item.evidence.source == source]
        dated = headed.get(source)
        if brief.period is not None and (dated is None or brief.period.holds(dated.day) is not True):
            continue
        facts = {} if dated is None else {"date": Fact("", "date", dated.text, dated.sentence)}
        if (amount := _whole_amount(own)) is not None:
            facts["price"] = amount
        title = own[0].evidence.title
        rows.append(Row(title, {name: facts[kind] for kind, name in names.items() if kind in facts}))
    missing = [f"{row.subject}: {name}" for row in rows for name in names.values() if name not in row.facts]
    return Findings(brief.goal, tuple(names.values()), tuple(rows), missing=tuple(missing)) if rows else None


def _whole_amount(items: Sequence[Sentence]) -> Fact | None:
    """Returns the amount of an invoice: its largest total, or else its only amount."""
    every = [
        Fact("", "price", value.text, item, value)
        for item in items
        for value in _amounts(item)
        if not _is_unpaid(item, value, known().unpaid)
    ]
    totals = [fact for fact in every if _says_total(fact.sentence) or _is_total(fact.sentence)]
    if totals:
        return max(totals, key=_amount_of)
    return every[0] if len(every) == 1 else None


def _by_subject(
    brief: Brief, subjects: Sequence[str], items: Sequence[Sentence]
) -> dict[str, list[Sentence]]:
    owners = speaks_of(items, subjects, brief.attributes, brief.noun)
    named = [named_in(item, subjects) for item in items]
    return {
        name: [
            item
            for item, owner, several in zip(items, owners, named, strict=True)
            if owner == name or (len(several) > 1 and name in several)
        ]
        for name in subjects
    }


def _stated(
    subject: str, attribute: Attribute, items: Sequence[Sentence], subjects: Sequence[str] = ()
) -> list[Fact]:
    """Returns the facts without what the user wishes: the amount of "it must not cost more than 100 euros" is
    no price."""
    return [fact for fact in facts_about(subject, attribute, items, subjects) if not _is_wish(fact)]


def _is_wish(fact: Fact) -> bool:
    if fact.value is None or fact.value.dimension == "date" or fact.sentence.evidence.kind not in OWN:
        return False
    return any(limit.value.begin == fact.value.begin for limit in fact.sentence.limits)


def _usual(groups: Iterable[list[Sentence]]) -> tuple[Attribute, ...]:
    """Returns the known kinds of values of which at least half of the subjects have one."""
    sets = [{value.dimension for item in group for value in item.values} for group in groups]
    found: list[Attribute] = []
    taken: set[str] = set()
    for kind in known().kinds.values():
        dimensions = kind.dimensions - {"count"} or kind.dimensions
        if dimensions & taken or "count" in kind.dimensions:
            continue
        if sets and 2 * sum(bool(dimensions & one) for one in sets) >= len(sets):
            found.append(Attribute(kind.name, kind.stems - known().distinct, kind))
            taken |= dimensions
    return tuple(found)


def _telling(own: Sequence[Sentence], brief: Brief) -> Iterator[Sentence]:
    for item in own:
        # A sentence that only repeats the title adds nothing.
        if item.values or (item.content & brief.topic and not item.content <= item.around):
            yield item


def _kept(brief: Brief, rows: list[Row], by_subject: dict[str, list[Sentence]]) -> list[Row]:
    """Leaves out rows that break a limit in the brief itself ("that cost less than 100 euros")."""
    kept = []
    for row in rows:
        verdicts = [
            one
            for limit in brief.limits
            for one in _judged(row.subject, by_subject[row.subject], limit, None)
        ]
        if all(one.fits for one in verdicts) and (verdicts or not brief.limits):
            facts = {**row.facts}
            for one in verdicts:
                facts.setdefault(one.fact.attribute, one.fact)
            kept.append(Row(row.subject, facts, row.others, row.sentences))
    return kept


# --- choices ----------------------------------------------------------------------------------------


def _choose(
    brief: Brief, findings: Findings, items: Sequence[Sentence], by_subject: dict[str, list[Sentence]]
) -> Findings:
    wishes = wishes_of(brief, items)
    limits = [(wish.limit, wish.sentence) for wish in wishes if wish.limit is not None]
    verdicts = tuple(
        one
        for name, own in by_subject.items()
        for limit, sentence in [*limits, *((limit, None) for limit in brief.limits)]
        for one in _judged(name, own, limit, sentence)
    )
    broken = {one.subject for one in verdicts if not one.fits}
    left = [row.subject for row in findings.rows if row.subject not in broken]
    best: Fact | None = None
    if brief.best is not None and left:
        kind, way = brief.best
        best = _extreme(findings, left, kind, most=way == "most")
        left = [best.subject] if best is not None else left
    chosen = tuple(left) if (verdicts or best is not None) else ()
    return Findings(
        findings.goal,
        findings.attributes,
        findings.rows,
        tuple(
            wish
            for wish in wishes
            if wish.limit is None or any(one.wish is wish.sentence for one in verdicts)
        ),
        verdicts,
        chosen,
        best,
        missing=findings.missing,
    )


def wishes_of(brief: Brief, items: Sequence[Sentence]) -> list[Wish]:
    """Returns the user's sentences that bear on the brief: limits first, then those that name its topic."""
    found: list[Wish] = []
    about = brief.topic | {brief.noun} | {stem for one in brief.attributes for stem in one.spoken}
    for item in items:
        if item.evidence.kind not in OWN:
            continue
        found += [Wish(item, limit) for limit in item.limits]
        if not item.limits and item.content & about:
            found.append(Wish(item))
    seen: set[tuple[str, str]] = set()
    kept = []
    for wish in found:
        # A memory and the message that it was learned from state the same.
        key = (" ".join(sorted(wish.sentence.content)), wish.limit.value.text if wish.limit else "")
        if key not in seen:
            seen.add(key)
            kept.append(wish)
    return kept


def _judged(subject: str, own: Sequence[Sentence], limit: Limit, wish: Sentence | None) -> Iterator[Verdict]:
    """Yields whether a subject keeps to a limit, by its first value of that dimension."""
    kind = next((one for one in known().kinds.values() if limit.value.dimension in one.dimensions), None)
    stems = kind.stems - known().distinct if kind is not None else frozenset[str]()
    attribute = Attribute(
        kind.name if kind else limit.value.dimension,
        stems,
        Kind("", stems, frozenset({limit.value.dimension})),
    )
    for fact in _stated(subject, attribute, own):
        if fact.value is not None and (fits := limit.allows(fact.value)) is not None:
            yield Verdict(subject, fact, limit, wish, fits)
            return


def _extreme(findings: Findings, names: Sequence[str], kind: str, *, most: bool) -> Fact | None:
    stems = known().kinds[kind].dimensions
    found = [
        fact
        for row in findings.rows
        if row.subject in names
        for fact in row.facts.values()
        if fact.value is not None
        and fact.value.dimension in stems
        and fact.value.amount is not None
        # The least budget is not the least price.
        and known().distinct.isdisjoint(map(root, words(fact.attribute)))
    ]
    if not found or not all(
        one.value and found[0].value and one.value.comparable(found[0].value) for one in found
    ):
        return None
    return max(found, key=_amount_of) if most else min(found, key=_amount_of)


def _amount_of(fact: Fact) -> Decimal:
    return fact.value.amount if fact.value is not None and fact.value.amount is not None else Decimal(0)


# --- sums -------------------------------------------------------------------------------------------


def _sum(brief: Brief, items: Sequence[Sentence]) -> Findings:
    attribute = next((one for one in brief.attributes if one.kind is not None), None)
    dimensions = attribute.kind.dimensions if attribute and attribute.kind else frozenset({"money"})
    name = attribute.name if attribute else "amount"
    unpaid = (
        known().unpaid - {root(word) for word in words(brief.text)} if "money" in dimensions else frozenset()
    )
    headed = _letterheads(items)
    by_rate: dict[str, list[tuple[str, Fact]]] = {}
    not_added: list[Fact] = []
    seen: set[tuple[str, str, str]] = set()
    for item in _summed(brief, items, dimensions):
        own = [one for one in item.values if one.dimension in dimensions and one.amount is not None]
        main = _main(item, own)
        head = headed.get(item.evidence.source)
        dated = None if head is None else head.day
        for value in own:
            # A text that is found twice counts once, but equal rows of a table are several.
            words_ = f"{item.whole} {value.begin}" if item.is_row else " ".join(sorted(item.content))
            key = (item.evidence.source if item.is_row else "", words_, value.text)
            if key in seen:
                continue
            seen.add(key)
            rate = rate_of(item.text, value)
            fact = Fact(_item_name(item), name, f"{value.text} {rate}".strip(), item, value)
            # The rest of the sentence may explain the value: "120 euros, 20 of it for the paint".
            if value is main and _counts(brief, fact, unpaid, dated):
                by_rate.setdefault(root(rate.split()[-1]) if rate else "", []).append((rate, fact))
            else:
                not_added.append(fact)
    by_rate, totals_ = _without_totals(by_rate, _invoices(items))
    not_added += totals_
    # 12 euros a month and 30 euros have no sum.
    most = "" if "" in by_rate else max(by_rate, key=lambda one: len(by_rate[one]), default="")
    added = by_rate.pop(most, [])
    rate = added[0][0] if added else ""
    facts, repeated = _once([fact for _, fact in added])
    not_added += repeated
    not_added += [fact for others in by_rate.values() for _, fact in others]
    for item in _nearby(brief, items, dimensions, [fact.sentence for fact in (*facts, *not_added)]):
        own = [one for one in item.values if one.dimension in dimensions and one.amount is not None]
        not_added += [Fact(_item_name(item), name, value.text, item, value) for value in own]
    totals: dict[str, list[Fact]] = {}
    for fact in facts:
        if fact.value is not None:
            own_unit = fact.value.unit if fact.value.dimension in ("money", "count") else ""
            totals.setdefault(f"{fact.value.dimension} {own_unit}", []).append(fact)
    return Findings(
        Goal.SUM,
        (name,),
        totals=tuple(_total(group, rate) for group in totals.values()),
        missing=() if facts else (name,),
        unspoken=_unspoken(brief, [one.sentence for one in (*facts, *not_added)]) if facts else (),
        not_added=tuple(not_added),
        repeated=tuple(repeated),
    )


def _once(facts: Sequence[Fact]) -> tuple[list[Fact], list[Fact]]:
    """Returns the amounts without those that another source has with the same day, and these: a bill that is
    also in a list is one."""
    once: list[Fact] = []
    again: list[Fact] = []
    for fact in facts:
        (again if any(_is_same_bill(fact, one) for one in once) else once).append(fact)
    return once, again


def _is_same_bill(one: Fact, other: Fact) -> bool:
    """Whether two sources have an amount with the same date, for the same thing."""
    if one.value is None or other.value is None or not one.value.same(other.value):
        return False
    if one.sentence.evidence.source == other.sentence.evidence.source:
        return False
    mine, others = (_distinct(fact.sentence) for fact in (one, other))
    # Tickets for Anna and for Ben are two.
    alike = not mine.isdisjoint(others) and (mine <= others or others <= mine)
    return alike and not {*map(str, _days(one))}.isdisjoint(map(str, _days(other)))


def _distinct(item: Sentence) -> frozenset[str]:
    """Returns the stems that say what an amount was for: no months, currencies, or words such as "cost"."""
    words_ = (word for word in words(item.text) if not is_currency(word) and not is_month(word))
    common = known().kinds["price"].stems | known().spending
    return item.content.intersection(map(root, words_)) - common - item.around


def _days(fact: Fact) -> list[Day]:
    """Returns the whole dates that are said of an amount."""
    if fact.value is None:
        return []
    texts = _texts_around(fact.sentence, fact.value)
    return [day for text in texts for day in days_in(text) if day.year is not None and day.day is not None]


def _main(item: Sentence, own: Sequence[Value]) -> Value | None:
    """Returns the value that counts: in a row the largest in a column of totals (net, total), otherwise what
    the first comes to ("£38 a day, so for four days £152"), or the first."""
    totals = [cell for cell in item.cells if not known().totals.isdisjoint(map(root, words(cell.column)))]
    found = [value for value in own for cell in totals if cell.begin <= value.begin < cell.end]
    if found:
        return max(found, key=lambda one: one.amount or 0)
    if len(own) == 2 and rate_of(item.text, own[0]) and not rate_of(item.text, own[1]):
        return own[1] if _COMES_TO.search(item.text[own[0].end : own[1].begin]) else own[0]
    return own[0] if own else None


def _invoices(items: Sequence[Sentence]) -> frozenset[str]:
    """Returns the sources whose heads say that they are invoices or the like."""
    return frozenset(
        item.evidence.source
        for item in items
        if (item.whole[0] < _HEAD and not _is_prose(item.text) and _names_paper(item.stems))
        or _names_paper(item.around)
    )


def _is_prose(text: str) -> bool:
    """Whether a sentence is part of a letter, and no line of a head: "I will pay the bill for the sink."."""
    return text.rstrip().endswith((".", "!", "?")) and len(words(text)) > _LONGEST_HEAD


def _names_paper(stems: Iterable[str]) -> bool:
    """Whether one of the words is "invoice" or the like, or ends with it: "Abschlagsrechnung"."""
    long = tuple(one for one in known().papers if len(one) >= _LONG_PAPER)
    return any(stem in known().papers or stem.endswith(long) for stem in stems)


def _without_totals(
    by_rate: dict[str, list[tuple[str, Fact]]], invoices: frozenset[str]
) -> tuple[dict[str, list[tuple[str, Fact]]], list[Fact]]:
    """Returns the amounts without those of lines such as "Total: 412 euros", and these; of a source that has
    no other amounts, they stay. Of an invoice whose lines are not all of it (there may be a tax), the largest
    total is kept instead."""
    every = [fact for pairs in by_rate.values() for _rate, fact in pairs]
    grand: dict[str, Fact] = {}
    for fact in every:
        source = fact.sentence.evidence.source
        if source in invoices and _says_total(fact.sentence) and not fact.sentence.is_row:
            grand[source] = max(grand.get(source, fact), fact, key=_amount_of)
    for source, total in list(grand.items()):
        lines = [
            one for one in every if one.sentence.evidence.source == source and not _says_total(one.sentence)
        ]
        if sum(map(_amount_of, lines), Decimal(0)) == _amount_of(total):
            del grand[source]
    itemised = {fact.sentence.evidence.source for fact in every if not _says_total(fact.sentence)}
    left = [
        fact
        for fact in every
        if ((source := fact.sentence.evidence.source) in grand and fact is not grand[source])
        or (source not in grand and _says_total(fact.sentence) and source in itemised)
    ]
    kept = {
        rate: [(word, fact) for word, fact in pairs if not any(fact is one for one in left)]
        for rate, pairs in by_rate.items()
    }
    return {rate: pairs for rate, pairs in kept.items() if pairs}, left


def _says_total(item: Sentence) -> bool:
    """Whether a sentence begins by saying that it is a total, what is left to pay, or a tax that is
    included."""
    if item.is_row:
        return False
    if _BALANCE.match(item.text):
        return True
    begins = [root(word) for word in words(item.text)[:2]]
    taxed = not known().taxes.isdisjoint(begins) and not known().included.isdisjoint(item.stems)
    return taxed or not known().totals.isdisjoint(begins)


@dataclass(frozen=True, slots=True)
class _Head:
    """The date in the head of a letter or invoice, as it is written, with its sentence."""

    day: Day
    text: str
    sentence: Sentence


def _letterheads(items: Sequence[Sentence]) -> dict[str, _Head]:
    """Returns the dates in the heads of letters and invoices, by source."""
    found: dict[str, _Head] = {}
    for item in items:
        days = [day for day in days_in(item.text, title=True) if day.year and day.month and day.day]
        others = [word for word in words(item.text) if not is_month(word)]
        at_top = item.whole[0] < _HEAD and len(others) <= _MOST_BESIDE_DATE
        if at_top and len(days) == 1 and not item.is_row and _main(item, _amounts(item)) is None:
            written = next((one.text for one in item.values if one.dimension == "date"), item.text)
            found.setdefault(item.evidence.source, _Head(days[0], written.rstrip(" ,."), item))
    return found


def _amounts(item: Sentence) -> list[Value]:
    return [one for one in item.values if one.dimension == "money" and one.amount is not None]


def _counts(brief: Brief, fact: Fact, unpaid: frozenset[str], dated: Day | None = None) -> bool:
    """Whether a value is a part of the total: it was paid, in the period of the brief, and is no total.
    `dated` is the date in the head of its source."""
    item, value = fact.sentence, fact.value
    assert value is not None
    return not (
        (_is_wish(fact) and item.stems & known().wishing)
        or _is_denied(item, value)
        or _is_only_asked(brief, item, value)
        or _is_total(item)
        or _TIMES.search(item.text[max(0, value.begin - _MOST_BEFORE) : value.begin])
        # Whatever is taken off is taken off.
        or (not _is_negative(value) and _is_unpaid(item, value, unpaid))
        or not _in_period(brief, item, value, dated)
    )


def _is_only_asked(brief: Brief, item: Sentence, value: Value) -> bool:
    """Whether the clause of a value says what someone wants for a thing that the brief does not name, or its
    sentence has several offers."""
    topic = brief.topic - known().kinds["price"].stems
    several = len(_amounts(item)) > 1 and not rate_of(item.text, value)
    offers = several and not known().asked.isdisjoint(item.stems)
    if item.is_row or not topic or not (offers or topic.isdisjoint(item.told)):
        return False
    # Of two offers beside each other, at most one is paid.
    return offers or not known().asked.isdisjoint(map(root, words(_clause(item, value))))


def _clause(item: Sentence, value: Value) -> str:
    """Returns the clause of a sentence that a value is in."""
    return next(item.text[one.begin : one.end] for one in item.cells if value.begin < one.end)


def _is_negative(value: Value) -> bool:
    return value.amount is not None and value.amount < 0


def _is_denied(item: Sentence, value: Value) -> bool:
    """Whether the clause of a value says that it was not so, or only would be."""
    if item.is_row:
        return False
    clause = _clause(item, value)
    return negated(_NUMBERED.sub("", clause)) or not known().supposed.isdisjoint(map(root, words(clause)))


def _is_total(item: Sentence) -> bool:
    """Whether a row is the total of others."""
    cells = (item.text[cell.begin : cell.end].strip(" *:") for cell in item.cells)
    return item.is_row and any(root(cell) in known().totals for cell in cells if cell)


def _in_period(brief: Brief, item: Sentence, value: Value, dated: Day | None = None) -> bool:
    """Whether the dates of a sentence, or else of its headings and title, or else the date in the head of its
    source, are in the period of the brief."""
    if brief.period is None:
        return True
    texts = _texts_around(item, value)
    around = (*item.evidence.heading, item.evidence.title)
    for group, title in ((texts, False), (around, True)):
        found = [brief.period.holds(day) for text in group for day in days_in(text, title=title)]
        if True in found or False in found:
            return True in found
    return dated is not None and brief.period.holds(dated) is True


def _texts_around(item: Sentence, value: Value) -> list[str]:
    """Returns what may say when an amount was paid: the other cells of its row, or its sentence; but of "due
    in May; the last one cost 90 €" only the clause, because May is not when the last one was."""
    if not item.is_row:
        clause = _clause(item, value)
        earlier = not known().earlier.isdisjoint(map(root, words(clause)))
        return [clause if earlier else item.text]
    return [item.text[one.begin : one.end] for one in item.cells if not one.begin <= value.begin < one.end]


def _is_unpaid(item: Sentence, value: Value, unpaid: frozenset[str]) -> bool:
    """Whether nobody pays a value. A word like "excess" is about the values of its clause; if it has none,
    or in a table, about all."""
    if item.stems.isdisjoint(unpaid):
        return False
    if item.is_row:
        return True
    clauses = [
        (cell.begin <= value.begin < cell.end, item.text[cell.begin : cell.end])
        for cell in item.cells
        if not unpaid.isdisjoint(map(root, words(item.text[cell.begin : cell.end])))
    ]
    return any(holds or not values(text) for holds, text in clauses)


def _summed(brief: Brief, items: Sequence[Sentence], dimensions: frozenset[str]) -> list[Sentence]:
    """Returns the sentences whose values belong to a total.

    Of "repairs of the boat", those of the garden are not a part. Only if no text has all of it, each of
    several things counts by itself, and half of the words of a thing will do.
    """

    heads: dict[str, frozenset[str]] = {}
    if brief.topic & known().papers:
        # The head of an invoice says that it is one, and whose.
        for item in items:
            if item.whole[0] < _HEAD:
                heads[item.evidence.source] = heads.get(item.evidence.source, frozenset()) | item.stems

    def about(topic: frozenset[str], *, share: float = 1) -> list[Sentence]:
        return [
            item
            for item in items
            if _told(topic, item.told | heads.get(item.evidence.source, frozenset())) >= share * len(topic)
        ]

    found = []
    named = {stem for one in brief.attributes for stem in one.stems}
    titled = [] if brief.topic else [item for item in items if _told(frozenset(named), item.around)]
    if _any_has(titled, dimensions):
        # "The expenses" are those of a list with that name.
        return titled
    for topic in (
        [brief.topic] if not brief.parts or _any_has(about(brief.topic), dimensions) else brief.parts
    ):
        exact = about(topic)
        found += exact if _any_has(exact, dimensions) else about(topic, share=0.5)
    if _any_has(found, dimensions):
        return found
    # What is nowhere beside an amount may be elsewhere in its source.
    told: dict[str, frozenset[str]] = {}
    for item in items:
        told[item.evidence.source] = told.get(item.evidence.source, frozenset()) | item.told
    counts = {source: _told(brief.topic, stems) for source, stems in told.items()}
    most = max(counts.values(), default=0)
    # "What Jonas pays the painter and the electrician" is in two sources.
    enough = len(brief.topic) if most == len(brief.topic) else max(2, _MOST_OF * len(brief.topic))
    whole = {source for source, count in counts.items() if count >= enough}
    return [item for item in items if item.evidence.source in whole]


def _told(topic: frozenset[str], stems: frozenset[str]) -> int:
    """Returns how many words of a topic are among the stems, in whatever form."""
    return sum(has(word, stems) for word in topic)


def _nearby(
    brief: Brief, items: Sequence[Sentence], dimensions: frozenset[str], told: Sequence[Sentence]
) -> list[Sentence]:
    """Returns sentences of the same sources with half of the words, or beside an amount: perhaps parts of the
    total in other words."""
    if brief.parts:
        return []
    known_ = {id(item) for item in told}
    sources = {item.evidence.source for item in told}
    beside = {
        id(other)
        for at, item in enumerate(items)
        if id(item) in known_ and not item.is_row
        for other in items[max(0, at - _BESIDE) : at + _BESIDE + 1]
        if other.evidence.id == item.evidence.id and not other.is_row
    }
    return [
        item
        for item in items
        if item.evidence.source in sources
        and id(item) not in known_
        and _has(item, dimensions)
        and (id(item) in beside or 0 < len(brief.topic) <= 2 * len(item.told & brief.topic))
    ]


def _any_has(items: Sequence[Sentence], dimensions: frozenset[str]) -> bool:
    return any(_has(item, dimensions) for item in items)


def _has(item: Sentence, dimensions: frozenset[str]) -> bool:
    return any(value.dimension in dimensions for value in item.values)


def _item_name(item: Sentence) -> str:
    if item.is_row:
        # The cells that are more than a number or a date say what the row is about; without any, the first.
        cells = [item.text[cell.begin : cell.end].strip() for cell in item.cells]
        named = [cell for cell in cells if names_something(cell) and not is_currency(cell)]
        return ", ".join(named) or cells[0]
    return item.evidence.heading[-1] if item.evidence.heading else item.evidence.title


def _total(facts: Sequence[Fact], rate: str = "") -> Total:
    """Adds values; the result is in the unit of the first, with the `rate` that all have."""
    first = facts[0].value
    amounts = [one.value.amount for one in facts if one.value is not None and one.value.amount is not None]
    amount = sum(amounts, Decimal(0))
    unit = first.unit if first is not None else ""
    if first is not None and first.dimension not in ("money", "count"):
        factor = next((one.factor for one in known().units.values() if one.name == unit), Decimal(1))
        amount = (amount / factor).quantize(Decimal("0.01"))
    return Total(tuple(facts), Decimal(plain(amount)), f"{unit} {rate}".strip())


# --- contradictions ---------------------------------------------------------------------------------


def _contradictions(brief: Brief, items: Sequence[Sentence]) -> Findings:
    about = [item for item in items if len(item.content) >= 2 and not item.is_row]
    if sources := _named_sources(brief, about):
        about = [item for item in about if item.evidence.source in sources]
    about.sort(key=lambda item: -len((item.content | item.around) & brief.topic))
    about = about[:_MOST_COMPARED]
    several = len({item.evidence.source for item in about}) > 1 or _BETWEEN.search(brief.text) is not None
    between = several and _WITHIN.search(brief.text) is None
    found: list[tuple[float, Sentence, Sentence]] = []
    for at, one in enumerate(about):
        for other in about[at + 1 :]:
            shared = one.content & other.content
            alike = len(shared) / max(1, min(len(one.content), len(other.content)))
            if alike < _ALIKE or len(shared) < 2 or _same_source(one, other) or _about_others(one, other):
                continue
            if between and one.evidence.source == other.evidence.source:
                continue
            if not any(_is_telling(stem) for stem in shared):
                continue
            if (strength := _opposed(one, other, alike)) > 0:
                found.append((strength, one, other))
    found.sort(key=lambda pair: -pair[0])
    pairs: list[tuple[Sentence, Sentence]] = []
    used: set[int] = set()
    for _strength, one, other in found:
        if id(one) not in used and id(other) not in used:
            used |= {id(one), id(other)}
            pairs.append((one, other))
    points = () if pairs else tuple(islice(_best(brief, items), _MOST_POINTS))
    return Findings(Goal.CONTRADICTION, contradictions=tuple(pairs[:_MOST_PAIRS]), points=points)


def _named_sources(brief: Brief, items: Sequence[Sentence]) -> frozenset[str]:
    """Returns the sources that a brief names with two words or more ("the minutes of April and the letter of
    Mrs. Okafor"); none if it does not name several."""
    titles = {item.evidence.source: item.evidence.title for item in items}
    named = frozenset(
        source
        for source, title in titles.items()
        if len(brief.topic.intersection(map(root, words(spaced(title))))) >= _LEAST_NAMED
    )
    return named if len(named) > 1 else frozenset()


def _is_telling(stem: str) -> bool:
    """Whether two sentences with a stem may be about the same: not with a month or a currency."""
    return not (is_currency(stem) or is_month(stem))


def _about_others(one: Sentence, other: Sentence) -> bool:
    """Whether each sentence opens with a name that the other does not have: two caravans of one list."""
    first, second = Statement(one.text), Statement(other.text)
    if not (first.names and second.names):
        return False
    mine, others = first.names[0], second.names[0]
    opens = mine == first.opening and others == second.opening
    return opens and mine not in other.stems and others not in one.stems


def _same_source(one: Sentence, other: Sentence) -> bool:
    return one.evidence.source == other.evidence.source and one.whole == other.whole


def _opposed(one: Sentence, other: Sentence, alike: float) -> float:
    """Returns how clearly two sentences contradict each other; 0 if they do not."""
    for mine in one.values:
        rivals = [value for value in other.values if value.dimension == mine.dimension]
        if mine.dimension == "count":
            rivals = [value for value in rivals if value.unit == mine.unit]
        if len(one.values) == 1 == len(other.values) and rivals and not rivals[0].same(mine):
            return 1 + alike
        alike_values = any(value.same(own) for own in one.values for value in rivals)
        if rivals and not alike_values and alike >= 0.6:
            return alike + 0.5
    first, second = (_BOUND.sub("", item.text) for item in (one, other))
    if alike >= 0.6 and (
        negated(first) != negated(second) or contradicts(Statement(first), Statement(second))
    ):
        return alike
    return 0.0


# --- plans ------------------------------------------------------------------------------------------


def _plan(brief: Brief, items: Sequence[Sentence]) -> Findings:
    relevant = _of_plan(brief, items)
    dated = sorted(
        ((value, item) for item in relevant for value in item.values if value.dimension == "date"),
        key=lambda pair: pair[0].order,
    )
    seen: set[int] = set()
    dated = [pair for pair in dated if not (id(pair[1]) in seen or seen.add(id(pair[1])))]  # type: ignore[func-returns-value]
    wishes = wishes_of(brief, items)
    own = {id(wish.sentence) for wish in wishes}
    duties = [
        item
        for item in relevant
        if id(item) not in seen and id(item) not in own and (item.stems & known().duties)
    ]
    money = [
        Fact(_item_name(item), "price", value.text, item, value)
        for item in relevant
        if id(item) not in own and not item.limits
        for value in _costs(brief, item)
    ]
    by_unit: dict[str, list[Fact]] = {}
    for fact in money:
        if fact.value is not None:
            by_unit.setdefault(fact.value.unit, []).append(fact)
    totals = tuple(_total(group) for group in by_unit.values() if len(group) > 1)
    covered = {id(item) for _value, item in dated} | {id(item) for item in duties} | own
    covered |= {id(fact.sentence) for fact in money}
    told = replace(brief, topic=brief.topic.union(*(one.stems for one in brief.attributes)))
    points = list(islice((item for item in _best(told, relevant) if id(item) not in covered), _MOST_POINTS))
    verdicts = []
    for wish in wishes:
        for total in totals:
            whole = Value(0, 0, f"{plain(total.amount)} {total.unit}", "money", total.unit, total.amount)
            if wish.limit is not None and (fits := wish.limit.allows(whole)) is not None:
                verdicts.append(
                    Verdict(
                        "",
                        Fact("", "price", whole.text, total.facts[0].sentence, whole),
                        wish.limit,
                        wish.sentence,
                        fits,
                    )
                )
    everything = [item for item in items if id(item) in covered or item in points]
    missing = [one.name for one in brief.attributes if not _spoken(one, everything)]
    return Findings(
        Goal.PLAN,
        wishes=tuple(wishes),
        verdicts=tuple(verdicts),
        totals=totals,
        dated=tuple(dated),
        duties=tuple(duties[:_MOST_POINTS]),
        points=tuple(points),
        missing=tuple(missing),
        unspoken=_unspoken(brief, relevant) if relevant else (),
    )


def _of_plan(brief: Brief, items: Sequence[Sentence]) -> list[Sentence]:
    """Returns the sentences about what is planned, and those of the same sources that say something asked for
    ("please bring cash", of "what I must bring")."""
    asked = frozenset[str]().union(*(one.stems for one in brief.attributes if one.kind is None))
    sources = {item.evidence.source for item in items if (item.content | item.around) & brief.topic}
    return [
        item
        for item in items
        if (item.content | item.around) & brief.topic
        or (item.evidence.source in sources and item.stems & asked)
    ]


def _costs(brief: Brief, item: Sentence) -> list[Value]:
    """Returns the amount of a sentence that is a part of what is planned: it is about all of it, names one
    amount only (of two offers, one is taken) that is paid once ("£38 a day, so for four days £152"), which is
    no ceiling."""
    found = [one for one in _amounts(item) if not rate_of(item.text, one)]
    if len(found) != 1 or _told(brief.topic, item.told) < len(brief.topic):
        return []
    before = item.text[: found[0].begin].casefold().rstrip()
    unpaid = _is_unpaid(item, found[0], known().unpaid)
    return [] if unpaid or _is_denied(item, found[0]) or before.endswith(known().ceilings) else found


def _spoken(attribute: Attribute, items: Sequence[Sentence]) -> bool:
    dimensions = attribute.kind.dimensions if attribute.kind is not None else frozenset[str]()
    return any(
        item.stems & attribute.spoken
        or any(value.dimension in dimensions for value in item.values)
        or ("date" in dimensions and days_in(item.text))
        for item in items
    )


# --- answers ----------------------------------------------------------------------------------------


def _answer(brief: Brief, items: Sequence[Sentence]) -> Findings:
    # Without subjects for a table, the attributes are words that an answer is about, like all others.
    asked = {stem for one in brief.attributes for stem in one.stems}
    brief = replace(brief, topic=brief.topic | asked)
    points = tuple(islice(_best(brief, items), _MOST_POINTS))
    unspoken = _unspoken(brief, points)
    if not points:
        return Findings(brief.goal, missing=unspoken)
    return Findings(brief.goal, points=points, unspoken=unspoken)


def _unspoken(brief: Brief, items: Sequence[Sentence]) -> tuple[str, ...]:
    """Returns the words of the brief's topic that none of the sentences has. One that only names a kind of
    value, such as "costs", is not among them if they have a value of that kind."""
    spoken = {stem for item in items for stem in item.told | _kinds_of(item) | months_in(item.text)}
    left = {stem for stem in brief.topic if not has(stem, spoken)}
    found = [word for word in dict.fromkeys(words(brief.text)) if root(word) in left]
    return tuple(found[:_MOST_UNSPOKEN])


def _kinds_of(item: Sentence) -> frozenset[str]:
    """Returns the stems that name the kinds of a sentence's values in general: "58 euros" is what something
    costs, but not its rent."""
    dimensions = {value.dimension for value in item.values} - {"count"}
    kinds = [kind.stems for kind in known().kinds.values() if kind.dimensions & dimensions]
    return frozenset().union(*kinds) - known().particular


@dataclass(frozen=True, slots=True)
class _Match:
    """A sentence with the words of the topic that it tells; the best has the highest rank."""

    sentence: Sentence
    told: frozenset[str]
    rank: tuple[float, bool, int]


def _best(brief: Brief, items: Sequence[Sentence]) -> Iterator[Sentence]:
    """Yields the sentences that answer the brief best: in a summary, of each source in turn; otherwise first
    the best, and then one for each word of the topic, so that of three things the third is not left out."""
    matches = _matching(brief, items)
    if brief.goal is Goal.SUMMARY:
        groups: dict[str, list[_Match]] = {}
        for one in matches:
            groups.setdefault(one.sentence.evidence.source, []).append(one)
        ordered = [group[at] for at in range(_MOST_POINTS) for group in groups.values() if at < len(group)]
    else:
        told: set[str] = set()
        first = []
        for one in matches:
            if not one.told <= told:
                first.append(one)
                told |= one.told
        # What tells little beside the best is no answer.
        most = max((len(one.told) for one in matches), default=0)
        ordered = first + [one for one in matches if one not in first and 2 * len(one.told) >= most]
    found: list[Sentence] = []
    for one in ordered:
        if not any(_repeats(one.sentence, other) for other in found):
            found.append(one.sentence)
            yield one.sentence


def _matching(brief: Brief, items: Sequence[Sentence]) -> list[_Match]:
    """Returns the sentences that tell something of the topic, the best first."""
    found = []
    for at, item in enumerate(items):
        own = (item.content | _kinds_of(item) & known().valued | months_in(item.text)) & brief.topic
        told = own | item.around & brief.topic
        if told and (len(item.content) >= 2 or item.values):
            # Of what is said twice, the memory is shown rather than the message that it is from.
            memory = item.evidence.kind is EvidenceKind.MEMORY
            rank = len(told) + 2 * len(own) + 0.3 * bool(item.values)
            found.append(_Match(item, told, (rank, memory, -at)))
    # Of what something costs, the prices of other things tell nothing; they are in passages without its name.
    naming = {one.sentence.evidence.id for one in found if not one.told <= known().valued}
    if naming:
        found = [one for one in found if one.sentence.evidence.id in naming]
    return sorted(found, key=lambda one: one.rank, reverse=True)


def _repeats(item: Sentence, other: Sentence) -> bool:
    """Whether two sentences say the same, but for "remember"."""
    if not item.content ^ other.content <= known().remembering:
        return False
    return [value.text for value in item.values] == [value.text for value in other.values]
