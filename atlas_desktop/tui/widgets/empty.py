"""What a new conversation shows before its first word."""

from dataclasses import dataclass

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

EXAMPLES = (
    "Help me plan a weekend of hiking with a friend",
    "Explain how tides work, in five sentences",
    "Draft a polite note to my landlord about the heating",
)


class EmptyPage(Vertical):
    """A greeting and three examples; choosing one puts it into the prompt."""

    @dataclass
    class Chosen(Message):
        text: str

    def compose(self) -> ComposeResult:
        options = [Option(Content.assemble(("› ", "$primary"), text)) for text in EXAMPLES]
        with Vertical(id="column"):
            yield Static("What is on your mind?", id="greeting", markup=False)
            yield Static(
                "Everything you write stays on this computer, encrypted. Nothing is sent anywhere.",
                id="promise",
                markup=False,
            )
            yield OptionList(*options, id="examples", markup=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Chosen(EXAMPLES[event.option_index]))
