"""Commands of `atlas sessions` that organise many sessions at once, and undo."""

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import output
from atlas_desktop.cli.context import Context
from atlas_desktop.errors import Exit, UsageError
from atlas_desktop.locale import _, ngettext
from atlas_desktop.services.cleaning import clean_line

if TYPE_CHECKING:
    from atlas_desktop.services.bulk import Done
    from memory.organising.entities import Marks, MarksPatch, TagSuggestion

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


def register(add: Add) -> None:
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
    from memory.organising.entities import MarksPatch

    patch = MarksPatch(**{args.mark: args.value})
    return await apply(ctx, refs(args.sessions), patch, _SWITCHES[args.done][3])


async def change_tags(ctx: Context, args: argparse.Namespace) -> int:
    from memory.organising.entities import MarksPatch

    named, words = _parted(args.session, args.words)
    tags = ", ".join(word.lstrip("#") for word in words)
    if args.done == "tag":
        return await apply(ctx, named, MarksPatch(add_tags=tuple(words)), _("tagged {tags}", tags=tags))
    return await apply(
        ctx, named, MarksPatch(remove_tags=tuple(words)), _("no longer tagged {tags}", tags=tags)
    )


async def change_category(ctx: Context, args: argparse.Namespace) -> int:
    from memory.organising.entities import MarksPatch

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
    """Unlocks the rooms of the command, unless that was done already."""
    if not ctx.opened:
        await ctx.unlock()


async def _show(ctx: Context, named: Sequence[str]) -> int:
    await unlocked(ctx)
    found = [(await ctx.desk.rooms.find(ref))[1] for ref in named]
    values = [output.session(one) for one in found]
    ctx.emit(
        values[0] if len(values) == 1 else {"sessions": values},
        lambda: "\n".join(f"{one.category or _('none')}  {clean_line(one.title)}" for one in found),
    )
    return Exit.DONE


async def change_project(ctx: Context, args: argparse.Namespace) -> int:
    from memory.organising.entities import MarksPatch

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
