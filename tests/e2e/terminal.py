"""The installed program in a real pseudo-terminal, as a person has it before them."""

import os
import re
import select
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

import pexpect

KEYS = {
    "enter": "\r",
    "escape": "\x1b",
    "tab": "\t",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "f2": "\x1bOQ",
    "f7": "\x1b[18~",
    "f8": "\x1b[19~",
    "f10": "\x1b[21~",
}
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_=>])")


def ctrl(letter: str) -> str:
    return chr(ord(letter.upper()) - 64)


class Terminal:
    """Runs a command in a pseudo-terminal. `text` is all that was drawn so far, without control sequences."""

    def __init__(
        self,
        command: Sequence[str],
        environment: dict[str, str],
        *,
        columns: int = 80,
        rows: int = 24,
        timeout: float = 90,
    ) -> None:
        self.started = time.perf_counter()
        self._child = pexpect.spawn(
            command[0],
            list(command[1:]),
            env={**environment, "TERM": "xterm-256color", "COLORTERM": "truecolor"},
            dimensions=(rows, columns),
            timeout=timeout,
            encoding="utf-8",
            codec_errors="replace",
        )
        self._child.delaybeforesend = None
        self._timeout = timeout
        self.raw = ""
        self._text = ""
        self._stripped = 0
        self._seen = 0

    @property
    def text(self) -> str:
        """Only what has come since the last call is looked at: a program that draws a lot is not slowed
        down by the one that watches it."""
        new = self.raw[self._stripped :]
        cut = new.rfind("\x1b")
        # The end of a sequence may not have come yet.
        if cut >= 0 and _ANSI.match(new, cut) is None:
            new = new[:cut]
        self._stripped += len(new)
        self._text += _ANSI.sub("", new)
        return self._text

    @property
    def pid(self) -> int:
        assert self._child.pid is not None
        return self._child.pid

    def see(self, pattern: str, *, timeout: float | None = None) -> re.Match[str]:
        """Waits until something is drawn that fits `pattern`, after what was seen last."""
        limit = time.monotonic() + (timeout or self._timeout)
        while True:
            text = self.text
            match = re.compile(pattern).search(text, self._seen)
            if match is not None:
                self._seen = match.end()
                return match
            left = limit - time.monotonic()
            if left <= 0:
                size = self._child.getwinsize()
                raise AssertionError(f"{pattern!r} was not drawn on {size}; last: {text[-1500:]!r}")
            self._read(left)

    def _read(self, limit: float) -> None:
        try:
            self.raw += self._child.read_nonblocking(65536, timeout=min(limit, 0.2))
        except pexpect.TIMEOUT:
            return
        except pexpect.EOF:
            raise AssertionError(f"the program ended; last: {self.text[-1500:]!r}") from None

    def settle(self, quiet: float = 0.4) -> None:
        """Waits until nothing more is drawn: what is typed in the moment of a Tab goes to the old field."""
        for _ in range(10):
            size = len(self.raw)
            self.drain(quiet)
            if size == len(self.raw):
                return

    def until(self, condition: Callable[[], bool]) -> None:
        """Reads what is drawn until `condition` holds."""
        limit = time.monotonic() + self._timeout
        while not condition():
            assert time.monotonic() < limit, f"waited in vain; last: {self.text[-1500:]!r}"
            self.drain(0.05)

    def drain(self, seconds: float) -> None:
        """Reads what is drawn for a while."""
        limit = time.monotonic() + seconds
        while (left := limit - time.monotonic()) > 0:
            self._read(left)

    def write(self, text: str) -> None:
        self._child.send(text)

    def press(self, *keys: str) -> None:
        for key in keys:
            self._child.send(KEYS.get(key, key))

    def resize(self, columns: int, rows: int) -> None:
        self._child.setwinsize(rows, columns)

    @property
    def echo(self) -> bool:
        """Whether the terminal shows what is typed."""
        return bool(self._child.getecho())

    def hang_up(self, *, within: float = 10) -> None:
        """Closes the terminal under the program, as a lost connection does; returns when it has ended."""
        process = self._child.ptyproc  # type: ignore[attr-defined]  # the stubs do not know it
        process.fileobj.close()
        limit = time.monotonic() + within
        while process.isalive():
            assert time.monotonic() < limit, "the program goes on without a terminal"
            select.select([], [], [], 0.05)

    def wait_for_end(self) -> int:
        self._child.expect(pexpect.EOF)
        self.raw += self._child.before or ""
        self._child.close()
        return int(self._child.exitstatus if self._child.exitstatus is not None else -1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.close(force=True)


def atlas(home: Path, *args: str, columns: int = 80, rows: int = 24) -> Terminal:
    """The installed `atlas` with a home of its own."""
    environment = {**os.environ, "ATLAS_HOME": str(home)}
    for name in ("COLUMNS", "LINES"):
        # What whoever runs the tests has for a terminal is not the one that the program runs in.
        environment.pop(name, None)
    return Terminal(
        [str(Path(sys.executable).with_name("atlas")), *args], environment, columns=columns, rows=rows
    )
