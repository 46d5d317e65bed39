"""Measures how well the support of replies is recognised: `python -m benchmarks.citations [CASES]`.

Makes passages of made-up reports, and sentences about them of which the truth is known. Some are supported:
in the words of the passage, shortened, reordered, with numbers and dates written differently, paraphrased or
quoted. Others have a changed number, date, name or unit, are negated, say the opposite, are invented in part
or in whole, are misquoted, or have the marker of another passage. Prints how many of each kind were called
supported, and the same of the sentences in citations.toml, which are written by hand, and of those in
citations_hard.toml, which are made to mislead; `--show` lists those that it gets wrong.
"""

import random
import sys
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memory.documents.citations import Cited, Passage, SourceKind, cite

CASES = 500
SUPPORTED = ("verbatim", "shortened", "reordered", "rewritten", "paraphrased", "quoted", "two sentences")
FALSE = (
    "number changed", "number of another", "date changed", "unit changed", "name swapped", "name invented",
    "negated", "opposite", "part invented", "invented", "misquoted",
)  # fmt: skip
WRONG_MARKER = "wrong marker"
NAMES = ("Ada", "Bob", "Clara", "Dmitri", "Elena", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Kenji", "Lena")
SURNAMES = ("Berg", "Castillo", "Dubois", "Eriksen", "Fontana", "Grün", "Hansen", "Ito", "Jansen", "Keller")
PLACES = ("Oslo", "Lyon", "Porto", "Graz", "Turin", "Bergen", "Ghent", "Malaga")
PRODUCTS = (
    "Kestrel pump",
    "Heron valve",
    "Osprey sensor",
    "Merlin controller",
    "Plover gateway",
    "Avocet filter",
)
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
)


@dataclass(frozen=True, slots=True)
class Case:
    """A reply of one sentence. `source` is the marker of the passage that supports it, None if none does."""

    kind: str
    reply: str
    passages: tuple[Passage, ...]
    source: int | None


@dataclass(frozen=True, slots=True)
class Report:
    """The facts of one passage."""

    name: str
    other: str
    product: str
    place: str
    town: str
    revenue: int
    before: int
    costs: int
    pressure: int
    staff: int
    day: int
    month: int
    year: int
    days: int

    @property
    def date(self) -> str:
        return f"{self.day} {MONTHS[self.month - 1]} {self.year}"

    @property
    def sentences(self) -> tuple[str, ...]:
        product = self.product
        money = f"rose from {self.before:,} to {self.revenue:,} euros, while costs were {self.costs:,} euros"
        return (
            f"{self.name} designed the {product} in {self.place} and {self.other} tested it in {self.town}.",
            f"The {product} runs at a pressure of {self.pressure} bar and is cleaned every week.",
            f"Revenue from the {product} {money}.",
            f"The factory in {self.place} opened on {self.date} and employs {self.staff} people.",
            f"It delivers spare parts for the {product} to workshops across the region.",
            f"Customers must report damage within {self.days} days after delivery.",
        )


