"""`atlas demo`: the interface in a temporary home folder with sample conversations."""

import argparse
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
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
            "Try Atlas in a temporary home folder with sample conversations. It is deleted when you quit."
        ),
    )
    # Set by the interface when it replaces itself with this program.
    parser.add_argument("--and-back", action="store_true", help=argparse.SUPPRESS)
    parser.set_defaults(demo=True)


@contextmanager
def throw_away_home(ctx: Context) -> Iterator[tuple[Context, "RoomKey"]]:
    """Yields a context for a filled home folder and its room's key. The folder is deleted at the end."""
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
