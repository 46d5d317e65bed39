"""`atlas export`: conversations as lines, to a file or standard output."""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from atlas_desktop.cli.context import Context
from atlas_desktop.explain import Exit, UsageError
from atlas_desktop.paths import PRIVATE_FILE

if TYPE_CHECKING:
    from atlas_desktop.services.room import OpenRoom


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    parser = subparsers.add_parser(
        "export",
        parents=[common],
        help="write conversations out",
        description="Write conversations out, unencrypted, to standard output or a file of your choice.",
    )
    parser.add_argument("sessions", metavar="SESSION", nargs="*", help="ids of sessions")
    parser.add_argument("--all", action="store_true", help="every session that is not in the bin")
    parser.add_argument(
        "--include-private",
        action="store_true",
        help="the private room's too; asks for the passphrase",
    )
    parser.add_argument("--format", choices=("jsonl",), default="jsonl", help="jsonl: one session a line")
    parser.add_argument("--output", metavar="PATH", type=Path, help="a new file, readable by you alone")
    parser.set_defaults(handler=export, exclusive=True)


async def export(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.services.exporting import Exporter

    if args.all == bool(args.sessions):
        raise UsageError("It is not clear what to export.", "Name sessions, or give --all.")
    ctx.private = ctx.private or args.include_private
    await ctx.unlock()
    chosen: list[tuple[OpenRoom, list[str] | None]] = [(room, None) for room in ctx.desk.open_rooms]
    if args.sessions:
        found = [await ctx.desk.rooms.find(ref) for ref in args.sessions]
        chosen = [(room, [session.id]) for room, session in found]
    count = 0
    with _target(args.output) as out:
        for room, ids in chosen:
            async for line in Exporter(room.store.transfer).jsonl(ids):
                out.write(line + "\n")
                count += 1
    if args.output is not None:
        ctx.emit({"sessions": count, "path": str(args.output)}, f"{count} sessions written to {args.output}")
    return Exit.DONE


@contextmanager
def _target(path: Path | None) -> Iterator[TextIO]:
    if path is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
    except FileExistsError:
        raise UsageError(f"{path} is there already.", "Choose another name, or remove it first.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be made: {error.strerror}.", "Choose another place.") from None
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as out:
        yield out
