"""The part of the conversation screen about what it is given: files and other conversations."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.calendar import long
from atlas_desktop.tui.screens.chat_filing import FilingActions
from atlas_desktop.tui.screens.chat_personas import PersonaActions
from atlas_desktop.tui.turns import Conversation
from atlas_desktop.tui.widgets.chips import Chip, Chips
from atlas_desktop.tui.widgets.prompt import Prompt
from atlas_desktop.words.catalogue import tr
from memory.attachments.entities import NewAttachment
from memory.entities import RoomKind

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices

GROUP = "tools"


class ToolActions(FilingActions, PersonaActions):
    """Mixed into the conversation screen."""

    _read = ""

    if TYPE_CHECKING:

        def open_session(self, ref: str) -> None: ...

    # --- files ------------------------------------------------------------------------------------

    def tell_attachments(self) -> None:
        """Shows what the conversation reads."""
        if not self.atlas.leaving:
            self.atlas.attempt(self._show_chips, group="chips", exclusive=True)

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
        chips += [Chip(one.name, one.name, tr("chat.read_next")) for one in waiting]
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
            hint, field = tr("chat.attach_hint"), tr("chat.path")
            given = await self.atlas.push_screen_wait(FieldsScreen(tr("chat.attach"), [field], hint=hint))
            if not given or not given[field].strip():
                return
            words = given[field]
        await self._take_in(shown, await read_attachment(typed_path(words)))

    async def _take_in(self, shown: Conversation, new: NewAttachment) -> None:
        """For the conversation that was shown when it was asked for: reading a file takes a while."""
        if shown.id is None:
            shown.attached.append(new)
        else:
            await self.atlas.room_of(shown).attachments.attach(shown.id, new)
        self.atlas.say(tr("chat.attached", name=clean_line(new.name), size=_size(len(new.text))))
        self.tell_attachments()

    def attach_session(self, session_id: str) -> None:
        """Has another conversation read here, as a file."""
        self.atlas.attempt(self._attach_session(session_id), group=GROUP)

    async def _attach_session(self, session_id: str) -> None:
        shown = self.current
        room, session = await self.atlas.desk.rooms.find(session_id)
        if session.room not in (RoomKind.OPEN, self.atlas.room_of(shown).store.room):
            # What is private is not brought into a conversation that is not.
            return
        view = await room.sessions.view(session_id)
        said = [f"{m.speaker or m.role}: {m.content}" for m in view.messages if m.content.strip()]
        text = "\n\n".join(said)
        if text:
            name = f"{clean_line(view.session.title) or tr('chat.untitled')}.md"
            await self._take_in(shown, NewAttachment(name, "text/markdown", len(text.encode()), text))

    def on_prompt_file_pasted(self, event: Prompt.FilePasted) -> None:
        self.atlas.attempt(self._offer_to_attach(event.path), group=GROUP, exclusive=True)

    async def _offer_to_attach(self, path: Path) -> None:
        from atlas_desktop.tui.screens.pick import Choice, PickScreen

        choices = [
            Choice("attach", tr("chat.attach_it"), tr("chat.attach_it_hint")),
            Choice("paste", tr("chat.paste_path")),
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
            self.atlas.say(tr("chat.busy"))
            return
        ref = ref or await self._which_attachment()
        waiting = [one for one in shown.attached if one.name.casefold() == ref.casefold()]
        if waiting:
            shown.attached.remove(waiting[0])
            self.atlas.say(tr("chat.taken_out", name=clean_line(waiting[0].name)))
        elif shown.id is not None and ref:
            gone = await self.atlas.room_of(shown).attachments.detach(shown.id, ref)
            self._read = ""
            self.atlas.say(tr("chat.detached", name=clean_line(gone.name)))
        self.tell_attachments()

    async def _which_attachment(self) -> str:
        from atlas_desktop.tui.screens.pick import Choice, PickScreen

        shown = self.current
        stored = await self._room.attachments.attached(shown.id) if shown.id is not None else []
        choices = [Choice(one.id, one.name, _size(len(one.text))) for one in stored]
        choices += [Choice(one.name, one.name, _size(len(one.text))) for one in shown.attached]
        if not choices:
            self.atlas.say(tr("chat.nothing_attached"))
            return ""
        return await self.atlas.push_screen_wait(PickScreen(tr("chat.take_out_which"), choices)) or ""

    # --- all files of the room --------------------------------------------------------------------

    def action_documents(self) -> None:
        """Shows the files that conversations read."""
        self.atlas.attempt(self._look_at_documents(), group=GROUP)

    async def _look_at_documents(self) -> None:
        from atlas_desktop.tui.screens.documents import DocumentsScreen

        shown = self.current
        screen = DocumentsScreen(self.atlas, self._room, shown.id)
        chosen = await self.atlas.push_screen_wait(screen)
        if screen.adding:
            await self._attach_path("")
        elif chosen is not None and screen.here:
            session, attachment = chosen.document.places[0]
            stored = await screen.room.attachments.attached(session)
            text = next(one for one in stored if one.id == attachment)
            await self._take_in(shown, NewAttachment(text.name, text.media_type, text.size, text.text))
        elif chosen is not None and (session_id := await self._which_reader(screen.room, chosen.sessions)):
            self.open_session(session_id)

    async def _which_reader(self, room: "RoomServices", sessions: Sequence[str]) -> str:
        from atlas_desktop.tui.screens.pick import Choice, PickScreen

        if len(sessions) == 1:
            return sessions[0]
        readers = [await room.store.get_session(session) for session in sessions]
        now = self.atlas.now()
        choices = [
            Choice(one.id, clean_line(one.title) or tr("chat.untitled"), long(one.updated_at, now))
            for one in readers
        ]
        return await self.atlas.push_screen_wait(PickScreen(tr("documents.which"), choices)) or ""

    # --- when it can be done ----------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("star", "tag"):
            return True if self.current.id is not None and not self.atlas.leaving else None
        if action in ("attach", "detach", "documents", "persona", "instruct", "use_template", "resume"):
            return None if self.atlas.leaving or self.atlas.desk.room is None else True
        return super().check_action(action, parameters)


def _size(characters: int) -> str:
    return tr("chat.characters", count=characters)
