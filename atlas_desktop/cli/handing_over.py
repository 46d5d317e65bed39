"""Commands that the open Atlas answers; this process only passes on its input and output."""

import argparse
import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli.ask import on_interrupt
from atlas_desktop.cli.context import Consent, Context, Lines
from atlas_desktop.errors import Exit
from atlas_desktop.serve.listening import Exchange, connect
from memory.kinds import RoomKind

if TYPE_CHECKING:
    from atlas_desktop.services.desk import AppContext
    from atlas_desktop.services.room import RoomServices

COMMANDS = {
    ("ask", None): ("ask", "ask"),
    ("memory", "recall"): ("memory", "recall_hits"),
    ("sessions", "search"): ("search", "search_messages"),
    ("docs", "search"): ("documents", "search"),
    ("notes", "suggest"): ("notes", "suggest"),
    ("mcp", None): ("serve", "mcp"),
    ("clients", "add"): ("serve", "add_client"),
    ("clients", "list"): ("serve", "list_clients"),
    ("clients", "revoke"): ("serve", "revoke"),
    ("clients", "log"): ("serve", "show_log"),
}
"""By name and subcommand: the module and the function that carry out the command."""
_OWN = frozenset({"handler", "exclusive", "hand_over", "passphrase_fd", "passphrase_file", "home", "private"})
"""Arguments that are not passed on."""


def named(args: argparse.Namespace) -> tuple[str, str | None]:
    """Returns the name of a command, and that of its subcommand."""
    return args.command, getattr(args, f"{args.command}_command", None)


async def hand_over(ctx: Context, args: argparse.Namespace) -> int | None:
    """Has the open Atlas run a command; returns its exit status, or None if there is no answer."""
    prepare = getattr(args, "hand_over", None)
    if prepare is None or ctx.private or named(args) not in COMMANDS:
        return None
    found = await connect(ctx.paths)
    if found is None:
        return None
    reader, writer = found
    if not prepare(args):
        writer.close()
        return None
    given = {name: value for name, value in vars(args).items() if name not in _OWN}
    _send(writer, args=given, json=ctx.json, jsonl=ctx.jsonl)
    typing = None
    if getattr(args, "stdin", False) or args.command == "mcp":
        typing = asyncio.create_task(_pass_lines(writer))
    try:
        with on_interrupt(lambda number: _send(writer, stop=number)):
            return await _show(ctx, reader)
    finally:
        if typing is not None:
            typing.cancel()
        writer.close()


def _send(writer: asyncio.StreamWriter, **message: object) -> None:
    writer.write(json.dumps(message).encode() + b"\n")


async def _pass_lines(writer: asyncio.StreamWriter) -> None:
    lines = Lines(prompt=False)
    while (line := await lines.next()) is not None:
        _send(writer, line=line)
        with suppress(ConnectionError):
            await writer.drain()
    _send(writer, end=True)


async def _show(ctx: Context, reader: asyncio.StreamReader) -> int:
    """Prints the output of the command, and returns its exit status."""
    while raw := await reader.readline():
        message = json.loads(raw)
        if "out" in message:
            ctx.write(message["out"], end="")
        elif "aside" in message:
            ctx.write_aside(message["aside"])
        elif "exit" in message:
            return int(message["exit"])
    # The other program was locked or closed in the meantime.
    return Exit.LOCKED


# --- in the program that answers --------------------------------------------------------------------


@dataclass(slots=True)
class _SharedContext(Context):
    """The context of a command that another process has handed over."""

    exchange: Exchange | None = None

    def write(self, text: str, *, end: str = "\n") -> None:
        self._exchange.send(out=text + end)

    def write_aside(self, text: str) -> None:
        self._exchange.send(aside=text)

    async def lines(self) -> AsyncIterator[str]:
        async for line in self._exchange.lines():
            yield line

    async def unlock(self) -> "RoomServices":
        return self.desk.at(RoomKind.OPEN)

    async def close(self) -> None:
        """The rooms stay open: they are those of the interface."""

    @property
    def _exchange(self) -> Exchange:
        assert self.exchange is not None
        return self.exchange


def open_room_only(desk: "AppContext") -> "AppContext":
    """Returns a desk that has only the open room and the model of another.

    The private room and what is off the record stay out of reach, even while they are open. Raises
    `RoomClosed`.
    """
    room = desk.at(RoomKind.OPEN)
    # Made now if it does not exist, so that both have the same one.
    model = desk.model
    return replace(desk, room=room, _rooms=[room], _rooms_service=None, _model=model)


async def answer(desk: "AppContext", exchange: Exchange, consent: Consent | None = None) -> int:
    """Runs a command that another process of this user has handed over, in the open room.

    `consent` asks the user about a new client; without it, none is added.
    """
    given = await exchange.begin()
    try:
        args = argparse.Namespace(**given["args"])
        module, function = COMMANDS[named(args)]
    except (AttributeError, KeyError, TypeError):
        # Ends the connection: no program of ours sends such a thing.
        raise ValueError from None
    ctx = _SharedContext(
        desk.paths,
        json=bool(given.get("json")),
        jsonl=bool(given.get("jsonl")),
        shared=True,
        interrupts=lambda act: _stopping(exchange, act),
        exchange=exchange,
        consent=consent,
    )
    following = asyncio.create_task(exchange.follow())
    try:
        ctx.share(open_room_only(desk))
        handler = getattr(import_module(f"atlas_desktop.cli.{module}"), function)
        working = asyncio.ensure_future(handler(ctx, args))
        # A command ends with the process that handed it over.
        await asyncio.wait({working, following}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            working.cancel()
        return int(await working)
    except asyncio.CancelledError:
        raise
    except Exception as error:  # noqa: BLE001 - every error becomes a message
        return ctx.fail(error)
    finally:
        following.cancel()


@contextmanager
def _stopping(exchange: Exchange, act: Callable[[int], Any]) -> Iterator[None]:
    """Inside the block, Ctrl-C in the other terminal calls `act`."""
    exchange.on_stop = act
    try:
        yield
    finally:
        exchange.on_stop = None
