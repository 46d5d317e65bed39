"""The window with the personas, and the window with the prompt templates."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from atlas_desktop.services.lending import personas_for, templates_for
from atlas_desktop.tui.dialogs.forms import NamedTextScreen
from atlas_desktop.tui.dialogs.named_items import NamedItemsScreen
from atlas_desktop.words.catalogue import tr
from memory.personas import NewPersona, NewTemplate, Persona, Template

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp


class PersonasScreen(NamedItemsScreen[Persona]):
    """`now` is the instructions of the conversation that is shown."""

    heading = tr("kept.personas")
    hint = tr("kept.personas_hint")
    none = tr("kept.personas_none")
    stays = tr("kept.personas_stay")

    def __init__(self, app: "BaseApp", room: "RoomServices", now: str) -> None:
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


_BRACES = "{braces}"


class TemplatesScreen(NamedItemsScreen[Template]):
    heading = tr("kept.templates")
    hint = tr("kept.templates_hint", braces=_BRACES)
    none = tr("kept.templates_none", whom="{whom}", what="{what}")

    async def things(self) -> Sequence[Template]:
        return await templates_for(self.room, self.atlas.desk.open_rooms)

    def described(self, one: Template) -> str:
        return one.text

    async def edited(self, old: Template | None) -> Template | None:
        name, text = ("", "") if old is None else (old.name, old.text)
        title = tr("kept.template_new") if old is None else tr("kept.template_edit")
        hint = tr("kept.template_hint", braces=_BRACES)
        given = await self.atlas.push_screen_wait(NamedTextScreen(title, name, text, hint=hint))
        if given is None:
            return None
        new = NewTemplate(*given)
        service = self.room.personas
        return await (service.add_template(new) if old is None else service.change_template(old.id, new))

    async def removed(self, one: Template) -> None:
        await self.room.personas.remove_template(one.id)
