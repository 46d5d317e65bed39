"""Measures tasks on generated rooms with known truth: `python -m benchmarks.tasks`.

Sixty tasks in five kinds (compare, list, add up, find the contradiction, plan within limits), each in a room
of its own with generated documents, memories, and others that have nothing to do with it. The default models
work on them; `--every N` takes only every N-th task.

For each kind it prints: how many tasks ended with a report; how many of the citations called verified stand
in their source letter by letter; which share of the known facts is in the report, in a passage that it cites;
which share of them is in the answer of a single context to the same brief; and the time of this program
compared with that of the models. Bars: all end, all citations true, 90 % of the facts, 25 points more than a
single context, 5 % of the time.
"""

import argparse
import asyncio
import hashlib
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from atlas_desktop.bootstrap import build_host, model_library
from atlas_desktop.parsing.plain import structure
from atlas_desktop.parsing.protocol import parser_of
from atlas_desktop.paths import Paths, find_home
from atlas_desktop.services.models import Model
from atlas_desktop.services.room import RoomFactory, RoomServices
from atlas_desktop.settings.schema import Settings
from memory.clock import SystemClock
from memory.documents.chunking import chunks
from memory.documents.entities import FileFacts, NewDocument, ParsedText
from memory.jobs.foreground_gate import ForegroundGate
from memory.memories.entities import MemoryKind, MemoryOrigin, MemoryState, MemoryTier, NewMemory
from memory.storage.room import open_off_record
from memory.tasks.entities import EvidenceKind, NewTask, Task, TaskState
from memory.vectors.flat import FlatVectorIndex

EACH = 12
NAMES = [
    "Alder",
    "Birch",
    "Cedar",
    "Dorset",
    "Ember",
    "Fjord",
    "Garnet",
    "Harrow",
    "Indigo",
    "Juniper",
    "Kestrel",
    "Larkin",
    "Marlow",
    "Nimbus",
    "Osprey",
    "Pembrook",
    "Quarry",
    "Rowan",
    "Sable",
    "Tamar",
    "Umber",
    "Vesper",
    "Willow",
    "Yarrow",
]
PEOPLE = ["Ines", "Jonas", "Karla", "Liam", "Mona", "Nils", "Olga", "Pavel", "Rosa", "Sven", "Tilda", "Uwe"]
FILLER = (
    "The packaging is made of cardboard and can be recycled.",
    "Most readers asked for a longer text, and here it is.",
    "A second edition of this leaflet is being prepared.",
    "The photographs were taken on a cloudy morning.",
    "Questions are answered by the office during the week.",
    "It has been in the catalogue for some time.",
    "The colour differs slightly from the picture.",
)


@dataclass
class Case:
    """A task with its room: documents by title, what the user said, and the facts that a report must have."""

    kind: str
    brief: str
    documents: list[tuple[str, str]] = field(default_factory=list)
    memories: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)


@dataclass
class Result:
    case: Case
    ended: bool
    true: int
    called: int
    found: int
    alone: int
    own_ms: float
    model_ms: float
    lost: list[str]


# --- rooms ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Thing:
    """Something to compare: its noun, its attributes as a brief names them, and how a text states each."""

    noun: str
    attributes: dict[str, tuple[Callable[[random.Random], str], tuple[str, ...]]]
    limit: str
    limited: str


def _whole(low: int, high: int, unit: str, step: int = 1) -> Callable[[random.Random], str]:
    return lambda rng: f"{rng.randrange(low, high, step)} {unit}"


def _day(rng: random.Random) -> str:
    months = ("March", "April", "May", "June", "September", "October")
    return f"{rng.randrange(1, 28)} {rng.choice(months)} 2027"


