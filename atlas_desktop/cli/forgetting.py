"""`atlas memory forget`, and `/forget` in a conversation: what would go, then the receipt of what went."""

import argparse
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli.context import Context, dumps
from atlas_desktop.explain import Exit, UsageError
from atlas_desktop.services.forgetting_told import copies, counts, places, preview_text, receipt_text

if TYPE_CHECKING:
    from atlas_desktop.cli.chat import Conversation
    from atlas_desktop.cli.memory_browse import Add
    from memory.lifecycle.forgetting import Affected, Target

_LAST = "last"
_HOW = "Write /forget last, /forget this or /forget ID."


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
    from atlas_desktop.cli import shapes

    target = _target(args)
    await ctx.unlock()
    forgetting = ctx.desk.rooms.forgetting
    plan = await forgetting.preview(await _named(ctx, target))
    affected = plan.affected
    if args.dry_run:
        ctx.emit(preview(affected), lambda: preview_text(affected))
        return Exit.DONE
    if not ctx.yes:
        ctx.note(preview_text(affected))
        ctx.confirm("Forget this for good?")
    receipt = await forgetting.forget(plan)
    ctx.emit(shapes.receipt(receipt), lambda: receipt_text(receipt))
    return Exit.DONE if receipt.verified else Exit.FAILED


def _target(args: argparse.Namespace) -> "Target":
    from memory.lifecycle.forgetting import Target

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
    from atlas_desktop.services.forgetting_rooms import newest_words

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


async def forget_in_chat(talk: "Conversation", rest: str) -> None:
    """`/forget last|this|ID` tells what would go, and `/forget yes` does it; with `--yes` it is done."""
    from atlas_desktop.cli import shapes
    from atlas_desktop.services.forgetting_rooms import RoomsForgetting

    words = rest.split()
    agreed = bool(words) and words[-1] in ("yes", "--yes")
    if agreed:
        words.pop()
    if len(words) > 1 or not (words or agreed):
        raise UsageError("It is not said what to forget.", _HOW)
    target = await _meant(talk, words[0]) if words else talk.to_forget
    if target is None:
        raise UsageError(
            "Nothing is waiting to be forgotten.", "Write /forget last, /forget this or /forget ID."
        )
    forgetting = RoomsForgetting(lambda: talk.ctx.opened or (talk.room,))
    plan = await forgetting.preview(target)
    affected = plan.affected
    if not agreed and not talk.ctx.yes:
        talk.to_forget = target
        _tell(
            talk,
            "forget_preview",
            f"{preview_text(affected)}\n/forget yes erases it for good.",
            preview(affected),
        )
        return
    talk.to_forget = None
    receipt = await forgetting.forget(plan)
    if talk.session in {one.id for one in affected.sessions}:
        talk.session = None
    _tell(talk, "forgotten", receipt_text(receipt), shapes.receipt(receipt))


async def _meant(talk: "Conversation", word: str) -> "Target":
    from atlas_desktop.services.forgetting_rooms import newest_words
    from memory.lifecycle.forgetting import Target

    if word == "this":
        return Target(sessions=(talk.begun(),))
    if word != _LAST:
        return Target(ids=(word,))
    said = await newest_words(talk.room, talk.begun())
    if not said:
        raise UsageError("You have said nothing here yet.", "Say something first.")
    return Target(messages=said)


def _tell(talk: "Conversation", code: str, text: str, value: dict[str, Any]) -> None:
    if talk.ctx.json:
        print(
            dumps({"type": "notice", "code": code, "text": text, "session": talk.session, **value}),
            flush=True,
        )
    else:
        talk.tell(code, text)


# --- what is printed -------------------------------------------------------------------------------


def preview(affected: "Affected") -> dict[str, Any]:
    """What would go: counts as in the receipt, and of each kind the first ones."""
    return {
        "dry_run": True,
        "forgotten": counts(affected.erased),
        "rewritten": {"summaries": len(affected.erased.stale)},
        "cleared": places(affected.erased),
        "copies": copies(affected.erased),
        "sessions": [{"id": one.id, "title": one.text} for one in affected.sessions],
        "messages": [{"id": one.id, "text": one.text} for one in affected.messages],
        "memories": [{"id": one.id, "text": one.text} for one in affected.memories],
    }
