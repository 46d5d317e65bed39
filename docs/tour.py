"""The tour of the demonstration that makes the pictures of the docs, in a real terminal with the real model."""

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.tmux import Tmux

Picture = Callable[[str, str], None]
"""Is given a name, and the screen with the sequences that colour it."""
Frame = Callable[[str, float], None]
"""Is given a screen, and how many seconds it is shown."""
FOLDER = Path(__file__).resolve().parent / "pictures"
FILM = "memory.svg"
WIDE = 120
"""Pictures of narrower screens are taken only of what a new user meets first."""
_QUIET = r"Ready(?! ·)"


class DemoTour:
    """Walks through the demonstration. `folder` is the home folder of the user, `home` that of the program."""

    def __init__(self, home: Path, folder: Path, *, columns: int, rows: int) -> None:
        self._folder = folder
        self._columns, self._rows = columns, rows
        # The likeliest words, so that pictures change only when the program does.
        self._environment = {
            **os.environ,
            "ATLAS_HOME": str(home),
            "HOME": str(folder),
            "ATLAS_CHAT_TEMPERATURE": "0",
        }
        for name in ("COLUMNS", "LINES", "TMUX", "NO_COLOR"):
            self._environment.pop(name, None)

    @contextmanager
    def _demo(self) -> Iterator[Tmux]:
        """Yields the demonstration when its background work is done."""
        command = [str(Path(sys.executable).with_name("atlas")), "demo"]
        size = {"columns": self._columns, "rows": self._rows}
        with Tmux(self._folder, command, self._environment, **size) as terminal:
            terminal.see("for the sea", timeout=120)
            terminal.see("working in the background")
            terminal.see(_QUIET, timeout=600)
            yield terminal

    # --- pictures ---------------------------------------------------------------------------------

    def walk(self, picture: Picture) -> None:
        def take(name: str) -> None:
            terminal.settle()
            picture(name, terminal.coloured)

        with self._demo() as terminal:
            if self._columns >= WIDE:
                self._reply(terminal, take)
                self._memories(terminal, take)
                self._history(terminal, take)
                self._documents(terminal, take)
                self._notes(terminal, take)
                self._project(terminal, take)
                self._insights(terminal, take)
                self._private_room(terminal, take)
            else:
                self._export(terminal, take)
                self._private(terminal, take)
                self._stopped(terminal, take)

    def _reply(self, terminal: Tmux, take: Callable[[str], None]) -> None:
        """A reply with the memories that it used, and why."""
        terminal.press("M-m")
        terminal.see("Used for the latest reply")
        take("chat")
        _slowly(terminal, "M-Up", "w")
        terminal.see("Why this reply")
        take("why")
        _back(terminal, 2)
        terminal.press("M-m")
        terminal.see_no_more("Used for the latest reply")

    def _memories(self, terminal: Tmux, take: Callable[[str], None]) -> None:
        terminal.press("F3")
        terminal.see("memories in use")
        _slowly(terminal, "Right")
        terminal.see("Marthe goes into the water")
        _slowly(terminal, "Down", "Down")
        terminal.see("You said: .I get a rash")
        take("memories")
        _slowly(terminal, "Right", "Right", "Right", "Right")
        terminal.see("letter-home")
        _slowly(terminal, "Down", "Down", "Down")
        take("skills")
        terminal.press("Right")
        terminal.see("We take the joiner|Handmade everywhere|Declan")
        take("fading")
        _back(terminal)

    def _history(self, terminal: Tmux, take: Callable[[str], None]) -> None:
        terminal.press("F2")
        terminal.see(r"History · \d+ conversations")
        terminal.write("hazelnuts")
        terminal.see(r"History · \d conversations")
        _slowly(terminal, "Down", "Down")
        take("history")
        _back(terminal, 3)

    def _documents(self, terminal: Tmux, take: Callable[[str], None]) -> None:
        """The library, the preview of a folder, the reader, and a reply that cites."""
        terminal.press("F7")
        terminal.see("13 documents")
        _slowly(terminal, "Down", "Down", "Down", "Down", "Down")
        terminal.see("D. Roche|Clinker, larch")
        take("documents")
        terminal.press("Enter")
        terminal.see("Strakes three and four")
        terminal.press("/")
        terminal.write("ribs")
        terminal.press("Enter")
        terminal.see("match 1 of")
        take("reader")
        _back(terminal, 3)
        terminal.see("13 documents")
        self._papers()
        terminal.press("w")
        terminal.see("Watch a folder")
        terminal.write("~/recipes")
        terminal.see("3 files would be read")
        terminal.see("has an unknown format")
        take("watch")
        _back(terminal, 2)
        self._open(terminal, "tag:survey", "Reading the survey")
        _slowly(terminal, "M-Up", "Up", "Up", "Up", "Up")
        terminal.tab()
        terminal.see(r"▸ ✓ \[1\]")
        take("citation")
        _back(terminal, 2)

    def _open(self, terminal: Tmux, query: str, title: str) -> None:
        """Opens a conversation from the history."""
        terminal.press("F2")
        terminal.see("conversations")
        terminal.write(query)
        terminal.see(rf"(?s)History · 1 conversation\b.*{re.escape(title)}")
        _slowly(terminal, "Down", "Enter")
        terminal.see("Last time")
        terminal.settle()

    def _papers(self) -> None:
        """A folder of the user's, with a file that is not read."""
        folder = self._folder / "recipes"
        (folder / "winter").mkdir(parents=True, exist_ok=True)
        (folder / "rhubarb.md").write_text(
            "# Rhubarb crumble\n\nEnough for six, or for Tom.\n", encoding="utf-8"
        )
        (folder / "soup.txt").write_text("Courgettes, potatoes, a rind of cheese.\n", encoding="utf-8")
        (folder / "winter" / "stew.md").write_text("# Stew\n\nTwo hours, lid on.\n", encoding="utf-8")
        (folder / "cake.raw").write_text("a photograph", encoding="utf-8")

    def _notes(self, terminal: Tmux, take: Callable[[str], None]) -> None:
        terminal.press("F8")
        terminal.see("25 notes")
        terminal.see("Bought from")
        take("notes")
        _back(terminal, 2)

    def _project(self, terminal: Tmux, take: Callable[[str], None]) -> None:
        terminal.say("/project")
        terminal.see("Allotment")
        terminal.press("o")
        terminal.see("Metric measures")
        terminal.press("Right")
        terminal.see("Eleven ribs, one Saturday")
        take("project")
        terminal.press("Escape")
        terminal.settle()
        _back(terminal)

    def _insights(self, terminal: Tmux, take: Callable[[str], None]) -> None:
        terminal.press("F4")
        terminal.see("Conversations a day")
        take("insights")
        _back(terminal)

    def _export(self, terminal: Tmux, take: Callable[[str], None]) -> None:
        terminal.say("/export")
        terminal.see("Export this conversation")
        terminal.see(r"Save to +[^\s│]")
        take("export")
        _back(terminal)

    def _private(self, terminal: Tmux, take: Callable[[str], None]) -> None:
        """The door of the private room."""
        terminal.press("C-g")
        terminal.see("In this demonstration")
        take("private")
        _back(terminal)

    def _private_room(self, terminal: Tmux, take: Callable[[str], None]) -> None:
        terminal.press("C-g")
        words = terminal.see(r"passphrase is:.*\n.*│\s+([a-z]+ [a-z]+ [a-z]+ [a-z]+)\s+│")[1]
        terminal.write(words)
        terminal.press("Enter")
        terminal.see_no_more("In this demonstration")
        terminal.settle()
        terminal.press("F2")
        terminal.see("conversations")
        terminal.write("reserve")
        terminal.see("Money, honestly")
        terminal.press("Down")
        take("private-room")
        _back(terminal, 3)

    def _stopped(self, terminal: Tmux, take: Callable[[str], None]) -> None:
        terminal.press("C-n")
        terminal.see("What is on your mind")
        terminal.say("Tell me a very long story about the sea.")
        terminal.see("Writing")
        terminal.press("Escape")
        terminal.see("stopped")
        take("stopped")

    # --- the animated picture ---------------------------------------------------------------------

    def film(self, frame: Frame) -> None:
        """Half a minute: a question, a reply, why it is so, and a memory that is forgotten."""

        def hold(seconds: float) -> None:
            terminal.settle()
            frame(terminal.coloured, seconds)

        with self._demo() as terminal:
            terminal.press("C-n")
            terminal.see("What is on your mind")
            hold(1.5)
            for words in ("Where is ", "Finn's ", "emergency ", "pen?"):
                terminal.write(words)
                hold(0.35)
            terminal.press("Enter")
            terminal.see("blue bag.*\n")
            terminal.see(r"\d+ tok/s")
            hold(3)
            terminal.press("M-m")
            terminal.see("Used for the latest reply")
            hold(3)
            _slowly(terminal, "M-m", "M-Up", "w")
            terminal.see("Why this reply")
            hold(4)
            _back(terminal, 2)
            terminal.press("F3")
            terminal.see("memories in use")
            hold(2)
            _slowly(terminal, "Right", "/")
            terminal.settle()
            for words in ("Mr ", "Doherty"):
                terminal.write(words)
                hold(0.4)
            terminal.see("Mr Doherty")
            terminal.press("Enter")
            hold(3)
            terminal.press("DC")
            terminal.see("Forget permanently")
            hold(3.5)
            terminal.tab()
            terminal.press("Enter")
            terminal.see_no_more("Forget permanently")
            hold(4)


def _back(terminal: Tmux, times: int = 1) -> None:
    """Presses Escape. A key that follows at once would count as pressed together with Alt."""
    _slowly(terminal, *["Escape"] * times)


def _slowly(terminal: Tmux, *keys: str) -> None:
    """Presses one key after another, each when the screen shows what the one before has done."""
    for key in keys:
        terminal.settle()
        terminal.press(key)
    terminal.settle()
