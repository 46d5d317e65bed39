"""`atlas sessions`: show, rename, bin and restore sessions, move them between rooms, set retention."""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import organising, output, provenance, search, session_context
from atlas_desktop.cli.context import Context
from atlas_desktop.cli.search import marked
from atlas_desktop.errors import Exit, UsageError
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.words.catalogue import tr
from atlas_desktop.words.forgetting import left_text
from atlas_desktop.words.phrases import held

if TYPE_CHECKING:
    from atlas_desktop.services.forgetting import Receipt
    from atlas_desktop.services.retention import Removed
    from memory.entities import Message
    from memory.retention import Expired, RetentionPolicy


Add = Callable[..., argparse.ArgumentParser]


def add_room_moves(add: Add) -> None:
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
        output.session(session),
        f"“{session.title}” is in the private room now. Nothing shows it without --private.",
    )
    return Exit.DONE


async def make_open(ctx: Context, args: argparse.Namespace) -> int:
    from memory.entities import RoomKind

    ctx.private = True
    await ctx.unlock()
    session = await ctx.desk.rooms.move(args.session, RoomKind.OPEN)
    ctx.emit(output.session(session), f"“{session.title}” is in the open room now.")
    return Exit.DONE


async def keep(ctx: Context, args: argparse.Namespace) -> int:
    # What is off the record lives in the program that it is said in: there is none here to be saved.
    await ctx.unlock()
    session = (await ctx.desk.rooms.find(args.session))[1]
    ctx.emit(output.session(session), f"“{session.title}” is saved already.")
    return Exit.DONE


_WHY = {"unused": "not used since", "bin": "in the bin since"}


def add_retention(add: Any) -> None:
    """`add(name, handler, text)` makes the parser of one command."""
    parser = add("retention", retention, "show how long sessions are kept, and what would be removed now")
    parser.add_argument(
        "--dry-run", action="store_true", help="remove nothing (it does so only with --apply)"
    )
    parser.add_argument(
        "--apply", action="store_true", help="remove it now, and believe the clock from now on"
    )
    parser.add_argument("--project", metavar="NAME", help="set the days of this project")
    parser.add_argument(
        "--days", metavar="N", help="days since the last use; `forever`, or `default` for the room's own"
    )


async def retention(ctx: Context, args: argparse.Namespace) -> int:
    if (args.project is None) != (args.days is None):
        raise UsageError(
            "--project and --days go together.",
            "The days of a whole room are settings: `atlas config set retention.open_days N`.",
        )
    if args.apply and args.dry_run:
        raise UsageError("--apply and --dry-run contradict each other.")
    days = None if args.days is None else _days(args.days)
    room = await ctx.unlock()
    if args.project is not None:
        await room.retention.set_project(args.project, None if days is None or days < 0 else days)
    policy = await room.retention.policy()
    due = [expired for one in ctx.opened for expired in await one.retention.preview()]
    waiting = [await one.retention.held_back() for one in ctx.opened]
    held = sum(one.sessions for one in waiting if one is not None)
    removed = None
    if args.apply:
        if due:
            ctx.confirm(f"{len(due)} conversations would be erased for good. Go on?")
        removed = [await one.retention.apply() for one in ctx.opened]
    ctx.emit({**_json(policy, due, removed), "held_back": held}, lambda: _text(policy, due, removed))
    return Exit.DONE


def _days(given: str) -> int:
    """-1 stands for the room's own. Raises `UsageError`."""
    named = {"forever": 0, "default": -1}
    if given in named:
        return named[given]
    if not given.isdigit() or not 0 < int(given) <= 36_500:
        raise UsageError(f"{given} is no number of days.", "Give 1 to 36500, `forever` or `default`.")
    return int(given)


def _json(
    policy: "RetentionPolicy", found: "list[Expired]", removed: "list[Removed] | None"
) -> dict[str, Any]:
    return {
        "policy": {"days": policy.days, "bin_days": policy.bin_days, "projects": dict(policy.projects)},
        "would_remove": [
            {
                "session": one.candidate.session_id,
                "title": one.candidate.title,
                "project": one.candidate.project,
                "messages": one.candidate.messages,
                "why": one.why.value,
                "used_at": one.candidate.used_at.isoformat(),
                "since": one.since.isoformat(),
            }
            for one in found
        ],
        "removed": None
        if removed is None
        else {
            "sessions": sum(one.sessions for one in removed),
            "messages": sum(one.messages for one in removed),
            "verified": all(one.verified for one in removed),
        },
    }


def _text(policy: "RetentionPolicy", found: "list[Expired]", removed: "list[Removed] | None") -> str:
    since = " since the last use" if policy.days else ""
    lines = [f"Conversations are kept {_for(policy.days)}{since}, in the bin {_for(policy.bin_days)}."]
    lines += [f"{name}: {_for(days)}." for name, days in policy.projects.items()]
    lines.append("Starred, important and pinned ones stay, and those that a pinned memory rests on.")
    if removed is not None:
        erased = held(sum(one.sessions for one in removed), sum(one.messages for one in removed))
        lines.append(f"Erased: {erased}.")
        return "\n".join(lines)
    for one in found:
        begun = one.candidate.binned_at or one.candidate.used_at
        lines.append(
            f"{one.candidate.session_id}  {_WHY[one.why]} {begun.astimezone():%Y-%m-%d}  "
            f"{clean_line(one.candidate.title)}"
        )
    lines.append(f"{len(found)} would be removed now." if found else "Nothing would be removed now.")
    return "\n".join(lines)


def _for(days: int) -> str:
    return tr("amounts.for_days", count=days) if days else "for ever"


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    group = subparsers.add_parser("sessions", parents=[common], help="past conversations")
    commands = group.add_subparsers(dest="sessions_command", required=True, metavar="COMMAND")

    def add(name: str, handler: Any, text: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = commands.add_parser(
            name, parents=[common], help=text, description=f"{text[0].upper()}{text[1:]}."
        )
        parser.set_defaults(handler=handler, exclusive=True)
        return parser

    search.register(add)
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
    session_context.register(add)
    organising.register(add)
    provenance.add_related(add)
    add_room_moves(add)
    add_retention(add)


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
            **output.session(view.session),
            "messages": [output.message(m) for m in view.messages],
            "summaries": [output.summary(s) for s in summaries],
            "attachments": [output.attachment(a) for a in attached],
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
    ctx.emit(output.session(session), f"Renamed to {session.title}")
    return Exit.DONE


async def fork_session(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock_for(args.session)
    session = await room.sessions.fork(args.session, message=args.at or args.message, title=args.title)
    ctx.emit(output.session(session), f"{session.id}  {session.title}")
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
    values = [output.receipt(one) for one in receipts]
    ctx.emit(
        values[0] if len(values) == 1 else {"receipts": values},
        lambda: "\n".join(map(receipt_text, receipts)),
    )
    return Exit.DONE if all(one.verified for one in receipts) else Exit.FAILED


def receipt_text(value: "Receipt") -> str:
    """What went, and whether anything was left: one line."""
    counts = output.receipt(value)["forgotten"]
    went = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    return f"Erased: {went}. {left_text(value)}"


async def restore_session(ctx: Context, args: argparse.Namespace) -> int:
    from memory.organising.entities import MarksPatch

    return await organising.apply(
        ctx, organising.refs(args.sessions), MarksPatch(binned=False), "brought back from the bin"
    )
