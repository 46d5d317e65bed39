"""What every session store finds by the language of queries."""

import random
from dataclasses import dataclass
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.attachments import NewAttachment
from memory.entities import Message, MessagePatch, MessageStatus, NewSession, Session, SessionPatch
from memory.errors import QueryUnclear, SavedSearchNotFound
from memory.organising import MarksPatch
from memory.search.entities import (
    All,
    AnyOf,
    Condition,
    Has,
    Is,
    Mark,
    Named,
    Not,
    Order,
    Query,
    SaidBy,
    Words,
)
from memory.search.language import parse
from memory.storage.store import Store
from tests.contract.talk import assistant, begin, user
from tests.fakes.clock import FakeClock

NOW = FakeClock().now()


def query(text: str) -> Query:
    return parse(text, NOW)


async def found(store: Store, text: str, *, order: Order = Order.RECENT) -> list[str]:
    """Titles of the sessions that are found."""
    return [hit.session.title for hit in (await store.find.sessions(query(text), order=order)).hits]


async def said(store: Store, text: str) -> set[str]:
    """Texts of the messages that are found."""
    return {hit.message.content for hit in (await store.find.messages(query(text))).hits}


@pytest.fixture
async def zoo(store: Store) -> Store:
    """Three sessions about animals: Foxes, Dogs, Cats, in the order of their use."""
    fox, _ = await begin(store, "a quick brown fox", title="Foxes")
    await store.append_message(fox.id, assistant("foxes dig, ```dig()```"))
    dog, _ = await begin(store, "the lazy dog sleeps", title="Dogs")
    await store.append_message(dog.id, assistant("half a d", MessageStatus.PARTIAL))
    cat, _ = await store.create_session(
        NewSession("Cats", project="Home life", model="Llama-3.2-1B"), user("a brown cat and a dog")
    )
    await store.organising.apply([fox.id], MarksPatch(starred=True, add_tags=("Wild things",)))
    await store.organising.apply([dog.id], MarksPatch(add_tags=("tame",)))
    await store.organising.apply([cat.id], MarksPatch(add_tags=("tame",)))
    return store


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("brown", ["Cats", "Foxes"]),
        ("brown dog", ["Cats"]),
        ('"brown fox"', ["Foxes"]),
        ('"fox brown"', []),
        ("bro* ca*", ["Cats"]),
        ("dog -brown", ["Dogs"]),
        ("-brown", ["Dogs"]),
        ("-(brown OR dog)", []),
        ("fox OR cat", ["Cats", "Foxes"]),
        ("dog (brown OR lazy)", ["Cats", "Dogs"]),
        ("(quick fox) OR lazy", ["Dogs", "Foxes"]),
        ("FOX", ["Foxes"]),
        ("oxes", ["Foxes"]),
        ("lazy fox", []),
        ("tag:tame", ["Cats", "Dogs"]),
        ('tag:"wild things"', ["Foxes"]),
        ("tag:WILD*", ["Foxes"]),
        ("-tag:*", []),
        ("tag:tame brown", ["Cats"]),
        ("project:*", ["Cats"]),
        ('project:"home LIFE"', ["Cats"]),
        ("model:llama dog", ["Cats"]),
        ("is:starred", ["Foxes"]),
        ("is:starred dog", []),
        ("is:starred OR cat", ["Cats", "Foxes"]),
        ("is:partial", ["Dogs"]),
        ("-is:partial", ["Cats", "Foxes"]),
        ("is:private", []),
        ("is:archived", []),
        ("is:pinned", []),
        ("has:code", ["Foxes"]),
        ("-has:code", ["Cats", "Dogs"]),
        ("has:memory", []),
        ("has:attachment", []),
        ("role:assistant", ["Dogs", "Foxes"]),
        ("role:assistant brown", []),
        ("role:user brown", ["Cats", "Foxes"]),
        ("on:today", ["Cats", "Dogs", "Foxes"]),
        ("before:today", []),
        ("after:today brown", ["Cats", "Foxes"]),
        ("category:code", []),
    ],
)
async def test_sessions_are_found_as_wholes(zoo: Store, text: str, titles: list[str]) -> None:
    assert await found(zoo, text) == titles


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("dog", {"the lazy dog sleeps", "a brown cat and a dog"}),
        ("dog -brown", {"the lazy dog sleeps"}),
        ("tag:tame role:user", {"the lazy dog sleeps", "a brown cat and a dog"}),
        ("is:partial", {"half a d"}),
        ("-role:user -has:code", {"half a d"}),
        ("title:Cats", set()),
        ("lazy OR is:starred", {"the lazy dog sleeps", "a quick brown fox", "foxes dig, ```dig()```"}),
        ("is:starred -quick", {"foxes dig, ```dig()```"}),
    ],
)
async def test_messages_are_found_one_by_one(zoo: Store, text: str, texts: set[str]) -> None:
    assert await said(zoo, text) == texts


