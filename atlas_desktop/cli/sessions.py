"""`atlas sessions`: show, rename, delete, move and organise sessions, one or many at once, and undo."""

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import memory_view, output, search
from atlas_desktop.cli.context import Context, command_group
from atlas_desktop.cli.search import marked
from atlas_desktop.errors import Exit, UsageError
from atlas_desktop.locale import N_, _, ngettext, number
from atlas_desktop.phrases import category_text, held, receipt_text, sources_text
from atlas_desktop.services.cleaning import clean_line

if TYPE_CHECKING:
    from atlas_desktop.services.bulk import Done
    from atlas_desktop.services.retention import Removed
    from memory.context.entities import Summary
    from memory.context.epochs import Compaction
    from memory.entities import Message, RoomKind, Session
    from memory.organising import Marks, MarksPatch, TagSuggestion
    from memory.retention import Expired, RetentionPolicy
    from memory.summaries.planning import TieredHistory


Add = Callable[..., argparse.ArgumentParser]
_FULL_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_SWITCHES = {
    "star": ("starred", True, _("star sessions"), _("starred")),
    "unstar": ("starred", False, _("remove stars from sessions"), _("star removed")),
    "pin": ("pinned", True, _("pin sessions to the top of the list"), _("pinned")),
    "unpin": ("pinned", False, _("unpin sessions"), _("unpinned")),
    "archive": ("archived", True, _("archive sessions; they stay searchable"), _("archived")),
    "unarchive": ("archived", False, _("put archived sessions back in the list"), _("back in the list")),
}


def register_organising(add: Add) -> None:
    """Adds the subcommands; `add(name, handler, text)` creates a parser."""
    for name, (mark, value, text, _unused) in _SWITCHES.items():
        parser = add(name, switch, text)
        _ids(parser)
        parser.set_defaults(mark=mark, value=value, done=name)
    for name, text in (("tag", _("add tags to sessions")), ("untag", _("remove tags from sessions"))):
        parser = add(name, change_tags, text)
        parser.add_argument(
            "session", metavar="ID", help=_("one or more, with commas; - reads standard input")
        )
        parser.add_argument("words", metavar="TAG", nargs="+", help=_("tags (a full ID counts as a session)"))
        parser.set_defaults(done=name)
    category = add("category", change_category, _("show or set the category of sessions"))
    category.add_argument("session", metavar="ID", help=_("one or more, with commas; - reads standard input"))
    category.add_argument("words", metavar="NAME", nargs="*", help=_("a category; `none` removes it"))
    category.add_argument("--auto", action="store_true", help=_("let Atlas choose one again"))
    project = add("project", change_project, _("move sessions into a project"))
    project.add_argument("session", metavar="ID", help=_("one or more, with commas; - reads standard input"))
    project.add_argument(
        "words", metavar="PROJECT", nargs="+", help=_("a project name, or `none` to remove them")
    )
    add("tags", list_tags, _("list the tags in use"))
    suggestions = add("suggestions", list_suggestions, _("list suggested tags"))
    suggestions.add_argument("session", metavar="ID", nargs="?")
    for name, handler, text in (
        ("accept", accept, _("add the suggested tags to a session")),
        ("reject", reject, _("never suggest these tags for the session again")),
    ):
        parser = add(name, handler, text)
        parser.add_argument("session", metavar="ID")
        parser.add_argument("tags", metavar="TAG", nargs="*", help=_("only these (default: all suggested)"))
    add("undo", undo, _("undo the last change to tags, stars, pins, archive, bin, category or project"))
    merge = add("merge", merge_sessions, _("append other sessions to one; they move to the bin, empty"))
    merge.add_argument("session", metavar="ID")
    merge.add_argument("others", metavar="OTHER", nargs="+")


def _ids(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "sessions", metavar="ID", nargs="+", help=_("one or more; - reads IDs from standard input")
    )


def refs(given: Sequence[str]) -> list[str]:
    """The named sessions: separate arguments, comma-separated, or read from standard input for -."""
    found: list[str] = []
    for one in given:
        found += sys.stdin.read().split() if one == "-" else one.split(",")
    wanted = [one.strip() for one in found if one.strip()]
    if not wanted:
        raise UsageError(_("No session given."), _("Give at least one ID; `atlas sessions list` shows them."))
    return wanted


