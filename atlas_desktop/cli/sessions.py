"""`atlas sessions`: show, rename, delete and restore sessions, move them between rooms, set retention."""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import organising, output, provenance, search, session_context
from atlas_desktop.cli.context import Context
from atlas_desktop.cli.search import marked
from atlas_desktop.errors import Exit, UsageError
from atlas_desktop.locale import N_, _, ngettext
from atlas_desktop.phrases.forgetting import receipt_text
from atlas_desktop.phrases.rooms import held
from atlas_desktop.services.cleaning import clean_line

if TYPE_CHECKING:
    from atlas_desktop.services.retention import Removed
    from memory.entities import Message, RoomKind, Session
    from memory.retention import Expired, RetentionPolicy


Add = Callable[..., argparse.ArgumentParser]


def add_room_moves(add: Add) -> None:
    """Adds the subcommands; `add(name, handler, text)` creates a parser."""
    add(
        "private", make_private, _("move a session to the private room; asks for the passphrase")
    ).add_argument("session", metavar="ID")
    add("open", make_open, _("move a session back to the open room; asks for the passphrase")).add_argument(
        "session", metavar="ID"
    )
    add("keep", keep, _("confirm that a session is saved; in a chat, /keep saves it")).add_argument(
        "session", metavar="ID"
    )


async def make_private(ctx: Context, args: argparse.Namespace) -> int:
    from memory.entities import RoomKind

    session, lost = await _moved(ctx, args.session, RoomKind.PRIVATE)
    words = _("“{title}” is now in the private room. It is shown only with --private.", title=session.title)
    ctx.emit(output.session(session), f"{words} {lost}".strip())
    return Exit.DONE


async def make_open(ctx: Context, args: argparse.Namespace) -> int:
    from memory.entities import RoomKind

    session, lost = await _moved(ctx, args.session, RoomKind.OPEN)
    words = _("“{title}” is now in the open room.", title=session.title)
    ctx.emit(output.session(session), f"{words} {lost}".strip())
    return Exit.DONE


async def _moved(ctx: Context, ref: str, destination: "RoomKind") -> "tuple[Session, str]":
    """Moves a session; returns it, and what became of the documents that it used, in words."""
    from atlas_desktop.phrases.rooms import lost_documents

    ctx.private = True
    await ctx.unlock()
    room, session = await ctx.desk.rooms.find(ref)
    lost = await ctx.desk.rooms.documents_lost([session.id], destination)
    moved = await ctx.desk.rooms.move(session.id, destination)
    return moved, lost_documents(lost, room.store.room) if lost else ""


async def keep(ctx: Context, args: argparse.Namespace) -> int:
    # An off-the-record session exists only inside its running program, so every session here is saved.
    await ctx.unlock()
    session = (await ctx.desk.rooms.find(args.session))[1]
    ctx.emit(output.session(session), _("“{title}” is already saved.", title=session.title))
    return Exit.DONE


_WHY = {
    "unused": N_("not used since {since:%Y-%m-%d}"),
    "bin": N_("in the bin since {since:%Y-%m-%d}"),
}


def add_retention(add: Any) -> None:
    """`add(name, handler, text)` creates the parser of one command."""
    parser = add("retention", retention, _("show how long sessions are kept, and what would be removed now"))
    parser.add_argument(
        "--dry-run", action="store_true", help=_("remove nothing (the default without --apply)")
    )
    parser.add_argument(
        "--apply", action="store_true", help=_("remove them now, and trust the system clock from now on")
    )
    parser.add_argument("--project", metavar="NAME", help=_("set the days for this project"))
    parser.add_argument(
        "--days", metavar="N", help=_("days since the last use, `forever`, or `default` (the room's setting)")
    )


async def retention(ctx: Context, args: argparse.Namespace) -> int:
    if (args.project is None) != (args.days is None):
        raise UsageError(
            _("--project and --days need each other."),
            _("To set the days of a room: `atlas config set retention.open_days N`."),
        )
    if args.apply and args.dry_run:
        raise UsageError(_("--apply and --dry-run cannot be combined."))
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
            ctx.confirm(
                ngettext(
                    "Permanently erase 1 conversation?",
                    "Permanently erase {count} conversations?",
                    len(due),
                )
            )
        removed = [await one.retention.apply() for one in ctx.opened]
    ctx.emit({**_json(policy, due, removed), "held_back": held}, lambda: _text(policy, due, removed))
    return Exit.DONE


