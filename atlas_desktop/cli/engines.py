"""`atlas engines`: other model servers that Atlas may use for chat and search."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlas_desktop import phrases
from atlas_desktop.cli import output
from atlas_desktop.cli.context import Context, command_group
from atlas_desktop.errors import Exit, UsageError
from atlas_desktop.locale import _

if TYPE_CHECKING:
    from atlas_desktop.services.engines import Engine
    from models.engines.spec import EngineReport

_LARGEST_KEY_FILE = 8192


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    add = command_group(subparsers, common, "engines", _("manage other model servers, such as Ollama"))

    new = add("add", add_engine, _("add a server that answers, or change its address or key"))
    new.add_argument("name", metavar="NAME", help=_("letters, digits, `.`, `_` and `-`"))
    new.add_argument("--url", metavar="URL", required=True, help=_("for example http://127.0.0.1:11434"))
    new.add_argument("--key-file", metavar="FILE", help=_("read the server's key from FILE"))
    new.add_argument("--model", metavar="M", default="", help=_("the model to try; default: the first"))
    add("list", list_engines, _("list the servers"), exclusive=False)
    test = add("probe", probe, _("test what a server can do"), exclusive=False)
    test.add_argument("name", metavar="NAME")
    test.add_argument("--model", metavar="M", default="", help=_("the model to try; default: the first"))
    add("remove", remove, _("remove a server and its key")).add_argument("name", metavar="NAME")


async def add_engine(ctx: Context, args: argparse.Namespace) -> int:
    from memory.errors import RoomClosed
    from models.engines.spec import is_local

    engines = ctx.desk.engines
    url = engines.checked_url(args.name, args.url)
    key = None if args.key_file is None else _read_key(args.key_file)
    local = is_local(url)
    if not local:
        ctx.confirm(phrases.before_leaving(args.name, url))
    given = {"key": key, "model": args.model, "allowed": not local}
    try:
        engine, report = await engines.add(args.name, url, **given)
    except RoomClosed:
        # Without a keyring, the key is kept in the open room.
        await ctx.unlock()
        engine, report = await engines.add(args.name, url, **given)
    _tell(ctx, engine, report)
    return Exit.DONE


async def list_engines(ctx: Context, _args: argparse.Namespace) -> int:
    found, models = ctx.desk.engines.list(), ctx.desk.settings.models
    chosen = {"chat": models.chat_engine, "embed": models.embed_engine}
    none = _("No engines yet. Add one: `atlas engines add NAME --url URL`.")
    ctx.emit(
        [output.engine(one, chosen) for one in found],
        lambda: "\n".join(phrases.engine_line(one, chosen) for one in found) or none,
    )
    return Exit.DONE


async def probe(ctx: Context, args: argparse.Namespace) -> int:
    engines = ctx.desk.engines
    engine = engines.get(args.name)
    if engine.key_in == "room":
        await ctx.unlock()
    _tell(ctx, engine, await engines.probe(args.name, args.model))
    return Exit.DONE


def _tell(ctx: Context, engine: "Engine", report: "EngineReport") -> None:
    ctx.emit(output.engine_report(engine, report), lambda: phrases.engine_report_text(engine, report))


async def remove(ctx: Context, args: argparse.Namespace) -> int:
    engine = ctx.desk.engines.get(args.name)
    ctx.confirm(_("Remove {name}?", name=engine.name))
    if engine.key_in == "room":
        await ctx.unlock()
    await ctx.desk.engines.remove(engine.name)
    ctx.emit({"removed": engine.name}, lambda: _("{name} removed.", name=engine.name))
    return Exit.DONE


def _read_key(name: str) -> str:
    """Returns the content of a file that contains a key. Raises `UsageError`."""
    try:
        found = Path(name).expanduser().read_bytes()[: _LARGEST_KEY_FILE + 1]
    except OSError as error:
        raise UsageError(
            _("Cannot read {path}: {reason}.", path=Path(name).name, reason=error.strerror),
            _("Check the path."),
        ) from None
    return found.decode("utf-8", "replace")
