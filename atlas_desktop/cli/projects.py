"""`atlas project`: named groups of conversations."""

import argparse
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli.ask import read_text
from atlas_desktop.cli.context import Context, command_group, given_text
from atlas_desktop.cli.output import at
from atlas_desktop.errors import Exit, UsageError
from atlas_desktop.locale import _, ngettext

if TYPE_CHECKING:
    from collections.abc import Iterable

    from atlas_desktop.services.memories import ProjectLifetime
    from atlas_desktop.services.projects import ProjectPage
    from atlas_desktop.services.room import RoomServices
    from memory.memories.entities import Memory
    from memory.organising import Project, ProjectPatch

_MODES = ("normal", "reads", "blank", "none")
_EXCERPT = 70


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    add = command_group(subparsers, common, "project", _("manage projects"))

    listing = add("list", list_projects, _("list projects and their contents"))
    listing.add_argument("--archived", action="store_true", help=_("only archived projects"))
    add("create", create, _("create a project")).add_argument("name", metavar="NAME")
    show = add("show", show_project, _("show a project: contents, settings, and what expires when"))
    show.add_argument("project", metavar="NAME")
    change = add("set", change_project, _("set the instructions and defaults of a project"))
    change.add_argument("project", metavar="NAME")
    change.add_argument(
        "--instructions",
        metavar="FILE|TEXT|-",
        help=_("added to the system prompt of all its sessions; empty: none"),
    )
    change.add_argument("--persona", metavar="NAME|none", help=_("persona of new sessions"))
    change.add_argument("--model", metavar="M|none", help=_("model of new sessions"))
    change.add_argument("--memory", choices=_MODES, help=_("memory mode of new sessions"))
    change.add_argument(
        "--isolated",
        choices=("on", "off"),
        help=_("on: nothing of it is recalled elsewhere, and nothing from elsewhere in it"),
    )
    archiving = add("archive", archive, _("archive a project; its episodic memories expire 30 days later"))
    archiving.add_argument("project", metavar="NAME")
    archiving.add_argument("--dry-run", action="store_true", help=_("only show what would expire, and when"))
    add("reopen", reopen, _("reopen an archived project")).add_argument("project", metavar="NAME")
    rename = add("rename", rename_project, _("rename a project"))
    rename.add_argument("project", metavar="NAME")
    rename.add_argument("name", metavar="NEW-NAME")
    delete = add("delete", delete_project, _("delete a project; its sessions stay"))
    delete.add_argument("project", metavar="NAME")
    delete.add_argument("--with-sessions", action="store_true", help=_("move its sessions to the bin"))


async def list_projects(ctx: Context, args: argparse.Namespace) -> int:
    await ctx.unlock()
    wanted = True if args.archived else None
    found = [one for room in ctx.desk.open_rooms for one in await room.projects.list(archived=wanted)]
    ctx.emit([shape(one) for one in found], lambda: "\n".join(map(_line, found)) or _("No projects."))
    return Exit.DONE


