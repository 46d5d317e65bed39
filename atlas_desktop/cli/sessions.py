"""`atlas sessions`: list, show, search, rename, bin and bring back."""

import argparse
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import context_commands, context_shapes, organising, retention, room_commands, shapes
from atlas_desktop.cli.context import Context
from atlas_desktop.explain import Exit, UsageError

if TYPE_CHECKING:
    from atlas_desktop.services.forgetting import Receipt
    from memory.entities import Session


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    group = subparsers.add_parser("sessions", parents=[common], help="past conversations")
    commands = group.add_subparsers(dest="sessions_command", required=True, metavar="COMMAND")

    def add(name: str, handler: Any, text: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = commands.add_parser(
            name, parents=[common], help=text, description=f"{text[0].upper()}{text[1:]}."
        )
        parser.set_defaults(handler=handler, exclusive=True)
        return parser

    listing = add("list", list_sessions, "list sessions, the latest first")
    listing.add_argument("--binned", action="store_true", help="what is in the bin")
    listing.add_argument("--archived", action="store_true", help="what is archived")
    listing.add_argument("--containing", metavar="WORDS", default="", help="only those with these words")
    listing.add_argument("--limit", metavar="N", type=int, help="at most N")
    add("show", show, "print one session").add_argument("session", metavar="ID")
    search = add("search", search_messages, "find messages by their words")
    search.add_argument("query", metavar="WORDS")
    search.add_argument("--limit", metavar="N", type=int, default=20, help="at most N (20)")
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
    room_commands.register(add)
    retention.register(add)


async def list_sessions(ctx: Context, args: argparse.Namespace) -> int:
    await ctx.unlock()
    wanted = {
        "containing": args.containing,
        "binned": args.binned,
        "archived": args.archived,
        "limit": args.limit,
    }
    found = [s for room in ctx.desk.open_rooms for s in await room.sessions.recent(**wanted)]
    first = not (args.binned or args.archived)
    found.sort(key=lambda s: (first and s.pinned_at is not None, s.updated_at, s.id), reverse=True)
    found = found[: args.limit]
    ctx.emit(
        [shapes.session(s) for s in found],
        lambda: (
            "\n".join(
                f"{s.id}  {s.updated_at.astimezone():%Y-%m-%d %H:%M}  {s.message_count:>4}  {marked(s)}"
                for s in found
            )
            or "There are no sessions here."
        ),
    )
    return Exit.DONE


def marked(session: "Session") -> str:
    """Its title; a session of the private room says so."""
    return f"[private] {session.title}" if session.room == "private" else session.title


async def show(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock_for(args.session)
    view = await room.sessions.view(args.session)
    summaries = await room.sessions.summaries(view.session.id)
    attached = await room.attachments.attached(view.session.id)

    def text() -> str:
        head = f"{marked(view.session)}\n{view.session.created_at.astimezone():%Y-%m-%d %H:%M}"
        said = [f"{m.speaker or m.role}{_mark(m.status)}:\n{m.content}" for m in view.messages]
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


def _mark(status: str) -> str:
    return "" if status == "complete" else f" ({status})"


async def search_messages(ctx: Context, args: argparse.Namespace) -> int:
    await ctx.unlock()
    each = [await room.sessions.search(args.query, limit=args.limit) for room in ctx.desk.open_rooms]
    hits = sorted((hit for found in each for hit in found), key=lambda hit: -hit.score)[: args.limit]
    ctx.emit(
        {"hits": [shapes.hit(h) for h in hits]},
        lambda: (
            "\n".join(f"{h.message.session_id}  {h.session_title}\n    {h.snippet}" for h in hits)
            or "Nothing was found."
        ),
    )
    return Exit.DONE


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
    checked = "Nothing of it is left." if value.verified else "Something of it was still found afterwards."
    return f"Erased: {went}. {checked}"


async def restore_session(ctx: Context, args: argparse.Namespace) -> int:
    from memory.organising.entities import MarksPatch

    return await organising.apply(
        ctx, organising.refs(args.sessions), MarksPatch(binned=False), "brought back from the bin"
    )
