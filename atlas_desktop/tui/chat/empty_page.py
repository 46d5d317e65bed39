"""The page of a new conversation, before its first message."""

from dataclasses import dataclass

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from atlas_desktop.locale import _

EXAMPLES = (
    _("Help me plan a weekend of hiking with a friend"),
    _("Explain how tides work, in five sentences"),
    _("Draft a polite note to my landlord about the heating"),
)


class EmptyPage(Vertical):
    """A greeting and three examples; choosing one puts it into the prompt.

    Users without any messages are also offered sample conversations.
    """

    @dataclass
    class Chosen(Message):
        text: str

    class Demo(Message):
        """The user asked for the sample conversations."""

    def compose(self) -> ComposeResult:
        options = [Option(Content.assemble(("› ", "$primary"), text)) for text in EXAMPLES]
        with Vertical(id="column"):
            yield Static(_("What is on your mind?"), id="greeting", markup=False)
            yield Static(
                _("Everything you write stays on this computer, encrypted. Nothing is sent anywhere."),
                id="promise",
                markup=False,
            )
            yield OptionList(*options, id="examples", markup=False)
            yield Static("", id="samples", markup=False)

    def offer_samples(self, key: str) -> None:
        """Shows which key opens the sample conversations; hides the line if there is none."""
        line = self.query_one("#samples", Static)
        line.display = bool(key)
        line.update(
            Content.assemble((key, "bold $primary"), f" {_('shows sample conversations to explore')}")
            if key
            else ""
        )

    def on_click(self, event: events.Click) -> None:
        if event.widget is self.query_one("#samples"):
            self.post_message(self.Demo())

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Chosen(EXAMPLES[event.option_index]))
