"""Shared by all commands: input and output, questions, and unlocking."""

import argparse
import getpass
import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from atlas_desktop.errors import Declined, UsageError, size
from atlas_desktop.locale import _
from atlas_desktop.paths import Paths, find_home
from atlas_desktop.services.cleaning import clean

if TYPE_CHECKING:
    from atlas_desktop.services.desk import AppContext
    from atlas_desktop.services.retention import HeldBack
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.services.vault import VaultService
    from atlas_desktop.settings.file import CheckKeys
    from memory.clients import Scope
    from memory.entities import Freshness, RoomKind
    from memory.vault.keys import RoomKey


# Surrogates: bytes that are not UTF-8, or halves of characters. Neither can be stored.
_BROKEN = re.compile("[\ud800-\udfff]")


def whole(text: str, *, line: int = 0) -> str:
    """Returns the text. Raises `UsageError`, which names the line, if it was not UTF-8, so that nothing is
    lost silently. `line` is the number of the line if the text is a single line."""
    broken = _BROKEN.search(text)
    if broken is None:
        return text
    at = line or text.count("\n", 0, broken.start()) + 1
    raise UsageError(
        _("The text is not UTF-8 in line {line}, so it was not used.", line=at),
        _("Convert it first, for example with `iconv -f WINDOWS-1252 -t UTF-8`."),
    )


def given_text(given: str) -> str:
    """The text given on the command line, or for `-` from standard input. Raises `UsageError`."""
    return whole(sys.stdin.read() if given == "-" else given)


class Lines:
    """Reads lines of standard input in a daemon thread.

    asyncio would join one of its own threads at exit, so Ctrl-C at the prompt would wait for Enter.
    """

    def __init__(self, *, prompt: bool) -> None:
        self._prompt = prompt and sys.stdin.isatty()
        import asyncio

        self._loop = asyncio.get_running_loop()
        self._wanted = threading.Semaphore(0)
        self._found: asyncio.Queue[str | None] = asyncio.Queue()
        threading.Thread(target=self._read, name="lines", daemon=True).start()

    async def next(self) -> str | None:
        """The next line without its end, or None at the end of the input."""
        self._wanted.release()
        return await self._found.get()

    def _read(self) -> None:
        line: str | None = ""
        while line is not None:
            self._wanted.acquire()
            line = self._line()
            try:
                self._loop.call_soon_threadsafe(self._found.put_nowait, line)
            except RuntimeError:
                # The loop ended while the user was still typing.
                return

    def _line(self) -> str | None:
        if self._prompt:
            try:
                return input("> ")
            except EOFError:
                return None
        line = sys.stdin.readline()
        return line.rstrip("\r\n") if line else None


SECRET_LIMIT = 64 * 1024
_STEERING = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


_ROOM = (
    "memory.storage.room",
    "atlas_desktop.services.room",
    "memory.storage.snapshots",
    "memory.storage.files",
    "atlas_desktop.services.backup",
    "numpy",
)
"""The modules that opening a room needs, in the order of use."""


def load_room() -> None:
    """Imports the modules that opening a room needs."""
    for name in _ROOM:
        import_module(name)


def read_secret(source: int | str) -> str:
    """A secret from a file descriptor or a file: its first line, without the line end."""
    try:
        with open(source, "rb") as handle:  # noqa: PTH123 - a descriptor too
            data = handle.read(SECRET_LIMIT)
    except OSError as error:
        raise UsageError(
            _("Cannot read the secret: {reason}.", reason=error.strerror),
            _("Check the path or file descriptor."),
        ) from None
    try:
        return data.split(b"\n", 1)[0].removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(_("The secret is not UTF-8 text."), _("Save the file as UTF-8 text.")) from None


@dataclass(slots=True)
class Progress:
    """Progress on stderr: a bar on a terminal, nothing otherwise."""

    label: str
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    _drawn_at: float = 0.0

    def update(self, stage: str, done: int, total: int | None) -> None:
        if not self.stream.isatty() or time.monotonic() - self._drawn_at < 0.1:
            return
        self._drawn_at = time.monotonic()
        if total:
            filled = int(24 * done / total)
            bar = f"[{'#' * filled}{'.' * (24 - filled)}]"
            amount = f"{bar} {_('{done} of {total}', done=size(done), total=size(total))}"
        else:
            amount = size(done) if done else ""
        self.stream.write(f"\r\x1b[K{clean(f'{self.label}: {stage} {amount}')}"[:110])
        self.stream.flush()

    def close(self) -> None:
        if self.stream.isatty():
            self.stream.write("\r\x1b[K")
            self.stream.flush()