async def test_hits_tell_what_fits_and_where(zoo: Store) -> None:
    [hit] = (await zoo.find.messages(query("lazy"))).hits
    assert hit.session.title == "Dogs"
    assert hit.score > 0
    assert [hit.snippet.text[a:b] for a, b in hit.snippet.marks] == ["lazy"]
    page = await zoo.find.sessions(query("dog"), order=Order.BEST)
    marked = {
        hit.session.title: (
            hit.matches,
            [hit.title.text[a:b] for a, b in hit.title.marks],
            hit.snippet and [hit.snippet.text[a:b] for a, b in hit.snippet.marks],
        )
        for hit in page.hits
    }
    assert marked["Cats"] == (1, [], ["dog"])
    assert marked["Dogs"][0] == 1
    assert marked["Dogs"][2] == ["dog"]
    assert page.hits[0].session.title == "Dogs", "its title fits, too"
    [bare] = (await zoo.find.sessions(query("lazy"), snippets=False)).hits
    assert (bare.session.title, bare.message, bare.snippet) == ("Dogs", None, None)


async def test_pages_follow_one_another(store: Store) -> None:
    for number in range(7):
        await begin(store, f"egg {number}", title=str(number))
    titles: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = await store.find.sessions(query("egg"), limit=3, offset=offset)
        assert (page.total, page.more) == (7, False)
        titles += [hit.session.title for hit in page.hits]
        offset = page.next_offset
    assert titles == ["6", "5", "4", "3", "2", "1", "0"]
    listed = await store.find.sessions(Query(), limit=3, offset=6)
    assert ([hit.session.title for hit in listed.hits], listed.total, listed.next_offset) == (["0"], 7, None)
    assert (await store.find.messages(query("egg"), limit=0)).hits == ()


async def test_what_is_put_away_is_found_and_not_listed(store: Store) -> None:
    old, _ = await begin(store, "an owl", title="Old")
    await begin(store, "an owl", title="New")
    await store.organising.apply([old.id], MarksPatch(archived=True))
    assert await found(store, "") == ["New"]
    assert await found(store, "owl") == ["New", "Old"]
    assert await found(store, "is:archived") == ["Old"]
    assert await found(store, "owl -is:archived") == ["New"]
    await store.bin_session(old.id)
    assert await found(store, "owl") == ["New"]
    binned = await store.find.sessions(query("owl"), binned=True)
    assert [hit.session.title for hit in binned.hits] == ["Old"]
    assert await said(store, "owl") == {"an owl"}


async def test_marks_of_a_session_count_for_its_messages(store: Store) -> None:
    session, first = await begin(store, "an emu", title="Birds")
    other, _ = await begin(store, "an emu", title="Others")
    await store.update_message(first.id, MessagePatch(important=True))
    assert await found(store, "is:important emu") == ["Birds"]
    await store.update_session(other.id, SessionPatch(important=True))
    assert await found(store, "is:important emu") == ["Others", "Birds"]
    await store.attachments.attach(session.id, NewAttachment("a.txt", "text/plain", 3, "abc"))
    assert await found(store, "has:attachment emu") == ["Birds"]


