"""Personas and templates across rooms: those of the open room serve in the others, never the reverse."""

from collections.abc import Sequence

from atlas_desktop.services.room import RoomServices
from memory.entities import RoomKind, Session
from memory.errors import PersonaNotFound, TemplateNotFound
from memory.personas import Persona, Template


def lenders(here: "RoomServices", rooms: "Sequence[RoomServices]") -> "list[RoomServices]":
    """The room itself and the open one: nothing goes from the private room into another."""
    others = [room for room in rooms if room is not here and room.store.room is RoomKind.OPEN]
    return [here, *others]


async def personas_for(here: "RoomServices", rooms: "Sequence[RoomServices]") -> list[Persona]:
    """Those that can be taken up here, by name; the room's own go before others of the same name."""
    known: dict[str, Persona] = {}
    for room in lenders(here, rooms):
        for one in await room.personas.personas():
            known.setdefault(one.name.casefold(), one)
    return [known[name] for name in sorted(known)]


async def persona_for(here: "RoomServices", rooms: "Sequence[RoomServices]", ref: str) -> Persona:
    """Raises `PersonaNotFound`, `AmbiguousId`."""
    for room in lenders(here, rooms):
        try:
            return await room.personas.persona(ref)
        except PersonaNotFound:
            continue
    raise PersonaNotFound(ref)


async def templates_for(here: "RoomServices", rooms: "Sequence[RoomServices]") -> list[Template]:
    """As `personas_for`."""
    known: dict[str, Template] = {}
    for room in lenders(here, rooms):
        for one in await room.personas.templates():
            known.setdefault(one.name.casefold(), one)
    return [known[name] for name in sorted(known)]


async def template_for(here: "RoomServices", rooms: "Sequence[RoomServices]", ref: str) -> Template:
    """Raises `TemplateNotFound`, `AmbiguousId`."""
    for room in lenders(here, rooms):
        try:
            return await room.personas.template(ref)
        except TemplateNotFound:
            continue
    raise TemplateNotFound(ref)


async def temperature_for(
    here: "RoomServices", rooms: "Sequence[RoomServices]", system: str | None
) -> float | None:
    """The variety that the persona asks for whose words these instructions are, if any does."""
    if not system:
        return None
    known = await personas_for(here, rooms)
    return next((one.temperature for one in known if one.system_prompt == system), None)


async def persona_of(
    here: "RoomServices", rooms: "Sequence[RoomServices]", session: Session
) -> Persona | None:
    """The persona whose words a session goes by, if it still is what it was."""
    if not session.system_prompt:
        return None
    known = await personas_for(here, rooms)
    return next((one for one in known if one.system_prompt == session.system_prompt), None)
