"""A program in tmux: keys go in, and what is on the screen comes out, as a person sees it."""

import re
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

INSTALLED = shutil.which("tmux") is not None
_SETTINGS = """
set -g status off
set -sg escape-time 0
set -g default-terminal tmux-256color
set -g remain-on-exit on
"""
_LOOK_S = 0.1


class Tmux:
    """A server of its own on a socket in `folder`; it ends with the block that it is used in."""

    def __init__(
        self,
        folder: Path,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        columns: int,
        rows: int,
        timeout: float = 90,
    ) -> None:
        self._socket = folder / "tmux"
        self._timeout = timeout
        settings = folder / "tmux.conf"
        settings.write_text(_SETTINGS)
        size = ["-x", str(columns), "-y", str(rows)]
        environment = {**environment, "COLORTERM": "truecolor"}
        begin = ["tmux", "-S", str(self._socket), "-f", str(settings), "new-session", "-d", *size, *command]
        subprocess.run(begin, env=environment, check=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._tmux("kill-server")

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(self._socket), *arguments], capture_output=True, text=True, check=True
        )
        return done.stdout

    def press(self, *keys: str) -> None:
        """Keys by the names that tmux gives them: `Enter`, `Escape`, `C-r`, `M-Up`, `F2`."""
        for key in keys:
            self._tmux("send-keys", key)

    def write(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)

    @property
    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    @property
    def coloured(self) -> str:
        """The screen with the sequences that colour it."""
        return self._tmux("capture-pane", "-e", "-N", "-p")

    def settle(self) -> None:
        """Waits until the screen stays as it is."""
        shown = ""
        while (now := self.coloured) != shown:
            shown = now
            time.sleep(3 * _LOOK_S)

    def tab(self) -> None:
        """Goes to the next field: what is typed in the moment of a Tab still goes to the old one."""
        self.press("Tab")
        self.settle()

    def say(self, text: str) -> None:
        """Types a message and sends it, once nothing is offered to complete it any more."""
        self.write(text)
        self.settle()
        self.press("Enter")

    def wait_for_end(self) -> None:
        """Waits until the program has ended."""
        limit = time.monotonic() + self._timeout
        while self._tmux("display-message", "-p", "#{pane_dead}").strip() != "1":
            assert time.monotonic() < limit, f"it goes on:\n{self.screen}"
            time.sleep(_LOOK_S)

    def see(self, pattern: str, *, timeout: float | None = None) -> re.Match[str]:
        """Waits until the screen shows what fits `pattern`."""
        limit = time.monotonic() + (timeout or self._timeout)
        while (found := re.search(pattern, screen := self.screen)) is None:
            assert time.monotonic() < limit, f"{pattern!r} is not on the screen:\n{screen}"
            time.sleep(_LOOK_S)
        return found

    def see_no_more(self, pattern: str, *, timeout: float | None = None) -> None:
        """Waits until the screen shows it no more."""
        limit = time.monotonic() + (timeout or self._timeout)
        while re.search(pattern, screen := self.screen) is not None:
            assert time.monotonic() < limit, f"{pattern!r} is still on the screen:\n{screen}"
            time.sleep(_LOOK_S)
