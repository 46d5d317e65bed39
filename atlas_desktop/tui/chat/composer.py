"""Handles what is typed: sends it as a message, runs it as a command, or finds earlier messages."""

import os
import re
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult, SuspendNotSupported
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Static

from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.tui.actions import Action, similar, typed
from atlas_desktop.tui.calendar import short
from atlas_desktop.tui.chat.conversation import Conversation
from atlas_desktop.tui.chat.conversation_view import ConversationView
from atlas_desktop.tui.dialogs.questions import SearchedListScreen
from atlas_desktop.tui.keymap import how_to
from atlas_desktop.tui.terminal import NoEditor, edited, editor_of
from atlas_desktop.tui.widgets import CleanInput
from memory.clock import LocalZone
from memory.entities import Message, RoomKind
from memory.errors import QueryUnclear, RoomClosed
from memory.search.entities import All, Condition, Order, Query, SaidBy, Words
from memory.search.language import parse
from models.messages import Role

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp


Act = Callable[[], Coroutine[Any, Any, object]]


class ChangeGate:
    """Holds messages back until all changes in progress have ended."""

    def __init__(self, app: "BaseApp", view: ConversationView, submit: Callable[[str], None]) -> None:
        """`submit` sends what was held back."""
        self._app = app
        self._view = view
        self._submit = submit
        self._changes: dict[object, str] = {}
        self._refused = False
        self.held: tuple[str, ...] = ()

    @property
    def closed(self) -> bool:
        """Whether a change is in progress, so that nothing may be sent."""
        return bool(self._changes)

    @property
    def changes(self) -> list[str]:
        """The names of the changes in progress. A command that may start one has no name."""
        return [name for name in self._changes.values() if name]

    def change(self, act: Act, what: str, *, group: str, asked_for: bool) -> None:
        """Starts work that may change where messages go. Messages sent meanwhile are sent when it has ended.

        If the user asked for the change (`asked_for`) and nothing has changed, because it was refused or
        failed, the text returns to the prompt instead. `what` is empty for a command, which may start a named
        change.

        The work is never cancelled: Textual reports a worker that was cancelled before its first step as
        running forever.
        """
        token = object()
        self._changes[token] = what
        self._app.attempt(partial(self._carry_out, token, act, asked_for=asked_for), group=group)

    async def _carry_out(
        self, token: object, act: Callable[[], Awaitable[object]], *, asked_for: bool
    ) -> None:
        before = self._view.destination
        try:
            await act()
        finally:
            del self._changes[token]
            self._refused |= asked_for and self._view.destination == before
            if not self.closed:
                self._open()

    def hold_back(self, text: str) -> None:
        self.held += (text,)

    def _open(self) -> None:
        texts, self.held = self.held, ()
        refused, self._refused = self._refused, False
        if not texts or not self._view.is_there:
            return
        if refused:
            self._view.prompt.put("\n\n".join(filter(str.strip, (*texts, self._view.prompt.text))))
            return
        for text in texts:
            # A command among them may start a change that the rest must wait for.
            self._submit(text)


_COMMAND = re.compile(r"/[a-z_-]+(?: [^\n]*)?")
"""Matches a text that looks like a command."""


