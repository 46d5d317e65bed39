"""`atlas serve`, `atlas mcp` and `atlas clients`: let other programs use the models and the memory.

The endpoint is for programs on this computer. The MCP server is for one program, on standard input and output
or over HTTP. Each program is a client with a token and scopes.
"""

import argparse
import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from atlas_desktop import phrases as phrases
from atlas_desktop.cli import output
from atlas_desktop.cli.ask import on_interrupt
from atlas_desktop.cli.context import Context, command_group, dumps, read_secret, unchanged
from atlas_desktop.errors import Declined, DoorRefused, Exit, UsageError
from atlas_desktop.locale import _
from memory.clients import RATE, NewClient, Scope

PORT = 8642
TOKEN = "ATLAS_CLIENT_TOKEN"  # noqa: S105 - the name of a variable


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    parser = subparsers.add_parser(
        "serve",
        parents=[common],
        help=_("let other programs use your models and memory"),
        description=_(
            "Let other programs on this computer use your models and memory, through an interface like "
            "OpenAI's. Each needs a token: see `atlas clients`."
        ),
    )
    add_address_options(parser)
    parser.set_defaults(handler=serve, exclusive=True)


def add_address_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options for the address to listen on."""
    parser.add_argument("--host", metavar="HOST", default="127.0.0.1", help=_("an address of this computer"))
    parser.add_argument("--port", metavar="N", type=int, default=PORT, help=_("default: {port}", port=PORT))
    parser.add_argument("--socket", metavar="PATH", help=_("listen on a Unix socket instead"))


def _path(given: str) -> Path:
    return Path(given).expanduser().absolute()


def explained(error: BaseException) -> str:
    """Returns the message of an error of background work."""
    from atlas_desktop.error_table import explain

    words = explain(error)
    return f"{words.title}: {words.message}"


async def serve(ctx: Context, args: argparse.Namespace) -> int:
    return await listen(ctx, args, "/v1")


async def listen(ctx: Context, args: argparse.Namespace, base: str) -> int:
    """Serves other programs until a signal arrives. `base` is the path shown to the user."""
    from atlas_desktop.serve.listening import listen_at, listen_on

    path = None if args.socket is None else _path(args.socket)
    # A wrong address is reported before a passphrase is asked for.
    listening = listen_on(args.host, args.port) if path is None else listen_at(path)
    try:
        room = await ctx.unlock()
        ctx.tell_damage(room)
        from atlas_desktop.cli.handing_over import answer
        from atlas_desktop.serve.app import Doors
        from atlas_desktop.serve.listening import HomeSocket

        doors = Doors(ctx.desk, room)
        commands = HomeSocket(ctx.paths, lambda exchange: answer(ctx.desk, exchange))
        await room.recall.load()
        room.recall.start(lambda error: ctx.note(explained(error)))
        room.background.start(lambda error: ctx.note(explained(error)))
        ended = asyncio.Event()
        with on_interrupt(lambda _number: ended.set()):
            url = await doors.open(listening, path)
            await commands.start()
            print(dumps({"listening": url + base if path is None else url}), file=sys.stderr, flush=True)
            try:
                await ended.wait()
            finally:
                await commands.stop()
                await doors.close()
    finally:
        listening.close()
    return Exit.DONE


# --- the MCP server ---------------------------------------------------------------------------------


def register_mcp(subparsers: Any, common: argparse.ArgumentParser) -> None:
    parser = subparsers.add_parser(
        "mcp",
        parents=[common],
        help=_("serve one program over the Model Context Protocol"),
        description=_(
            "Serve a program over the Model Context Protocol, on standard input and output. The token of the "
            "client is read from ATLAS_CLIENT_TOKEN or --token-file."
        ),
    )
    parser.add_argument("--client", metavar="NAME", help=_("the client, as added with `atlas clients add`"))
    parser.add_argument("--token-file", metavar="FILE", help=_("read the client's token from FILE"))
    parser.add_argument("--http", action="store_true", help=_("serve over HTTP instead, at /mcp"))
    add_address_options(parser)
    parser.set_defaults(handler=mcp, exclusive=True, hand_over=prepare, token="")


def prepare(args: argparse.Namespace) -> bool:
    """Reads the token in this process, because another has different variables and files."""
    args.token = _token(args)
    return not args.http


def _token(args: argparse.Namespace) -> str:
    return (read_secret(args.token_file) if args.token_file else os.environ.get(TOKEN, "")).strip()


async def mcp(ctx: Context, args: argparse.Namespace) -> int:
    if args.http:
        return await listen(ctx, args, "/mcp")
    if not args.client:
        raise UsageError(
            _("The client is missing."), _("Use --client NAME; `atlas clients list` lists them.")
        )
    token = args.token if ctx.shared else _token(args)
    room = await ctx.unlock()
    client = await room.clients.authenticate(token, name=(await room.clients.get(args.client)).name)
    if client is None:
        raise DoorRefused("wrong_token" if token else "no_token_given", 401)
    ctx.tell_damage(room)
    await room.recall.load()
    from atlas_desktop.serve.access import ClientAccess
    from atlas_desktop.serve.mcp_server import serve_lines, serve_stdio
    from atlas_desktop.serve.server import quiet

    quiet()
    access = ClientAccess(room, client)
    await (serve_lines(access, ctx.lines(), ctx.write) if ctx.shared else serve_stdio(access))
    return Exit.DONE


# --- the clients -------------------------------------------------------------------------------------


def register_clients(subparsers: Any, common: argparse.ArgumentParser) -> None:
    add = command_group(
        subparsers, common, "clients", _("manage the programs that may ask Atlas"), hand_over=unchanged
    )

    new = add("add", add_client, _("add a program and show its token, once"))
    new.add_argument("name", metavar="NAME", help=_("letters, digits, `.`, `_` and `-`"))
    new.add_argument(
        "--scopes",
        metavar="SCOPE,…",
        required=True,
        help=_("what it may do: {scopes}", scopes=", ".join(Scope)),
    )
    new.add_argument("--project", metavar="P", help=_("it sees this project and nothing else"))
    new.add_argument(
        "--rate",
        metavar="N",
        type=int,
        default=RATE,
        help=_("at most N requests a minute (default: {rate})", rate=RATE),
    )
    add("list", list_clients, _("list the programs")).add_argument(
        "--revoked", action="store_true", help=_("also those that may not ask any more")
    )
    add("revoke", revoke, _("refuse a program's token from now on"), hand_over=agreed_to_revoke).add_argument(
        "client", metavar="NAME"
    )
    log = add("log", show_log, _("show who asked for what kind of thing, and how much"))
    log.add_argument("client", metavar="NAME", nargs="?")
    log.add_argument("-n", dest="limit", metavar="N", type=int, default=100, help=_("at most N entries"))


async def add_client(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.services.clients import scopes_of

    scopes = scopes_of(args.scopes)
    room = await ctx.unlock()
    if ctx.shared and (ctx.consent is None or not await ctx.consent(args.name, scopes)):
        raise Declined
    client, token = await room.clients.add(NewClient(args.name, scopes, args.project, args.rate))
    ctx.emit(
        {**output.client(client), "client": client.name, "token": token},
        lambda: "\n".join([token, "", _("This is shown once. Give it to {name} only.", name=client.name)]),
    )
    return Exit.DONE


async def list_clients(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    found = await room.clients.list(revoked=args.revoked)
    none = _("No programs yet. Add one: `atlas clients add NAME --scopes chat,recall`.")
    ctx.emit(
        [output.client(one) for one in found], lambda: "\n".join(map(phrases.client_line, found)) or none
    )
    return Exit.DONE


def agreed_to_revoke(args: argparse.Namespace) -> bool:
    """Asks in this process, because the one that answers has another terminal. Raises as `confirm` does."""
    Context.from_args(args).confirm(_("Refuse the token of {name} from now on?", name=args.client))
    return True


async def revoke(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    client = await room.clients.get(args.client)
    if not ctx.shared:
        ctx.confirm(_("Refuse the token of {name} from now on?", name=client.name))
    await room.clients.revoke(client.id)
    ctx.emit({"revoked": client.name}, lambda: _("{name} may not ask any more.", name=client.name))
    return Exit.DONE


async def show_log(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    found = await room.clients.log(args.client, limit=max(1, args.limit))
    ctx.emit(
        [output.access(one) for one in found],
        lambda: "\n".join(map(phrases.access_line, found)) or _("No requests yet."),
    )
    return Exit.DONE
