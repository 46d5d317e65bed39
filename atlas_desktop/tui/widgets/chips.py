"""What a conversation reads: a line above the prompt, with a name for each file and a way to take it out."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from atlas_desktop.services.cleaning import clean_line

LONGEST_NAME = 28
_CROSS = "×"


@dataclass(frozen=True, slots=True)
class Chip:
    """A file: `ref` is what it is taken out by; `state` says how much of it is read."""

    ref: str
    name: str
    state: str = ""


class Chips(Widget):
    """Nothing is shown while nothing is attached."""

    DEFAULT_CSS = """
    Chips {
        height: auto;
        max-height: 3;
        margin: 0 2;
        color: $quiet;
        display: none;
        &.-some { display: block; }
    }
    """

    @dataclass
    class Removed(Message):
        """The person clicked on the cross behind a name."""

        ref: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._chips: tuple[Chip, ...] = ()
        self._read = ""

    def show(self, chips: Sequence[Chip], read: str = "") -> None:
        """`read` says what was read with the newest turn."""
        self._chips, self._read = tuple(chips), read
        self.set_class(bool(chips), "-some")
        self.refresh(layout=True)

    def render(self) -> Content:
        parts: list[tuple[str, str] | str] = [("Attached ", "bold")]
        for chip in self._chips:
            name = clean_line(chip.name)
            if cell_len(name) > LONGEST_NAME:
                name = name[: LONGEST_NAME - 1].rstrip() + "…"
            state = f" · {chip.state}" if chip.state else ""
            parts += [
                (f" {name}", "$foreground on $panel"),
                (f"{state} ", "on $panel"),
                (f"{_CROSS} ", "$error on $panel"),
                " ",
            ]
        line = Content.assemble(*parts)
        return line if not self._read else Content.assemble(line, "\n", (clean_line(self._read), "italic"))

    def on_click(self, event: events.Click) -> None:
        """The cross is found by where it stands: what a name holds is never taken for an action."""
        event.stop()
        offset = event.get_content_offset(self)
        if offset is None or offset.y:
            return
        place = len("Attached ")
        for chip in self._chips:
            name = clean_line(chip.name)
            shown = name if cell_len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1].rstrip() + "…"
            state = f" · {chip.state}" if chip.state else ""
            end = place + cell_len(f" {shown}{state} {_CROSS} ")
            if end - 3 <= offset.x < end:
                self.post_message(self.Removed(chip.ref))
                return
            place = end + 1
