"""Stands for the messages that are not mounted."""

from textual.content import Content
from textual.widgets import Static

from atlas_desktop.words.catalogue import tr


class Beyond(Static):
    """Says how many messages there are above or below; shows nothing when there are none."""

    DEFAULT_CSS = """
    Beyond { height: 1; width: 100%; max-width: 100; text-align: center; color: $quiet; }
    """

    def __init__(self, words: str) -> None:
        """`words` is the key of the text."""
        super().__init__(markup=False)
        self._words = words

    def on_mount(self) -> None:
        self.display = False

    def count(self, number: int) -> None:
        self.display = number > 0
        self.update(Content(tr(self._words, count=number)))