class Generator:
    """Makes cases; the same seed makes the same ones."""

    def __init__(self, seed: int = 11) -> None:
        self._random = random.Random(seed)

    def cases(self, count: int) -> list[Case]:
        kinds = (*SUPPORTED, *FALSE, WRONG_MARKER)
        return [self.case(kinds[number % len(kinds)]) for number in range(count)]

    def case(self, kind: str) -> Case:
        chance = self._random
        products = chance.sample(PRODUCTS, 3)
        days, pressures = chance.sample(range(5, 25), 3), chance.sample(range(30, 60), 3)
        reports = [self._report(*facts) for facts in zip(products, days, pressures, strict=True)]
        passages = tuple(self._passage(marker, report) for marker, report in enumerate(reports, 1))
        at = chance.randrange(3)
        text = self._text(kind, reports[at])
        marker = at + 1
        if kind == WRONG_MARKER:
            marker = marker % 3 + 1
        # A third of the replies carries no marker: small models often forget it.
        marked = kind == WRONG_MARKER or chance.random() < 2 / 3
        reply = chance.choice((f"{text[:-1]} [{marker}].", f"{text} [{marker}]")) if marked else text
        return Case(kind, reply, passages, None if kind in FALSE else at + 1)

    def _report(self, product: str, days: int, pressure: int) -> Report:
        chance = self._random
        first, second = chance.sample(NAMES, 2)
        place, town = chance.sample(PLACES, 2)
        before, revenue, costs = chance.sample(range(1_000, 90_000), 3)
        return Report(
            name=f"{first} {chance.choice(SURNAMES)}",
            other=f"{second} {chance.choice(SURNAMES)}",
            product=product,
            place=place,
            town=town,
            revenue=max(before, revenue),
            before=min(before, revenue),
            costs=costs,
            pressure=pressure,
            staff=chance.randint(120, 990),
            day=chance.randint(1, 28),
            month=chance.randint(1, 11),
            year=chance.randint(1990, 2025),
            days=days,
        )

    def _passage(self, marker: int, report: Report) -> Passage:
        text = report.sentences[0] + self._random.choice((" ", "\n", "\n\n")) + " ".join(report.sentences[1:])
        begin = self._random.randrange(5_000)
        return Passage(
            marker=marker,
            kind=SourceKind.DOCUMENT,
            document=f"d{marker}",
            title=f"Report {marker}",
            page=marker,
            lines=(marker, marker + text.count("\n")),
            begin=begin,
            end=begin + len(text),
            text=text,
            heading=("Products", report.product) if self._random.random() < 0.5 else (),
        )

    def _text(self, kind: str, report: Report) -> str:
        chance = self._random
        made = self._supported(kind, report) if kind in SUPPORTED else self._false(kind, report)
        if kind == WRONG_MARKER:
            made = [report.sentences[chance.choice((0, 1, 2, 3))]]
        return chance.choice(made)

    def _supported(self, kind: str, r: Report) -> list[str]:
        month, iso = MONTHS[r.month - 1], f"{r.year}-{r.month:02}-{r.day:02}"
        return {
            "verbatim": list(r.sentences),
            "shortened": [
                f"{r.name} designed the {r.product}.",
                f"{r.other} tested the {r.product} in {r.town}.",
                f"The pressure of the {r.product} is {r.pressure} bar.",
                f"The costs of the {r.product} were {r.costs:,} euros.",
                f"The factory in {r.place} employs {r.staff} people.",
                f"The factory opened on {r.date}.",
            ],
            "reordered": [
                f"The {r.product} was designed in {r.place} by {r.name}.",
                f"In {r.town}, {r.other} tested the {r.product}.",
                f"On {r.date} the factory in {r.place} opened.",
                f"Within {r.days} days after delivery, customers must report damage.",
                f"With {r.staff} people, the factory in {r.place} opened on {r.date}.",
            ],
            "rewritten": [
                f"Revenue from the {r.product} rose to {r.revenue} euros.",
                f"The factory in {r.place} opened on {iso}.",
                f"The factory in {r.place} opened on {month} {r.day}, {r.year}.",
                f"The factory in {r.place} opened in {month} {r.year}.",
                f"Costs were €{r.costs:,}, and revenue rose to €{r.revenue:,}.",
            ],
            "paraphrased": [
                f"The designer of the {r.product} is {r.name}.",
                f"Testing of the {r.product} by {r.other} took place in {r.town}.",
                f"The {r.product} needs a pressure of {r.pressure} bar to run.",
                f"Around {r.staff} people are employed by the factory in {r.place}.",
                f"Damage has to be reported by customers within {r.days} days.",
                f"Every week the {r.product} has to be cleaned.",
            ],
            "quoted": [
                f'The report says that it "runs at a pressure of {r.pressure} bar".',
                f"The {r.product} “is cleaned every week”.",
                f'{r.name} "designed the {r.product} in {r.place}".',
            ],
            "two sentences": [
                f"The {r.product} runs at {r.pressure} bar and its revenue rose to {r.revenue:,} euros.",
                f"The factory in {r.place} employs {r.staff} people and delivers spare parts to workshops.",
            ],
        }[kind]  # fmt: skip

    def _false(self, kind: str, r: Report) -> list[str]:
        number = self._other_number()
        stranger = f"{self._other(NAMES, r.name, r.other)} {self._random.choice(SURNAMES)}"
        return {
            WRONG_MARKER: [""],
            "number changed": [
                f"The {r.product} runs at a pressure of {number} bar.",
                f"Revenue from the {r.product} rose to {_swapped(r.revenue):,} euros.",
                f"The factory in {r.place} employs {_swapped(r.staff)} people.",
                f"Costs were {r.costs + 1} euros.",
                f"Customers must report damage within {number} days.",
            ],
            "number of another": [
                f"The costs of the {r.product} were {r.revenue:,} euros.",
                f"Revenue from the {r.product} rose to {r.costs:,} euros.",
                f"The factory in {r.place} employs {r.pressure} people.",
                f"Revenue rose from {r.revenue:,} to {r.before:,} euros.",
                f"The {r.product} runs at a pressure of {r.staff} bar.",
            ],
            "date changed": [
                f"The factory in {r.place} opened on {r.day % 28 + 1} {MONTHS[r.month - 1]} {r.year}.",
                f"The factory in {r.place} opened on {r.year}-{r.month % 11 + 1:02}-{r.day:02}.",
                f"The factory in {r.place} opened in {r.year + 1}.",
                f"The factory in {r.place} opened in {MONTHS[r.month % 11]} {r.year}.",
            ],
            "unit changed": [
                f"The {r.product} runs at a pressure of {r.pressure} psi.",
                f"Costs of the {r.product} were {r.costs:,} dollars.",
                f"Customers must report damage within {r.days} weeks after delivery.",
            ],
            "name swapped": [
                f"{r.other} designed the {r.product}.",
                f"{r.name} tested the {r.product} in {r.town}.",
                f"The {r.product} was designed by {r.other} in {r.place}.",
                f"The factory in {r.town} employs {r.staff} people.",
            ],
            "name invented": [
                f"{stranger} designed the {r.product}.",
                f"The {r.product} was tested by {stranger}.",
                f"The factory in {self._other(PLACES, r.place, r.town)} employs {r.staff} people.",
            ],
            "negated": [
                f"The {r.product} is not cleaned every week.",
                f"{r.name} did not design the {r.product}.",
                f"Customers don't have to report damage within {r.days} days after delivery.",
                f"The factory in {r.place} never opened on {r.date}.",
            ],
            "opposite": [
                f"Revenue from the {r.product} fell from {r.before:,} to {r.revenue:,} euros.",
                f"The factory in {r.place} closed on {r.date}.",
                f"Customers must report damage within {r.days} days before delivery.",
            ],
            "part invented": [
                f"The {r.product} runs at {r.pressure} bar and has won three design awards in Japan.",
                f"{r.name} designed the {r.product} and later moved to a rival company.",
                f"The factory in {r.place} employs {r.staff} people, most of whom work at night.",
                f"The {r.product} is cleaned every week with a mild citric acid solution.",
            ],
            "invented": [
                f"The {r.product} is painted bright yellow.",
                "The board plans to sell its shipping division next spring.",
                f"{r.name} holds a doctorate in marine biology.",
                "Rivers freeze earlier in the northern valleys.",
                f"The warranty of the {r.product} covers accidental breakage.",
            ],
            "misquoted": [
                f'The report says that it "runs at a pressure of {number} bar".',
                f"The {r.product} “is cleaned every single week”.",
                f'{r.other} "designed the {r.product}".',
            ],
        }[kind]  # fmt: skip

    def _other(self, among: tuple[str, ...], *used: str) -> str:
        return self._random.choice([one for one in among if not any(one in name for name in used)])

    def _other_number(self) -> int:
        """Returns a number that is in no passage."""
        return self._random.randint(60, 99)