class ComposerController:
    """Sends the text in the prompt; keeps unsent text as a draft."""

    def __init__(
        self,
        app: "BaseApp",
        view: ConversationView,
        *,
        run_command: Callable[[Action, tuple[str, ...]], Coroutine[Any, Any, None]],
    ) -> None:
        self._app = app
        self._view = view
        self._run_command = run_command
        self.gate = ChangeGate(app, view, self.submit)
        self.editing: Message | None = None
        """The message that the typed text will replace."""
        self._sent_as_it_is = ""

    # --- sending ---------------------------------------------------------------------------------

    def text_changed(self) -> None:
        """Keeps the typed text as the draft of the conversation."""
        if self._sent_as_it_is and self._view.prompt.text.strip() != self._sent_as_it_is:
            self._sent_as_it_is = ""
            self._say_what_enter_does()
        if self.editing is None:
            self._view.current.draft = self._view.prompt.text
            self._app.drafts.changed(self._view.current)

    def keep_typed(self, *, edited: bool = False) -> None:
        """Keeps the typed text as a draft; with `edited` also the changed text of an earlier message."""
        shown, now = self._view.current, _together(*self.gate.held, self._view.prompt.text)
        if self.editing is None:
            shown.draft = now
        elif edited and now != self.editing.content:
            shown.draft = _together(shown.draft, now)
        self._app.drafts.changed(shown)

    def send_typed(self, text: str) -> None:
        """Runs the typed command or sends the message."""
        text = text.strip()
        if typed(text) is not None:
            self._view.prompt.remember(text)
            self._view.prompt.put("")
            # At once, before the command looks at drafts.
            self.text_changed()
            self.submit(text)
            return
        if _COMMAND.fullmatch(text) and text != self._sent_as_it_is:
            # Probably a typo. Sending it again sends it as it is.
            self._sent_as_it_is = text
            self._say_what_enter_does()
            return
        self._sent_as_it_is = ""
        self._say_what_enter_does()
        if self.editing is not None:
            self._send_edited(text)
            return
        if text:
            self._view.prompt.remember(text)
            self._view.prompt.put("")
        self.submit(text)

    def submit(self, text: str) -> None:
        """Sends a text or runs a command, after any change of the room or the memory mode has ended."""
        if text and self.gate.closed:
            self.gate.hold_back(text)
        elif (command := typed(text)) is not None:
            self.gate.change(partial(self._run_command, *command), "", group="command", asked_for=False)
        else:
            self.send_text(text)

    def send_text(self, text: str) -> None:
        """Sends a text, or queues it behind the current turn. Without text it sends the next queued one."""
        shown = self._view.current
        if text and (shown.busy or shown.waiting):
            shown.waiting.append(text)
        self._app.drafts.changed(shown)
        if shown.busy:
            self._view.refresh()
        elif shown.waiting:
            self.say(shown, shown.waiting.pop(0))
        elif text:
            self.say(shown, text)

    def say(self, conversation: Conversation, text: str) -> None:
        """Sends a text. The caller makes sure that no turn is in progress."""
        self._app.turns.send(conversation, text)
        self._view.refresh()

    def recall(self) -> None:
        """Takes back the last queued message, or recalls the last sent one."""
        if self._view.current.waiting:
            self.take_back()
        elif self._view.prompt.history_of_sent:
            self._view.prompt.recall(-1)
        else:
            self._app.attempt(self._recall_from_others(), group="prompts", exclusive=True)

    async def _recall_from_others(self) -> None:
        """Recalls what was sent in other conversations of the room: nothing was sent in this one yet."""

        shown, prompt = self._view.current, self._view.prompt
        sent = await sent_before(self._view.room)
        if shown is self._view.current and not prompt.history_of_sent and not prompt.text:
            prompt.history_of_sent = [one.content for one in reversed(sent)]
            prompt.recall(-1)

    def edit_outside(self) -> None:
        """Opens the typed text in the user's editor; what is left there becomes the text of the prompt."""
        if self._app.replying:
            self._app.say_stop_first()
        elif self._view.room_kind is not RoomKind.OPEN:
            self._app.warn(_("Only in the open room: an editor needs the text as a readable file."))
        else:
            self._edit_outside()

    def _edit_outside(self) -> None:
        try:
            command = editor_of(os.environ)
            text = edited(self._view.prompt.text, self._app.desk.paths.editing, command, self._app.suspend)
        except NoEditor as error:
            self._app.warn(
                _("The editor {command} was not found. Set VISUAL or EDITOR.", command=error.command)
                if error.command
                else _("No editor is set. Set VISUAL or EDITOR, for example to nano.")
            )
            return
        except SuspendNotSupported:
            self._app.warn(_("This terminal cannot be handed to an editor."))
            return
        except OSError as error:
            self._app.say_error(self._app.explain(error))
            return
        self.put(clean(text).rstrip("\n"))

    def choose_earlier(self) -> None:
        """Puts an earlier message of the user into the prompt, from any conversation of the room."""
        self._app.attempt(self._choose_earlier(), group="prompts", exclusive=True)

    async def _choose_earlier(self) -> None:

        text = await self._app.push_screen_wait(EarlierPromptsScreen(self._app, self._view.room))
        if text:
            self.put(text)

    def take_back(self) -> None:
        """Moves the last queued message into the prompt."""
        if self.editing is not None:
            self.stop_editing()
        self._view.prompt.put(_together(self._view.current.waiting.pop(), self._view.prompt.text))
        self._view.prompt.focus()
        self._view.refresh()

    def put(self, text: str) -> None:
        """Replaces the text in the prompt."""
        self._view.prompt.put(text)
        self._view.prompt.focus()

    def give_back(self, conversation: Conversation, text: str) -> None:
        """Puts a text that was not stored back into the prompt, or into the queue if the prompt is in use."""
        if conversation is self._view.current and not self._view.prompt.text:
            self._view.prompt.put(text)
        else:
            conversation.waiting.insert(0, text)
            self._app.drafts.changed(conversation)

    # --- editing a message ---------------------------------------------------------------------

    def edit(self, message: Message) -> None:
        """Puts the text of a message into the prompt, to be sent in its place."""
        if self.editing is None:
            self._view.current.draft = self._view.prompt.text
        self.editing = message
        self._say_what_enter_does()
        self._view.prompt.put(message.content)
        self._view.prompt.focus()
        self._view.refresh()

    def stop_editing(self) -> None:
        """Leaves the message as it was and brings back the draft."""
        self.editing = None
        self._say_what_enter_does()
        self._view.prompt.put(self._view.current.draft)
        self._view.refresh()

    def _say_what_enter_does(self) -> None:
        """Shows above the prompt what Enter does if it does not just send the text."""
        title = ""
        if self._sent_as_it_is:
            name = self._sent_as_it_is.split(maxsplit=1)[0]
            title = _("Unknown command: {name}. Enter sends it as a message.", name=name)
            if meant := similar(name):
                title = _(
                    "Unknown command: {name}. Did you mean {meant}? Enter sends it as a message.",
                    name=name,
                    meant=meant,
                )
        elif self.editing is not None:
            title = _(
                "Editing an earlier message: Enter sends the new version, {key} cancels",
                key=how_to("chat.back", self._app.keys),
            )
        self._view.prompt.entitle(title)

    def _send_edited(self, text: str) -> None:
        message = self.editing
        assert message is not None
        if self._view.current.busy:
            self._app.say_stop_first()
            return
        self.stop_editing()
        if text and text != message.content:
            self._view.prompt.remember(text)
            self._app.turns.edit(self._view.current, message.id, text)
            self._view.refresh()


