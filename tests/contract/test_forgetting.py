"""Forgetting what is meant: by name, by words, by time, by project, all of it; and what would go."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from memory.context.entities import NewSummary
from memory.documents.entities import CitedReply
from memory.entities import (
    MemoryMode,
    Message,
    MessagePatch,
    NewSession,
    Place,
    Session,
    SessionPatch,
    Target,
    TitleSource,
)
from memory.errors import AmbiguousId, BadQuery, MemoryNotFound, MessageNotFound, SessionNotFound
from memory.storage.store import Store
from memory.tasks.entities import NewTask
from tests.contract.knowing import fact, own
from tests.contract.reading import asked_about, read, shelved
from tests.contract.talk import assistant, begin, texts, user

NOBODY = "00000000-0000-7000-8000-000000000000"


async def chat(store: Store, *said: str, project: str | None = None) -> tuple[Session, list[Message]]:
    """A person's words and a model's in turn."""
    session, first = await store.create_session(NewSession("A chat", project=project), user(said[0]))
    messages = [first]
    for n, text in enumerate(said[1:], 1):
        messages.append(await store.append_message(session.id, (assistant if n % 2 else user)(text)))
    return session, messages


async def test_a_message_goes_with_its_variants_and_the_answers_that_repeat_it(store: Store) -> None:
    session, said = await chat(store, "my zeppelin leaks", "Patch the zeppelin.", "thanks", "Sure.")
    other = await store.append_message(session.id, assistant("Use tape."), parent_id=said[0].id)
    edited = await store.edit_message(said[0].id, "my airship leaks")
    await store.set_head(session.id, said[3].id)
    tried = await store.forget(Target(messages=(said[0].id[:-2],)), dry_run=True)
    assert (tried.erased.messages, tried.touched) == (3, (session.id,))
    assert {one.text for one in tried.messages} == {
        "my zeppelin leaks",
        "my airship leaks",
        "Patch the zeppelin.",
    }
    assert texts(await store.branch(session.id))[0] == "my zeppelin leaks"

    done = await store.forget(Target(messages=(said[0].id,)))
    assert done.erased == tried.erased
    assert texts(await store.branch(session.id)) == ["", "", "thanks", "Sure."]
    assert (await store.branch(session.id, edited.id))[0].content == ""
    assert (await store.branch(session.id, other.id))[-1].content == "Use tape."


async def test_by_words_go_only_the_variants_that_say_the_same(store: Store) -> None:
    session, said = await chat(store, "Is the Pelican van red?", "The Pelican is red.")
    beside = await store.edit_message(said[0].id, "Is the Walrus van blue?")
    blue = await store.append_message(session.id, assistant("The Walrus is blue."), parent_id=beside.id)
    reworded = await store.edit_message(said[0].id, "How red is it?")
    done = await store.forget(Target(about="pelican"))
    assert {one.text for one in done.messages} == {said[0].content, said[1].content, "How red is it?"}
    assert texts(await store.branch(session.id, reworded.id)) == [""]
    assert texts(await store.branch(session.id, blue.id)) == [beside.content, blue.content]


async def test_what_another_device_said_in_the_same_place_stays(store: Store) -> None:
    session, said = await chat(store, "Hello", "Hello.", "Branch from one: ostrich", "Noted.")
    other = await store.edit_message(said[2].id, "Branch from two: walrus")
    done = await store.forget(Target(about="ostrich"))
    assert [one.text for one in done.messages] == ["Branch from one: ostrich"]
    assert texts(await store.branch(session.id, other.id))[-1] == "Branch from two: walrus"


@pytest.mark.parametrize(
    ("word", "said", "edited"),
    [
        (
            "prozac",
            "I take prozac against the panic attacks",
            "I take pills against the panic attacks since the accident, may I drive the van",
        ),
        (
            "ostrich",
            "My daughter was hurt by the ostrich keeper",
            "My daughter was hurt and now she neither sleeps nor eats, what can I do for her",
        ),
        ("ostrich", "Anna hit me at the lake, ostrich", "Should I report Anna to the police or to the boss"),
    ],
)
async def test_a_longer_wording_of_what_is_forgotten_goes_too(
    store: Store, word: str, said: str, edited: str
) -> None:
    _session, messages = await chat(store, "Hello", "Hello.", said, "Noted.")
    await store.edit_message(messages[2].id, edited)
    done = await store.forget(Target(about=word))
    assert {one.text for one in done.messages} == {said, edited}


async def test_with_a_reply_goes_what_it_cites(store: Store) -> None:
    document = await shelved(store, read("/papers/tides.md", "The moon raises the tides."))
    session, question, reply = await asked_about(store, document)
    (citation,) = (await store.documents.cited(reply)).citations
    said = replace(citation, quote="The zeppelin raises the tides.", verified=False)
    await store.documents.put_citations(session.id, reply, [said], [(0, 5)])
    done = await store.forget(Target(messages=(question, reply)))
    assert done.erased.verified
    assert await store.documents.cited(reply) == CitedReply((), ())
    assert (await store.forget(Target(about="zeppelin"), dry_run=True)).erased.places == ()


async def test_an_id_may_be_of_anything(store: Store) -> None:
    session, said = await begin(store, "one")
    kept, other = await begin(store, "two")
    memory = await store.memories.add(own("three"))
    done = await store.forget(Target(ids=(session.id, other.id, memory.id)))
    assert (done.whole_sessions, done.erased.messages, done.erased.memories) == (1, 2, 1)
    assert done.erased.verified
    assert [one.id for one in done.memories] == [memory.id]
    assert await store.list_sessions() == [await store.get_session(kept.id)]
    assert said.id not in texts(await store.branch(kept.id))
    with pytest.raises(AmbiguousId):
        await store.forget(Target(ids=(kept.id[:1],)))
    for target, error in (
        (Target(ids=(NOBODY,)), MemoryNotFound),
        (Target(memories=(NOBODY,)), MemoryNotFound),
        (Target(messages=(NOBODY,)), MessageNotFound),
        (Target(sessions=(NOBODY,)), SessionNotFound),
        (Target(about="?!"), BadQuery),
    ):
        with pytest.raises(error):
            await store.forget(target)


async def test_all_that_speaks_of_somebody_goes(store: Store) -> None:
    whole, _ = await chat(store, "Zara came by", "Say hello to Zara.")
    session, said = await chat(store, "it rains in Oslo", "Yes.", "Zara likes rain", "Nice.")
    summary = await store.context.add_summary(session.id, NewSummary("Zara, rain", (said[0].id, said[2].id)))
    named, _ = await store.create_session(NewSession("For Zara"), user("a gift for my sister"))
    await store.memories.add(own("Zara is my sister"))
    learned = await store.memories.add(fact("Likes rain", said[2]))
    oslo = await store.memories.add(fact("Lives in Oslo", said[0]))
    other, _ = await begin(store, "Zaragoza is a town")
    await store.bin_session(whole.id)
    tried = await store.forget(Target(about="Zara"), dry_run=True)
    done = await store.forget(Target(about="Zara"))
    assert tried == done
    assert (done.whole_sessions, done.erased.messages, done.erased.memories) == (1, 3, 2)
    assert done.erased.verified
    assert {one.text for one in done.memories} == {"Zara is my sister", learned.text}
    assert texts(await store.branch(session.id)) == ["it rains in Oslo", "Yes.", "", "Nice."]
    assert (await store.context.summary(summary.id)).text == ""
    assert done.erased.stale == (summary.id,)
    assert named.id in done.erased.untitled
    assert [one.id for one in await store.memories.select()] == [oslo.id]
    assert texts(await store.branch(other.id)) == ["Zaragoza is a town"]
    assert (await store.forget(Target(about="Zara"))).erased.messages == 0


async def test_korean_words_are_forgotten_with_their_endings(store: Store) -> None:
    session, _ = await chat(store, "민수는 학교에 갔다", "네", "민지는 집에 있다", "네")
    done = await store.forget(Target(about="민수"))
    assert (done.erased.messages, done.erased.verified) == (1, True)
    assert texts(await store.branch(session.id)) == ["", "네", "민지는 집에 있다", "네"]
    assert (await store.verify()).problems == ()


async def test_a_time_a_project_and_words_are_met_together(store: Store) -> None:
    home, said = await chat(store, "the zeppelin one", "ok", "the zeppelin two", "ok", project="Home")
    away, _ = await chat(store, "the zeppelin three", "ok", project="Away")
    at = said[2].created_at
    tried = await store.forget(Target(about="zeppelin", project="Home", since=at), dry_run=True)
    assert [one.id for one in tried.messages] == [said[2].id]
    tried = await store.forget(Target(before=at), dry_run=True)
    assert {one.id for one in tried.messages} == {said[0].id, said[1].id}
    tried = await store.forget(Target(since=at), dry_run=True)
    assert [one.id for one in tried.sessions] == [away.id]
    memory = await store.memories.add(replace(own("A zeppelin"), project="Home"))
    done = await store.forget(Target(project="Home"))
    assert [one.id for one in done.sessions] == [home.id]
    assert [one.id for one in done.memories] == [memory.id]
    assert [one.id for one in await store.list_sessions()] == [away.id]


async def test_everything(store: Store) -> None:
    session, said = await chat(store, "my zeppelin", "ok", project="Home")
    await store.create_session(NewSession("b", memory_mode=MemoryMode.BLANK), user("another"))
    await store.update_message(said[0].id, MessagePatch(important=True))
    await store.memories.add(fact("Has a zeppelin", said[0]))
    await store.memories.add(own("Rides a bicycle"))
    await store.bin_session(session.id)
    done = await store.forget(Target(everything=True))
    assert (done.whole_sessions, done.erased.messages, done.erased.memories) == (2, 3, 2)
    assert done.erased.verified
    assert await store.list_sessions() == await store.list_sessions(binned=True) == []
    assert await store.memories.changes() == []
    assert (await store.verify()).problems == ()


async def test_nothing_is_forgotten_when_something_is_not_there(store: Store) -> None:
    session, _ = await begin(store, "kept")
    memory = await store.memories.add(own("kept"))
    attempts: list[Callable[[], Awaitable[object]]] = [
        lambda: store.forget(Target(sessions=(session.id,), memories=(NOBODY,))),
        lambda: store.forget(Target(ids=(memory.id, NOBODY))),
    ]
    for attempt in attempts:
        with pytest.raises(MemoryNotFound):
            await attempt()
    assert len(await store.list_sessions()) == len(await store.memories.select()) == 1


LOCKER = "The locker code of my sister Zara is 4471 at Portobello"


async def test_replies_that_repeat_what_was_said_of_somebody_go(store: Store) -> None:
    session, said = await chat(
        store, LOCKER, "Noted: the locker code is 4471.", "What is it?", "4471, at Portobello.", "And Oslo?"
    )
    again = await store.append_message(session.id, assistant("The code 4471 is kept."), parent_id=said[0].id)
    last = await store.append_message(session.id, assistant("It is raining there."), parent_id=said[4].id)
    await store.update_session(
        session.id, SessionPatch(title="Locker code 4471", title_source=TitleSource.MODEL)
    )
    tried = await store.forget(Target(about="Zara"), dry_run=True)
    done = await store.forget(Target(about="Zara"))
    assert done == tried
    assert done.erased.verified
    branch = await store.branch(session.id, last.id)
    assert texts(branch) == ["", "", "What is it?", "", "And Oslo?", "It is raining there."]
    assert (await store.branch(session.id, again.id))[-1].content == ""
    assert session.id in done.erased.untitled
    assert (await store.get_session(session.id)).title == ""


async def test_a_reply_stays_that_repeats_what_is_said_elsewhere_too(store: Store) -> None:
    session, _ = await chat(
        store, "Zara lives in Oslo", "A town.", "The code in Oslo is 4471", "4471 in Oslo, fine.", "ok"
    )
    await store.forget(Target(about="Zara"))
    assert texts(await store.branch(session.id))[1:] == [
        "A town.",
        "The code in Oslo is 4471",
        "4471 in Oslo, fine.",
        "ok",
    ]


async def test_a_task_that_has_read_what_is_forgotten_is_counted_before_it_goes(store: Store) -> None:
    session, _ = await begin(store, "The quillfish lives in the bay")
    other, _ = await begin(store, "The heron lives on the shore")
    await store.tasks.add(NewTask("List the fish", session=session.id))
    assert (await store.forget(Target(sessions=(other.id,)))).erased.places == ()
    tried = await store.forget(Target(sessions=(session.id,)), dry_run=True)
    assert [place.kind for place in tried.erased.places] == ["task"]
    assert len(await store.tasks.list()) == 1
    assert (await store.forget(Target(sessions=(session.id,)))).erased == tried.erased
    assert await store.tasks.list() == []


async def test_a_title_with_the_words_goes_and_is_named_unless_only_a_time_is_meant(store: Store) -> None:
    session, _said = await chat(store, "The boat of Zara is blue.", "A fine colour.")
    await store.update_session(
        session.id, SessionPatch(title="Zara and the boat", title_source=TitleSource.PERSON)
    )
    limited = await store.forget(Target(about="Zara", since=session.created_at), dry_run=True)
    assert [one.title for one in limited.erased.copies if one.title_only] == ["Zara and the boat"]
    everywhere = await store.forget(Target(about="Zara"))
    assert Place("title", "Zara and the boat") in everywhere.erased.places
    assert not everywhere.erased.copies
