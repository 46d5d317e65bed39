import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas_desktop.services.titles import MAX_LENGTH, Titler, first_words, tidy
from memory.entities import MemoryMode, MessageStatus, NewMessage, NewSession, SessionPatch, TitleSource
from memory.testing import InMemorySessionStore
from models.messages import Lane, Role
from models.testing import ScriptedChatModel


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


async def finished_session(store: InMemorySessionStore, text: str) -> str:
    new = NewSession(title=first_words(text), memory_mode=MemoryMode.NORMAL)
    session, message = await store.create_session(new, NewMessage(Role.USER, text))
    reply = NewMessage(Role.ASSISTANT, "Yes.", status=MessageStatus.COMPLETE)
    await store.append_message(session.id, reply, parent_id=message.id)
    return session.id


async def test_the_model_names_a_session_in_the_task_lane() -> None:
    store, model = InMemorySessionStore(), ScriptedChatModel(["Norway by bicycle"])
    session = await finished_session(store, "Plan a bicycle tour in Norway")
    assert await Titler(store, model).run() == [session]
    named = await store.get_session(session)
    assert (named.title, named.title_source) == ("Norway by bicycle", TitleSource.MODEL)
    assert model.lanes == [Lane.TASK]
    assert await Titler(store, model).run() == []


async def test_a_title_that_a_person_chose_stays() -> None:
    store, model = InMemorySessionStore(), ScriptedChatModel(["Other"])
    session = await finished_session(store, "Plan a tour")
    await store.update_session(session, SessionPatch(title="Mine", title_source=TitleSource.PERSON))
    assert await Titler(store, model).run() == []
    assert (await store.get_session(session)).title == "Mine"


async def test_a_model_without_an_idea_is_asked_once() -> None:
    store, model = InMemorySessionStore(), ScriptedChatModel(["?!"])
    session = await finished_session(store, "Plan a tour")
    titler = Titler(store, model)
    assert await titler.run() == []
    assert await titler.run() == []
    assert len(model.prompts) == 1
    assert (await store.get_session(session)).title == "Plan a tour"