def _parted(first: str, words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The sessions and the words after them. Full IDs before the last word count as sessions too."""
    count = 0
    while count < len(words) - 1 and _FULL_ID.fullmatch(words[count]):
        count += 1
    return refs([first, *words[:count]]), list(words[count:])


async def switch(ctx: Context, args: argparse.Namespace) -> int:
    from memory.organising import MarksPatch

    patch = MarksPatch(**{args.mark: args.value})
    return await apply(ctx, refs(args.sessions), patch, _SWITCHES[args.done][3])


async def change_tags(ctx: Context, args: argparse.Namespace) -> int:
    from memory.organising import MarksPatch

    named, words = _parted(args.session, args.words)
    tags = ", ".join(word.lstrip("#") for word in words)
    if args.done == "tag":
        return await apply(ctx, named, MarksPatch(add_tags=tuple(words)), _("tagged {tags}", tags=tags))
    return await apply(
        ctx, named, MarksPatch(remove_tags=tuple(words)), _("no longer tagged {tags}", tags=tags)
    )


async def change_category(ctx: Context, args: argparse.Namespace) -> int:
    from memory.organising import MarksPatch

    named, words = _parted(args.session, args.words)
    if args.auto:
        await ctx.unlock()
        from atlas_desktop.services.bulk import Bulk

        for room, ids in await Bulk(ctx.desk).grouped(named):
            await room.organising.categorise_again(ids)
        return await _show(ctx, named)
    if not words:
        return await _show(ctx, named)
    name = " ".join(words)
    category = "" if name.lower() == "none" else name
    done = _("category set to {category}", category=category) if category else _("category removed")
    return await apply(ctx, named, MarksPatch(category=category), done)


async def unlocked(ctx: Context) -> None:
    """Unlocks the rooms of the command, unless they are already unlocked."""
    if not ctx.opened:
        await ctx.unlock()


async def _show(ctx: Context, named: Sequence[str]) -> int:
    await unlocked(ctx)
    found = [(await ctx.desk.rooms.find(ref))[1] for ref in named]
    values = [output.session(one) for one in found]
    ctx.emit(
        values[0] if len(values) == 1 else {"sessions": values},
        lambda: "\n".join(
            f"{category_text(one.category) or _('none')}  {clean_line(one.title)}" for one in found
        ),
    )
    return Exit.DONE


async def change_project(ctx: Context, args: argparse.Namespace) -> int:
    from memory.organising import MarksPatch

    named, words = _parted(args.session, args.words)
    name = " ".join(words)
    project = "" if name.lower() == "none" else name
    done = _("moved to the project {project}", project=project) if project else _("removed from its project")
    return await apply(ctx, named, MarksPatch(project=project), done)


async def apply(ctx: Context, named: Sequence[str], patch: "MarksPatch", done: str) -> int:
    """Changes sessions in one step and prints the changes; `done` describes their new state."""
    from atlas_desktop.services.bulk import Bulk

    await unlocked(ctx)
    try:
        made = await Bulk(ctx.desk).apply(named, patch)
    except ValueError:
        raise UsageError(
            _("A tag, category or project is empty or too long."),
            _("Tags and categories have 1 to 40 visible characters, projects 1 to 100."),
        ) from None
    return await tell(ctx, made, done)


async def tell(ctx: Context, made: "Done", done: str) -> int:
    """Prints the changes. The JSON of a single session is the session itself plus `changed`."""
    found = [(await ctx.desk.rooms.find(one.session_id))[1] for one in made.all]
    changed = [
        {"id": one.session_id, "title": one.title, "before": marks(one.before), "after": marks(one.after)}
        for one in made.changed
    ]
    values = [output.session(one) for one in found]
    value = (
        {**values[0], "changed": changed} if len(values) == 1 else {"sessions": values, "changed": changed}
    )

    def text() -> str:
        same = len(found) - len(changed)
        lines = [f"{one.title or _('Untitled')}: {done}." for one in made.changed]
        return "\n".join([*lines, *([ngettext("1 unchanged.", "{count} unchanged.", same)] if same else [])])

    ctx.emit(value, text)
    return Exit.DONE


def marks(value: "Marks") -> dict[str, Any]:
    return {
        "tags": list(value.tags),
        "starred": value.starred,
        "important": value.important,
        "pinned": value.pinned_at is not None,
        "archived": value.archived_at is not None,
        "binned": value.deleted_at is not None,
        "category": value.category or None,
        "category_source": value.category_source,
        "project": value.project,
    }


async def undo(ctx: Context, _args: argparse.Namespace) -> int:
    from atlas_desktop.services.bulk import Bulk

    await ctx.unlock()
    made = await Bulk(ctx.desk).undo_last()
    if not made.changed:
        ctx.emit({"sessions": [], "changed": []}, _("Nothing to undo."))
        return Exit.DONE
    return await tell(ctx, made, _("change undone"))


async def list_tags(ctx: Context, _args: argparse.Namespace) -> int:
    await ctx.unlock()
    counts: dict[str, int] = {}
    for room in ctx.desk.open_rooms:
        for one in await room.organising.tags():
            counts[one.tag] = counts.get(one.tag, 0) + one.sessions
    found = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    ctx.emit(
        [{"tag": tag, "sessions": count} for tag, count in found],
        lambda: "\n".join(f"{count:>5}  {tag}" for tag, count in found) or _("No tags."),
    )
    return Exit.DONE


# --- suggestions -----------------------------------------------------------------------------------


async def list_suggestions(ctx: Context, args: argparse.Namespace) -> int:
    if args.session is not None:
        rooms = [await ctx.unlock_for(args.session)]
    else:
        await ctx.unlock()
        rooms = list(ctx.desk.open_rooms)
    found = [one for room in rooms for one in await room.organising.suggestions(args.session)]
    ctx.emit(
        [suggestion(one) for one in found],
        lambda: (
            "\n".join(
                f"{one.session_id}  {one.score:.2f}  {clean_line(one.tag)}  ({clean_line(one.title)})"
                for one in found
            )
            or _("No suggestions. `atlas jobs run` looks for tags that you have used before.")
        ),
    )
    return Exit.DONE


def suggestion(value: "TagSuggestion") -> dict[str, Any]:
    return {
        "session": value.session_id,
        "title": value.title,
        "tag": value.tag,
        "score": round(value.score, 3),
    }


async def accept(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.services.bulk import Done

    room = await ctx.unlock_for(args.session)
    session = (await ctx.desk.rooms.find(args.session))[1]
    made = await room.organising.accept(session.id, args.tags)
    if not any(one.changed for one in made):
        raise UsageError(
            _("No such suggestions for this session."),
            _("`atlas sessions suggestions` lists suggestions; `atlas sessions tag` adds any tag."),
        )
    return await tell(ctx, Done(((room.store.room, tuple(made)),)), _("tagged as suggested"))


async def reject(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock_for(args.session)
    session = (await ctx.desk.rooms.find(args.session))[1]
    count = await room.organising.reject(session.id, args.tags)
    ctx.emit(
        {"session": session.id, "rejected": count},
        ngettext("1 suggestion rejected.", "{count} suggestions rejected.", count),
    )
    return Exit.DONE


# --- merging ---------------------------------------------------------------------------------------


async def merge_sessions(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.services.bulk import Bulk

    await ctx.unlock()
    session, merged = await Bulk(ctx.desk).merge(args.session, refs(args.others))
    ctx.emit(
        {
            **output.session(session),
            "merged": {"sources": list(merged.sources), "messages": merged.messages},
        },
        lambda: ngettext(
            "1 message added to “{title}”. To take it out again: `atlas sessions restore {id}`.",
            "{count} messages added to “{title}”. To take them out again: `atlas sessions restore {id}`.",
            merged.messages,
            title=session.title,
            id=merged.sources[0],
        ),
    )
    return Exit.DONE


def register_context(add: Add) -> None:
    """Adds the subcommands; `add(name, handler, text)` creates a parser."""
    context = add("context", show_context, _("show the context of a session, by tier"))
    context.add_argument("session", metavar="ID")
    context.add_argument("--prompt", action="store_true", help=_("also print the exact next prompt"))
    add("history", show_history, _("show a session by tier: verbatim, summaries, archived")).add_argument(
        "session", metavar="ID"
    )
    add("summarise", summarise, _("summarise all but the latest messages now")).add_argument(
        "session", metavar="ID"
    )
    summary = add("summary", summary_command, _("print a summary or replace it with your own text"))
    summary.add_argument("summary", metavar="SUMMARY")
    summary.add_argument("--set", metavar="TEXT", dest="text", help=_("your own text"))
    important = add(
        "important", mark_important, _("mark a session or message as important (longest in context)")
    )
    important.add_argument("session", metavar="ID")
    important.add_argument("--message", metavar="ID|last", help=_("a message instead of the session"))
    important.add_argument("--off", "--not", dest="off", action="store_true", help=_("remove the mark"))


async def show_context(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.services.context import meter, next_prompt

    room = await ctx.unlock_for(args.session)
    session = (await room.sessions.view(args.session)).session
    view = await room.chat.context.view(session.id, reply=ctx.desk.turn_options().params.max_tokens)
    if view is None:
        raise UsageError(_("This session has no messages yet."), _("Send a message first."))
    found = view
    ctx.emit(
        output.context(found),
        lambda: "\n\n".join([meter(found), *([next_prompt(found)] if args.prompt else [])]),
    )
    return Exit.DONE


async def show_history(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock_for(args.session)
    settings = ctx.desk.settings.context
    found = await room.sessions.history(
        args.session,
        recent_messages_min=settings.recent_messages_min,
        most_archived=settings.max_archived_in_view,
    )
    ctx.emit(
        {
            "active": [output.message(m) for m in found.active],
            "summaries": [output.summary(s) for s in found.summaries],
            "archived": [output.message(m) for m in found.archived],
            "archived_total": found.archived_total,
        },
        lambda: history_text(found),
    )
    return Exit.DONE


def history_text(found: "TieredHistory") -> str:
    """Archived messages, summaries and verbatim messages, one line each."""

    def lines(messages: "Sequence[Message]") -> list[str]:
        return [f"  {output.who(m)}: {' '.join(m.content.split())[:100]}" for m in messages]

    return "\n".join(
        [
            _(
                "Archived: the latest {shown} of {total}",
                shown=number(len(found.archived)),
                total=number(found.archived_total),
            ),
            *lines(found.archived),
            _("Summaries: {count}", count=number(len(found.summaries))),
            *(f"  {' '.join(s.text.split())}" for s in found.summaries),
            _("Verbatim: {count}", count=number(len(found.active))),
            *lines(found.active),
        ]
    )


async def summarise(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock_for(args.session)
    session = (await room.sessions.view(args.session)).session
    made = await room.epochs.summarise_now(session.id)
    ctx.emit(compaction_shape(made), compaction_text(made))
    return Exit.DONE


def compaction_shape(made: "Compaction | None") -> dict[str, object]:
    if made is None:
        return {"compacted": False}
    return {
        "compacted": True,
        "session": made.session_id,
        "before": made.before,
        "after": made.after,
        "context": output.tiers(made.epoch.parts),
    }


def compaction_text(made: "Compaction | None") -> str:
    if made is None:
        return _("This session has no messages yet.")
    return _(
        "Older messages summarised: {before} → {after} tokens.",
        before=number(made.before),
        after=number(made.after),
    )


async def summary_command(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    if args.text is None:
        found = await room.sessions.summary(args.summary)
    else:
        try:
            found = await room.sessions.edit_summary(args.summary, args.text)
        except ValueError:
            raise UsageError(_("The text is empty."), _("Give at least one visible character.")) from None
    ctx.emit(output.summary(found), lambda: summary_text(found))
    return Exit.DONE


_STATES = {"current": N_("current"), "merged": N_("merged"), "stale": N_("stale")}


def summary_text(value: "Summary") -> str:
    """A summary: a line such as `3f2a…  10 messages, level 1, active`, then its text."""
    marks = [
        ngettext("1 message", "{count} messages", len(value.covers)),
        _("level {level}", level=value.level),
        output.word(_STATES, value.state),
    ]
    if value.fallback:
        marks.append(_("made without a model"))
    if value.edited:
        marks.append(_("edited by you"))
    return f"{value.id}  {', '.join(marks)}\n{value.text}"


async def mark_important(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock_for(args.session)
    session = await room.sessions.mark_important(args.session, args.message, important=not args.off)
    if session.important:
        await room.learning.important(session.id)
    if args.message:
        text = (
            _("The message is no longer marked as important.")
            if args.off
            else _("The message is marked as important.")
        )
    elif args.off:
        text = _("“{title}” is no longer marked as important.", title=session.title)
    else:
        text = _("“{title}” is marked as important.", title=session.title)
    ctx.emit(output.session(session), text)
    return Exit.DONE


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
    """Moves a session; returns it, and a text about what it lost. Asks before tasks are deleted."""
    from atlas_desktop.phrases import losing, lost_documents, lost_tasks
    from memory.transfer import Losses

    ctx.private = True
    await ctx.unlock()
    room, session = await ctx.desk.rooms.find(ref)
    losses = await ctx.desk.rooms.losses([session.id], destination)
    if losses.tasks:
        ctx.confirm(losing(Losses(tasks=losses.tasks), room.store.room))
    moved = await ctx.desk.rooms.move(session.id, destination)
    lost = [lost_documents(losses.documents, room.store.room)] if losses.documents else []
    lost += [lost_tasks(losses.tasks)] if losses.tasks else []
    return moved, " ".join(lost)


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
    add = command_group(subparsers, common, "sessions", _("manage past conversations"))

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
    register_context(add)
    register_organising(add)
    memory_view.add_related(add)
    add_room_moves(add)
    add_retention(add)


async def show(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock_for(args.session)
    view = await room.sessions.view(args.session)
    summaries = await room.sessions.summaries(view.session.id)
    attached = await room.attachments.attached(view.session.id)
    cited = {} if ctx.json else {m.id: await room.store.documents.cited(m.id) for m in view.messages}

    def sources(of: "Message") -> str:
        return "".join(f"\n{line}" for line in sources_text(of.content, cited[of.id]).splitlines())

    def text() -> str:
        head = f"{marked(view.session)}\n{view.session.created_at.astimezone():%Y-%m-%d %H:%M}"
        said = [f"{output.who(m)}{_mark(m)}:\n{m.content}{sources(m)}" for m in view.messages]
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
    from memory.organising import MarksPatch

    named = refs(args.sessions)
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
    return await apply(ctx, named, MarksPatch(binned=True), how)


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
    from memory.organising import MarksPatch

    return await apply(ctx, refs(args.sessions), MarksPatch(binned=False), _("restored from the bin"))
