"""`atlas import`: conversations from files."""

import argparse
from pathlib import Path
from typing import Any

from atlas_desktop.cli.context import Context
from atlas_desktop.explain import Exit, UsageError


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    parser = subparsers.add_parser(
        "import",
        parents=[common],
        help="take in conversations from files",
        description="Take in conversations from files. A second import of the same file changes nothing.",
    )
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help="what to read")
    parser.add_argument(
        "--format",
        choices=("auto", "chatgpt", "claude", "openwebui", "lmstudio", "jan", "llm", "jsonl", "markdown"),
        default="auto",
        help="whose files they are (default: each is looked into)",
    )
    parser.add_argument("--project", metavar="P", help="put all sessions into this project")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be taken in")
    parser.add_argument("--learn", action="store_true", help="learn from what you said there, too")
    parser.set_defaults(handler=import_files, exclusive=True)


async def import_files(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.services.importing import Format, Importer, ImportOptions

    for path in args.files:
        if not path.is_file():
            raise UsageError(f"{path} is not a file.", "Check the path that you gave.")
    room = await ctx.unlock()
    options = ImportOptions(
        format=None if args.format == "auto" else Format(args.format),
        project=args.project,
        dry_run=args.dry_run,
        learn=args.learn,
    )
    report = await Importer(room.store.transfer).take(args.files, options)
    if report.messages and not args.dry_run:
        await room.remember()
        if args.learn:
            await room.learning.everything()
    result = {
        "sessions": report.sessions,
        "messages": report.messages,
        "skipped": [{"where": one.where, "why": one.why} for one in report.skipped],
        "already_there": report.already_there,
    }

    def text() -> str:
        verb = "would be taken in" if args.dry_run else "taken in"
        counted = f"{report.messages} messages {verb}, in {report.sessions} new sessions"
        lines = [f"{counted}; {report.already_there} were there already."]
        lines += [f"Left out: {one.where}: {one.why}" for one in report.skipped]
        return "\n".join(lines)

    ctx.emit(result, text)
    return Exit.DONE
