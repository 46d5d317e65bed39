import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.events import Replied
from atlas_desktop.services.sessions import SessionService
from atlas_desktop.services.summaries import MAX_LENGTH, Titler, first_words, tidy
from atlas_desktop.settings.schema import JobSettings
from memory.clock import SystemClock
from memory.entities import Message, MessageStatus, NewMessage, NewSession, SessionPatch, TitleSource
from memory.jobs.foreground_gate import ForegroundGate
from models.errors import WorkerCrashed
from models.messages import Completion, Lane, Role, StopReason, Timings
from tests.fakes.models import ScriptedChatModel
from tests.stores import InMemoryStore


@given(st.text(alphabet=st.characters()))
def test_first_words_always_make_a_title(text: str) -> None:
    title = first_words(text)
    assert 1 <= len(title) <= MAX_LENGTH
    assert "\n" not in title


def test_first_words_are_cut_at_a_word() -> None:
    title = first_words("Please help me plan a long bicycle tour along the coast of Norway in June")
    assert title == "Please help me plan a long bicycle tour along the coast of…"


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("Bicycle tour in Norway", "Bicycle tour in Norway"),
        ('Title: "bicycle tour"\nMore text', "Bicycle tour"),
        ("**Bread baking**.", "Bread baking"),
        ("", None),
        ("...", None),
        ("12345", None),
        ("this is a whole sentence that goes on for much too long to be a title", None),
    ],
)
def test_a_models_answer_becomes_a_title_or_nothing(answer: str, title: str | None) -> None:
    assert tidy(answer) == title


class Room:
    """A room in dictionaries with its background work, and a model that makes titles."""

    def __init__(self, *answers: str, wanted: bool = True) -> None:
        self.store = InMemoryStore(SystemClock())
        self.model = ScriptedChatModel(answers)
        self.background = BackgroundService(self.store, SystemClock(), ForegroundGate(), JobSettings())
        self.titler = Titler(self.store, lambda: self.model, self.background, wanted=lambda: wanted)

    async def replied(self, text: str, status: MessageStatus = MessageStatus.COMPLETE) -> str:
        """A new session with a reply, of which the hook has been told; returns its id."""
        session, _ = await self.store.create_session(
            NewSession(title=first_words(text)), NewMessage(Role.USER, text)
        )
        reply = await self.store.append_message(session.id, NewMessage(Role.ASSISTANT, "Yes.", status=status))
        await self.tell(session.id, reply)
        return session.id

    async def tell(self, session_id: str, reply: Message) -> None:
        session = await self.store.get_session(session_id)
        done = Completion(reply.content, (), StopReason.STOP, Timings())
        await self.titler.after_reply(Replied(session, reply, done, ()))

    async def title(self, session_id: str) -> tuple[str, TitleSource]:
        session = await self.store.get_session(session_id)
        return session.title, session.title_source


async def test_the_model_names_a_session_in_the_task_lane() -> None:
    room = Room("Norway by bicycle")
    session = await room.replied("Plan a bicycle tour in Norway")
    (job,) = await room.store.jobs.list()
    assert (job.kind, job.session_id, job.payload) == ("title", session, {"session": session})
    assert room.model.prompts == []
    assert (await room.background.run()).done == 1
    assert await room.title(session) == ("Norway by bicycle", TitleSource.MODEL)
    assert room.model.lanes == [Lane.TASK]


async def test_a_title_with_a_figure_that_was_not_asked_about_is_not_used() -> None:
    room = Room("The lighthouse was built in 1950")
    session = await room.replied("When was the lighthouse built?")
    await room.background.run()
    assert await room.title(session) == ("When was the lighthouse built?", TitleSource.FIRST_WORDS)


async def test_titles_are_not_queued_when_they_are_not_wanted() -> None:
    room = Room("Norway", wanted=False)
    await room.replied("Plan a tour")
    assert await room.store.jobs.list() == []


@pytest.mark.parametrize("status", [MessageStatus.PARTIAL, MessageStatus.FAILED])
async def test_a_reply_that_was_cut_short_asks_for_no_title(status: MessageStatus) -> None:
    room = Room("Norway")
    await room.replied("Plan a tour", status)
    assert await room.store.jobs.list() == []


async def test_sessions_that_went_without_a_title_get_one_too() -> None:
    room = Room("A title")
    ids = [await room.replied(f"Plan tour number {n}", MessageStatus.PARTIAL) for n in range(2)]
    for session_id in ids:
        await room.store.append_message(session_id, NewMessage(Role.ASSISTANT, "Yes."))
    ids.append(await room.replied("Plan one more tour"))
    assert {job.session_id for job in await room.store.jobs.list()} == set(ids)


@pytest.mark.parametrize("when", ["before", "meanwhile"])
async def test_a_title_that_a_person_chose_stays(when: str) -> None:
    room = Room("Other")
    session = await room.replied("Plan a tour")
    mine = SessionPatch(title="Mine", title_source=TitleSource.PERSON)
    if when == "before":
        await room.store.update_session(session, mine)
        await room.background.run()
        assert room.model.prompts == []
    else:
        room.model.gate = asyncio.Event()
        room.model.script = ["Two words"]
        running = asyncio.create_task(room.background.run())
        for _ in range(30):
            await asyncio.sleep(0)
        assert len(room.model.prompts) == 1
        await room.store.update_session(session, mine)
        room.model.gate.set()
        await running
    assert await room.title(session) == ("Mine", TitleSource.PERSON)


async def test_a_model_without_an_idea_is_asked_once() -> None:
    room = Room("?!")
    session = await room.replied("Plan a tour")
    report = await room.background.run()
    assert (report.done, report.failed, report.remaining) == (1, 0, 0)
    await room.tell(session, (await room.store.branch(session))[-1])
    assert await room.store.jobs.list() == []
    # Another run of the program would ask again, and finds what the model has said to these words.
    await room.store.jobs.add("title", session, session_id=session, payload={"session": session})
    assert (await room.background.run()).done == 1
    assert len(room.model.prompts) == 1
    assert await room.title(session) == ("Plan a tour", TitleSource.FIRST_WORDS)


async def test_a_session_in_the_bin_keeps_its_name() -> None:
    room = Room("Norway")
    session = await room.replied("Plan a tour")
    await room.store.bin_session(session)
    assert (await room.background.run()).done == 1
    assert room.model.prompts == []
    assert (await room.title(session))[1] is TitleSource.FIRST_WORDS


async def test_a_model_that_fails_is_asked_again_later() -> None:
    room = Room("Norway")
    room.model.failure, room.model.fail_after = WorkerCrashed(-9), 0
    session = await room.replied("Plan a tour")
    assert (await room.background.run()).failed == 1
    (job,) = await room.store.jobs.list()
    assert job.error is not None
    assert job.error.startswith("WorkerCrashed")
    assert job.not_before > job.created_at
    assert (await room.title(session))[1] is TitleSource.FIRST_WORDS


async def test_a_fork_that_is_named_later_keeps_the_number_that_tells_it_apart() -> None:
    room = Room("Bicycle tour")
    first = await room.replied("Plan a tour by bicycle")
    fork = await SessionService(room.store).fork(first)
    assert (fork.title, fork.title_source) == ("Plan a tour by bicycle (2)", TitleSource.FIRST_WORDS)
    await room.tell(fork.id, (await room.store.branch(fork.id))[-1])
    await room.background.run()
    titles = {one.id: one.title for one in await room.store.list_sessions()}
    assert titles == {first: "Bicycle tour", fork.id: "Bicycle tour (2)"}
