"""`atlas demo`: the interface in a throw-away home with sample conversations."""

import argparse
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli.context import Context

if TYPE_CHECKING:
    from memory.vault.keys import RoomKey


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    parser = subparsers.add_parser(
        "demo",
        parents=[common],
        help="look around in a throw-away home with sample conversations",
        description="Look around in a throw-away home with sample conversations; it ends with the program.",
    )
    # Given by the interface to the program that it puts in its place.
    parser.add_argument("--and-back", action="store_true", help=argparse.SUPPRESS)
    parser.set_defaults(demo=True)


@contextmanager
def throw_away_home(ctx: Context) -> Iterator[tuple[Context, "RoomKey"]]:
    """A filled home and the key of its room; both end with the block."""
    from atlas_desktop.services.demo import demo_home

    ctx.paths.ensure()
    home = demo_home(ctx.paths)
    try:
        inner = Context(home)
        import asyncio

        yield inner, asyncio.run(_make(inner))
    finally:
        shutil.rmtree(home.home, ignore_errors=True)


async def _make(ctx: Context) -> "RoomKey":
    from datetime import UTC, datetime

    from atlas_desktop.bootstrap import open_with_clock
    from atlas_desktop.services.demo import demo_passphrase, fill

    created = await ctx.vault().create(demo_passphrase())
    await fill(lambda clock: open_with_clock(ctx.paths, created.key, clock), datetime.now(UTC))
    return created.key
