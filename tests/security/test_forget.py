"""What is forgotten is in no page of the files, beneath their encryption: used, free, or older in the log."""

from collections.abc import Iterable
from datetime import UTC, datetime

from memory.context.entities import NewSummary
from memory.entities import NewMessage, NewSession, SessionPatch, Target, TitleSource
from memory.transfer import TravellingMessage, TravellingSession
from memory.vectors.entities import StoredVector
from models.messages import Role
from tests.security.figures import Figures
from tests.security.pages import ROOM, STATES, log_pages, pages
from tests.security.scanner import Needle, bytes_needles, find, needles_of
from tests.security.scenarios.forgetting import tables_with
from tests.security.stage import Stage
from tests.storage.conftest import Place

WORDS = {
    name: f"quokka{n} of the {name} {n}{n}{n}"
    for n, name in enumerate(("message", "reply", "title", "tag", "prompt", "meta", "summary", "speaker"))
}


def pages_with(place: Place, needles: Iterable[Needle]) -> list[str]:
    """The forms that are in a page of the room or of the states of its models, or in a log, and where."""
    needles = list(needles)
    states = place.path.with_name("open-states.db")
    found = []
    for path, form in ((place.path, ROOM), (states, STATES)):
        for where, read in (("file", pages), ("log", log_pages)):
            for number, page in enumerate(read(path, place.key, form), start=1):
                found += [f"{what} in {path.name} ({where}, {number})" for _, what in find(page, needles)]
    return found


async def converse(stage: Stage) -> str:
    """The id of a session that holds the canaries wherever a session can hold something."""
    moment = datetime(2025, 5, 5, tzinfo=UTC)
    said = TravellingMessage(
        "m", None, Role.USER, WORDS["speaker"], "Hello.", moment, meta=f'"{WORDS["meta"]}"'
    )
    travelling = TravellingSession(
        id="s",
        title=WORDS["title"],
        created_at=moment,
        updated_at=moment,
        messages=(said,),
        tags=(WORDS["tag"],),
        system_prompt=WORDS["prompt"],
    )
    session_id = (await stage.store.transfer.take(travelling)).session_id
    for n in range(4):
        await stage.turn(f"{WORDS['message']} {n} " + "and a long walk by the lake " * 30, session_id)
    ids = tuple(message.id for message in await stage.store.branch(session_id))
    await stage.store.append_message(session_id, NewMessage(Role.ASSISTANT, WORDS["reply"]))
    await stage.store.context.add_summary(session_id, NewSummary(WORDS["summary"], ids[:3], topics=("lake",)))
    await stage.store.update_session(session_id, SessionPatch(starred=True))
    await stage.room.background.run()
    await stage.room.recall.prepare()
    await stage.room.epochs.keep(session_id)
    return session_id


async def vectors_of(stage: Stage, session_id: str) -> list[StoredVector]:
    (model,) = (await stage.store.vectors.counts()).by_model
    return await stage.store.vectors.of(model, sessions=[session_id])


async def test_no_page_holds_anything_of_a_forgotten_session(place: Place, figures: Figures) -> None:
    stage = await Stage.open(place, create=True)
    kept, _ = await stage.turn("What is kept is found: " + "heron " * 40)
    session_id = await converse(stage)
    vectors = await vectors_of(stage, session_id)
    assert vectors
    needles = needles_of(WORDS)
    needles += [n for v in vectors for n in bytes_needles("vector", v.data)[:1]]
    before = pages_with(place, needles)
    assert {f"{name} as it is" for name in WORDS} | {"vector as it is"} <= {
        line.partition(" in open")[0] for line in before
    }

    receipt = await stage.room.forgetting.erase_session(session_id)
    assert receipt.verified
    # At once, while the room is open; then when it has been closed; then when it is in use again.
    assert pages_with(place, needles) == []
    for word in WORDS.values():
        assert await tables_with(stage.store, word) == set()
    await stage.close()
    assert pages_with(place, needles) == []
    stage = await Stage.open(place)
    await stage.turn("and goes on", kept.session.id)
    assert pages_with(place, needles) == []
    assert pages_with(place, [Needle("kept", b"What is kept is found")]) != []
    await stage.close()
    figures.add("forget: decrypted pages, indices, log", attempts=len(needles), hits=0)


async def test_no_page_holds_the_words_of_a_forgotten_message(place: Place, figures: Figures) -> None:
    store = await place.open(create=True)
    session, _ = await store.create_session(NewSession("t"), NewMessage(Role.USER, "What is kept."))
    message = await store.append_message(session.id, NewMessage(Role.USER, WORDS["message"] + " word" * 3000))
    needles = needles_of({"message": WORDS["message"]})
    assert pages_with(place, needles) != []
    await store.forget_message(message.id)
    assert pages_with(place, needles) == []
    await store.close()
    assert pages_with(place, needles) == []
    figures.add("forget: decrypted pages, indices, log", attempts=1, hits=0)


async def test_no_page_holds_what_replies_repeated(place: Place) -> None:
    """Forgotten by a name, what was said of it is gone from replies, title and summary that say it
    without the name."""
    stage = await Stage.open(place, create=True)
    accepted, _ = await stage.turn("The locker code of my sister Zara is 44718205, downtown")
    session_id = accepted.session.id
    await stage.turn("And what is the code?", session_id)
    said = [message.id for message in await stage.store.branch(session_id)]
    store = stage.store
    await store.append_message(session_id, NewMessage(Role.ASSISTANT, "Noted: 44718205."), parent_id=said[0])
    await store.append_message(session_id, NewMessage(Role.ASSISTANT, "It is 44718205."), parent_id=said[2])
    await store.context.add_summary(session_id, NewSummary("A code: 44718205", tuple(said)))
    await store.update_session(
        session_id, SessionPatch(title="Code 44718205", title_source=TitleSource.MODEL)
    )
    await stage.room.background.run()
    await stage.room.epochs.keep(session_id)
    needles = needles_of({"code": "44718205"})
    assert pages_with(place, needles) != []
    receipt = await stage.room.forgetting.forget(Target(about="Zara"))
    assert receipt.verified
    assert pages_with(place, needles) == []
    await stage.close()
    assert pages_with(place, needles) == []
