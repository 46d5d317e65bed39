"""`atlas serve` and `atlas mcp`: let other programs use the models and the memory.

The endpoint is for programs on this computer. The MCP server is for one program, on standard input and output
or over HTTP.
"""

import argparse
import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from atlas_desktop.cli.ask import on_interrupt
from atlas_desktop.cli.context import Context, dumps, read_secret
from atlas_desktop.errors import DoorRefused, Exit, UsageError
from atlas_desktop.locale import _

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
        from models.messages import Lane

        doors = Doors(ctx.desk, room, Lane.CHAT)
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
