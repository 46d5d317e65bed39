"""What a person does who has never seen the program, from the first run to the locked door."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.e2e.tmux import Tmux

PASSPHRASE = "a lamp by the harbour"
LAST_WEEK = "Marmalade from bitter oranges"
_PAPERS = {
    "ferries.md": """# Ferries of the north

## Times in summer

The ferry leaves Bodø at eight o'clock and reaches Moskenes at noon. In strong wind it stays in the harbour.

## Times in winter

In winter there is one ferry a day, at ten o'clock.

## Fares

A ticket for one person costs 120 kroner. Bicycles travel free of charge.
""",
    "tides.txt": "The moon raises the tides. At new moon they are highest: spring tides.\n",
    "walks/easy.md": "# Easy walks\n\nThe path around Å takes 40 minutes and has benches.\n",
    "walks/beach.raw": "a picture",
}
Picture = Callable[[str, str], None]
"""Is given a name, and the screen with the sequences that colour it."""


class Tour:
    """In `folder` are the person's own files; the program's home is `home`, with the models in it."""

    def __init__(
        self, home: Path, folder: Path, picture: Picture, *, columns: int = 80, rows: int = 24
    ) -> None:
        self._home, self._folder, self._picture = home, folder, picture
        self._size = {"columns": columns, "rows": rows}
        self._environment = {**os.environ, "ATLAS_HOME": str(home), "HOME": str(folder)}
        for name in ("COLUMNS", "LINES", "TMUX", "NO_COLOR"):
            self._environment.pop(name, None)

    def walk(self) -> Path:
        """Goes the whole way, and returns the file that was exported."""
        with self._program() as terminal:
            self.first_run(terminal)
            self.chat(terminal)
            terminal.press("C-q")
            terminal.wait_for_end()
        self.earlier()
        with self._program() as terminal:
            terminal.see("Locked")
            terminal.write(PASSPHRASE)
            terminal.press("Enter")
            terminal.see("What is on your mind")
            self.find(terminal)
            self.put_away(terminal)
            self.forget(terminal)
            self.insights(terminal)
            exported = self.export(terminal)
            self.documents(terminal)
            self.lock(terminal)
        return exported

    def begin_and_lock(self) -> None:
        """Goes only the first steps, up to the locked door."""
        with self._program() as terminal:
            self.first_run(terminal)
            terminal.press("C-l")
            terminal.see("Locked")
            self._take("locked", terminal)

    def _program(self) -> Tmux:
        command = [str(Path(sys.executable).with_name("atlas"))]
        return Tmux(self._folder, command, self._environment, **self._size)

    def _take(self, name: str, terminal: Tmux) -> None:
        terminal.settle()
        self._picture(name, terminal.coloured)

    def first_run(self, terminal: Tmux) -> None:
        terminal.see("Choose a passphrase")
        terminal.write(PASSPHRASE)
        terminal.see("strong|good|fair")
        self._take("first-run", terminal)
        terminal.tab()
        terminal.write(PASSPHRASE)
        terminal.press("Enter")
        terminal.see("Your recovery key")
        shown = terminal.see(r"(?s)1 [A-Z2-7]{4}.*9 [A-Z2-7]{4}")[0]
        groups = dict(re.findall(r"([1-9]) ([A-Z2-7]{4})\b", shown))
        first, second = terminal.see(r"(?s)Group (\d).*?Group (\d)").groups()
        terminal.write(groups[first])
        terminal.tab()
        terminal.write(groups[second])
        terminal.press("Enter")
        terminal.see("What is on your mind")

    def chat(self, terminal: Tmux) -> None:
        """A reply, one that is stopped, and another in its place."""
        terminal.say("Explain how tides work, in three sentences.")
        terminal.see(r"\d+ tok/s")
        self._take("chat", terminal)
        terminal.say("Tell me a very long story about the sea.")
        terminal.see("Writing")
        terminal.press("Escape")
        terminal.see("stopped")
        self._take("stopped", terminal)
        terminal.press("C-r")
        terminal.see("Writing")
        terminal.press("Escape")
        terminal.see("2/2")

    def earlier(self) -> None:
        """A conversation of a week ago comes in from elsewhere."""
        begun = time.time() - 6 * 24 * 3600
        messages = [
            ("user", "How long do I boil marmalade?"),
            ("assistant", "Until it wrinkles on a cold plate: about half an hour."),
        ]
        tree: dict[str, object] = {"root": {"id": "root", "message": None, "parent": None, "children": ["0"]}}
        for number, (role, text) in enumerate(messages):
            tree[str(number)] = {
                "id": str(number),
                "parent": str(number - 1) if number else "root",
                "children": [str(number + 1)] if number + 1 < len(messages) else [],
                "message": {
                    "id": str(number),
                    "author": {"role": role},
                    "create_time": begun + 60 * number,
                    "content": {"content_type": "text", "parts": [text]},
                },
            }
        talk = {
            "title": LAST_WEEK,
            "id": "earlier",
            "conversation_id": "earlier",
            "create_time": begun,
            "update_time": begun + 60,
            "current_node": str(len(messages) - 1),
            "mapping": tree,
        }
        secret, export = self._folder / "passphrase", self._folder / "conversations.json"
        secret.write_text(PASSPHRASE)
        secret.chmod(0o600)
        export.write_text(json.dumps([talk]))
        command = [str(Path(sys.executable).with_name("atlas")), "import", str(export)]
        subprocess.run(
            [*command, "--passphrase-file", str(secret)],
            env=self._environment,
            check=True,
            capture_output=True,
        )

    def find(self, terminal: Tmux) -> None:
        """Last week's conversation, by a word in it; it is marked as important and read."""
        terminal.press("F2")
        terminal.see("2 conversations")
        terminal.write("wrinkles")
        terminal.see(r"History · 1 conversation\b")
        terminal.see("cold plate")
        self._take("history", terminal)
        terminal.press("Down", "i")
        terminal.see("Marked as important")
        terminal.press("Enter")
        terminal.see("Write a message")
        terminal.see("Until it wrinkles")

    def put_away(self, terminal: Tmux) -> None:
        """The other conversation goes into the private room."""
        terminal.press("F2")
        terminal.see("2 conversations")
        terminal.press("Down", "v")
        terminal.see("private room")
        self._take("private", terminal)
        terminal.write(PASSPHRASE)
        terminal.press("Enter")
        terminal.see("Moved to the private room")
        terminal.press("Escape")
        terminal.see_no_more("Moved to the private room")

    def forget(self, terminal: Tmux) -> None:
        """What Atlas remembers is looked at, and one thing of it forgotten."""
        terminal.say("/remember my bus is the 12")
        terminal.see("Remembered")
        terminal.say("/remember the oranges are at the market on Fridays")
        terminal.see("market on Fridays")
        terminal.press("F3")
        terminal.see("2 memories")
        terminal.see("my bus is the 12|My bus is the 12")
        self._take("memories", terminal)
        terminal.press("DC")
        terminal.see("Forget permanently")
        terminal.tab()
        terminal.press("Enter")
        terminal.see("1 memory")
        terminal.press("Escape")
        terminal.see_no_more("1 memory")

    def insights(self, terminal: Tmux) -> None:
        terminal.press("F4")
        terminal.see("Conversations a day")
        self._take("insights", terminal)
        terminal.press("Escape")
        terminal.see_no_more("Conversations a day")

    def export(self, terminal: Tmux) -> Path:
        terminal.say("/export")
        terminal.see("Export this conversation")
        terminal.see(r"Save to +[^\s│]")
        self._take("export", terminal)
        terminal.press("C-s")
        terminal.see("Exported to")
        [made] = self._folder.glob("*.md")
        return made

    def documents(self, terminal: Tmux) -> None:
        """A folder is watched, a document of it read and asked, and what the reply cites looked up."""
        self._papers()
        terminal.press("F7")
        terminal.see("No documents yet")
        terminal.press("w")
        terminal.see("Watch a folder")
        terminal.write("~/papers")
        terminal.see("3 files would be read")
        terminal.see("has an unknown format")
        self._take("watch", terminal)
        terminal.press("Enter")
        terminal.see(r"3 documents · 1 watched folder")
        terminal.see_no_more("3 added")
        terminal.press("Down")
        terminal.see("Ferries of the north")
        self._take("documents", terminal)
        terminal.press("Enter")
        terminal.see("Bicycles travel free of charge")
        terminal.press("/")
        terminal.write("ferry")
        terminal.press("Enter")
        terminal.see("match 1 of")
        self._take("reader", terminal)
        terminal.press("Escape", "Escape", "Escape")
        terminal.see("watched folder")
        terminal.press("q")
        terminal.see("used with next message")
        terminal.say("What does a ticket cost?")
        terminal.see(r"✓ \[1\] Ferries of the north")
        terminal.press("M-Up")
        terminal.tab()
        terminal.see(r"▸ ✓ \[1\]")
        self._take("citation", terminal)
        terminal.press("Enter")
        terminal.see("▌ A ticket for one person|▌ .*120 kroner")
        terminal.press("Escape")
        terminal.see("Write a message")

    def _papers(self) -> None:
        """The person's folder of papers, with a file that is not read."""
        for name, text in _PAPERS.items():
            file = self._folder / "papers" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")

    def lock(self, terminal: Tmux) -> None:
        terminal.press("C-l")
        terminal.see("Locked")
        self._take("locked", terminal)
        assert LAST_WEEK not in terminal.screen
