"""`atlas demo`: the interface in a throw-away home with sample conversations."""

import argparse
import asyncio
import shutil
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli.context import Context
from atlas_desktop.explain import Exit

if TYPE_CHECKING:
    from memory.vault.keys import RoomKey


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    parser = subparsers.add_parser(
        "demo",
        parents=[common],
        help="look around in a throw-away home with sample conversations",
        description="Look around in a throw-away home with sample conversations; it ends with the program.",
    )
    parser.set_defaults(interface=demo)


def demo(ctx: Context, _args: argparse.Namespace) -> int:
    """Not a coroutine: the interface runs a loop of its own."""
    from atlas_desktop.services.demo import demo_home
    from atlas_desktop.tui.launch import show

    ctx.paths.ensure()
    home = demo_home(ctx.paths)
    try:
        inner = Context(home)
        key = asyncio.run(_make(inner))
        return int(show(inner, key=key)) or Exit.DONE
    finally:
        shutil.rmtree(home.home, ignore_errors=True)


async def _make(ctx: Context) -> "RoomKey":
    from datetime import UTC, datetime

    from atlas_desktop.bootstrap import open_with_clock
    from atlas_desktop.services.demo import demo_passphrase, fill

    created = await ctx.vault().create(demo_passphrase())
    await fill(lambda clock: open_with_clock(ctx.paths, created.key, clock), datetime.now(UTC))
    return created.key
