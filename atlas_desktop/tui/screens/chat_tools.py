"""The part of the conversation screen about what it is given (files, instructions, prompts to fill in), and
about how it is filed (star, tags)."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from textual.dom import DOMNode

from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.turns import Conversation
from atlas_desktop.tui.widgets.chips import Chip, Chips
from atlas_desktop.tui.widgets.message import Remark
from atlas_desktop.tui.widgets.prompt import Prompt
from atlas_desktop.tui.widgets.transcript import Transcript
from memory.entities import RoomKind

if TYPE_CHECKING:
    from atlas_desktop.services.room import OpenRoom
    from atlas_desktop.tui.app import AtlasApp
    from memory.attachments.entities import NewAttachment
    from memory.personas.entities import Persona

GROUP = "tools"
_BUSY = "A reply is coming: stop it first (Esc)."


class ToolActions(DOMNode):
    """Mixed into the conversation screen."""

    atlas: "AtlasApp"
    current: Conversation
    _read = ""

    if TYPE_CHECKING:

        @property
        def prompt(self) -> Prompt: ...

        @property
        def transcript(self) -> Transcript: ...

        def tell(self) -> None: ...

        def refresh_list(self) -> None: ...

        def open_session(self, ref: str) -> None: ...

        async def _open(self, ref: str) -> None: ...

        def action_focus_sessions(self) -> None: ...

    @property
    def _room(self) -> "OpenRoom":
        return self.atlas.room_of(self.current)

    # --- files ------------------------------------------------------------------------------------

    def tell_attachments(self) -> None:
        """Shows what the conversation reads."""
        if not self.atlas.leaving:
            self.atlas.attempt(self._show_chips(), group="chips", exclusive=True)

    def tell_read(self, text: str) -> None:
        """Says how much of the files was read with the newest turn."""
        self._read = text
        self.tell_attachments()

    async def _show_chips(self) -> None:
        shown = self.current
        chips: list[Chip] = []
        if shown.id is not None:
            stored = await self._room.attachments.attached(shown.id)
            chips = [Chip(one.id, one.name, _size(len(one.text))) for one in stored]
        known = {chip.name for chip in chips}
        waiting = [one for one in shown.attached if one.name not in known]
        chips += [Chip(one.name, one.name, "read with your next words") for one in waiting]
        if shown is self.current and self.is_attached:
            if not chips:
                self._read = ""
            self.query_one(Chips).show(chips, self._read)

    def action_attach(self, words: str = "") -> None:
        """Attaches the file whose path follows `/attach`; without one it asks for it."""
        self.atlas.attempt(self._attach_path(words), group=GROUP)

    async def _attach_path(self, words: str) -> None:
        from atlas_desktop.services.attachments import read_attachment
        from atlas_desktop.services.paths_typed import typed_path
        from atlas_desktop.tui.screens.fields import FieldsScreen

        shown = self.current
        if not words:
            hint = "Text, Markdown, code, or a PDF that holds text. It stays on this computer."
            given = await self.atlas.push_screen_wait(FieldsScreen("Attach a file", ["Path"], hint=hint))
            if not given or not given["Path"].strip():
                return
            words = given["Path"]
        await self._take_in(shown, await read_attachment(typed_path(words)))

    async def _take_in(self, shown: Conversation, new: "NewAttachment") -> None:
        """For the conversation that was shown when it was asked for: reading a file takes a while."""
        if shown.id is None:
            shown.attached.append(new)
        else:
            await self.atlas.room_of(shown).attachments.attach(shown.id, new)
        self.atlas.say(f"Attached: {clean_line(new.name)} ({_size(len(new.text))}).")
        self.tell_attachments()

    def attach_session(self, session_id: str) -> None:
        """Has another conversation read here, as a file."""
        self.atlas.attempt(self._attach_session(session_id), group=GROUP)

    async def _attach_session(self, session_id: str) -> None:
        from memory.attachments.entities import NewAttachment

        shown = self.current
        room, session = await self.atlas.desk.rooms.find(session_id)
        if session.room not in (RoomKind.OPEN, self.atlas.room_of(shown).store.room):
            # What is private is not brought into a conversation that is not.
            return
        view = await room.sessions.view(session_id)
        said = [f"{m.speaker or m.role}: {m.content}" for m in view.messages if m.content.strip()]
        text = "\n\n".join(said)
        if text:
            name = f"{clean_line(view.session.title) or 'Untitled'}.md"
            await self._take_in(shown, NewAttachment(name, "text/markdown", len(text.encode()), text))

    def on_prompt_file_pasted(self, event: Prompt.FilePasted) -> None:
        self.atlas.attempt(self._offer_to_attach(event.path), group=GROUP, exclusive=True)

    async def _offer_to_attach(self, path: Path) -> None:
        from atlas_desktop.tui.screens.pick import Choice, PickScreen

        choices = [
            Choice("attach", "Attach the file", "Its text is read with what you say here."),
            Choice("paste", "Paste the path as text"),
        ]
        chosen = await self.atlas.push_screen_wait(PickScreen(path.name, choices))
        if chosen == "attach":
            await self._attach_path(shlex.quote(str(path)))
        elif chosen == "paste":
            self.prompt.insert(str(path))
        self.prompt.focus()

    def action_detach(self, words: str = "") -> None:
        """Takes out the attachment that is named; without a name it asks which."""
        self.atlas.attempt(self._take_out(words), group=GROUP)

    def on_chips_removed(self, event: Chips.Removed) -> None:
        self.atlas.attempt(self._take_out(event.ref), group=GROUP)

    async def _take_out(self, ref: str) -> None:
        shown = self.current
        if shown.busy:
            self.atlas.say(_BUSY)
            return
        ref = ref or await self._which_attachment()
        waiting = [one for one in shown.attached if one.name.casefold() == ref.casefold()]
        if waiting:
            shown.attached.remove(waiting[0])
            self.atlas.say(f"Taken out: {clean_line(waiting[0].name)}.")
        elif shown.id is not None and ref:
            gone = await self.atlas.room_of(shown).attachments.detach(shown.id, ref)
            self._read = ""
            self.atlas.say(f"Taken out: {clean_line(gone.name)}. The model is not given it any more.")
        self.tell_attachments()

    async def _which_attachment(self) -> str:
        from atlas_desktop.tui.screens.pick import Choice, PickScreen

        shown = self.current
        stored = await self._room.attachments.attached(shown.id) if shown.id is not None else []
        choices = [Choice(one.id, one.name, _size(len(one.text))) for one in stored]
        choices += [Choice(one.name, one.name, _size(len(one.text))) for one in shown.attached]
        if not choices:
            self.atlas.say("Nothing is attached here.")
            return ""
        return await self.atlas.push_screen_wait(PickScreen("Take out which?", choices)) or ""

    # --- instructions -----------------------------------------------------------------------------

    def action_instruct(self, words: str = "") -> None:
        """Gives the conversation other instructions; without words they are shown, to be changed."""
        self.atlas.attempt(self._instruct_by_hand(words), group=GROUP, exclusive=True)

    async def _instruct_by_hand(self, words: str) -> None:
        shown = self.current
        if shown.busy:
            self.atlas.say(_BUSY)
            return
        if not words:
            from atlas_desktop.tui.screens.text_edit import TextEditScreen

            hint = "What the model is told before everything else, in this conversation alone."
            edited = await self.atlas.push_screen_wait(
                TextEditScreen("Instructions", self._instructions, hint=hint)
            )
            if edited is None or edited == self._instructions:
                return
            words = edited
        await self._instruct(shown, words, "The instructions are changed.")

    @property
    def _instructions(self) -> str:
        session = self.current.session
        if session is not None:
            return self._room.personas.instructions(session)
        return self.current.system or self.atlas.desk.settings.chat.system_prompt

    async def _instruct(self, shown: Conversation, text: str | None, said: str) -> None:
        from atlas_desktop.services.personas import NEW_EPOCH

        if shown.id is None:
            shown.system = text
            self.atlas.say(f"{said} They hold from your first words on.")
        else:
            shown.session = await self.atlas.room_of(shown).personas.instruct(shown.id, text)
            if shown is self.current:
                await self.transcript.note(Remark(f"{said} {NEW_EPOCH}"))
        self.tell()

    def action_persona(self, words: str = "") -> None:
        """Takes up the persona that is named (`none`: none); without a name it shows them."""
        self.atlas.attempt(self._persona(words), group=GROUP, exclusive=True)

    async def _persona(self, words: str) -> None:
        from atlas_desktop.services.personas import persona_for

        shown = self.current
        if shown.busy:
            self.atlas.say(_BUSY)
            return
        if words.casefold() == "none":
            await self._instruct(shown, None, "The model is itself again.")
            return
        if words:
            await self._be(shown, await persona_for(self._room, self.atlas.desk.open_rooms, words))
            return
        from atlas_desktop.tui.screens.personas import PersonasScreen

        chosen = await self.atlas.push_screen_wait(PersonasScreen(self.atlas, self._room, self._instructions))
        if chosen is not None:
            await self._be(shown, chosen)

    async def _be(self, shown: Conversation, persona: "Persona") -> None:
        await self._instruct(shown, persona.system_prompt, f"The model is {clean_line(persona.name)} now.")
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
        from atlas_desktop.services.personas import filled, template_for, variables
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

    # --- how it is filed --------------------------------------------------------------------------

    def action_star(self) -> None:
        self.atlas.attempt(self._star(), group=GROUP)

    async def _star(self) -> None:
        from memory.organising.entities import MarksPatch

        shown, session, room = self.current, self.current.session, self._room
        assert session is not None
        await room.organising.apply([session.id], MarksPatch(starred=not session.starred))
        shown.session = await room.store.get_session(session.id)
        self.atlas.say("The star is taken away." if session.starred else "Starred.")
        self.tell()
        self.refresh_list()

    def action_tag(self, words: str = "") -> None:
        """Tags the conversation with the words; `-word` takes a tag away."""
        self.atlas.attempt(self._tag(words), group=GROUP)

    async def _tag(self, words: str) -> None:
        from atlas_desktop.tui.screens.fields import FieldsScreen
        from memory.organising.entities import MarksPatch

        shown, session, room = self.current, self.current.session, self._room
        assert session is not None
        if not words:
            now = ", ".join(map(clean_line, session.tags)) or "none yet"
            hint = f"Tags now: {now}. A word with - before it takes that tag away."
            given = await self.atlas.push_screen_wait(FieldsScreen("Tag", ["Tags"], hint=hint))
            words = given["Tags"] if given else ""
        if not words.strip():
            return
        given_tags = _split(words)
        patch = MarksPatch(
            add_tags=tuple(tag for tag in given_tags if not tag.startswith("-")),
            remove_tags=tuple(tag[1:] for tag in given_tags if len(tag) > 1 and tag.startswith("-")),
        )
        try:
            await room.organising.apply([session.id], patch)
        except ValueError as error:
            self.atlas.say(f"That is no tag: {error}.")
            return
        shown.session = await room.store.get_session(session.id)
        tags = ", ".join(map(clean_line, shown.session.tags))
        self.atlas.say(f"Tags: {tags}." if tags else "This conversation has no tags.")
        self.refresh_list()

    def action_resume(self, words: str = "") -> None:
        """Opens a conversation by id, `last`, or words of its title; without any it goes to the list."""
        if words:
            self.atlas.attempt(self._resume_by(words), group="open", exclusive=True)
        else:
            self.action_focus_sessions()

    async def _resume_by(self, words: str) -> None:
        from memory.errors import AmbiguousId, SessionNotFound

        try:
            _, session = await self.atlas.desk.rooms.find(words)
        except (SessionNotFound, AmbiguousId) as error:
            rooms = self.atlas.desk.open_rooms
            found = [s for room in rooms for s in await room.sessions.recent(containing=words, limit=1)]
            if not found:
                raise error from None
            session = max(found, key=lambda one: one.updated_at)
        await self._open(session.id)

    # --- when it can be done ----------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("star", "tag"):
            return True if self.current.id is not None and not self.atlas.leaving else None
        if action in ("attach", "detach", "persona", "instruct", "use_template", "resume"):
            return None if self.atlas.leaving or self.atlas.desk.room is None else True
        return super().check_action(action, parameters)


def _size(characters: int) -> str:
    return f"{characters:,} characters"


def _split(words: str) -> list[str]:
    try:
        return [one.strip(",") for one in shlex.split(words) if one.strip(",")]
    except ValueError:
        return words.split()