PRICE = (
    "The {name} costs {value}.",
    "You pay {value} for the {name}.",
    "Price: {value}",
    "The price of the {name} is {value}.",
)
WEIGHT = ("The {name} weighs {value}.", "Weight: {value}", "With {value}, its weight is about average.")
THINGS = (
    Thing(
        "tent",
        {
            "weight": (_whole(900, 4000, "g", 10), WEIGHT),
            "price": (_whole(80, 600, "euros"), PRICE),
            "height": (
                _whole(90, 210, "cm"),
                ("Inside, its height is {value}.", "Height: {value}", "The {name} is {value} high."),
            ),
        },
        "I want to spend at most {n} euros on a tent.",
        "price",
    ),
    Thing(
        "printer",
        {
            "price": (_whole(60, 400, "euros"), PRICE),
            "warranty": (
                _whole(1, 12, "years"),
                ("The {name} has a warranty of {value}.", "Warranty: {value}"),
            ),
            "weight": (_whole(3, 20, "kg"), WEIGHT),
        },
        "My budget for a printer is {n} euros at most.",
        "price",
    ),
    Thing(
        "course",
        {
            "start date": (
                _day,
                ("The {name} starts on {value}.", "Start: {value}", "It begins on {value}."),
            ),
            "fee": (
                _whole(90, 900, "euros", 5),
                ("The fee is {value}.", "Fee: {value}", "Taking part in the {name} costs {value}."),
            ),
            "duration": (
                _whole(2, 16, "weeks"),
                ("It lasts {value}.", "The {name} takes {value}.", "Duration: {value}"),
            ),
        },
        "I never pay more than {n} euros for a course.",
        "fee",
    ),
    Thing(
        "heater",
        {
            "power": (
                _whole(400, 3000, "watts", 50),
                ("The {name} has a power of {value}.", "Power: {value}", "Its power is {value}."),
            ),
            "price": (_whole(30, 300, "euros"), PRICE),
            "weight": (_whole(2, 15, "kg"), WEIGHT),
        },
        "A heater may cost me no more than {n} euros.",
        "price",
    ),
    Thing(
        "cabin",
        {
            "rent": (
                _whole(300, 1400, "euros", 10),
                ("The rent is {value} a week.", "Rent: {value}", "The {name} is let for {value} a week."),
            ),
            "distance": (
                _whole(2, 40, "km"),
                (
                    "The lake is at a distance of {value}.",
                    "Distance to the lake: {value}",
                    "It is {value} from the lake.",
                ),
            ),
            "beds": (_whole(2, 12, "beds"), ("The {name} has {value}.", "It offers {value}.")),
        },
        "The rent of a cabin must stay under {n} euros.",
        "rent",
    ),
    Thing(
        "kettle",
        {
            "capacity": (
                lambda rng: f"{rng.randrange(8, 25) / 10} litres",
                ("The {name} holds {value}.", "Capacity: {value}", "Its capacity is {value}."),
            ),
            "price": (_whole(15, 120, "euros"), PRICE),
            "boiling time": (
                _whole(2, 12, "minutes"),
                (
                    "It boils the water in {value}.",
                    "Boiling time: {value}",
                    "Boiling takes {value} with the {name}.",
                ),
            ),
        },
        "I spend at most {n} euros on a kettle.",
        "price",
    ),
)


def _filler(rng: random.Random, count: int) -> str:
    return " ".join(rng.choice(FILLER) for _ in range(count))


