"""The terminal: reads its keys and pastes, restores it at the end, and hands it to the user's own editor."""

import codecs
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.events import Key

from atlas_desktop.services.cleaning import clean
from atlas_desktop.tui.images import Inquiry, read_answers

if TYPE_CHECKING:
    from textual.driver import Driver


def forgiving(driver: "type[Driver]", inquiry: Inquiry | None = None) -> "type[Driver]":
    """Returns a driver that accepts any input and draws to the terminal.

    It reads invalid UTF-8 (a paste from an old file, a terminal with another encoding) as one character each;
    Textual would end the program at the first of them. A paste is text only: Textual would turn control
    sequences in it into keys. What was typed during the `inquiry` is read first, and late answers are not
    keys.

    It draws to standard error; if that is a file (`atlas 2>errors.txt`), to standard output.
    """
    module: Any = sys.modules[driver.__module__]
    if hasattr(module, "getincrementaldecoder"):
        module.getincrementaldecoder = partial(_decoder, inquiry or Inquiry())
    return _restarting(_telling(_on_standard_output(driver) if _only_standard_output() else driver))


def _telling(driver: "type[Driver]") -> "type[Driver]":
    """Returns a driver that also reports each key in the thread that read it, to `key_read` if defined."""

    def process(self: Any, message: Any) -> None:
        if isinstance(message, Key) and (tell := getattr(self._app, "key_read", None)) is not None:
            tell(message.key)
        driver.process_message(self, message)

    return type(driver.__name__, (driver,), {"process_message": process, "__module__": driver.__module__})


def _restarting(driver: "type[Driver]") -> "type[Driver]":
    """Returns a driver that also restores the terminal before taking it again after SIGSTOP.

    Textual gets no notice before a SIGSTOP. It would start a second thread that reads keys and never end the
    first, which the process waits for at exit. It would also save the terminal's raw mode as the state to
    restore.
    """

    def start(self: Any) -> None:
        if getattr(self, "has_terminal", False):
            self.suspend_application_mode()
        driver.start_application_mode(self)
        self.has_terminal = True

    def stop(self: Any) -> None:
        self.has_terminal = False
        driver.stop_application_mode(self)

    modes = {"start_application_mode": start, "stop_application_mode": stop}
    return type(driver.__name__, (driver,), {**modes, "__module__": driver.__module__})


def give_back(driver: "Driver", first: str = "") -> None:
    """Writes `first`, then clears and restores the terminal without Textual, whose loop is stuck."""
    if (before := getattr(driver, "attrs_before", None)) is None:
        return
    import termios

    with suppress(OSError, termios.error):
        out = sys.__stdout__.fileno() if sys.__stdout__ is not None else 1
        os.write(out, first.encode() + GIVEN_BACK)
        termios.tcsetattr(sys.__stdin__.fileno() if sys.__stdin__ is not None else 0, termios.TCSANOW, before)


def _only_standard_output() -> bool:
    out, errors = sys.__stdout__, sys.__stderr__
    return out is not None and out.isatty() and (errors is None or not errors.isatty())


def _on_standard_output(driver: "type[Driver]") -> "type[Driver]":
    def begin(self: Any, *args: Any, **options: Any) -> None:
        driver.__init__(self, *args, **options)
        self._file = sys.__stdout__

    return type(driver.__name__, (driver,), {"__init__": begin, "__module__": driver.__module__})


GIVEN_BACK = (
    b"\x1b[2J\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1016l\x1b[?1004l\x1b[?2004l\x1b[?2048l"
    b"\x1b[<u\x1b[?25h\x1b[?1049l"
)
"""Clears the screen, turns off mouse, focus, resize and paste reports and extended keys, shows the cursor,
and leaves the alternate screen."""
PASTE_BEGINS, PASTE_ENDS = "\x1b[200~", "\x1b[201~"


