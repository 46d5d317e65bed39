"""`atlas demo`: the interface in a temporary home folder with a year of sample data."""

import argparse
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli.context import Context
from atlas_desktop.locale import _

if TYPE_CHECKING:
    from memory.vault.keys import RoomKey


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    parser = subparsers.add_parser(
        "demo",
        parents=[common],
        help=_("try Atlas in a temporary home folder with sample conversations"),
        description=_(
            "Try Atlas in a temporary home folder with a year of sample conversations, memories, documents, "
            "notes and skills, and a private room whose passphrase it shows. It is deleted when you quit."
        ),
    )
    # Set by the interface when it replaces itself with this program.
    parser.add_argument("--and-back", action="store_true", help=argparse.SUPPRESS)
    parser.set_defaults(demo=True)


@dataclass(frozen=True, slots=True)
class Demo:
    """A filled home: its context, the open room's key, and the passphrase of both rooms."""

    ctx: Context
    key: "RoomKey"
    passphrase: str


@contextmanager
def throw_away_home(ctx: Context) -> Iterator[Demo]:
    """Yields a filled home folder. The folder is deleted at the end."""
    from atlas_desktop.services.demo import demo_home, demo_passphrase

    ctx.paths.ensure()
    home = demo_home(ctx.paths)
    try:
        inner, passphrase = Context(home), demo_passphrase()
        import asyncio

        yield Demo(inner, asyncio.run(make_home(inner, passphrase)), passphrase)
    finally:
        shutil.rmtree(home.home, ignore_errors=True)


async def make_home(ctx: Context, passphrase: str) -> "RoomKey":
    """Creates the rooms of an empty home and fills them; returns the open room's key."""
    from datetime import UTC, datetime

    from atlas_desktop.bootstrap import open_with_clock
    from atlas_desktop.services.demo import fill
    from memory.clock import Clock
    from memory.entities import RoomKind
    from memory.storage.store import Store

    created = await ctx.vault().create(passphrase)
    assert created.keys is not None
    assert created.keys.private is not None
    keys = {RoomKind.OPEN: created.key, RoomKind.PRIVATE: created.keys.private}

    async def open_store(room: RoomKind, clock: Clock) -> Store:
        return await open_with_clock(ctx.paths, keys[room], room, clock)

    await fill(open_store, ctx.paths.home / "papers", datetime.now(UTC))
    return created.key
