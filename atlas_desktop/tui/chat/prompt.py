"""The field in which messages are typed. It grows with its text and remembers what was sent."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from textual import events
from textual.message import Message

from atlas_desktop.locale import _
from atlas_desktop.services.attachments import pasted_file
from atlas_desktop.services.cleaning import clean
from atlas_desktop.tui.widgets import WritingArea

PASTED_AT_A_TIME = 50_000
"""Characters that are inserted at a time: wrapping them takes a few hundredths of a second."""
NEW_LINE_KEYS = frozenset({"shift+enter", "ctrl+j", "alt+enter"})


class Prompt(WritingArea):
    """Enter sends, Shift+Enter or Ctrl+J breaks the line, Up on the first line recalls what was sent."""

    DEFAULT_CSS = """
    Prompt {
        height: auto;
        min-height: 3;
        max-height: 12;
        border: round $border-blurred;
        background: $background;
        padding: 0 1;
        scrollbar-size-vertical: 1;
        border-subtitle-color: $quiet;
        border-title-color: $accent;
        &:focus { border: round $border; }
        &.-unusual { border: round $accent; }
    }
    """

    @dataclass
    class Sent(Message):
        """The user pressed Enter; the text may be empty."""

        text: str

    @dataclass
    class Moves(Message):
        """The user moves through the list of completions."""

        by: int

    class Closes(Message):
        """The user closes the list of completions."""

    @dataclass
    class FilePasted(Message):
        """The user pasted the path of an existing file."""

        path: Path

    class TakeBack(Message):
        """The user pressed Up in an empty prompt."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(
            id=id,
            soft_wrap=True,
            show_line_numbers=False,
            tab_behavior="focus",
            highlight_cursor_line=False,
            placeholder=_("Write a message"),
        )
        self.history_of_sent: list[str] = []
        self.completing: Callable[[], bool] = lambda: False
        self.completes: Callable[[bool], object] = lambda _send: None
        """Takes the marked completion. The argument is True for Enter, which also sends it."""
        self.sends: Callable[[str], object] = lambda text: self.post_message(self.Sent(text))
        """Called with the text on Enter. Like `completes`, it is called while the key is handled: the next
        key may already be waiting and belongs to the resulting text."""
        self._recalled: int | None = None
        self._unsent = ""

    def put(self, text: str) -> None:
        """Replaces the text and moves the cursor to its end."""
        self._recalled = None
        self.text = text
        self.move_cursor(self.document.end)

    async def on_key(self, event: events.Key) -> None:
        # Textual calls the handler of the base class after this one, unless the default is prevented.
        if self.completing() and self._completed(event.key):
            event.stop()
            event.prevent_default()
        elif event.key == "enter":
            event.stop()
            event.prevent_default()
            self.sends(self.text)
        elif event.key in NEW_LINE_KEYS:
            event.stop()
            event.prevent_default()
            self.replace("\n", *self.selection, maintain_selection_offset=False)

    def _completed(self, key: str) -> bool:
        """Passes a key on to the list of completions; returns whether it was meant for it."""
        match key:
            case "up" | "down":
                self.post_message(self.Moves(-1 if key == "up" else 1))
            case "tab" | "enter":
                self.completes(key == "enter")
            case "escape":
                self.post_message(self.Closes())
            case _:
                return False
        return True

    @property
    def before_cursor(self) -> str:
        """The text before the cursor in its line."""
        row, column = self.cursor_location
        return self.document.get_line(row)[:column]

    def replace_before_cursor(self, length: int, text: str) -> None:
        """Replaces the last characters before the cursor."""
        row, column = self.cursor_location
        self.replace(text, (row, column - length), (row, column))

    def entitle(self, title: str) -> None:
        """Shows above the prompt what Enter does, if it does something unusual; an empty title removes it."""
        self.border_title = title
        self.set_class(bool(title), "-unusual")

    async def on_paste(self, event: events.Paste) -> None:
        """Cleans pasted text, because it comes from outside."""
        event.prevent_default()
        event.stop()
        await self.take_paste(event.text)

    async def take_paste(self, text: str) -> None:
        """Inserts pasted text at the cursor, or posts `FilePasted` if it is the path of a file."""
        if (path := await asyncio.to_thread(pasted_file, text)) is not None:
            self.post_message(self.FilePasted(path))
            return
        # Most terminals send line ends in pasted text as Enter.
        lines = text.replace("\r\n", "\n").replace("\r", "\n")
        cleaned = await asyncio.to_thread(clean, lines)
        for at in range(0, len(cleaned), PASTED_AT_A_TIME):
            piece = cleaned[at : at + PASTED_AT_A_TIME]
            result = self.replace(piece, *self.selection, maintain_selection_offset=False)
            self.move_cursor(result.end_location)
            if len(cleaned) > PASTED_AT_A_TIME:
                # Let the screen update; keys that arrive meanwhile wait until all is inserted.
                await asyncio.sleep(0)

    def action_cursor_up(self, select: bool = False) -> None:  # noqa: FBT001, FBT002
        if select or not self.cursor_at_first_line:
            super().action_cursor_up(select)
        elif not self.text and self._recalled is None:
            self.post_message(self.TakeBack())
        else:
            self.recall(-1)

    def action_cursor_down(self, select: bool = False) -> None:  # noqa: FBT001, FBT002
        if self._recalled is not None and not select and self.cursor_at_last_line:
            self.recall(+1)
        else:
            super().action_cursor_down(select)

    def recall(self, step: int) -> None:
        """Puts an earlier or later sent message into the prompt; after the newest comes the typed text."""
        sent = self.history_of_sent
        at = len(sent) if self._recalled is None else self._recalled
        if at == len(sent):
            self._unsent = self.text
        to = min(max(at + step, 0), len(sent))
        if to == at:
            return
        self.text = self._unsent if to == len(sent) else sent[to]
        self._recalled = None if to == len(sent) else to
        self.move_cursor(self.document.end)

    def remember(self, text: str) -> None:
        """Adds a text to the history of sent messages."""
        self._recalled = None
        if not self.history_of_sent or self.history_of_sent[-1] != text:
            self.history_of_sent.append(text)