class Input:
    """Decodes terminal input piece by piece.

    Removes control characters from pastes, except tabs and line ends; line ends become Enter.
    """

    def __init__(self, encoding: str, inquiry: Inquiry | None = None) -> None:
        self._decode = codecs.getincrementaldecoder(encoding)(errors="replace").decode
        self._typed_before = inquiry.typed if inquiry is not None else b""
        self._answers_late = inquiry is not None and inquiry.late
        self._pasting = False
        self._before = ""
        """The last characters that were passed on: the start mark of a paste may arrive in two pieces."""
        self._held = ""
        """What may be the first characters of the end mark of a paste."""

    def decode(self, data: bytes, final: bool = False) -> str:  # noqa: FBT001, FBT002 - as codecs have it
        if self._typed_before:
            data, self._typed_before = self._typed_before + data, b""
        if self._answers_late and (rest := read_answers(data)[1]) != data:
            data, self._answers_late = rest, False
        text, out = self._decode(data, final), list[str]()
        while text:
            text = self._pasted(text, out) if self._pasting else self._typed(text, out)
        if final and self._held:
            out.append(_pasted_text(self._held))
            self._held = ""
        return "".join(out)

    def _typed(self, text: str, out: list[str]) -> str:
        """Passes on the input before the next paste, and the start mark of the paste; returns the rest."""
        known = len(self._before)
        seen = self._before + text
        at = seen.find(PASTE_BEGINS)
        cut = len(text) if at < 0 else at + len(PASTE_BEGINS) - known
        self._pasting = at >= 0
        out.append(text[:cut])
        if self._pasting and cut < len(PASTE_BEGINS):
            # Textual may have turned the first piece of the mark into keys already. Repeating the mark does
            # no harm.
            out.append(PASTE_BEGINS)
        self._before = "" if self._pasting else seen[-len(PASTE_BEGINS) + 1 :]
        return text[cut:]

    def _pasted(self, text: str, out: list[str]) -> str:
        """Passes on the pasted text and the end mark of the paste; returns the rest."""
        text, self._held = self._held + text, ""
        at = text.find(PASTE_ENDS)
        if at >= 0:
            out += _pasted_text(text[:at]), PASTE_ENDS
            self._pasting = False
            return text[at + len(PASTE_ENDS) :]
        held = next((n for n in range(len(PASTE_ENDS) - 1, 0, -1) if text.endswith(PASTE_ENDS[:n])), 0)
        out.append(_pasted_text(text[: len(text) - held]))
        self._held = text[len(text) - held :]
        return ""


def _pasted_text(text: str) -> str:
    return "\r".join(map(clean, text.split("\r")))


def _decoder(inquiry: Inquiry, encoding: str) -> "Callable[[], Input]":
    return lambda: Input(encoding, inquiry)


_NAME = "message.md"


class NoEditor(Exception):
    """No editor is set, or it cannot be started; `command` is its name, empty if none is set."""

    def __init__(self, command: str = "") -> None:
        super().__init__(command)
        self.command = command


def editor_of(environ: Mapping[str, str]) -> list[str]:
    """Returns the command of the editor. Raises `NoEditor`."""
    for name in ("VISUAL", "EDITOR"):
        if said := environ.get(name, "").strip():
            try:
                command = shlex.split(said)
            except ValueError:
                raise NoEditor(said) from None
            if command and shutil.which(command[0]):
                return command
            raise NoEditor(said)
    raise NoEditor


def edited(
    text: str, folder: Path, command: list[str], suspended: Callable[[], AbstractContextManager[None]]
) -> str:
    """Returns the text as the editor leaves it. Blocks until the editor ends.

    The text is in a file of `folder` that only the user can read, and is overwritten and removed afterwards.
    Raises OSError, and what `suspended` raises.
    """
    clear_leftovers(folder)
    folder.mkdir(mode=0o700)
    try:
        path = folder / _NAME
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
        with suspended():
            subprocess.run([*command, str(path)], check=False)
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else text
    finally:
        clear_leftovers(folder)


def clear_leftovers(folder: Path) -> None:
    """Overwrites and removes what an editor, or a program that was killed, has left in the folder."""
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        if path.is_file() and not path.is_symlink():
            with path.open("r+b") as file:
                file.write(b"\0" * path.stat().st_size)
                file.flush()
                os.fsync(file.fileno())
    shutil.rmtree(folder)