def written_cases(name: str = "citations") -> list[Case]:
    """Returns the cases that are written by hand in a file. Half of them have a marker."""
    found = []
    for entry in tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text("utf-8"))["passages"]:
        text = entry["text"]
        title = entry.get("title", "")
        passage = Passage(1, SourceKind.DOCUMENT, "d1", title, None, None, 0, len(text), text)
        for source, kind in ((1, "supported"), (None, "unsupported")):
            for number, sentence in enumerate(entry[kind]):
                reply = f"{sentence} [1]" if number % 2 else sentence
                found.append(Case(kind, reply, (passage,), source))
    return found


def _swapped(number: int) -> int:
    """Returns the number with two neighbouring digits swapped, as in 417 and 471."""
    digits = str(number)
    for at in range(len(digits) - 1, 0, -1):
        changed = digits[: at - 1] + digits[at] + digits[at - 1] + digits[at + 1 :]
        if changed != digits and changed[0] != "0":
            return int(changed)
    return number + 1


def is_literal(case: Case, cited: Cited) -> bool:
    """Returns whether each verified quotation is the text of its passage at its range."""
    passages = {passage.marker: passage for passage in case.passages}
    for citation in cited.citations:
        passage = passages[citation.marker]
        text = passage.text[citation.begin - passage.begin : citation.end - passage.begin]
        if citation.verified and text != citation.quote:
            return False
    return True


def is_supported(case: Case, cited: Cited) -> bool:
    """Returns whether the reply's sentence counts as supported, by the right passage where there is one."""
    markers = {citation.marker for citation in cited.citations if citation.verified}
    return not cited.unsupported and bool(markers) and case.source in {None, *markers}


def report(cases: Sequence[Case], *, show: bool = True) -> None:
    total: Counter[str] = Counter()
    supported: Counter[str] = Counter()
    literal = 0
    for case in cases:
        cited = cite(case.reply, case.passages)
        total[case.kind] += 1
        literal += is_literal(case, cited)
        supported[case.kind] += is_supported(case, cited)
        if show and is_supported(case, cited) != (case.source is not None):
            print(f"  wrong ({case.kind}): {case.reply}")
    for kind, count in total.items():
        print(f"{kind:18} {supported[kind]:4} of {count:4} called supported")
    true = {case.kind for case in cases if case.source is not None}
    found = sum(supported[kind] for kind in true) / sum(total[kind] for kind in true)
    false = total.keys() - true
    wrongly = sum(supported[kind] for kind in false) / sum(total[kind] for kind in false)
    print(f"literal quotations {literal / len(cases):.1%}; supported and found {found:.1%}; ", end="")
    print(f"unsupported and not called supported {1 - wrongly:.1%}")


def main() -> None:
    given = [one for one in sys.argv[1:] if one != "--show"]
    report(Generator().cases(int(given[0]) if given else CASES))
    print()
    report(written_cases())
    print("\nMade to mislead:")
    report(written_cases("citations_hard"), show="--show" in sys.argv)


if __name__ == "__main__":
    main()
