"""`atlas import`: imports conversations from files of other programs and of Atlas."""

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli.context import Context
from atlas_desktop.errors import Exit, UsageError
from atlas_desktop.importing.formats import FORMATS
from atlas_desktop.locale import _, ngettext, number

if TYPE_CHECKING:
    from atlas_desktop.importing.entities import ImportReport, Meter
    from atlas_desktop.services.room import RoomServices

_EVERY_S = 0.1
_WIDTH = 24


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    parser = subparsers.add_parser(
        "import",
        parents=[common],
        help=_("import conversations from files"),
        description=_(
            "Import conversations from files, archives and folders. Importing the same file again "
            "changes nothing, or completes an import that was interrupted."
        ),
    )
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help=_("files, archives or folders"))
    parser.add_argument(
        "--format",
        choices=("auto", *FORMATS),
        default="auto",
        help=_("the format of the files (default: detect each one)"),
    )
    parser.add_argument("--project", metavar="P", help=_("add all conversations to this project"))
    parser.add_argument(
        "--room", choices=("open", "private"), help=_("where to save them; private asks for the passphrase")
    )
    parser.add_argument(
        "--memory", choices=("normal", "reads", "blank"), help=_("the memory mode for all of them")
    )
    parser.add_argument("--dry-run", action="store_true", help=_("only show what would be imported"))
    parser.add_argument("--learn", action="store_true", help=_("also learn from your messages in them"))
    parser.set_defaults(handler=import_files, exclusive=True)


async def import_files(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.importing.entities import ImportOptions
    from atlas_desktop.importing.importer import Importer
    from atlas_desktop.phrases import left_out, passed_over, summary
    from memory.entities import MemoryMode

    for path in args.files:
        if not path.exists():
            raise UsageError(_("{path} does not exist.", path=path), _("Check the path."))
    room = await _room(ctx, args.room)
    options = ImportOptions(
        format=FORMATS.get(args.format),
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
        raise UsageError(_("Cannot read {path}.", path=error.filename), _("Check its permissions.")) from None
    except OSError as error:
        raise UsageError(
            _("Cannot read {path}: {reason}.", path=error.filename, reason=error.strerror)
        ) from None
    finally:
        progress.close()
    report.require_known()
    if (report.messages or report.memories) and not args.dry_run:
        await room.remember()
        if args.learn and report.messages:
            await room.learning.everything()
    skipped = [{"where": one.where, "why": one.why} for one in report.skipped]
    skipped += [
        {"where": one.where, "why": one.why or _("not a supported format")} for one in report.unexplained
    ]
    result = {
        "sessions": report.sessions,
        "messages": report.messages,
        "memories": report.memories,
        "skipped": skipped,
        "more_skipped": report.more_skipped,
        "passed_over": report.passed_over,
        "already_there": report.already_there,
        "formats": {name: kind.name for name, kind in report.formats.items()},
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
    """Unlocks and returns the room named by `wanted`, otherwise the usual one of all commands."""
    ctx.private = ctx.private or wanted == "private"
    room = await ctx.unlock()
    return await ctx.enter_open() if wanted == "open" else room


class _Progress:
    """A progress line on stderr, only on a terminal: share done, speed and time left."""

    def __init__(self) -> None:
        self._drawn_at = 0.0
        self._wanted = sys.stderr.isatty()

    def update(self, report: "ImportReport", meter: "Meter") -> None:
        now = time.monotonic()
        if not self._wanted or now - self._drawn_at < _EVERY_S:
            return
        self._drawn_at = now
        from atlas_desktop.phrases import remaining

        share = meter.share
        filled = int(_WIDTH * share)
        count = report.messages + report.already_there
        told = [ngettext("1 message", "{count} messages", count)]
        if meter.seconds:
            told.append(_("{count}/s", count=number(round(count / meter.seconds))))
        if (left := meter.remaining) is not None:
            told.append(remaining(left))
        bar = f"[{'#' * filled}{'.' * (_WIDTH - filled)}] {share:.0%}"
        done = _("importing: {progress}", progress=f"{bar}  {', '.join(told)}")
        sys.stderr.write(f"\r\x1b[K{done}")
        sys.stderr.flush()

    def close(self) -> None:
        if self._drawn_at:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
