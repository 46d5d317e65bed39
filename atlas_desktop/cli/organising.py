"""What `atlas sessions` can do to keep many sessions in order at once, and to undo it."""

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import output
from atlas_desktop.cli.context import Context
from atlas_desktop.errors import Exit, UsageError
from atlas_desktop.services.cleaning import clean_line

if TYPE_CHECKING:
    from atlas_desktop.services.bulk import Done
    from memory.organising.entities import Marks, MarksPatch, TagSuggestion

Add = Callable[..., argparse.ArgumentParser]
_FULL_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_SWITCHES = {
    "star": ("starred", True, "star sessions", "starred"),
    "unstar": ("starred", False, "take stars away", "no longer starred"),
    "pin": ("pinned", True, "keep sessions at the top of the list", "pinned"),
    "unpin": ("pinned", False, "let sessions go down the list again", "no longer pinned"),
    "archive": ("archived", True, "take sessions out of the list; they stay searchable", "archived"),
    "unarchive": ("archived", False, "put archived sessions back into the list", "back in the list"),
}


def register(add: Add) -> None:
    """Adds the subcommands; `add(name, handler, text)` makes the parser of one."""
    for name, (mark, value, text, _) in _SWITCHES.items():
        parser = add(name, switch, text)
        _ids(parser)
        parser.set_defaults(mark=mark, value=value, done=name)
    for name, text in (("tag", "give sessions tags"), ("untag", "take tags away from sessions")):
        parser = add(name, change_tags, text)
        parser.add_argument("session", metavar="ID", help="one, or several with commas; - reads them")
        parser.add_argument("words", metavar="TAG", nargs="+", help="tags (a full id counts as a session)")
        parser.set_defaults(done=name)
    category = add("category", change_category, "show the category of a session, or give sessions one")
    category.add_argument("session", metavar="ID", help="one, or several with commas; - reads them")
    category.add_argument("words", metavar="NAME", nargs="*", help="a category; `none` takes it away")
    category.add_argument("--auto", action="store_true", help="let the program find one again")
    project = add("project", change_project, "move sessions into a project")
    project.add_argument("session", metavar="ID", help="one, or several with commas; - reads them")
    project.add_argument("words", metavar="PROJECT", nargs="+", help="its name; `none` takes them out of any")
    add("tags", list_tags, "list the tags in use")
    suggestions = add("suggestions", list_suggestions, "list tags that sessions might have")
    suggestions.add_argument("session", metavar="ID", nargs="?")
    for name, handler, text in (
        ("accept", accept, "give a session the tags that are suggested for it"),
        ("reject", reject, "never suggest these tags for the session again"),
    ):
        parser = add(name, handler, text)
        parser.add_argument("session", metavar="ID")
        parser.add_argument("tags", metavar="TAG", nargs="*", help="only these (all that are suggested)")
    add("undo", undo, "undo the last change of tags, stars, pins, archive, bin, category or project")
    merge = add("merge", merge_sessions, "append other sessions to one; they go to the bin, empty")
    merge.add_argument("session", metavar="ID")
    merge.add_argument("others", metavar="OTHER", nargs="+")


def _ids(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sessions", metavar="ID", nargs="+", help="one or more; - reads them, one a line")


def refs(given: Sequence[str]) -> list[str]:
    """What is named: with commas between, one after the other, or with - read from standard input."""
    found: list[str] = []
    for one in given:
        found += sys.stdin.read().split() if one == "-" else one.split(",")
    wanted = [one.strip() for one in found if one.strip()]
    if not wanted:
        raise UsageError("No session is named.", "Give at least one ID; `atlas sessions list` shows them.")
    return wanted


def _parted(first: str, words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Sessions, and the words that follow them: full ids in front of the last word are sessions as well."""
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
    told = ", ".join(word.lstrip("#") for word in words)
    if args.done == "tag":
        return await apply(ctx, named, MarksPatch(add_tags=tuple(words)), f"tagged {told}")
    return await apply(ctx, named, MarksPatch(remove_tags=tuple(words)), f"without {told}")


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
    done = f"filed under {category}" if category else "without a category"
    return await apply(ctx, named, MarksPatch(category=category), done)


async def unlocked(ctx: Context) -> None:
    """Opens what the command may see, once."""
    if not ctx.opened:
        await ctx.unlock()


async def _show(ctx: Context, named: Sequence[str]) -> int:
    await unlocked(ctx)
    found = [(await ctx.desk.rooms.find(ref))[1] for ref in named]
    values = [output.session(one) for one in found]
    ctx.emit(
        values[0] if len(values) == 1 else {"sessions": values},
        lambda: "\n".join(f"{one.category or 'none'}  {clean_line(one.title)}" for one in found),
    )
    return Exit.DONE


async def change_project(ctx: Context, args: argparse.Namespace) -> int:
    from memory.organising.entities import MarksPatch

    named, words = _parted(args.session, args.words)
    name = " ".join(words)
    project = "" if name.lower() == "none" else name
    done = f"in the project {project}" if project else "in no project"
    return await apply(ctx, named, MarksPatch(project=project), done)


async def apply(ctx: Context, named: Sequence[str], patch: "MarksPatch", done: str) -> int:
    """Changes sessions in one step and prints what was changed; `done` says how they are now."""
    from atlas_desktop.services.bulk import Bulk

    await unlocked(ctx)
    try:
        made = await Bulk(ctx.desk).apply(named, patch)
    except ValueError:
        raise UsageError(
            "A tag, category or project is empty or too long.",
            "Tags and categories have 1 to 40 visible characters, projects 1 to 100.",
        ) from None
    return await tell(ctx, made, done)


async def tell(ctx: Context, made: "Done", done: str) -> int:
    """What was changed; one session alone is printed as it is now."""
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
        lines = [f"{one.title or 'Untitled'}: {done}." for one in made.changed]
        return "\n".join([*lines, *([f"{same} already so."] if same else [])])

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
        ctx.emit({"sessions": [], "changed": []}, "There is nothing to undo.")
        return Exit.DONE
    return await tell(ctx, made, "as it was")


async def list_tags(ctx: Context, _args: argparse.Namespace) -> int:
    await ctx.unlock()
    counts: dict[str, int] = {}
    for room in ctx.desk.open_rooms:
        for one in await room.organising.tags():
            counts[one.tag] = counts.get(one.tag, 0) + one.sessions
    found = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    ctx.emit(
        [{"tag": tag, "sessions": count} for tag, count in found],
        lambda: "\n".join(f"{count:>5}  {tag}" for tag, count in found) or "There are no tags.",
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
            or "Nothing is suggested. `atlas jobs run` looks for tags that you have used before."
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
            "None of that is suggested for this session.",
            "`atlas sessions suggestions` shows what is; `atlas sessions tag` gives any tag.",
        )
    return await tell(ctx, Done(((room.store.room, tuple(made)),)), "tagged as suggested")


async def reject(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock_for(args.session)
    session = (await ctx.desk.rooms.find(args.session))[1]
    count = await room.organising.reject(session.id, args.tags)
    ctx.emit(
        {"session": session.id, "rejected": count},
        f"{count} {'suggestion' if count == 1 else 'suggestions'} rejected.",
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
        lambda: (
            f"{merged.messages} messages came to “{session.title}”. "
            f"`atlas sessions restore {merged.sources[0]}` takes them out again."
        ),
    )
    return Exit.DONE
