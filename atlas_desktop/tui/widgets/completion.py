"""What can be typed next: a list above the prompt, made shorter by every key."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from atlas_desktop.services.cleaning import clean_line

MOST = 40


@dataclass(frozen=True, slots=True)
class Offer:
    """`insert` takes the place of the word that is being typed; `whole` says that it needs nothing more."""

    insert: str
    label: str
    help: str = ""
    whole: bool = False
    key: str = ""


class CompletionMenu(OptionList):
    """Never takes the focus: the prompt keeps it and passes on what is meant for the list."""

    can_focus = False
    DEFAULT_CSS = """
    CompletionMenu {
        height: auto;
        max-height: 8;
        margin: 0 2;
        padding: 0;
        border: none;
        background: $panel;
        scrollbar-size-vertical: 1;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        display: none;
        &.-open { display: block; }
        & > .option-list--option { padding: 0 1; }
        & > .option-list--option-highlighted {
            background: $block-cursor-background;
            color: $block-cursor-foreground;
        }
    }
    """

    @dataclass
    class Picked(Message):
        """An offer was clicked on."""

        offer: Offer

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, markup=False)
        self._offers: tuple[Offer, ...] = ()
        self.offered_for = ""

    @property
    def is_open(self) -> bool:
        return bool(self._offers)

    @property
    def picked(self) -> Offer | None:
        """The offer under the cursor."""
        at = self.highlighted
        return None if at is None or at >= len(self._offers) else self._offers[at]

    def offer(self, offers: Sequence[Offer], typed: str = "") -> None:
        """Shows these, which fit to what is `typed`, the first one marked; none closes the list."""
        self.offered_for = typed
        some = tuple(offers[:MOST])
        if some == self._offers:
            return
        self._offers = some
        self.set_class(bool(some), "-open")
        width = max((len(one.label) for one in some), default=0) + 2
        self.clear_options()
        self.add_options(
            [
                Option(Content.assemble((clean_line(one.label).ljust(width), "bold"), clean_line(one.help)))
                for one in some
            ]
        )
        self.highlighted = 0 if some else None

    def step(self, by: int) -> None:
        """Moves the mark, round the ends."""
        if self._offers:
            self.highlighted = ((self.highlighted or 0) + by) % len(self._offers)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Picked(self._offers[event.option_index]))