def _together(*texts: str) -> str:
    return "\n\n".join(filter(str.strip, texts))


MOST = 100
_LONGEST = 300


async def sent_before(
    room: "RoomServices", where: Condition | None = None, *, limit: int = MOST
) -> list[Message]:
    """Returns messages of the user that match, each text once, latest first."""
    mine = SaidBy(Role.USER)
    parts = where.parts if isinstance(where, All) else () if where is None else (where,)
    page = await room.store.find.messages(
        Query(All((*parts, mine)) if parts else mine), limit=limit, order=Order.RECENT
    )
    found: dict[str, Message] = {}
    for hit in page.hits:
        if text := hit.message.content.strip():
            found.setdefault(text, hit.message)
    return list(found.values())


class EarlierPromptsScreen(SearchedListScreen):
    """Dismissed with the text that is chosen, or None."""

    def __init__(self, app: "BaseApp", room: "RoomServices") -> None:
        super().__init__()
        self.atlas = app
        self._room = room
        self._found: list[Message] = []

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = _("Your earlier messages")
            box.border_subtitle = _("Enter puts it into the prompt · Esc cancels")
            yield CleanInput(placeholder=_("Type to search"), id="find")
            yield self._list
            yield Static(_("No matches."), classes="none", markup=False)

    def seek(self, typed: str) -> None:
        self.atlas.attempt(partial(self._search, typed), group="prompts-search", exclusive=True)

    async def _search(self, words: str) -> None:
        try:
            where = parse(words, self.atlas.now().astimezone(LocalZone()), typing=True).where
        except QueryUnclear:
            # The condition is incomplete, so the typed text itself is searched for.
            where = Words(" ".join(words.replace(":", " ").split()))
        try:
            found = await sent_before(self._room, where)
        except RoomClosed:
            # The window closes together with the room.
            return
        if not self._list.is_attached:
            return
        self._found = found
        now = self.atlas.now()
        self.fill(
            [
                Content.assemble(
                    (f"{short(one.created_at, now)}  ", "$quiet"), clean_line(one.content[:_LONGEST])
                )
                for one in found
            ]
        )
        self.query_one(".none", Static).display = not found

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        at = self._list.highlighted
        if at is not None:
            self.dismiss(self._found[at].content)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._found[event.option_index].content)
