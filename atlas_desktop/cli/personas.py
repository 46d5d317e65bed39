"""`atlas personas`: named instructions for the model."""

import argparse
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli.context import Context, command_group, given_text
from atlas_desktop.errors import Exit, UsageError
from atlas_desktop.locale import _

if TYPE_CHECKING:
    from memory.personas import Persona

_NOT_STORED = _("A name and instructions are required.")
_HOW = _("Give both; `-` reads the instructions from standard input.")


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    add = command_group(subparsers, common, "personas", _("manage instructions for the model"))

    add("list", list_personas, _("list personas"))
    add("show", show, _("print a persona with its instructions")).add_argument("persona", metavar="NAME")
    new = add("add", add_persona, _("save a persona"))
    new.add_argument("persona", metavar="NAME")
    new.add_argument("text", metavar="TEXT", help=_("the instructions; `-` reads them from standard input"))
    _options(new)
    edit = add("edit", edit_persona, _("change a persona; sessions that already use it stay as they are"))
    edit.add_argument("persona", metavar="NAME")
    edit.add_argument("--name", metavar="NAME", help=_("its new name"))
    edit.add_argument("--text", metavar="TEXT", help=_("its new instructions; `-` reads standard input"))
    _options(edit)
    add("remove", remove_persona, _("remove a persona")).add_argument("persona", metavar="NAME")


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", metavar="M", help=_("its model; empty: the model in use"))
    parser.add_argument("--temperature", metavar="T", type=float, help=_("its temperature"))


def as_json(value: "Persona") -> dict[str, Any]:
    return {
        "id": value.id,
        "name": value.name,
        "system_prompt": value.system_prompt,
        "model": value.model,
        "temperature": value.temperature,
        "created_at": value.created_at.isoformat(),
        "updated_at": value.updated_at.isoformat(),
    }


def line(value: "Persona") -> str:
    """A persona in one line."""
    asks = [_("model {model}", model=value.model)] if value.model else []
    if value.temperature is not None:
        asks.append(_("temperature {temperature:g}", temperature=value.temperature))
    first = " ".join(value.system_prompt.split())
    short = first if len(first) <= 70 else f"{first[:69].rstrip()}…"
    asked = f" ({', '.join(asks)})" if asks else ""
    return f"{value.name}{asked}: {short}"


def read_text(given: str) -> str:
    """The text from the command line, or from standard input."""
    return given_text(given)


async def list_personas(ctx: Context, _args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    found = await room.personas.personas()
    none = _("No personas yet. Add one: `atlas personas add NAME TEXT`.")
    ctx.emit([as_json(one) for one in found], lambda: "\n".join(map(line, found)) or none)
    return Exit.DONE


async def show(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    found = await room.personas.persona(args.persona)
    ctx.emit(as_json(found), f"{line(found)}\n\n{found.system_prompt}")
    return Exit.DONE


async def add_persona(ctx: Context, args: argparse.Namespace) -> int:
    from memory.personas import NewPersona

    new = NewPersona(args.persona, read_text(args.text), args.model or None, _heat(args.temperature))
    room = await ctx.unlock()
    try:
        made = await room.personas.add(new)
    except ValueError:
        raise UsageError(_NOT_STORED, _HOW) from None
    ctx.emit(as_json(made), _("Saved: {persona}", persona=line(made)))
    return Exit.DONE


async def edit_persona(ctx: Context, args: argparse.Namespace) -> int:
    from memory.personas import NewPersona

    text = None if args.text is None else read_text(args.text)
    room = await ctx.unlock()
    old = await room.personas.persona(args.persona)
    new = NewPersona(
        old.name if args.name is None else args.name,
        old.system_prompt if text is None else text,
        old.model if args.model is None else args.model or None,
        old.temperature if args.temperature is None else _heat(args.temperature),
    )
    try:
        made = await room.personas.change(old.id, new)
    except ValueError:
        raise UsageError(_NOT_STORED, _HOW) from None
    ctx.emit(as_json(made), _("Changed: {persona}", persona=line(made)))
    return Exit.DONE


async def remove_persona(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    found = await room.personas.persona(args.persona)
    ctx.confirm(_("Remove the persona “{name}”?", name=found.name))
    gone = await room.personas.remove(found.id)
    ctx.emit(as_json(gone), _("Removed: {name}", name=gone.name))
    return Exit.DONE


def _heat(given: float | None) -> float | None:
    if given is not None and not 0 <= given < 1e9:  # also refuses nan
        raise UsageError(_("Invalid temperature: {temperature}.", temperature=given), _("Use 0 or more."))
    return given
