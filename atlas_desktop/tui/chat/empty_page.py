"""The page of a new conversation, before its first message."""

from dataclasses import dataclass

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from atlas_desktop.words.catalogue import tr

EXAMPLES = tuple(tr(f"chat.example.{number}") for number in (1, 2, 3))


class EmptyPage(Vertical):
    """A greeting and three examples; choosing one puts it into the prompt. Who has said nothing yet is
    offered sample conversations, too."""

    @dataclass
    class Chosen(Message):
        text: str

    class Demo(Message):
        """The sample conversations are wanted."""

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
            yield Static("", id="samples", markup=False)

    def offer_samples(self, key: str) -> None:
        """Says which key shows the sample conversations; nothing without one."""
        line = self.query_one("#samples", Static)
        line.display = bool(key)
        line.update(Content.assemble((key, "bold $primary"), f" {tr('chat.samples')}") if key else "")

    def on_click(self, event: events.Click) -> None:
        if event.widget is self.query_one("#samples"):
            self.post_message(self.Demo())

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Chosen(EXAMPLES[event.option_index]))
