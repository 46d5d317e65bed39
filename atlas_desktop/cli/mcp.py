"""`atlas mcp`: the MCP server, for one program on standard input and output, or over HTTP."""

import argparse
import os
from typing import Any

from atlas_desktop.cli import serve as endpoint
from atlas_desktop.cli.context import Context, read_secret
from atlas_desktop.errors import DoorRefused, Exit, UsageError
from atlas_desktop.locale import _

TOKEN = "ATLAS_CLIENT_TOKEN"  # noqa: S105 - the name of a variable


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
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
    endpoint.add_address_options(parser)
    parser.set_defaults(handler=mcp, exclusive=True, hand_over=prepare, token="")


def prepare(args: argparse.Namespace) -> bool:
    """Reads the token in this process, because another has different variables and files."""
    args.token = _token(args)
    return not args.http


def _token(args: argparse.Namespace) -> str:
    return (read_secret(args.token_file) if args.token_file else os.environ.get(TOKEN, "")).strip()


async def mcp(ctx: Context, args: argparse.Namespace) -> int:
    if args.http:
        return await endpoint.listen(ctx, args, "/mcp")
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