def counting(progress: Progress) -> Callable[[str, int, int | None], None]:
    """Returns a function that shows how many files are done, where other commands show bytes."""
    return lambda name, done, total: progress.update(f"{done}/{total} {name}", 0, None)


Consent = Callable[[str, frozenset["Scope"]], Awaitable[bool]]
"""Asks the user of the interface whether to add a client of this name, with these scopes."""


@dataclass(slots=True)
class Context:
    """The state of one command run.

    `shared`: the rooms and the model are those of a running interface, which answers for this command.
    `interrupts` replaces signals there, and `consent` asks its user.
    """

    paths: Paths
    json: bool = False
    jsonl: bool = False
    yes: bool = False
    passphrase_fd: int | None = None
    passphrase_file: str | None = None
    private: bool = False
    check_keys: "CheckKeys | None" = None
    shared: bool = False
    interrupts: Callable[[Callable[[int], None]], AbstractContextManager[None]] | None = None
    consent: "Consent | None" = None
    _desk: "AppContext | None" = None
    _given: str | None = None

    @classmethod
    def blank(cls, args: argparse.Namespace) -> "Context":
        """A context that can only print, for errors before the rest is set up."""
        json_lines = getattr(args, "jsonl", False)
        return cls(Paths(Path()), json=getattr(args, "json", False) or json_lines, jsonl=json_lines)

    @classmethod
    def from_args(cls, args: argparse.Namespace) -> "Context":
        return cls(
            paths=Paths(find_home(getattr(args, "home", None))),
            json=getattr(args, "json", False) or getattr(args, "jsonl", False),
            jsonl=getattr(args, "jsonl", False),
            yes=getattr(args, "yes", False),
            passphrase_fd=getattr(args, "passphrase_fd", None),
            passphrase_file=getattr(args, "passphrase_file", None),
            private=getattr(args, "private", False),
        )

    # --- printing ---------------------------------------------------------------------------------

    def emit(self, value: Any, human: str | Callable[[], str] = "") -> None:
        """Prints one JSON value with `--json`, otherwise the text for people."""
        text = dumps(value) if self.json else clean(human() if callable(human) else human)
        if text:
            self.write(text)

    def write(self, text: str, *, end: str = "\n") -> None:
        """Writes to standard output, at once."""
        print(text, end=end, flush=True)

    def write_aside(self, text: str) -> None:
        """Writes a line to standard error."""
        print(text, file=sys.stderr, flush=True)

    async def lines(self) -> AsyncIterator[str]:
        """Yields the lines of standard input."""
        for line in sys.stdin:
            yield line

    def note(self, text: str) -> None:
        """Prints a note for people on stderr; nothing with `--json`."""
        if not self.json:
            self.write_aside(clean(text))

    def fail(self, error: BaseException) -> int:
        """Prints an error and returns the exit status."""
        # Imported late because `--help` does not need it.
        from atlas_desktop.error_table import explain

        words = explain(error)
        text = clean(f"{words.title}: {words.message}\n{words.next_step}")
        try:
            if self.json:
                kind = {"type": "error"} if self.jsonl else {}
                self.write(dumps({**kind, **words.as_json()}))
            else:
                self.write_aside(text)
        except OSError:
            # Standard output does not work (for example, a full disk): print to stderr instead.
            with suppress(OSError):
                print(text, file=sys.stderr, flush=True)
        return int(words.status)

    def progress(self, label: str) -> Progress:
        return Progress(label)

    # --- asking -----------------------------------------------------------------------------------

    def confirm(self, question: str) -> None:
        """Returns if the user agrees. Raises `Declined`, or `UsageError` without a terminal to ask in."""
        if self.yes:
            return
        if not sys.stdin.isatty():
            raise UsageError(
                f"{question} {_('Cannot ask without a terminal.')}", _("Use --yes to agree in advance.")
            )
        print(clean(f"{question} {_('[y/N]')} "), end="", file=sys.stderr, flush=True)
        with ctrl_c_interrupts():
            answer = sys.stdin.readline()
        if answer.strip().lower() not in ("y", "yes", _("y"), _("yes")):
            raise Declined

    def show_key(self, value: Any, human: str) -> None:
        """Shows a recovery key. Raises OSError if it cannot be printed, and `Declined` if the user at the
        terminal has not written it down: in both cases it must not take effect."""
        self.emit(value, human)
        if not self.json and sys.stdin.isatty() and sys.stdout.isatty():
            self.confirm(_("Have you written it down?"))

    @property
    def has_passphrase(self) -> bool:
        """Whether the passphrase is available without asking the user."""
        return self.passphrase_fd is not None or self.passphrase_file is not None

    def passphrase(self, prompt: str = "", *, confirm: bool = False) -> str:
        """The passphrase from the source in the options (read once), otherwise typed. Raises `UsageError`."""
        if self._given is not None:
            return self._given
        if self.passphrase_fd is not None:
            self._given = read_secret(self.passphrase_fd)
            return self._given
        if self.passphrase_file is not None:
            self._given = read_secret(self.passphrase_file)
            return self._given
        return self.type_secret(prompt or _("Passphrase:"), confirm=confirm)

    def type_secret(self, prompt: str, *, confirm: bool = False) -> str:
        """A secret typed at the terminal without echo, twice with `confirm`. Raises `UsageError`."""
        if not sys.stdin.isatty():
            raise UsageError(
                _("A passphrase is needed, but there is no terminal to ask in."),
                _("Use --passphrase-file or --passphrase-fd."),
            )
        with ctrl_c_interrupts():
            secret = getpass.getpass(f"{prompt} ")
            again = getpass.getpass(f"{_('Repeat:')} ") if confirm else secret
        if again != secret:
            raise UsageError(_("The two entries do not match."), _("No changes were made. Try again."))
        return secret

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Wraps asking for a passphrase or recovery key and trying it. Counts a wrong one, like the unlock
        screen. Raises `TooManyAttempts` before asking if the user still has to wait."""
        from atlas_desktop.services.vault import Attempts
        from memory.errors import TooManyAttempts, WrongBackupPassphrase, WrongPassphrase, WrongRecoveryKey

        attempts = Attempts(self.paths.attempts)
        if left := attempts.left():
            raise TooManyAttempts(left)
        try:
            yield
        except (WrongPassphrase, WrongRecoveryKey, WrongBackupPassphrase):
            with suppress(OSError):
                attempts.wrong()
            raise
        with suppress(OSError):
            attempts.right()

    # --- services ---------------------------------------------------------------------------------

    @property
    def desk(self) -> "AppContext":
        if self._desk is None:
            from atlas_desktop.bootstrap import build_desk
            from atlas_desktop.process import use_private_temporary_folder

            self.paths.ensure()
            use_private_temporary_folder(self.paths)
            self._desk = build_desk(self.paths)
            self._desk.on_stale = self._tell_stale
            self._desk.on_held_back = self._tell_held_back
        return self._desk

    def share(self, desk: "AppContext") -> None:
        """Uses the rooms of a desk that others also use."""
        self._desk = desk

    def _tell_stale(self, room: "RoomKind", freshness: "Freshness") -> None:
        """Always printed: as an event with `--jsonl`, otherwise on stderr."""
        from atlas_desktop.phrases import freshness_text

        self._tell(freshness.value, freshness_text(room, freshness))

    def _tell_held_back(self, _room: "RoomKind", held: "HeldBack") -> None:
        from atlas_desktop.phrases import held_back_text

        self._tell("held_back", held_back_text(held))

    def _tell(self, code: str, text: str) -> None:
        if self.jsonl:
            self.write(dumps({"type": "notice", "code": code, "text": text}))
        else:
            self.write_aside(clean(text))

    def vault(self) -> "VaultService":
        return self.desk.vault

    async def key(self) -> "RoomKey":
        """The open room's key, from the given passphrase, otherwise the keyring or a typed passphrase."""
        from memory.errors import KeyringOff, KeyringUnavailable, VaultMissing

        vault = self.vault()
        if not await vault.exists():
            raise VaultMissing
        if not self.has_passphrase:
            try:
                return await vault.unlock_with_keyring()
            except (KeyringOff, KeyringUnavailable):
                if not sys.stdin.isatty():
                    raise
        with self.attempt():
            return await vault.unlock(self.passphrase())

    async def unlock(self) -> "RoomServices":
        """Unlocks and returns the open room; with `--private` unlocks both and returns the private room."""
        import asyncio

        from memory.errors import VaultMissing

        if not self.private:
            # Deriving a key takes 0.4 s and leaves the interpreter free: import the room's modules meanwhile.
            loading = asyncio.ensure_future(asyncio.to_thread(load_room))
            try:
                key = await self.key()
            finally:
                await asyncio.wait({loading})
            await loading
            return await self.desk.enter(key)
        if not await self.vault().exists():
            raise VaultMissing
        # The keyring never opens the private room; it always needs the passphrase.
        with self.attempt():
            room = await self.desk.rooms.enter_both(self.passphrase())
        if self.desk.rooms.stuck:
            from atlas_desktop import phrases as phrases

            self.note(phrases.stuck(self.desk.rooms.stuck))
        return room

    def tell_damage(self, room: "RoomServices") -> None:
        """Reports that the embedding model is damaged, so that recall searches by words only."""
        if (damaged := room.recall.damaged) is not None:
            from atlas_desktop.error_table import explain

            words = explain(damaged)
            self.note(f"{words.title}: {words.message} {words.next_step}")

    async def unlock_for(self, ref: str) -> "RoomServices":
        """Unlocks, and returns the room that contains a session. Raises `SessionNotFound`, `AmbiguousId`."""
        await self.unlock()
        return (await self.desk.rooms.find(ref))[0]

    @property
    def opened(self) -> "tuple[RoomServices, ...]":
        """The rooms that are unlocked now."""
        return self._desk.open_rooms if self._desk is not None else ()

    async def enter_open(self) -> "RoomServices":
        """The open room, in addition to rooms that are already unlocked."""
        for room in self.opened:
            if room.store.room == "open":
                return room
        return await self.desk.enter(await self.key())

    async def enter_private(self) -> "RoomServices":
        """The private room, in addition to rooms that are already unlocked."""
        if (opened := self.desk.rooms.private) is not None:
            return opened
        with self.attempt():
            return await self.desk.rooms.enter_private(self.passphrase())

    async def close(self) -> None:
        from atlas_desktop.process import remove_private_temporary_folder

        if self._desk is not None:
            await self._desk.close()
            remove_private_temporary_folder(self.paths)


