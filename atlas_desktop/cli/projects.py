"""`atlas project`: what belongs together, by name."""

import argparse
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli.context import Context
from atlas_desktop.errors import Exit, UsageError

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from memory.organising.entities import Project


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    group = subparsers.add_parser("project", parents=[common], help="conversations that belong together")
    commands = group.add_subparsers(dest="project_command", required=True, metavar="COMMAND")

    def add(name: str, handler: Any, text: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = commands.add_parser(
            name, parents=[common], help=text, description=f"{text[0].upper()}{text[1:]}."
        )
        parser.set_defaults(handler=handler, exclusive=True)
        return parser

    listing = add("list", list_projects, "list projects with what belongs to them")
    listing.add_argument("--archived", action="store_true", help="archived ones alone")
    add("create", create, "begin a project").add_argument("name", metavar="NAME")
    add("archive", archive, "end a project: what is remembered of it goes 30 days later").add_argument(
        "project", metavar="NAME"
    )
    add("reopen", reopen, "go on with an archived project").add_argument("project", metavar="NAME")
    rename = add("rename", rename_project, "give a project another name")
    rename.add_argument("project", metavar="NAME")
    rename.add_argument("name", metavar="NEW-NAME")
    delete = add("delete", delete_project, "take a project away; its sessions stay")
    delete.add_argument("project", metavar="NAME")
    delete.add_argument("--with-sessions", action="store_true", help="move its sessions to the bin")


async def list_projects(ctx: Context, args: argparse.Namespace) -> int:
    await ctx.unlock()
    wanted = True if args.archived else None
    found = [one for room in ctx.desk.open_rooms for one in await room.projects.list(archived=wanted)]
    ctx.emit([shape(one) for one in found], lambda: "\n".join(map(_line, found)) or "There are no projects.")
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
        f"“{project.name}” is archived. What is remembered of it goes {days:g} days after its end; "
        "its conversations stay.",
    )
    return Exit.DONE


async def reopen(ctx: Context, args: argparse.Namespace) -> int:
    room = await _room_of(ctx, args.project)
    project = await room.projects.reopen(args.project)
    ctx.emit(shape(project), f"“{project.name}” goes on.")
    return Exit.DONE


async def rename_project(ctx: Context, args: argparse.Namespace) -> int:
    room = await _room_of(ctx, args.project)
    project = await _named(room.projects.rename(args.project, args.name))
    ctx.emit(shape(project), f"Renamed to {project.name}")
    return Exit.DONE


async def delete_project(ctx: Context, args: argparse.Namespace) -> int:
    room = await _room_of(ctx, args.project)
    project = await room.projects.get(args.project)
    where = "go to the bin" if args.with_sessions else "stay, without a project"
    ctx.confirm(f"Delete the project “{project.name}”? {_sessions(project.sessions)} in it: they {where}.")
    gone = await room.projects.delete(project.id, with_sessions=args.with_sessions)
    ctx.emit(
        {
            "deleted": shape(gone.project),
            "sessions": list(gone.sessions),
            "memories": gone.memories,
            "binned": gone.binned,
        },
        f"Deleted: {project.name}. {_sessions(len(gone.sessions))} {where}.",
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
        text for text, so in (("private", value.room == "private"), ("archived", value.archived_at)) if so
    ]
    told = f"  [{', '.join(marks)}]" if marks else ""
    used = f", used {value.used_at.astimezone():%Y-%m-%d}" if value.used_at else ""
    return f"{value.name}{told}\n    {_sessions(value.sessions)}, {value.memories} remembered{used}"


def _sessions(count: int) -> str:
    return "1 session" if count == 1 else f"{count} sessions"


async def _room_of(ctx: Context, ref: str) -> "RoomServices":
    """The open room that has such a project; when none has, the one to work in, which will say so."""
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
        raise UsageError("That is no name for a project.", "Give 1 to 100 visible characters.") from None
    return made
