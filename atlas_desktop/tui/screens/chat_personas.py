"""The part of the conversation screen about who the model is told to be, and about prompts to fill in."""

from typing import TYPE_CHECKING

from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.screens.chat_part import ChatPart
from atlas_desktop.tui.turns import Conversation
from atlas_desktop.tui.widgets.message import Remark
from atlas_desktop.words.catalogue import tr

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from memory.personas.entities import Persona

GROUP = "tools"


class PersonaActions(ChatPart):
    """Mixed into the conversation screen."""

    @property
    def _room(self) -> "RoomServices":
        return self.atlas.room_of(self.current)

    # --- instructions -----------------------------------------------------------------------------

    def action_instruct(self, words: str = "") -> None:
        """Gives the conversation other instructions; without words they are shown, to be changed."""
        self.atlas.attempt(self._instruct_by_hand(words), group=GROUP, exclusive=True)

    async def _instruct_by_hand(self, words: str) -> None:
        shown = self.current
        if shown.busy:
            self.atlas.say(tr("chat.busy"))
            return
        if not words:
            from atlas_desktop.tui.screens.text_edit import TextEditScreen

            hint = tr("chat.instructions_hint")
            edited = await self.atlas.push_screen_wait(
                TextEditScreen(tr("chat.instructions"), self._instructions, hint=hint)
            )
            if edited is None or edited == self._instructions:
                return
            words = edited
        await self._instruct(shown, words, tr("chat.instructed"))

    @property
    def _instructions(self) -> str:
        session = self.current.session
        if session is not None:
            return self._room.personas.instructions(session)
        return self.current.system or self.atlas.desk.settings.chat.system_prompt

    async def _instruct(self, shown: Conversation, text: str | None, said: str) -> None:
        if shown.id is None:
            shown.system = text
            self.atlas.say(f"{said} {tr('chat.from_the_first')}")
        else:
            shown.session = await self.atlas.room_of(shown).personas.instruct(shown.id, text)
            if shown is self.current:
                await self.transcript.note(Remark(f"{said} {tr('turn.new_epoch')}"))
        self.tell()

    def action_persona(self, words: str = "") -> None:
        """Takes up the persona that is named (`none`: none); without a name it shows them."""
        self.atlas.attempt(self._persona(words), group=GROUP, exclusive=True)

    async def _persona(self, words: str) -> None:
        from atlas_desktop.services.lending import persona_for

        shown = self.current
        if shown.busy:
            self.atlas.say(tr("chat.busy"))
            return
        if words.casefold() == "none":
            await self._instruct(shown, None, tr("chat.itself_again"))
            return
        if words:
            await self._be(shown, await persona_for(self._room, self.atlas.desk.open_rooms, words))
            return
        from atlas_desktop.tui.screens.personas import PersonasScreen

        chosen = await self.atlas.push_screen_wait(PersonasScreen(self.atlas, self._room, self._instructions))
        if chosen is not None:
            await self._be(shown, chosen)

    async def _be(self, shown: Conversation, persona: "Persona") -> None:
        await self._instruct(shown, persona.system_prompt, tr("chat.is_now", name=clean_line(persona.name)))
        model = persona.model
        if model and model != self.atlas.model_id:
            self.atlas.desk.models.installed_model(model)
            self.atlas.desk.chosen_model = model
            await self.atlas.change_model_soon()

    # --- prompts to fill in -----------------------------------------------------------------------

    def action_use_template(self, words: str = "") -> None:
        """Puts a template, filled in, into the prompt; without a name it shows them."""
        self.atlas.attempt(self._use_template(words), group=GROUP, exclusive=True)

    async def _use_template(self, words: str) -> None:
        from atlas_desktop.services.lending import template_for
        from atlas_desktop.services.personas import filled, variables
        from atlas_desktop.tui.screens.fields import FieldsScreen

        if words:
            found = await template_for(self._room, self.atlas.desk.open_rooms, words)
        else:
            from atlas_desktop.tui.screens.templates import TemplatesScreen

            chosen = await self.atlas.push_screen_wait(TemplatesScreen(self.atlas, self._room))
            if chosen is None:
                return
            found = chosen
        wanted = variables(found.text)
        values: dict[str, str] | None = {}
        if wanted:
            screen = FieldsScreen(clean_line(found.name), wanted, hint=clean_line(found.text))
            values = await self.atlas.push_screen_wait(screen)
        if values is not None:
            self.prompt.insert(filled(found.text, values))
            self.prompt.focus()
