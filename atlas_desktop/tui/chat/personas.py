"""Instructions and personas for the model, and templates for the prompt."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.services.forgetting_in_rooms import personas_for, templates_for
from atlas_desktop.tui.chat.conversation import Conversation
from atlas_desktop.tui.chat.conversation_view import ConversationView
from atlas_desktop.tui.dialogs.forms import NamedItemsScreen, NamedTextScreen
from memory.personas import NewPersona, NewTemplate, Persona, Template

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp


GROUP = "tools"


class PersonasController:
    """Changes the instructions of the conversation that is shown, and fills in templates."""

    def __init__(self, app: "BaseApp", view: ConversationView) -> None:
        self._app = app
        self._view = view

    # --- instructions -----------------------------------------------------------------------------

    def instruct(self, words: str = "") -> None:
        """Changes the instructions of the conversation; opens an editor if no text is given."""
        self._app.attempt(self._instruct_by_hand(words), group=GROUP, exclusive=True)

    async def _instruct_by_hand(self, words: str) -> None:
        shown = self._view.current
        if shown.busy:
            self._app.say_stop_first()
            return
        if not words:
            from atlas_desktop.tui.dialogs.forms import TextEditScreen

            hint = _("The model reads this before everything else, in this conversation only.")
            edited = await self._app.push_screen_wait(
                TextEditScreen(_("Instructions"), self._instructions, hint=hint)
            )
            if edited is None or edited == self._instructions:
                return
            words = edited
        await self._instruct(shown, words, _("Instructions changed."))

    @property
    def _instructions(self) -> str:
        session = self._view.current.session
        if session is not None:
            return self._view.room.personas.instructions(session)
        return self._view.current.system or self._app.desk.settings.chat.system_prompt

    async def _instruct(self, shown: Conversation, text: str | None, said: str) -> None:
        if shown.id is None:
            shown.system = text
            self._app.say(f"{said} {_('This applies from your first message.')}")
        else:
            shown.session = await self._app.room_of(shown).personas.instruct(shown.id, text)
            if shown is self._view.current:
                await self._view.note(
                    f"{said} "
                    + _(
                        "With your next message, the model rereads this conversation with the new "
                        "instructions."
                    )
                )
        self._view.refresh()

    def choose_persona(self, words: str = "") -> None:
        """Applies a persona (`none` removes it); shows the list if none is named."""
        self._app.attempt(self._persona(words), group=GROUP, exclusive=True)

    async def _persona(self, words: str) -> None:
        from atlas_desktop.services.forgetting_in_rooms import persona_for

        shown = self._view.current
        if shown.busy:
            self._app.say_stop_first()
            return
        if words.casefold() == "none":
            await self._instruct(shown, None, _("Persona removed."))
            return
        if words:
            await self._be(shown, await persona_for(self._view.room, self._app.desk.open_rooms, words))
            return

        screen = PersonasScreen(self._app, self._view.room, self._instructions)
        chosen = await self._app.push_screen_wait(screen)
        if chosen is not None:
            await self._be(shown, chosen)

    async def _be(self, shown: Conversation, persona: "Persona") -> None:
        await self._instruct(
            shown, persona.system_prompt, _("Persona changed to {name}.", name=clean_line(persona.name))
        )
        model = persona.model
        if model and model != self._app.model_id:
            self._app.desk.chosen_model = self._app.desk.check_model(model)
            await self._app.change_model_soon()

    # --- templates --------------------------------------------------------------------------------

    def use_template(self, words: str = "") -> None:
        """Fills in a template and puts it into the prompt; shows the list if none is named."""
        self._app.attempt(self._use_template(words), group=GROUP, exclusive=True)

    async def _use_template(self, words: str) -> None:
        from atlas_desktop.services.forgetting_in_rooms import template_for
        from atlas_desktop.services.personas import filled, variables
        from atlas_desktop.tui.dialogs.forms import FieldsScreen

        if words:
            found = await template_for(self._view.room, self._app.desk.open_rooms, words)
        else:
            chosen = await self._app.push_screen_wait(TemplatesScreen(self._app, self._view.room))
            if chosen is None:
                return
            found = chosen
        wanted = variables(found.text)
        values: dict[str, str] | None = {}
        if wanted:
            screen = FieldsScreen(clean_line(found.name), wanted, hint=clean_line(found.text))
            values = await self._app.push_screen_wait(screen)
        if values is not None:
            self._view.prompt.insert(filled(found.text, values))
            self._view.prompt.focus()


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