async def test_a_reply_under_way_is_not_found(store: Store) -> None:
    session, _ = await begin(store, "tell me", title="T")
    reply = await store.append_message(session.id, assistant("", MessageStatus.STREAMING))
    await store.update_message(reply.id, MessagePatch(content="a wombat"))
    assert await found(store, "wombat") == await found(store, "role:assistant") == []
    await store.update_message(reply.id, MessagePatch(status=MessageStatus.COMPLETE))
    assert await found(store, "wombat") == await found(store, "role:assistant") == ["T"]


@pytest.mark.parametrize("cheap", [0, 15_000])
@pytest.mark.parametrize("word", ["東京タワー", "東京", "京", "แมว", "Wi-Fi東京", "학교", "학"])
async def test_scripts_without_spaces_are_found(
    store: Store, word: str, cheap: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.storage.search.plan._CHEAP", cheap)
    await begin(store, "昨日、東京タワーに行きました。แมวอยู่ Wi-Fi東京 학교에서", title="A")
    await begin(store, "nothing of the kind", title="B")
    await begin(store, "今日は大阪", title="C")
    assert await found(store, word) == ["A"]
    assert await found(store, f"-{word}") == ["C", "B"]
    [hit] = (await store.find.messages(query(word.split("-")[-1]))).hits
    assert hit.snippet.marks
    # A syllable is not a part of another one.
    assert await found(store, "하") == []


async def test_dates_are_those_of_the_messages(store: Store, clock: FakeClock) -> None:
    session, _ = await begin(store, "the first ibis", title="I")
    clock.advance(timedelta(days=10))
    await store.append_message(session.id, user("the second ibis"))
    first, second = (f"{NOW + timedelta(days=days):%Y-%m-%d}" for days in (0, 10))
    assert await said(store, f"ibis on:{first}") == {"the first ibis"}
    assert await said(store, f"ibis after:{second}") == {"the second ibis"}
    assert await said(store, f"ibis before:{second}") == {"the first ibis"}
    between = f"{NOW + timedelta(days=5):%Y-%m-%d}"
    assert await found(store, f"ibis on:{between}") == []
    assert await found(store, f"on:{between}") == ["I"], "it was in use around then"


async def test_messages_are_chosen_from_some(zoo: Store) -> None:
    hits = (await zoo.find.messages(query("dog"))).hits
    ids = [hit.message.id for hit in hits]
    kept = await zoo.find.among(query("brown dog"), [*ids, "no-such"])
    assert [hit.message.content for hit in kept] == ["a brown cat and a dog"]
    assert [hit.message.id for hit in await zoo.find.among(Query(), ids[::-1])] == ids[::-1]


async def test_searches_are_kept_by_name(store: Store) -> None:
    await store.find.save("work", "tag:work -is:archived")
    await store.find.save("Animals", "fox OR dog")
    kept = await store.find.save("WORK", "tag:work")
    assert [(one.name, one.query) for one in await store.find.saved()] == [
        ("Animals", "fox OR dog"),
        ("WORK", "tag:work"),
    ]
    assert kept in await store.find.saved()
    await store.find.remove_saved("animals")
    with pytest.raises(SavedSearchNotFound):
        await store.find.remove_saved("animals")
    assert len(await store.find.saved()) == 1


_PARTS = (
    *("fox", "dog", '"fox dog"', "do*", "-fox", "-(dog OR owl)", "fox OR owl", "(fox dog) OR owl"),
    *("tag:t", "-tag:t", "is:starred", "role:user", "-role:user", "is:important", "tag:t OR owl", "has:code"),
)


async def test_what_is_found_is_what_the_conditions_say(store: Store) -> None:
    dice = random.Random(7)
    talks = []
    for number in range(10):
        texts = [" ".join(dice.choices(["fox", "dog", "owl", "```x```", "hen"], k=3)) for _ in range(3)]
        marks = MarksPatch(starred=dice.random() < 0.3, add_tags=("t",) if dice.random() < 0.4 else ())
        session, first = await begin(store, texts[0], title=f"{number} {texts[1].split()[0]}")
        await store.append_message(session.id, assistant(texts[1]))
        await store.append_message(session.id, user(texts[2]))
        await store.organising.apply([session.id], marks)
        await store.update_message(first.id, MessagePatch(important=dice.random() < 0.2))
        talks.append(Talk(await store.get_session(session.id), await store.branch(session.id)))
    for _ in range(40):
        asked = query(" ".join(dice.sample(_PARTS, k=dice.randint(1, 3))))
        assert asked.where is not None
        sessions = (await store.find.sessions(asked, limit=100)).hits
        assert [hit.session.id for hit in sessions] == [
            talk.session.id for talk in reversed(talks) if talk.fits(asked.where)
        ], asked
        messages = (await store.find.messages(asked, limit=100)).hits
        assert {hit.message.id for hit in messages} == {
            one.id for talk in talks for one in talk.messages if talk.fits_message(asked.where, one)
        }, asked


@dataclass
class Talk:
    """A session that is looked at word by word."""

    session: Session
    messages: list[Message]

    def fits(self, part: Condition) -> bool:
        """Its title fits, or one of its messages; what is excluded is nowhere in it."""
        return self.fits_title(part) or any(self.fits_message(part, m, whole=True) for m in self.messages)

    def fits_title(self, part: Condition) -> bool:
        match part:
            case All(parts):
                return all(map(self.fits_title, parts))
            case AnyOf(parts):
                return any(map(self.fits_title, parts))
            case Not(inner):
                return not self.fits(inner)
            case Words():
                return all(word in self.session.title for word in part.text.split())
            case Named() | Is(Mark.STARRED):
                return self.is_marked(part)
        return False

    def fits_message(self, part: Condition, message: Message, *, whole: bool = False) -> bool:
        match part:
            case All(parts):
                return all(self.fits_message(one, message, whole=whole) for one in parts)
            case AnyOf(parts):
                return any(self.fits_message(one, message, whole=whole) for one in parts)
            case Not(inner):
                return not (self.fits(inner) if whole else self.fits_message(inner, message))
            case Words(text, prefix):
                return f" {text}" in f" {message.content}" if prefix else text in message.content
            case SaidBy(role):
                return message.role is role
            case Is(Mark.IMPORTANT):
                return message.important
            case Has():
                return "```" in message.content
        return self.is_marked(part)

    def is_marked(self, part: Condition) -> bool:
        return self.session.starred if isinstance(part, Is) else bool(self.session.tags)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=40) | st.text(alphabet='ab"*()^:{}-+~ \x00\u0301é中', max_size=20))
