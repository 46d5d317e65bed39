"""`atlas sessions`: show, rename, bin and bring back."""

import argparse
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import (
    context_commands,
    context_shapes,
    finding,
    organising,
    related,
    retention,
    room_commands,
    shapes,
)
from atlas_desktop.cli.context import Context
from atlas_desktop.cli.finding import marked
from atlas_desktop.explain import Exit, UsageError
from atlas_desktop.services.forgetting_told import left_text
from atlas_desktop.words.catalogue import tr

if TYPE_CHECKING:
    from atlas_desktop.services.forgetting import Receipt
    from memory.entities import Message


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    group = subparsers.add_parser("sessions", parents=[common], help="past conversations")
    commands = group.add_subparsers(dest="sessions_command", required=True, metavar="COMMAND")

    def add(name: str, handler: Any, text: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = commands.add_parser(
            name, parents=[common], help=text, description=f"{text[0].upper()}{text[1:]}."
        )
        parser.set_defaults(handler=handler, exclusive=True)
        return parser

    finding.register(add)
    add("show", show, "print one session").add_argument("session", metavar="ID")
    rename = add("rename", rename_session, "give a session a title")
    rename.add_argument("session", metavar="ID")
    rename.add_argument("title", metavar="TITLE")
    delete = add("delete", delete_session, "move a session to the bin, or erase it for good")
    delete.add_argument("sessions", metavar="ID", nargs="+", help="one or more; - reads them, one a line")
    delete.add_argument(
        "--forever", action="store_true", help="erase it and all that was made from it, with a receipt"
    )
    restore = add("restore", restore_session, "bring a session back from the bin")
    restore.add_argument("sessions", metavar="ID", nargs="+", help="one or more; - reads them, one a line")
    fork = add("fork", fork_session, "begin a new session with a copy of what was said")
    fork.add_argument("session", metavar="ID")
    fork.add_argument(
        "message", metavar="MESSAGE", nargs="?", help="the last message to take along (the newest)"
    )
    fork.add_argument("--message", metavar="ID", dest="at", help=argparse.SUPPRESS)
    fork.add_argument("--title", metavar="TITLE", help="its title (that of the session)")
    context_commands.register(add)
    organising.register(add)
    related.register(add)
    room_commands.register(add)
    retention.register(add)


async def show(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock_for(args.session)
    view = await room.sessions.view(args.session)
    summaries = await room.sessions.summaries(view.session.id)
    attached = await room.attachments.attached(view.session.id)

    def text() -> str:
        head = f"{marked(view.session)}\n{view.session.created_at.astimezone():%Y-%m-%d %H:%M}"
        said = [f"{m.speaker or m.role}{_mark(m)}:\n{m.content}" for m in view.messages]
        return "\n\n".join([head, *said])

    ctx.emit(
        {
            **shapes.session(view.session),
            "messages": [shapes.message(m) for m in view.messages],
            "summaries": [context_shapes.summary(s) for s in summaries],
            "attachments": [shapes.attachment(a) for a in attached],
        },
        text,
    )
    return Exit.DONE


def _mark(message: "Message") -> str:
    if message.unbegun:
        return f" ({tr('chat.state.unbegun')})"
    return "" if message.status == "complete" else f" ({message.status})"


async def rename_session(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock_for(args.session)
    try:
        session = await room.sessions.rename(args.session, args.title)
    except ValueError:
        raise UsageError("The title is empty.", "Give at least one visible character.") from None
    ctx.emit(shapes.session(session), f"Renamed to {session.title}")
    return Exit.DONE


async def fork_session(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock_for(args.session)
    session = await room.sessions.fork(args.session, message=args.at or args.message, title=args.title)
    ctx.emit(shapes.session(session), f"{session.id}  {session.title}")
    return Exit.DONE


async def delete_session(ctx: Context, args: argparse.Namespace) -> int:
    from memory.organising.entities import MarksPatch

    named = organising.refs(args.sessions)
    if args.forever:
        return await _erase(ctx, named)
    await ctx.unlock()
    found = [(await ctx.desk.rooms.find(ref))[1] for ref in named]
    what = f"“{found[0].title}”" if len(found) == 1 else f"{len(found)} sessions"
    ctx.confirm(f"Move {what} to the bin?")
    how = "moved to the bin; `atlas sessions restore` brings it back"
    return await organising.apply(ctx, named, MarksPatch(binned=True), how)


async def _erase(ctx: Context, named: list[str]) -> int:
    await ctx.unlock()
    found = [await ctx.desk.rooms.find(ref) for ref in named]
    what = f"“{found[0][1].title}”" if len(found) == 1 else f"{len(found)} sessions"
    ctx.confirm(f"Erase {what} for good, with everything that was made from it?")
    receipts = [await room.forgetting.erase_session(session.id) for room, session in found]
    values = [shapes.receipt(one) for one in receipts]
    ctx.emit(
        values[0] if len(values) == 1 else {"receipts": values},
        lambda: "\n".join(map(receipt_text, receipts)),
    )
    return Exit.DONE if all(one.verified for one in receipts) else Exit.FAILED


def receipt_text(value: "Receipt") -> str:
    """What went, and whether anything was left: one line."""
    counts = shapes.receipt(value)["forgotten"]
    went = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    return f"Erased: {went}. {left_text(value)}"


async def restore_session(ctx: Context, args: argparse.Namespace) -> int:
    from memory.organising.entities import MarksPatch

    return await organising.apply(
        ctx, organising.refs(args.sessions), MarksPatch(binned=False), "brought back from the bin"
    )
