"""Templates that are filled in, and which rooms lend their personas."""

from types import SimpleNamespace
from typing import Any

import pytest

from atlas_desktop.services.forgetting_in_rooms import persona_for, persona_of, personas_for
from atlas_desktop.services.personas import PersonaService, filled, variables
from memory.entities import NewMessage, NewSession, RoomKind
from memory.errors import PersonaNotFound
from memory.personas import NewPersona
from models.messages import Role
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore


def test_variables_are_words_in_braces() -> None:
    text = "To {whom} about { the  tides }, {whom} again; {{not this}} {}"
    assert variables(text) == ["whom", "the tides"]
    assert filled(text, {"whom": "Ines"}) == "To Ines about { the  tides }, Ines again; {not this} {}"
    assert filled("{a}", {"a": "{a}"}) == "{a}"


def room(kind: RoomKind) -> Any:
    store = InMemoryStore(FakeClock(), kind)
    return SimpleNamespace(store=store, personas=PersonaService(store, lambda: "Be kind."))


async def test_the_open_room_lends_and_the_private_one_does_not() -> None:
    opened, private = room(RoomKind.OPEN), room(RoomKind.PRIVATE)
    both = [opened, private]
    await opened.personas.add(NewPersona("Tutor", "You ask."))
    await opened.personas.add(NewPersona("Poet", "You rhyme."))
    await private.personas.add(NewPersona("poet", "You sing."))
    assert [one.system_prompt for one in await personas_for(private, both)] == ["You sing.", "You ask."]
    assert [one.name for one in await personas_for(opened, both)] == ["Poet", "Tutor"]
    assert (await persona_for(private, both, "tutor")).name == "Tutor"
    with pytest.raises(PersonaNotFound):
        await persona_for(opened, both, "singer")


async def test_a_session_is_known_by_the_words_it_goes_by() -> None:
    here = room(RoomKind.OPEN)
    tutor = await here.personas.add(NewPersona("Tutor", "You ask."))
    session, _ = await here.store.create_session(NewSession("x"), NewMessage(Role.USER, "x"))
    assert await persona_of(here, [here], session) is None
    session = await here.personas.instruct(session.id, "You ask.")
    assert await persona_of(here, [here], session) == tutor
    session = await here.personas.instruct(session.id, None)
    assert here.personas.instructions(session) == "Be kind."
