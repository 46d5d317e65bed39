"""The numbers in a reply lead to the passages that they cite, and nothing else is a link."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from atlas_desktop.tui.chat.markdown import CitingParser, citation_at, meant
from atlas_desktop.tui.chat.message import CitationLinks
from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.documents.reader import ReaderScreen
from memory.documents.entities import CitedReply, StoredCitation
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, NamedModel, Stage, talk
from tests.tui.driving import assert_until, chat, on, say, settle, shown
from tests.tui.shelves import cite, library

Make = Callable[..., Stage]
EIGHT = "The ferry leaves Bodø at eight"
WINTER = "In winter there is one ferry a day, at ten."


def citation(marker: int, quote: str = "", *, verified: bool = True) -> StoredCitation:
    return StoredCitation(marker, "d", "Ferries", None, (1, 1), 0, 9, quote, verified, "00")


def links(text: str, citations: Sequence[StoredCitation]) -> list[tuple[str, str]]:
    """What a reply shows as links, and where they lead."""
    parser = CitingParser()
    parser.cited = CitedReply(tuple(citations))
    found: list[tuple[str, str]] = []
    href: str | None = None
    for token in parser().parse(text):
        for child in token.children or ():
            if child.type == "link_open":
                href = str(child.attrs["href"])
                found.append(("", href))
            elif child.type == "link_close":
                href = None
            elif href is not None:
                found[-1] = (found[-1][0] + child.content, href)
    return found


TWO = (citation(1, EIGHT), citation(2, "It never leaves", verified=False))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("At eight [1].", [("[1]", "citation:0")]),
        ("It never leaves [2].", [("[2]✗", "citation:1")]),
        ("Both [1, 2].", [("1", "citation:0"), ("2✗", "citation:1")]),
        ("Both [1][2].", [("[1]", "citation:0"), ("[2]✗", "citation:1")]),
        ("One of them [1, 7].", [("1", "citation:0")]),
        ("**Bold [1]**", [("[1]", "citation:0")]),
        ("| a | b |\n|---|---|\n| x [1] | y |", [("[1]", "citation:0")]),
        ("- a list [1]", [("[1]", "citation:0")]),
        ("Nothing has that number [3].", []),
        ("Code: `a[1]`", []),
        ("```\na[1]\n```", []),
        ("    a[1]", []),
        ("[1](https://example.org)", []),
        ("[1]\n\n[1]: https://example.org", []),
        ("[click](citation:0) <citation:0>", []),
        ("![1](citation:0)", []),
    ],
)
def test_only_the_numbers_of_citations_are_links(text: str, expected: list[tuple[str, str]]) -> None:
    assert links(text, TWO) == expected


@given(
    st.lists(st.sampled_from(["[1]", "[2, 1]", "`", "```\n", "[x](citation:0)", "](", "a ", "\n", "|", "*"]))
)
def test_whatever_a_reply_contains_its_links_lead_to_its_own_citations(parts: list[str]) -> None:
    for _text, href in links("".join(parts), TWO):
        assert citation_at(href, TWO) in TWO


@pytest.mark.parametrize(
    "href", ["", "citation:", "citation:2", "citation:-1", "citation:²", "https://x", "0"]
)
def test_other_addresses_lead_nowhere(href: str) -> None:
    assert citation_at(href, TWO) is None


def test_a_number_that_is_cited_twice_means_what_its_sentence_says() -> None:
    own = (
        citation(1, EIGHT),
        citation(1, WINTER),
        citation(1, "It is free of charge.", verified=False),
    )
    assert meant(1, "At eight the ferry leaves Bodø", own) == 0
    assert meant(1, "There is one a day in winter", own) == 1
    assert meant(1, "It is *free* of charge.", own) == 2
    assert meant(1, "", own) == 0
    assert meant(2, "At eight", own) is None
    told = "At eight the ferry leaves Bodø [1]. It is free of charge [1]. In winter there is one a day [1]."
    assert [href for _text, href in links(told, own)] == ["citation:0", "citation:2", "citation:1"]


def test_a_number_in_front_belongs_to_what_follows_it() -> None:
    own = (citation(1, EIGHT), citation(1, WINTER))
    assert links("[1] In winter there is one ferry.", own) == [("[1]", "citation:1")]


def texts(text: str, cited: CitedReply) -> str:
    """What a reply shows as text."""
    parser = CitingParser()
    parser.cited = cited
    tokens = [child for token in parser().parse(text) for child in token.children or [token]]
    return "".join(token.content for token in tokens)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("At eight [1]. At nine [5], at ten [0].", "At eight [1]. At nine [5]✗, at ten [0]✗."),
        ("Both [1, 7].", "Both [1, 7✗]."),
        ("A passage that supports nothing here [3].", "A passage that supports nothing here [3]."),
        ("`list[5]`", "list[5]"),
        ("```\nlist[5]\n```", "list[5]\n"),
    ],
)
def test_numbers_that_name_no_passage_are_marked(text: str, expected: str) -> None:
    assert texts(text, CitedReply(TWO, last_passage=4)) == expected
    assert texts(text, CitedReply(unsupported=((0, 9),), last_passage=4)).count("✗") == expected.count("✗")


@pytest.mark.parametrize("cited", [CitedReply(), CitedReply(unsupported=((0, 9),)), CitedReply(TWO)])
def test_without_known_passages_no_number_is_marked(cited: CitedReply) -> None:
    assert texts("In list[5] and [9].", cited) == "In list[5] and [9]."


# --- in the conversation ------------------------------------------------------------------------------


REPLY = "At eight [1]. Or never [2]. See `x[1]` and [this](citation:0)."


async def told(store: InMemoryStore, reply: str = REPLY) -> tuple[str, str]:
    """A conversation whose reply cites a document twice, once without finding the quotation in it."""
    ids = await library(store)
    session = await talk(store, "When?", [("When does it leave?", reply)])
    await store.documents.bind(session.id, [ids["ferries"]])
    message = (await store.branch(session.id))[-1]
    quotes = [(EIGHT, True), ("Or never", False)]
    await cite(store, message.id, session.id, ids["ferries"], quotes)
    return session.id, ids["ferries"]


async def click(pilot: Pilot[None], place: Stage, words: str, *, at: int = 1) -> None:
    """Clicks on a character of some words on the screen."""
    row, line = next((y, text) for y, text in enumerate(shown(place).split("\n")) if words in text)
    await pilot.click(offset=(line.index(words) + at, row))
    await settle(pilot)


async def test_a_click_on_a_number_opens_the_reader_at_the_passage(make: Make) -> None:
    store = InMemoryStore(FakeClock(NOW))
    session, _document = await told(store)
    place = make(store=store, resume=session)
    async with place.app.run_test(size=(120, 40)) as pilot:
        await assert_until(pilot, lambda: "At eight [1]. Or never [2]✗." in shown(place))
        await settle(pilot)
        await click(pilot, place, "[1]. Or")
        await assert_until(
            pilot, lambda: on(place.app, ReaderScreen) and "▌ The ferry leaves Bodø at eight" in shown(place)
        )
        await pilot.press("escape")
        await assert_until(pilot, lambda: on(place.app, ChatScreen))
        await click(pilot, place, "[2]✗")
        await assert_until(pilot, lambda: on(place.app, ReaderScreen))


async def test_a_number_in_a_table_opens_the_reader_too(make: Make) -> None:
    store = InMemoryStore(FakeClock(NOW))
    session, _document = await told(
        store, "| When | Sure |\n|---|---|\n| At eight [1] | yes |\n\nOr never [2]."
    )
    place = make(store=store, resume=session)
    async with place.app.run_test(size=(120, 40)) as pilot:
        await assert_until(pilot, lambda: "At eight [1] │ yes" in shown(place))
        await settle(pilot)
        await click(pilot, place, "[1] │ yes")
        await assert_until(
            pilot, lambda: on(place.app, ReaderScreen) and "▌ The ferry leaves Bodø at eight" in shown(place)
        )


async def test_code_and_links_of_the_model_open_nothing(make: Make) -> None:
    store = InMemoryStore(FakeClock(NOW))
    session, _document = await told(store)
    place = make(store=store, resume=session)
    async with place.app.run_test(size=(120, 40)) as pilot:
        await assert_until(pilot, lambda: "x[1] and this (citation:0)" in shown(place))
        await settle(pilot)
        await click(pilot, place, "x[1]", at=2)
        await click(pilot, place, "this (citation:0)", at=2)
        await click(pilot, place, "this (citation:0)", at=8)
        assert on(place.app, ChatScreen)


async def test_tab_goes_to_the_sources_as_before(make: Make) -> None:
    store = InMemoryStore(FakeClock(NOW))
    session, _document = await told(store)
    place = make(store=store, resume=session)
    async with place.app.run_test(size=(120, 40)) as pilot:
        await assert_until(pilot, lambda: "Or never [2]✗." in shown(place))
        await settle(pilot)
        assert f"✓ [1] Ferries of the north, line 5  “{EIGHT}”" in shown(place)
        await pilot.press("alt+up", "tab")
        await assert_until(pilot, lambda: isinstance(place.app.focused, CitationLinks))
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, ReaderScreen))


@pytest.mark.parametrize("resumed", [False, True])
async def test_an_invented_number_is_marked_when_the_reply_is_complete(make: Make, *, resumed: bool) -> None:
    store = InMemoryStore(FakeClock(NOW))
    ids = await library(store)
    session = await talk(store, "Ferries", [("Hello", "See list[5].")])
    await store.documents.bind(session.id, [ids["ferries"]])
    said = "The ferry leaves Bodø at eight [1]. It has a cinema on board [9]."
    place = make(store=store, resume=session.id, model=NamedModel([said]))
    async with place.app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await say(pilot, "When does the ferry leave Bodø?")
        marked = "at eight [1]. It has a cinema on board [9]✗."
        await assert_until(pilot, lambda: marked in shown(place))
        if not resumed:
            assert "See list[5]." in shown(place)
            return
    place = make(store=store, resume=session.id)
    async with place.app.run_test(size=(120, 40)) as pilot:
        await assert_until(pilot, lambda: marked in shown(place) and "See list[5]." in shown(place))


async def test_a_new_reply_has_links_when_it_is_complete(make: Make) -> None:
    store = InMemoryStore(FakeClock(NOW))
    ids = await library(store)
    session = await talk(store, "Ferries", [("Hello", "Hello.")])
    await store.documents.bind(session.id, [ids["ferries"]])
    place = make(store=store, resume=session.id, model=NamedModel(["The ferry leaves Bodø at eight [1]."]))
    async with place.app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await say(pilot, "When does the ferry leave Bodø?")
        await assert_until(pilot, lambda: "✓ [1] Ferries of the north" in shown(place))
        await settle(pilot)
        assert chat(place.app).transcript.blocks[-1].sources is not None
        await click(pilot, place, "eight [1].", at=7)
        await assert_until(pilot, lambda: on(place.app, ReaderScreen) and "▌" in shown(place))
