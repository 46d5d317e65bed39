"""`atlas import`: conversations from files of other programs, and from this one's."""

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli.context import Context
from atlas_desktop.errors import Exit, UsageError

if TYPE_CHECKING:
    from atlas_desktop.importing.entities import ImportReport, Meter
    from atlas_desktop.services.room import RoomServices

_FORMATS = (
    "auto",
    "chatgpt",
    "claude",
    "openwebui",
    "lmstudio",
    "jan",
    "llm",
    "jsonl",
    "markdown",
    "memories",
)
_EVERY_S = 0.1
_WIDTH = 24


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    parser = subparsers.add_parser(
        "import",
        parents=[common],
        help="take in conversations from files",
        description="Take in conversations from files, archives and folders. A second import of the same "
        "file changes nothing; one that was cut short is completed by the next.",
    )
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help="what to read")
    parser.add_argument(
        "--format",
        choices=_FORMATS,
        default="auto",
        help="whose files they are (default: each is looked into)",
    )
    parser.add_argument("--project", metavar="P", help="put all conversations into this project")
    parser.add_argument(
        "--room", choices=("open", "private"), help="where to keep them; private asks for the passphrase"
    )
    parser.add_argument(
        "--memory", choices=("normal", "reads", "blank"), help="the memory mode of all of them"
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be taken in")
    parser.add_argument("--learn", action="store_true", help="learn from what you said there, too")
    parser.set_defaults(handler=import_files, exclusive=True)


async def import_files(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.importing.entities import Format, ImportOptions
    from atlas_desktop.importing.importer import Importer
    from atlas_desktop.words.catalogue import tr
    from atlas_desktop.words.transfer import left_out, passed_over, summary
    from memory.entities import MemoryMode

    for path in args.files:
        if not path.exists():
            raise UsageError(f"{path} is not there.", "Check the path that you gave.")
    room = await _room(ctx, args.room)
    options = ImportOptions(
        format=None if args.format == "auto" else Format(args.format),
        project=args.project,
        memory_mode=None if args.memory is None else MemoryMode(args.memory),
        dry_run=args.dry_run,
        learn=args.learn,
    )
    elsewhere = [one.store.transfer for one in ctx.opened if one is not room]
    progress = _Progress()
    try:
        report = await Importer(room.store.transfer, progress.update, elsewhere).take(args.files, options)
    except PermissionError as error:
        raise UsageError(f"{error.filename} cannot be read.", "Check who may read it.") from None
    except OSError as error:
        raise UsageError(f"{error.filename} cannot be read: {error.strerror}.") from None
    finally:
        progress.close()
    report.require_known()
    if (report.messages or report.memories) and not args.dry_run:
        await room.remember()
        if args.learn and report.messages:
            await room.learning.everything()
    skipped = [{"where": one.where, "why": one.why} for one in report.skipped]
    skipped += [{"where": one.where, "why": one.why or tr("importing.unknown")} for one in report.unexplained]
    result = {
        "sessions": report.sessions,
        "messages": report.messages,
        "memories": report.memories,
        "skipped": skipped,
        "more_skipped": report.more_skipped,
        "passed_over": report.passed_over,
        "already_there": report.already_there,
        "formats": {name: kind.value for name, kind in report.formats.items()},
        "first": None if report.first is None else report.first.isoformat(),
        "last": None if report.last is None else report.last.isoformat(),
        "dry_run": args.dry_run,
    }
    ctx.emit(
        result,
        lambda: "\n".join([summary(report, dry_run=args.dry_run), *left_out(report), *passed_over(report)]),
    )
    return Exit.DONE


async def _room(ctx: Context, wanted: str | None) -> "RoomServices":
    """The room that is asked for by its name, else the one that every command works in."""
    ctx.private = ctx.private or wanted == "private"
    room = await ctx.unlock()
    return await ctx.enter_open() if wanted == "open" else room


class _Progress:
    """A line on stderr, on a terminal: how much is done, how fast, and how long it will take."""

    def __init__(self) -> None:
        self._drawn_at = 0.0
        self._wanted = sys.stderr.isatty()

    def update(self, report: "ImportReport", meter: "Meter") -> None:
        now = time.monotonic()
        if not self._wanted or now - self._drawn_at < _EVERY_S:
            return
        self._drawn_at = now
        from atlas_desktop.words.transfer import remaining

        share = meter.share
        filled = int(_WIDTH * share)
        count = report.messages + report.already_there
        rate = f", {count / meter.seconds:,.0f}/s" if meter.seconds else ""
        left = meter.remaining
        ending = f", {remaining(left)}" if left is not None else ""
        bar = f"[{'#' * filled}{'.' * (_WIDTH - filled)}] {share:.0%}"
        sys.stderr.write(f"\r\x1b[Kimporting: {bar}  {count:,} messages{rate}{ending}")
        sys.stderr.flush()

    def close(self) -> None:
        if self._drawn_at:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