def command_group(
    subparsers: Any, common: argparse.ArgumentParser, name: str, text: str, **usual: Any
) -> Callable[..., argparse.ArgumentParser]:
    """Adds a command, and returns a function that adds its subcommands: `add(name, handler, text, more="")`.

    `handler` is `async (Context, Namespace) -> int`, and `text` the help, to which the description adds
    `more`. Other arguments are defaults of the namespace, those of all subcommands `usual`: `exclusive` (True
    unless given) locks the home, `hand_over` lets the open Atlas answer.
    """
    group = subparsers.add_parser(name, parents=[common], help=text)
    commands = group.add_subparsers(dest=f"{name}_command", required=True, metavar="COMMAND")

    def add(name: str, handler: Any, text: str, more: str = "", **own: Any) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = commands.add_parser(
            name, parents=[common], help=text, description=f"{text[0].upper()}{text[1:]}. {more}".rstrip()
        )
        parser.set_defaults(handler=handler, **{"exclusive": True, **usual, **own})
        return parser

    return add


def unchanged(_args: argparse.Namespace) -> bool:
    """For commands whose arguments mean the same in every process."""
    return True


def dumps(value: Any) -> str:
    """JSON as the command line prints it: unescaped UTF-8 on one line."""
    text = json.dumps(value, ensure_ascii=False, separators=(", ", ": "), default=str)
    # JSON escapes only the control characters up to U+001F; terminals interpret more of them.
    return _STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


@contextmanager
def ctrl_c_interrupts() -> Iterator[None]:
    """Lets Ctrl-C raise at once while the user is asked: asyncio's own handler waits for the loop."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def open_in_editor(path: Path) -> int:
    """Opens a file in the user's editor and waits until it exits."""
    import shlex
    import subprocess

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ("notepad" if os.name == "nt" else "vi")
    return subprocess.call([*shlex.split(editor), str(path)])
