"""Personas and templates across rooms: those of the open room work in the others, never the reverse."""

from collections.abc import Sequence

from atlas_desktop.services.room import RoomServices
from memory.entities import RoomKind, Session
from memory.errors import PersonaNotFound, TemplateNotFound
from memory.personas import Persona, Template


def lenders(here: "RoomServices", rooms: "Sequence[RoomServices]") -> "list[RoomServices]":
    """Returns the room itself and the open one: nothing is lent from the private room to another."""
    others = [room for room in rooms if room is not here and room.store.room is RoomKind.OPEN]
    return [here, *others]


async def personas_for(here: "RoomServices", rooms: "Sequence[RoomServices]") -> list[Persona]:
    """Returns the personas usable here, by name; the room's own replace others of the same name."""
    known: dict[str, Persona] = {}
    for room in lenders(here, rooms):
        for one in await room.personas.personas():
            known.setdefault(one.name.casefold(), one)
    return [known[name] for name in sorted(known)]


async def persona_for(here: "RoomServices", rooms: "Sequence[RoomServices]", ref: str) -> Persona:
    """Returns a persona usable here. Raises `PersonaNotFound`, `AmbiguousId`."""
    for room in lenders(here, rooms):
        try:
            return await room.personas.persona(ref)
        except PersonaNotFound:
            continue
    raise PersonaNotFound(ref)


async def templates_for(here: "RoomServices", rooms: "Sequence[RoomServices]") -> list[Template]:
    """Returns the templates usable here, as `personas_for`."""
    known: dict[str, Template] = {}
    for room in lenders(here, rooms):
        for one in await room.personas.templates():
            known.setdefault(one.name.casefold(), one)
    return [known[name] for name in sorted(known)]


async def template_for(here: "RoomServices", rooms: "Sequence[RoomServices]", ref: str) -> Template:
    """Returns a template usable here. Raises `TemplateNotFound`, `AmbiguousId`."""
    for room in lenders(here, rooms):
        try:
            return await room.personas.template(ref)
        except TemplateNotFound:
            continue
    raise TemplateNotFound(ref)


async def temperature_for(
    here: "RoomServices", rooms: "Sequence[RoomServices]", system: str | None
) -> float | None:
    """Returns the temperature of the persona that has these instructions; None if it sets none."""
    if not system:
        return None
    known = await personas_for(here, rooms)
    return next((one.temperature for one in known if one.system_prompt == system), None)


async def persona_of(
    here: "RoomServices", rooms: "Sequence[RoomServices]", session: Session
) -> Persona | None:
    """Returns the persona that has the instructions of a session, if it was not changed since."""
    if not session.system_prompt:
        return None
    known = await personas_for(here, rooms)
    return next((one for one in known if one.system_prompt == session.system_prompt), None)
