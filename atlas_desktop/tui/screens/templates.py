"""Templates of prompts: to choose from, and to keep."""

from collections.abc import Sequence

from atlas_desktop.services.personas import templates_for
from atlas_desktop.tui.screens.kept import KeptScreen
from atlas_desktop.tui.screens.text_edit import NamedTextScreen
from memory.personas.entities import NewTemplate, Template

_HINT = "What stands in {braces} is asked for when it is used."


class TemplatesScreen(KeptScreen[Template]):
    heading = "Templates of prompts"
    hint = "What stands in {braces} is asked for; then the text is put into the prompt."
    none = "There are none yet. Press a to write one: “Write a letter to {whom} about {what}.”"

    async def things(self) -> Sequence[Template]:
        return await templates_for(self.room, self.atlas.desk.open_rooms)

    def described(self, one: Template) -> str:
        return one.text

    async def edited(self, old: Template | None) -> Template | None:
        name, text = ("", "") if old is None else (old.name, old.text)
        title = "New template" if old is None else "Edit the template"
        given = await self.atlas.push_screen_wait(NamedTextScreen(title, name, text, hint=_HINT))
        if given is None:
            return None
        new = NewTemplate(*given)
        service = self.room.personas
        return await (service.add_template(new) if old is None else service.change_template(old.id, new))

    async def removed(self, one: Template) -> None:
        await self.room.personas.remove_template(one.id)
