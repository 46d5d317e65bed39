"""The window with the personas, and the window with the prompt templates."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from atlas_desktop.locale import _
from atlas_desktop.services.lending import personas_for, templates_for
from atlas_desktop.tui.dialogs.forms import NamedTextScreen
from atlas_desktop.tui.dialogs.named_items import NamedItemsScreen
from memory.personas import NewPersona, NewTemplate, Persona, Template

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp


class PersonasScreen(NamedItemsScreen[Persona]):
    """`now` contains the instructions of the conversation that is shown."""

    heading = _("Personas")
    hint = _(
        "The model's role in this conversation. It applies from your next message on; /persona none ends it."
    )
    none = _("No personas yet. Press a to write one: a name and the model's role.")
    stays = _("Conversations that use it keep its text.")

    def __init__(self, app: "BaseApp", room: "RoomServices", now: str) -> None:
        super().__init__(app, room)
        self._now = now

    async def things(self) -> Sequence[Persona]:
        return await personas_for(self.room, self.atlas.desk.open_rooms)

    def described(self, one: Persona) -> str:
        text = one.system_prompt
        return _("in use · {text}", text=text) if self.in_use(one) else text

    def in_use(self, one: Persona) -> bool:
        return one.system_prompt == self._now

    async def edited(self, old: Persona | None) -> Persona | None:
        name, text = ("", "") if old is None else (old.name, old.system_prompt)
        title = _("New persona") if old is None else _("Edit persona")
        given = await self.atlas.push_screen_wait(
            NamedTextScreen(
                title,
                name,
                text,
                hint=_(
                    "Instructions the model gets first. Conversations already using the persona keep the old "
                    "text."
                ),
            )
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
    heading = _("Prompt templates")
    hint = _("Atlas asks for anything in {braces}, then puts the text into the prompt.", braces=_BRACES)
    none = _(
        "No templates yet. Press a to write one: “Write a letter to {whom} about {what}.”",
        whom="{whom}",
        what="{what}",
    )

    async def things(self) -> Sequence[Template]:
        return await templates_for(self.room, self.atlas.desk.open_rooms)

    def described(self, one: Template) -> str:
        return one.text

    async def edited(self, old: Template | None) -> Template | None:
        name, text = ("", "") if old is None else (old.name, old.text)
        title = _("New template") if old is None else _("Edit template")
        hint = _("Atlas asks for anything in {braces} when you use it.", braces=_BRACES)
        given = await self.atlas.push_screen_wait(NamedTextScreen(title, name, text, hint=hint))
        if given is None:
            return None
        new = NewTemplate(*given)
        service = self.room.personas
        return await (service.add_template(new) if old is None else service.change_template(old.id, new))

    async def removed(self, one: Template) -> None:
        await self.room.personas.remove_template(one.id)