def _days(given: str) -> int:
    """The number of days: 0 is forever, -1 the room's setting. Raises `UsageError`."""
    named = {"forever": 0, "default": -1}
    if given in named:
        return named[given]
    if not given.isdigit() or not 0 < int(given) <= 36_500:
        raise UsageError(
            _("Invalid number of days: {days}.", days=given), _("Use 1 to 36500, `forever` or `default`.")
        )
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
    lines = [f"{_kept(policy.days)} {_kept_in_bin(policy.bin_days)}"]
    lines += [f"{name}: {_for(days)}." for name, days in policy.projects.items()]
    lines.append(_("Starred, important and pinned ones stay, and those that are sources of pinned memories."))
    if removed is not None:
        erased = held(sum(one.sessions for one in removed), sum(one.messages for one in removed))
        lines.append(_("Erased: {what}.", what=erased))
        return "\n".join(lines)
    for one in found:
        begun = one.candidate.binned_at or one.candidate.used_at
        why = _(_WHY[one.why.value], since=begun.astimezone())
        lines.append(f"{one.candidate.session_id}  {why}  {clean_line(one.candidate.title)}")
    lines.append(
        ngettext("1 would be removed now.", "{count} would be removed now.", len(found))
        if found
        else _("Nothing would be removed now.")
    )
    return "\n".join(lines)


def _kept(days: int) -> str:
    if not days:
        return _("Conversations are kept forever.")
    return ngettext(
        "Conversations are kept for 1 day after the last use.",
        "Conversations are kept for {count} days after the last use.",
        days,
    )


def _kept_in_bin(days: int) -> str:
    if not days:
        return _("In the bin, they are kept forever.")
    return ngettext(
        "In the bin, they are kept for 1 day.", "In the bin, they are kept for {count} days.", days
    )


def _for(days: int) -> str:
    return ngettext("for 1 day", "for {count} days", days) if days else _("forever")


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    group = subparsers.add_parser("sessions", parents=[common], help=_("manage past conversations"))
    commands = group.add_subparsers(dest="sessions_command", required=True, metavar="COMMAND")

    def add(name: str, handler: Any, text: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = commands.add_parser(
            name, parents=[common], help=text, description=f"{text[0].upper()}{text[1:]}."
        )
        parser.set_defaults(handler=handler, exclusive=True)
        return parser

    search.register(add)
    add("show", show, _("print a session")).add_argument("session", metavar="ID")
    rename = add("rename", rename_session, _("rename a session"))
    rename.add_argument("session", metavar="ID")
    rename.add_argument("title", metavar="TITLE")
    delete = add("delete", delete_session, _("move a session to the bin, or erase it permanently"))
    delete.add_argument(
        "sessions", metavar="ID", nargs="+", help=_("one or more; - reads IDs from standard input")
    )
    delete.add_argument(
        "--forever", action="store_true", help=_("erase it and everything derived from it, with a receipt")
    )
    restore = add("restore", restore_session, _("restore a session from the bin"))
    restore.add_argument(
        "sessions", metavar="ID", nargs="+", help=_("one or more; - reads IDs from standard input")
    )
    fork = add("fork", fork_session, _("start a new session with a copy of the messages"))
    fork.add_argument("session", metavar="ID")
    fork.add_argument(
        "message", metavar="MESSAGE", nargs="?", help=_("the last message to copy (default: the latest)")
    )
    fork.add_argument("--message", metavar="ID", dest="at", help=argparse.SUPPRESS)
    fork.add_argument("--title", metavar="TITLE", help=_("its title (default: the session's)"))
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
        said = [f"{output.who(m)}{_mark(m)}:\n{m.content}" for m in view.messages]
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


_STATUSES = {"streaming": N_("streaming"), "partial": N_("partial"), "failed": N_("failed")}


def _mark(message: "Message") -> str:
    if message.unbegun:
        return f" ({_('stopped')})"
    return "" if message.status == "complete" else f" ({output.word(_STATUSES, message.status)})"


async def rename_session(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock_for(args.session)
    try:
        session = await room.sessions.rename(args.session, args.title)
    except ValueError:
        raise UsageError(_("The title is empty."), _("Give at least one visible character.")) from None
    ctx.emit(output.session(session), _("Renamed to {title}", title=session.title))
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
    ctx.confirm(
        ngettext(
            "Move “{title}” to the bin?",
            "Move {count} sessions to the bin?",
            len(found),
            title=found[0].title,
        )
    )
    how = _("moved to the bin; to undo: `atlas sessions restore`")
    return await organising.apply(ctx, named, MarksPatch(binned=True), how)


async def _erase(ctx: Context, named: list[str]) -> int:
    await ctx.unlock()
    found = [await ctx.desk.rooms.find(ref) for ref in named]
    ctx.confirm(
        ngettext(
            "Permanently erase “{title}” and everything derived from it?",
            "Permanently erase {count} sessions and everything derived from them?",
            len(found),
            title=found[0][1].title,
        )
    )
    receipts = [await room.forgetting.erase_session(session.id) for room, session in found]
    values = [output.receipt(one) for one in receipts]
    ctx.emit(
        values[0] if len(values) == 1 else {"receipts": values},
        lambda: "\n".join(map(receipt_text, receipts)),
    )
    return Exit.DONE if all(one.verified for one in receipts) else Exit.FAILED


async def restore_session(ctx: Context, args: argparse.Namespace) -> int:
    from memory.organising.entities import MarksPatch

    return await organising.apply(
        ctx, organising.refs(args.sessions), MarksPatch(binned=False), _("restored from the bin")
    )