def _values(rng: random.Random, thing: Thing, names: Sequence[str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {name: {} for name in names}
    for attribute, (make, _styles) in thing.attributes.items():
        used: set[str] = set()
        for name in names:
            value = make(rng)
            while value in used:
                value = make(rng)
            used.add(value)
            found[name][attribute] = value
    return found


def _described(rng: random.Random, thing: Thing, values: dict[str, dict[str, str]]) -> list[tuple[str, str]]:
    """Describes things in documents of one of three layouts: one for each, sections, or a table."""
    layout = rng.choice(("each", "each", "sections", "table"))
    if layout == "table":
        names = list(thing.attributes)
        rows = [f"| {thing.noun} | " + " | ".join(names) + " |", "|" + " --- |" * (len(names) + 1)]
        rows += [
            f"| {name} {thing.noun} | " + " | ".join(own[one] for one in names) + " |"
            for name, own in values.items()
        ]
        return [
            (
                f"Catalogue of {thing.noun}s",
                f"# Catalogue of {thing.noun}s\n\n{_filler(rng, 4)}\n\n" + "\n".join(rows) + "\n",
            )
        ]
    texts = {}
    for name, own in values.items():
        said = [
            rng.choice(thing.attributes[attribute][1]).format(name=f"{name} {thing.noun}", value=value)
            for attribute, value in own.items()
        ]
        rng.shuffle(said)
        parts = []
        for one in said:
            parts += [one, "\n\n" if ":" in one else " ", _filler(rng, 1) + "\n\n"]
        texts[name] = "".join(parts)
    if layout == "sections":
        body = "".join(f"## {name} {thing.noun}\n\n{text}\n" for name, text in texts.items())
        return [(f"All {thing.noun}s", f"# All {thing.noun}s\n\n{_filler(rng, 3)}\n\n{body}")]
    return [
        (f"{name} {thing.noun}", f"# {name} {thing.noun}\n\n{_filler(rng, 2)}\n\n{text}{_filler(rng, 5)}\n")
        for name, text in texts.items()
    ]


def compare(rng: random.Random) -> Case:
    thing = rng.choice(THINGS)
    names = rng.sample(NAMES, rng.randrange(2, 5))
    values = _values(rng, thing, names)
    wanted = list(thing.attributes)
    count = {2: "two", 3: "three", 4: "four"}[len(names)]
    listed = ", ".join(wanted[:-1]) + " and " + wanted[-1]
    prices = sorted(int(values[name][thing.limited].split()[0]) for name in names)
    briefs = (
        f"Compare the {listed} of the {count} {thing.noun}s, and say which one suits me.",
        f"Compare the {count} {thing.noun}s by {listed}. Which one fits what I want?",
        f"I need a comparison of the {thing.noun}s {' and '.join(names)}: {listed}. Which should I take?",
    )
    case = Case("compare", rng.choice(briefs), _described(rng, thing, values))
    case.memories.append(thing.limit.format(n=prices[0] + 1))
    case.facts = [value for own in values.values() for value in own.values()] + [f"{prices[0] + 1} euros"]
    return case


def listing(rng: random.Random) -> Case:
    thing = rng.choice(THINGS)
    names = rng.sample(NAMES, rng.randrange(3, 6))
    values = _values(rng, thing, names)
    wanted = rng.sample(list(thing.attributes), 2)
    briefs = (
        f"List all {thing.noun}s with their {wanted[0]} and {wanted[1]}.",
        f"Make a list of the {thing.noun}s with the {wanted[0]} and the {wanted[1]} of each.",
    )
    case = Case("list", rng.choice(briefs), _described(rng, thing, values))
    case.facts = [own[attribute] for own in values.values() for attribute in wanted]
    return case


def adding(rng: random.Random) -> Case:
    what, others = rng.choice(
        (("boat", "garden"), ("roof", "car"), ("piano", "kitchen"), ("bicycle", "cellar"))
    )
    works = rng.sample(
        ("new rope", "paint", "cleaning", "a survey", "spare parts", "transport", "storage"), 4
    )
    amounts = rng.sample(range(20, 900), 4)
    case = Case(
        "sum",
        rng.choice(
            (
                f"Add up what the repairs of the {what} cost.",
                f"What is the total cost of the {what} repairs?",
                f"How much did the repairs of the {what} cost in total?",
            )
        ),
    )
    said = (
        "{person} billed {amount} euros for {work} in the repairs of the {what}.",
        "For {work}, the repairs of the {what} cost {amount} euros.",
        "The repairs of the {what} came to {amount} euros for {work}, says {person}.",
    )
    for work, amount in zip(works, amounts, strict=True):
        text = rng.choice(said).format(person=rng.choice(PEOPLE), amount=amount, work=work, what=what)
        case.documents.append(
            (f"Invoice {work}", f"# Invoice {work}\n\n{_filler(rng, 2)}\n\n{text}\n\n{_filler(rng, 3)}\n")
        )
    for work in works[:2]:
        text = rng.choice(said).format(
            person=rng.choice(PEOPLE), amount=rng.randrange(20, 900), work=work, what=others
        )
        case.documents.append((f"Bill {work}", f"# Bill {work}\n\n{_filler(rng, 2)}\n\n{text}\n"))
    case.facts = [*(f"{amount} euros" for amount in amounts), f"= {sum(amounts)}"]
    return case


def contradicting(rng: random.Random) -> Case:
    place = rng.choice(("bridge", "harbour", "tunnel", "tower", "museum", "dam"))
    name = rng.choice(NAMES)
    stated = [
        (f"The {name} {place} was opened on {{}}.", _day),
        (f"The {name} {place} cost {{}} million euros.", lambda r: str(r.randrange(3, 90))),
        (f"It took {{}} to build the {name} {place}.", _whole(2, 9, "years")),
        (f"The {name} {place} is {{}} long.", _whole(80, 900, "metres")),
        (f"Every year {{}} people visit the {name} {place}.", lambda r: f"{r.randrange(20, 900)},000"),
        (f"The {name} {place} is closed for {{}} in winter.", _whole(2, 12, "weeks")),
    ]
    wrong = set(rng.sample(range(len(stated)), 2))
    first, second, facts = [], [], []
    for number, (text, make) in enumerate(stated):
        value = make(rng)
        first.append(text.format(value))
        other = value
        while number in wrong and other == value:
            other = make(rng)
        second.append(text.format(other))
        if number in wrong:
            facts += [value, other]
    rng.shuffle(second)
    case = Case(
        "contradiction",
        rng.choice(
            (
                f"Find where the two reports on the {name} {place} contradict each other.",
                f"Do the reports on the {name} {place} contradict each other? Where?",
                f"Which statements about the {name} {place} are inconsistent?",
            )
        ),
        facts=facts,
    )
    for title, said in (
        (f"Report of the city on the {name} {place}", first),
        (f"Report of the club on the {name} {place}", second),
    ):
        body = " ".join(f"{one} {_filler(rng, 1)}" for one in said)
        case.documents.append((title, f"# {title}\n\n{body}\n"))
    return case


def planning(rng: random.Random) -> Case:
    place = rng.choice(("Lofoten", "Bornholm", "Madeira", "Skye", "Gotland", "Corsica"))
    days = sorted(rng.sample(range(1, 28), 3))
    month = rng.choice(("May", "June", "July"))
    costs = rng.sample(range(40, 500, 5), 2)
    limit = sum(costs) + rng.choice((-20, 60))
    case = Case(
        "plan",
        rng.choice(
            (
                f"Plan the trip to {place}: dates, costs and what I must bring, within my budget.",
                f"Prepare my trip to {place}. I need the dates, the costs and what is required.",
            )
        ),
    )
    ferry = (
        f"{_filler(rng, 2)} The ferry to {place} leaves on {days[0]} {month} 2027. The ferry to "
        f"{place} costs {costs[0]} euros. Seats on it must be booked by {days[0]} April 2027."
        f"\n\n{_filler(rng, 3)}"
    )
    house = (
        f"The house on {place} is free from {days[1]} {month} 2027. The house costs {costs[1]} euros. "
        f"You must bring your own towels. {_filler(rng, 4)}"
    )
    walks = (
        f"{_filler(rng, 3)} The guided walk on {place} is on {days[2]} {month} 2027. A rain jacket is "
        f"required for the walk on {place}."
    )
    titled = ((f"Ferry to {place}", ferry), (f"House on {place}", house), (f"Walks on {place}", walks))
    case.documents = [(title, f"# {title}\n\n{text}\n") for title, text in titled]
    case.memories = [f"My budget for the trip to {place} is {limit} euros at most."]
    case.facts = [
        f"{days[0]} {month} 2027",
        f"{days[1]} {month} 2027",
        f"{days[2]} {month} 2027",
        f"{days[0]} April 2027",
        *(f"{cost} euros" for cost in costs),
        "towels",
        "rain jacket",
        f"{limit} euros",
    ]
    return case


def cases(seed: int = 7) -> list[Case]:
    """Returns the tasks, every kind in turn; each room also has documents and memories of other subjects."""
    rng = random.Random(seed)
    found = [make(rng) for _ in range(EACH) for make in (compare, listing, adding, contradicting, planning)]
    for case in found:
        other = rng.choice([thing for thing in THINGS if thing.noun not in case.brief])
        names = rng.sample(NAMES, 2)
        if not any(name in case.brief for name in names):
            case.documents += [
                (f"About the {name} {other.noun}", f"# About the {name} {other.noun}\n\n{_filler(rng, 8)}\n")
                for name in names
            ]
        case.memories += [
            f"{rng.choice(PEOPLE)} likes tea with {rng.randrange(2, 5)} spoons of sugar.",
            "I sleep until 9 on Sundays.",
        ]
    return found


# --- running ----------------------------------------------------------------------------------------


async def furnish(room: RoomServices, case: Case) -> None:
    new = []
    for title, text in case.documents:
        headings, tables = structure(text)
        parsed = ParsedText(text, headings=headings, tables=tables, title=title)
        data = text.encode()
        path = f"/bench/{hashlib.sha256(data).hexdigest()[:12]}.md"
        new.append(
            NewDocument(
                path,
                FileFacts(path, len(data), 1),
                hashlib.sha256(data).hexdigest(),
                "text/markdown",
                parser_of("text/markdown"),
                title,
                parsed,
                tuple(chunks(parsed, "text/markdown")),
            )
        )
    await room.store.documents.put(new)
    for text in case.memories:
        await room.store.memories.add(
            NewMemory(
                MemoryKind.PREFERENCE,
                text,
                MemoryOrigin.PERSON,
                tier=MemoryTier.LONG_TERM,
                state=MemoryState.KEPT,
            )
        )
    await room.remember()
    await room.background.run()


async def measured(room: RoomServices, case: Case) -> tuple[Result, Task]:
    await furnish(room, case)
    task = await room.tasks.create(NewTask(case.brief, baseline=True))
    began = time.perf_counter()
    task = await room.tasks.run(task.id)
    took = 1000 * (time.perf_counter() - began)
    assert task.baseline is not None
    called = [one for one in task.report.citations if one.verified] if task.report is not None else []
    true = 0
    for one in called:
        if one.kind in (EvidenceKind.DOCUMENT, EvidenceKind.NOTE):
            text = await room.store.documents.text(one.source) or ""
        else:
            text = (await room.store.memories.get_many([one.source]))[0].text
        true += text[one.begin : one.end] == one.quote
    report = task.report.text if task.report is not None else ""
    quotes = " ".join(one.quote for one in called)
    lost = [
        fact for fact in case.facts if not (_in(fact, report) and (fact.startswith("=") or _in(fact, quotes)))
    ]
    alone = sum(_in(fact.removeprefix("= "), task.baseline.text) for fact in case.facts)
    model_ms = sum(step.model_ms for step in task.steps)
    own_ms = took - model_ms - 1000 * task.baseline.seconds
    ended = task.state in (TaskState.DONE, TaskState.WAITING) and task.report is not None
    return Result(
        case, ended, true, len(called), len(case.facts) - len(lost), alone, own_ms, model_ms, lost
    ), task


def _in(fact: str, text: str) -> bool:
    # A total is written with separators of thousands.
    fact, text = (re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", one) for one in (fact, text))
    pattern = re.escape(fact).replace(r"=\ ", r"=\W*")
    return re.search(rf"(?<![\w.,]){pattern}(?!\w)" if fact[0].isdigit() else pattern, text) is not None


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:6.1f} %" if whole else "     –  "


def told(name: str, found: Sequence[Result]) -> str:
    facts = sum(len(one.case.facts) for one in found)
    model = sum(one.model_ms for one in found)
    return (
        f"{name:<14}{len(found):>4}  ended {_share(sum(one.ended for one in found), len(found))}"
        f"  citations true {_share(sum(one.true for one in found), sum(one.called for one in found))}"
        f"  facts {_share(sum(one.found for one in found), facts)}"
        f"  single context {_share(sum(one.alone for one in found), facts)}"
        f"  own time {_share(sum(one.own_ms for one in found), model)} of {model / 1000 / len(found):.1f} s"
    )


async def main(every: int, *, show: bool) -> None:
    paths, clock = Paths(find_home(None)), SystemClock()
    settings = Settings()
    library = model_library(paths)
    host = build_host(paths, library, settings)
    results: list[Result] = []
    try:
        await host.info()

        async def close() -> None:
            """The host is closed at the end."""

        model = Model(host, host, close, embedder=host)
        factory = RoomFactory(
            clock, ForegroundGate(), None, lambda: model, lambda: settings, lambda _count: FlatVectorIndex()
        )
        for number, case in enumerate(cases()[::every], 1):
            store = await open_off_record(clock)
            room = factory.room(store, None)
            try:
                result, task = await measured(room, case)
            finally:
                await room.close()
            results.append(result)
            print(
                f"{number:>3} {case.kind:<14} {result.found}/{len(case.facts)} {task.state}",
                f"lost {result.lost}",
                flush=True,
            )
            if show and result.lost:
                print(case.brief, task.report.text if task.report is not None else "-", sep="\n")
    finally:
        await host.close()
    for kind in dict.fromkeys(one.case.kind for one in results):
        print(told(kind, [one for one in results if one.case.kind == kind]))
    print(told("all", results))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="take every N-th task only")
    parser.add_argument("--show", action="store_true", help="print the reports that lost a fact")
    return parser.parse_args()


if __name__ == "__main__":
    given = _arguments()
    asyncio.run(main(given.every, show=given.show))
