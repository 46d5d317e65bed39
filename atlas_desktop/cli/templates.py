"""`atlas templates`: named prompts with variables."""

import argparse
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli.context import Context, command_group
from atlas_desktop.cli.personas import read_text
from atlas_desktop.errors import Exit, UsageError
from atlas_desktop.locale import _

if TYPE_CHECKING:
    from memory.personas import Template

_NOT_STORED = _("A name and a text are required.")
_HOW = _("Give both; `-` reads the text from standard input.")


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    add = command_group(subparsers, common, "templates", _("manage prompts with {variables}"))

    add("list", list_templates, _("list templates"))
    add("show", show, _("print a template")).add_argument("template", metavar="NAME")
    new = add("add", add_template, _("save a template"))
    new.add_argument("template", metavar="NAME")
    new.add_argument("text", metavar="TEXT", help=_("may contain {variables}; `-` reads standard input"))
    edit = add("edit", edit_template, _("change a template"))
    edit.add_argument("template", metavar="NAME")
    edit.add_argument("--name", metavar="NAME", help=_("its new name"))
    edit.add_argument("--text", metavar="TEXT", help=_("its new text; `-` reads standard input"))
    add("remove", remove_template, _("remove a template")).add_argument("template", metavar="NAME")
    fill = add("fill", fill_template, _("print a template with its variables filled in"))
    fill.add_argument("template", metavar="NAME")
    fill.add_argument("values", metavar="VARIABLE=VALUE", nargs="*")


def as_json(value: "Template") -> dict[str, Any]:
    from atlas_desktop.services.personas import variables

    return {
        "id": value.id,
        "name": value.name,
        "text": value.text,
        "variables": variables(value.text),
        "created_at": value.created_at.isoformat(),
        "updated_at": value.updated_at.isoformat(),
    }


def line(value: "Template") -> str:
    """A template in one line."""
    first = " ".join(value.text.split())
    return f"{value.name}: {first if len(first) <= 80 else f'{first[:79].rstrip()}…'}"


async def list_templates(ctx: Context, _args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    found = await room.personas.templates()
    none = _("No templates yet. Add one: `atlas templates add NAME TEXT`.")
    ctx.emit([as_json(one) for one in found], lambda: "\n".join(map(line, found)) or none)
    return Exit.DONE


async def show(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    found = await room.personas.template(args.template)
    ctx.emit(as_json(found), found.text)
    return Exit.DONE


async def add_template(ctx: Context, args: argparse.Namespace) -> int:
    from memory.personas import NewTemplate

    new = NewTemplate(args.template, read_text(args.text))
    room = await ctx.unlock()
    try:
        made = await room.personas.add_template(new)
    except ValueError:
        raise UsageError(_NOT_STORED, _HOW) from None
    ctx.emit(as_json(made), _("Saved: {template}", template=line(made)))
    return Exit.DONE


async def edit_template(ctx: Context, args: argparse.Namespace) -> int:
    from memory.personas import NewTemplate

    text = None if args.text is None else read_text(args.text)
    room = await ctx.unlock()
    old = await room.personas.template(args.template)
    new = NewTemplate(old.name if args.name is None else args.name, old.text if text is None else text)
    try:
        made = await room.personas.change_template(old.id, new)
    except ValueError:
        raise UsageError(_NOT_STORED, _HOW) from None
    ctx.emit(as_json(made), _("Changed: {template}", template=line(made)))
    return Exit.DONE


async def remove_template(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    found = await room.personas.template(args.template)
    ctx.confirm(_("Remove the template “{name}”?", name=found.name))
    gone = await room.personas.remove_template(found.id)
    ctx.emit(as_json(gone), _("Removed: {name}", name=gone.name))
    return Exit.DONE


async def fill_template(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.services.personas import filled, variables

    values = dict(given.split("=", 1) for given in args.values if "=" in given)
    if len(values) < len(args.values):
        raise UsageError(
            _("A value has no variable."), _("Use VARIABLE=VALUE, in quotes if it contains spaces.")
        )
    room = await ctx.unlock()
    found = await room.personas.template(args.template)
    missing = [name for name in variables(found.text) if name not in values]
    if missing:
        raise UsageError(
            _("No value for: {names}.", names=", ".join(missing)), _("Use VARIABLE=VALUE for each.")
        )
    text = filled(found.text, values)
    ctx.emit({"name": found.name, "text": text}, text)
    return Exit.DONE
