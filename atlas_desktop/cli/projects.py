"""`atlas project`: named groups of conversations."""

import argparse
from math import ceil
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli.context import Context
from atlas_desktop.errors import Exit, UsageError
from atlas_desktop.locale import _, ngettext

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from memory.organising.entities import Project


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    group = subparsers.add_parser("project", parents=[common], help=_("manage projects"))
    commands = group.add_subparsers(dest="project_command", required=True, metavar="COMMAND")

    def add(name: str, handler: Any, text: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = commands.add_parser(
            name, parents=[common], help=text, description=f"{text[0].upper()}{text[1:]}."
        )
        parser.set_defaults(handler=handler, exclusive=True)
        return parser

    listing = add("list", list_projects, _("list projects and their contents"))
    listing.add_argument("--archived", action="store_true", help=_("only archived projects"))
    add("create", create, _("create a project")).add_argument("name", metavar="NAME")
    add("archive", archive, _("archive a project; its episodic memories expire 30 days later")).add_argument(
        "project", metavar="NAME"
    )
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


async def archive(ctx: Context, args: argparse.Namespace) -> int:
    room = await _room_of(ctx, args.project)
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
    ctx.confirm(f"{_('Delete the project “{name}”?', name=project.name)} {then}")
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
    }


def _line(value: "Project") -> str:
    marks = [
        text
        for text, so in ((_("private"), value.room == "private"), (_("archived"), value.archived_at))
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
