"""`atlas sessions private|open|keep`: sessions that move between the rooms."""

import argparse
from collections.abc import Callable

from atlas_desktop.cli import shapes
from atlas_desktop.cli.context import Context
from atlas_desktop.explain import Exit

Add = Callable[..., argparse.ArgumentParser]


def register(add: Add) -> None:
    """Adds the subcommands; `add(name, handler, text)` makes the parser of one."""
    add("private", make_private, "move a session to the private room; asks for the passphrase").add_argument(
        "session", metavar="ID"
    )
    add("open", make_open, "move a session back to the open room; asks for the passphrase").add_argument(
        "session", metavar="ID"
    )
    add("keep", keep, "save a session: what is here is saved already, /keep saves a chat").add_argument(
        "session", metavar="ID"
    )


async def make_private(ctx: Context, args: argparse.Namespace) -> int:
    from memory.entities import RoomKind

    ctx.private = True
    await ctx.unlock()
    session = await ctx.desk.rooms.move(args.session, RoomKind.PRIVATE)
    ctx.emit(
        shapes.session(session),
        f"“{session.title}” is in the private room now. Nothing shows it without --private.",
    )
    return Exit.DONE


async def make_open(ctx: Context, args: argparse.Namespace) -> int:
    from memory.entities import RoomKind

    ctx.private = True
    await ctx.unlock()
    session = await ctx.desk.rooms.move(args.session, RoomKind.OPEN)
    ctx.emit(shapes.session(session), f"“{session.title}” is in the open room now.")
    return Exit.DONE


async def keep(ctx: Context, args: argparse.Namespace) -> int:
    # What is off the record lives in the program that it is said in: there is none here to be saved.
    await ctx.unlock()
    session = (await ctx.desk.rooms.find(args.session))[1]
    ctx.emit(shapes.session(session), f"“{session.title}” is saved already.")
    return Exit.DONE
