"""Templates of prompts: to choose from, and to keep."""

from collections.abc import Sequence

from atlas_desktop.services.lending import templates_for
from atlas_desktop.tui.screens.kept import KeptScreen
from atlas_desktop.tui.screens.text_edit import NamedTextScreen
from atlas_desktop.words.catalogue import tr
from memory.personas.entities import NewTemplate, Template

_BRACES = "{braces}"


class TemplatesScreen(KeptScreen[Template]):
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
