"""`atlas templates`: prompts to fill in, by name."""

import argparse
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli.context import Context
from atlas_desktop.cli.personas import read_text
from atlas_desktop.errors import Exit, UsageError

if TYPE_CHECKING:
    from memory.personas import Template

_NOT_STORED = "A name and a text are needed."
_HOW = "Give both; `-` reads the text from standard input."


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    group = subparsers.add_parser("templates", parents=[common], help="prompts with {variables}, by name")
    commands = group.add_subparsers(dest="templates_command", required=True, metavar="COMMAND")

    def add(name: str, handler: Any, text: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = commands.add_parser(
            name, parents=[common], help=text, description=f"{text[0].upper()}{text[1:]}."
        )
        parser.set_defaults(handler=handler, exclusive=True)
        return parser

    add("list", list_templates, "list templates")
    add("show", show, "print one").add_argument("template", metavar="NAME")
    new = add("add", add_template, "keep a prompt under a name")
    new.add_argument("template", metavar="NAME")
    new.add_argument("text", metavar="TEXT", help="with {variables} to be asked for; `-` reads it")
    edit = add("edit", edit_template, "change a template")
    edit.add_argument("template", metavar="NAME")
    edit.add_argument("--name", metavar="NAME", help="its new name")
    edit.add_argument("--text", metavar="TEXT", help="its new text; `-` reads it")
    add("remove", remove_template, "remove a template").add_argument("template", metavar="NAME")
    fill = add("fill", fill_template, "print one with its variables filled in")
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
    none = "There are none yet: `atlas templates add NAME TEXT`."
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
    ctx.emit(as_json(made), f"Kept: {line(made)}")
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
    ctx.emit(as_json(made), f"Changed: {line(made)}")
    return Exit.DONE


async def remove_template(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    found = await room.personas.template(args.template)
    ctx.confirm(f"Remove the template “{found.name}”?")
    gone = await room.personas.remove_template(found.id)
    ctx.emit(as_json(gone), f"Removed: {gone.name}")
    return Exit.DONE


async def fill_template(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.services.personas import filled, variables

    values = dict(given.split("=", 1) for given in args.values if "=" in given)
    if len(values) < len(args.values):
        raise UsageError(
            "A value has no variable.", "Write VARIABLE=VALUE, in quotes where there are spaces."
        )
    room = await ctx.unlock()
    found = await room.personas.template(args.template)
    missing = [name for name in variables(found.text) if name not in values]
    if missing:
        raise UsageError(f"No value is given for: {', '.join(missing)}.", "Write VARIABLE=VALUE for each.")
    text = filled(found.text, values)
    ctx.emit({"name": found.name, "text": text}, text)
    return Exit.DONE