async def create(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    project = await _named(room.projects.create(args.name))
    ctx.emit(shape(project), f"{project.id}  {project.name}")
    return Exit.DONE


async def show_project(ctx: Context, args: argparse.Namespace) -> int:
    room = await _room_of(ctx, args.project)
    page = await room.projects.page(args.project)
    ctx.emit(page_json(page), lambda: _page_text(page, ctx.desk.settings.memory.episodic_days))
    return Exit.DONE


async def change_project(ctx: Context, args: argparse.Namespace) -> int:
    room = await _room_of(ctx, args.project)
    patch = _patch(ctx, args)
    try:
        await room.projects.change(args.project, patch)
    except ValueError:
        from atlas_desktop.services.projects import LONGEST_INSTRUCTIONS

        raise UsageError(
            _("The instructions are too long."),
            ngettext(
                "Use at most {count} character.", "Use at most {count} characters.", LONGEST_INSTRUCTIONS
            ),
        ) from None
    page = await room.projects.page(args.project)
    ctx.emit(page_json(page), lambda: _page_text(page, ctx.desk.settings.memory.episodic_days))
    return Exit.DONE


def _patch(ctx: Context, args: argparse.Namespace) -> "ProjectPatch":
    """The changes that the options ask for. Raises `UsageError`, `UnknownModel`, `ModelNotInstalled`."""
    from memory.entities import MemoryMode
    from memory.organising import ProjectPatch

    given: dict[str, Any] = {}
    if args.instructions is not None:
        given["instructions"] = _instructions(args.instructions)
    if args.persona is not None:
        given["persona"] = None if args.persona.lower() == "none" else args.persona
    if args.model is not None:
        named = args.model.lower() != "none"
        given["model"] = ctx.desk.check_model(args.model) if named else None
    if args.memory is not None:
        given["memory_mode"] = None if args.memory == "none" else MemoryMode(args.memory)
    if args.isolated is not None:
        given["isolated"] = args.isolated == "on"
    if not given:
        raise UsageError(
            _("Nothing to set."),
            _("Give --instructions, --persona, --model, --memory or --isolated."),
        )
    return ProjectPatch(**given)


def _instructions(given: str) -> str:
    """The text of a file of that name if there is one, of standard input for `-`, otherwise the text
    itself."""
    if given == "-":
        return given_text(given)
    try:
        is_file = bool(given) and Path(given).is_file()
    except (OSError, ValueError):
        # Too long for a file name, or with a character that is not allowed in one.
        is_file = False
    return read_text(given) if is_file else given_text(given)


async def archive(ctx: Context, args: argparse.Namespace) -> int:
    room = await _room_of(ctx, args.project)
    if args.dry_run:
        page = await room.projects.preview_archive(args.project)
        ctx.emit(
            {"project": shape(page.project), "dry_run": True, "lifetime": _lifetime_json(page.lifetime)},
            lambda: _lifetime_text(page, ctx.desk.settings.memory.episodic_days, preview=True),
        )
        return Exit.DONE
    project = await room.projects.archive(args.project)
    days = ctx.desk.settings.memory.episodic_days
    ctx.emit(
        shape(project),
        ngettext(
            "“{name}” is archived. Its episodic memories expire {days:g} day after its end; its "
            "conversations stay.",
            "“{name}” is archived. Its episodic memories expire {days:g} days after its end; its "
            "conversations stay.",
            ceil(days),
            name=project.name,
            days=days,
        ),
    )
    return Exit.DONE


async def reopen(ctx: Context, args: argparse.Namespace) -> int:
    room = await _room_of(ctx, args.project)
    project = await room.projects.reopen(args.project)
    ctx.emit(shape(project), _("“{name}” is open again.", name=project.name))
    return Exit.DONE


async def rename_project(ctx: Context, args: argparse.Namespace) -> int:
    room = await _room_of(ctx, args.project)
    project = await _named(room.projects.rename(args.project, args.name))
    ctx.emit(shape(project), _("Renamed to {name}", name=project.name))
    return Exit.DONE


async def delete_project(ctx: Context, args: argparse.Namespace) -> int:
    room = await _room_of(ctx, args.project)
    project = await room.projects.get(args.project)
    then = (
        ngettext(
            "1 session will be moved to the bin.",
            "{count} sessions will be moved to the bin.",
            project.sessions,
        )
        if args.with_sessions
        else ngettext(
            "1 session will be kept without a project.",
            "{count} sessions will be kept without a project.",
            project.sessions,
        )
    )
    from atlas_desktop.phrases import said_of_opening_up

    opens = [said_of_opening_up()] if project.settings.isolated and not args.with_sessions else []
    ctx.confirm(" ".join([_("Delete the project “{name}”?", name=project.name), then, *opens]))
    gone = await room.projects.delete(project.id, with_sessions=args.with_sessions)
    count = len(gone.sessions)
    done = (
        ngettext("1 session moved to the bin.", "{count} sessions moved to the bin.", count)
        if args.with_sessions
        else ngettext("1 session kept without a project.", "{count} sessions kept without a project.", count)
    )
    ctx.emit(
        {
            "deleted": shape(gone.project),
            "sessions": list(gone.sessions),
            "memories": gone.memories,
            "binned": gone.binned,
        },
        f"{_('Deleted: {name}.', name=project.name)} {done}",
    )
    return Exit.DONE


def shape(value: "Project") -> dict[str, Any]:
    return {
        "id": value.id,
        "name": value.name,
        "room": value.room,
        "archived": value.archived_at is not None,
        "created_at": value.created_at.isoformat(),
        "archived_at": value.archived_at.isoformat() if value.archived_at else None,
        "used_at": value.used_at.isoformat() if value.used_at else None,
        "sessions": value.sessions,
        "messages": value.messages,
        "memories": value.memories,
        "isolated": value.settings.isolated,
    }


def page_json(page: "ProjectPage") -> dict[str, Any]:
    """A project with its contents, settings and lifetime."""
    contents, settings = page.contents, page.project.settings
    return {
        **shape(page.project),
        "used_at": at(contents.used_at),
        "instructions": settings.instructions,
        "defaults": {
            "persona": settings.persona_name,
            "model": settings.model,
            "memory_mode": settings.memory_mode,
        },
        "counts": {
            "sessions": contents.sessions,
            "archived_sessions": contents.archived_sessions,
            "messages": contents.messages,
            "documents": contents.documents,
            "notes": contents.notes,
            "memories": dict(contents.tiers),
            "archived_memories": contents.archived_memories,
        },
        "lifetime": _lifetime_json(page.lifetime),
    }


def _lifetime_json(lifetime: "ProjectLifetime") -> dict[str, Any]:
    return {
        "ends_at": at(lifetime.ends_at),
        "expiring": [{**_memory_json(one.memory), "expires_at": at(one.at)} for one in lifetime.ending],
        "archived": [_memory_json(one) for one in lifetime.returning],
    }


def _memory_json(memory: "Memory") -> dict[str, Any]:
    return {"id": memory.id, "kind": memory.kind, "tier": memory.tier, "text": memory.text}


def _page_text(page: "ProjectPage", days: float) -> str:
    from atlas_desktop.phrases import contents_line, tiers_line

    settings = page.project.settings
    lines = [_line(page.project).split("\n")[0], f"    {contents_line(page.contents)}"]
    if told := tiers_line(page.contents.tiers):
        lines.append(f"    {_('memories: {tiers}', tiers=told)}")
    defaults = [
        *([_("persona {name}", name=settings.persona_name)] if settings.persona_name else []),
        *([_("model {model}", model=settings.model)] if settings.model else []),
        *([_("memory {mode}", mode=settings.memory_mode.value)] if settings.memory_mode else []),
    ]
    if defaults:
        lines.append(f"    {_('new sessions: {defaults}', defaults=', '.join(defaults))}")
    if settings.isolated:
        lines.append(f"    {_('isolated: not recalled elsewhere, recalls nothing from elsewhere')}")
    if settings.instructions:
        indented = settings.instructions.replace("\n", "\n        ")
        lines += [f"    {_('instructions:')}", f"        {indented}"]
    return "\n".join([*lines, "", _lifetime_text(page, days)])


def _lifetime_text(page: "ProjectPage", days: float, *, preview: bool = False) -> str:
    from atlas_desktop.phrases import lifetime_lines

    lines = lifetime_lines(page.project, page.lifetime, days, preview=preview)
    lines += _excerpts(one.memory for one in page.lifetime.ending)
    if page.lifetime.ending:
        lines.append(_("`atlas memory rescue ID` keeps a memory for good."))
    return "\n".join(lines)


def _excerpts(memories: "Iterable[Memory]") -> list[str]:
    found = []
    for one in memories:
        text = " ".join(one.text.split())
        short = text if len(text) <= _EXCERPT else f"{text[: _EXCERPT - 1].rstrip()}…"
        found.append(f"    {one.id}  {short}")
    return found


def _line(value: "Project") -> str:
    marks = [
        text
        for text, so in (
            (_("private"), value.room == "private"),
            (_("archived"), value.archived_at),
            (_("isolated"), value.settings.isolated),
        )
        if so
    ]
    told = f"  [{', '.join(marks)}]" if marks else ""
    facts = [
        ngettext("1 session", "{count} sessions", value.sessions),
        ngettext("1 memory", "{count} memories", value.memories),
    ]
    if value.used_at:
        facts.append(_("last used {when:%Y-%m-%d}", when=value.used_at.astimezone()))
    return f"{value.name}{told}\n    {', '.join(facts)}"


async def _room_of(ctx: Context, ref: str) -> "RoomServices":
    """The unlocked room with this project. If there is none, the default room, which raises the error."""
    from memory.errors import ProjectNotFound

    room = await ctx.unlock()
    for one in (room, *ctx.desk.open_rooms):
        try:
            await one.projects.get(ref)
        except ProjectNotFound:
            continue
        return one
    return room


async def _named(making: Any) -> "Project":
    try:
        made: Project = await making
    except ValueError:
        raise UsageError(_("Invalid project name."), _("Use 1 to 100 visible characters.")) from None
    return made
