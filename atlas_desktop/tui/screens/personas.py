"""Who the model can be: personas to choose from, and to keep."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from atlas_desktop.services.personas import personas_for
from atlas_desktop.tui.screens.kept import KeptScreen
from atlas_desktop.tui.screens.text_edit import NamedTextScreen
from memory.personas.entities import NewPersona, Persona

if TYPE_CHECKING:
    from atlas_desktop.services.room import OpenRoom
    from atlas_desktop.tui.app import AtlasApp

_HINT = "What it is told before everything else. Sessions that took it up keep the words they have."


class PersonasScreen(KeptScreen[Persona]):
    """`now` are the instructions of the conversation that is shown."""

    heading = "Personas"
    hint = "Who the model is in this conversation. A new one begins a new epoch; /persona none ends it."
    none = "There are none yet. Press a to write one: a name, and what the model is to be."

    def __init__(self, app: "AtlasApp", room: "OpenRoom", now: str) -> None:
        super().__init__(app, room)
        self._now = now

    async def things(self) -> Sequence[Persona]:
        return await personas_for(self.room, self.atlas.desk.open_rooms)

    def described(self, one: Persona) -> str:
        return f"in use · {one.system_prompt}" if one.system_prompt == self._now else one.system_prompt

    async def edited(self, old: Persona | None) -> Persona | None:
        name, text = ("", "") if old is None else (old.name, old.system_prompt)
        title = "New persona" if old is None else "Edit the persona"
        given = await self.atlas.push_screen_wait(NamedTextScreen(title, name, text, hint=_HINT))
        if given is None:
            return None
        service = self.room.personas
        if old is None:
            return await service.add(NewPersona(*given))
        return await service.change(old.id, NewPersona(*given, old.model, old.temperature))

    async def removed(self, one: Persona) -> None:
        await self.room.personas.remove(one.id)
