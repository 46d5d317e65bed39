"""Plain Textual with one field on the screen, the baseline of the program's first paint."""

from textual.app import App, ComposeResult
from textual.widgets import Footer, Input, Static


class Bare(App[None]):
    def compose(self) -> ComposeResult:
        yield Static("Locked")
        yield Input(password=True)
        yield Footer()


if __name__ == "__main__":
    Bare().run()
