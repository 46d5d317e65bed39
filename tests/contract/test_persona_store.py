"""Personas and templates, in every store."""

import pytest

from memory.errors import NameTaken, PersonaNotFound, RoomClosed, TemplateNotFound
from memory.personas import NewPersona, NewTemplate
from memory.storage.store import Store


async def test_personas_are_kept_by_name(store: Store) -> None:
    tutor = await store.personas.add_persona(NewPersona(" Tutor ", "You ask before you tell.\n", None, 0.2))
    await store.personas.add_persona(NewPersona("editor", "You edit."))
    assert [one.name for one in await store.personas.personas()] == ["editor", "Tutor"]
    assert (tutor.name, tutor.system_prompt, tutor.temperature) == ("Tutor", "You ask before you tell.", 0.2)
    for ref in ("tutor", tutor.id, tutor.id[:30], "tut"):
        assert await store.personas.persona(ref) == tutor
    with pytest.raises(PersonaNotFound):
        await store.personas.persona("nobody")


async def test_a_name_belongs_to_one(store: Store) -> None:
    await store.personas.add_persona(NewPersona("Tutor", "You ask."))
    with pytest.raises(NameTaken):
        await store.personas.add_persona(NewPersona("TUTOR", "Another."))
    await store.personas.add_persona(NewPersona("Editor", "You edit."))
    with pytest.raises(NameTaken):
        await store.personas.change_persona("editor", NewPersona("tutor", "You edit."))
    with pytest.raises(ValueError, match="needed"):
        await store.personas.add_persona(NewPersona("  ", "text"))
    changed = await store.personas.change_persona("editor", NewPersona("EDITOR", "You cut.", "big", 1.0))
    assert (await store.personas.persona("editor")) == changed
    assert (changed.name, changed.system_prompt, changed.model) == ("EDITOR", "You cut.", "big")
    assert await store.personas.remove_persona("editor") == changed
    assert [one.name for one in await store.personas.personas()] == ["Tutor"]


async def test_templates(store: Store) -> None:
    made = await store.personas.add_template(NewTemplate("letter", "Write to {whom} about {what}."))
    assert await store.personas.template("LETTER") == made
    with pytest.raises(NameTaken):
        await store.personas.add_template(NewTemplate("Letter", "x"))
    changed = await store.personas.change_template("letter", NewTemplate("mail", "To {whom}"))
    assert await store.personas.templates() == [changed]
    assert await store.personas.remove_template("mail") == changed
    with pytest.raises(TemplateNotFound):
        await store.personas.remove_template("mail")


async def test_a_closed_store_says_so(store: Store) -> None:
    await store.close()
    with pytest.raises(RoomClosed):
        await store.personas.personas()
