"""Who the model can be: personas to choose from, and to keep."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from atlas_desktop.services.lending import personas_for
from atlas_desktop.tui.screens.kept import KeptScreen
from atlas_desktop.tui.screens.text_edit import NamedTextScreen
from atlas_desktop.words.catalogue import tr
from memory.personas.entities import NewPersona, Persona

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.app import AtlasApp


class PersonasScreen(KeptScreen[Persona]):
    """`now` are the instructions of the conversation that is shown."""

    heading = tr("kept.personas")
    hint = tr("kept.personas_hint")
    none = tr("kept.personas_none")
    stays = tr("kept.personas_stay")

    def __init__(self, app: "AtlasApp", room: "RoomServices", now: str) -> None:
        super().__init__(app, room)
        self._now = now

    async def things(self) -> Sequence[Persona]:
        return await personas_for(self.room, self.atlas.desk.open_rooms)

    def described(self, one: Persona) -> str:
        text = one.system_prompt
        return tr("kept.persona_now", text=text) if self.in_use(one) else text

    def in_use(self, one: Persona) -> bool:
        return one.system_prompt == self._now

    async def edited(self, old: Persona | None) -> Persona | None:
        name, text = ("", "") if old is None else (old.name, old.system_prompt)
        title = tr("kept.persona_new") if old is None else tr("kept.persona_edit")
        given = await self.atlas.push_screen_wait(
            NamedTextScreen(title, name, text, hint=tr("kept.persona_hint"))
        )
        if given is None:
            return None
        service = self.room.personas
        name, text = given
        if old is None:
            return await service.add(NewPersona(name, text))
        return await service.change(old.id, NewPersona(name, text, old.model, old.temperature))

    async def removed(self, one: Persona) -> None:
        await self.room.personas.remove(one.id)