async def test_no_query_can_break_finding(store: Store, text: str) -> None:
    refused = False
    try:
        asked = query(text)
    except QueryUnclear:
        refused = True
    if not refused and asked.where is not None:
        pages = (await store.find.sessions(asked), await store.find.messages(asked))
        assert [page.total for page in pages] == [0, 0]


async def test_words_in_different_messages_find_a_session_below_those_that_have_them_together(
    store: Store,
) -> None:
    apart, _ = await begin(store, "the heron waits", title="Apart")
    await store.append_message(apart.id, assistant("by the weir"))
    await begin(store, "a heron at the weir", title="Together")
    late, _ = await begin(store, "another heron", title="Late weir")
    await begin(store, "only a heron", title="One of them")

    async def titles(text: str, order: Order) -> list[str]:
        page = await store.find.sessions(query(text), order=order, scattered=True)
        assert page.total == len(page.hits)
        return [hit.session.title for hit in page.hits]

    for order in Order:
        assert await titles("heron weir", order) == ["Together", "Late weir", "Apart"]
    assert await titles('"heron weir"', Order.BEST) == []
    assert await found(store, "heron weir") == ["Together"]
    page = await store.find.sessions(query("heron weir"), order=Order.BEST, scattered=True)
    assert page.hits[-1].snippet is not None
    assert "heron" in page.hits[-1].snippet.text
    await store.organising.apply([late.id], MarksPatch(binned=True))
    assert await titles("heron weir", Order.BEST) == ["Together", "Apart"]
