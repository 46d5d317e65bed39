"""What a new conversation shows before its first word."""

from dataclasses import dataclass

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from atlas_desktop.words.catalogue import tr

EXAMPLES = tuple(tr(f"chat.example.{number}") for number in (1, 2, 3))


class EmptyPage(Vertical):
    """A greeting and three examples; choosing one puts it into the prompt."""

    @dataclass
    class Chosen(Message):
        text: str

    def compose(self) -> ComposeResult:
        options = [Option(Content.assemble(("› ", "$primary"), text)) for text in EXAMPLES]
        with Vertical(id="column"):
            yield Static(tr("chat.greeting"), id="greeting", markup=False)
            yield Static(
                tr("chat.promise"),
                id="promise",
                markup=False,
            )
            yield OptionList(*options, id="examples", markup=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Chosen(EXAMPLES[event.option_index]))
