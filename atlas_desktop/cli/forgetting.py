"""`atlas memory forget`, and `/forget` in a conversation: what would go, then the receipt of what went."""

import argparse
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from atlas_desktop.cli import output
from atlas_desktop.cli.context import Context
from atlas_desktop.errors import Exit, UsageError
from atlas_desktop.words.forgetting import preview_text, receipt_text

if TYPE_CHECKING:
    from atlas_desktop.cli.memory_view import Add
    from memory.forgetting import Target

_LAST = "last"


def register(add: "Add") -> None:
    forget = add("forget", forget_for_good, "erase for good, with all that was made from it, and a receipt")
    forget.add_argument(
        "ids",
        metavar="ID",
        nargs="*",
        help="anything that has an id; last: what you said last",
    )
    forget.add_argument("--message", metavar="ID", action="append", help="a message, with its variants")
    forget.add_argument("--session", metavar="ID", action="append", help="a whole session")
    forget.add_argument("--project", metavar="P", help="all of a project")
    forget.add_argument("--about", metavar="TEXT", help="all that holds these words: a name, a topic")
    forget.add_argument("--since", metavar="D", help="from this day or moment on")
    forget.add_argument("--before", metavar="D", help="before this day or moment")
    forget.add_argument("--everything", action="store_true", help="all that is said and known here")
    forget.add_argument("--dry-run", action="store_true", help="only say what would go")


async def forget_for_good(ctx: Context, args: argparse.Namespace) -> int:
    target = _target(args)
    await ctx.unlock()
    forgetting = ctx.desk.rooms.forgetting
    plan = await forgetting.preview(await _named(ctx, target))
    affected = plan.affected
    if args.dry_run:
        ctx.emit(output.forget_preview(affected), lambda: preview_text(affected))
        return Exit.DONE
    if not ctx.yes:
        ctx.note(preview_text(affected))
        ctx.confirm("Forget this for good?")
    receipt = await forgetting.forget(plan)
    ctx.emit(output.receipt(receipt), lambda: receipt_text(receipt))
    return Exit.DONE if receipt.verified else Exit.FAILED


def _target(args: argparse.Namespace) -> "Target":
    from memory.forgetting import Target

    target = Target(
        ids=tuple(args.ids),
        messages=tuple(args.message or ()),
        sessions=tuple(args.session or ()),
        project=args.project,
        about=args.about or "",
        since=_moment(args.since),
        before=_moment(args.before),
        everything=args.everything,
    )
    if target.empty:
        raise UsageError(
            "It is not said what to forget.",
            "Give an ID, --message, --session, --project, --about, --since, --before or --everything.",
        )
    return target


async def _named(ctx: Context, target: "Target") -> "Target":
    """With what `last` stands for: of sessions the one used last, else the words said last in it."""
    from atlas_desktop.services.forgetting_in_rooms import newest_words

    refs = (*target.ids, *target.messages, *target.sessions)
    if _LAST not in refs:
        return target
    room, session = await ctx.desk.rooms.find(_LAST)
    said = await newest_words(room, session.id) if _LAST in (*target.ids, *target.messages) else ()
    return replace(
        target,
        ids=_but_last(target.ids),
        messages=(*_but_last(target.messages), *said),
        sessions=tuple(session.id if ref == _LAST else ref for ref in target.sessions),
    )


def _but_last(refs: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(ref for ref in refs if ref != _LAST)


def _moment(text: str | None) -> datetime | None:
    """A day begins at midnight here; a time without an offset is the local one. Raises `UsageError`."""
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise UsageError(
            "That is not a date or time.", "Write 2026-03-12 or 2026-03-12T15:30+01:00."
        ) from None


# --- in a conversation -----------------------------------------------------------------------------


# --- what is printed -------------------------------------------------------------------------------
