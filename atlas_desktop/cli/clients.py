"""`atlas clients`: the programs that may send requests to Atlas."""

import argparse
from typing import Any

from atlas_desktop import phrases as phrases
from atlas_desktop.cli import output
from atlas_desktop.cli.context import Context, command_group, unchanged
from atlas_desktop.errors import Declined, Exit
from atlas_desktop.locale import _
from memory.clients import RATE, NewClient, Scope


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
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
    add("revoke", revoke, _("refuse a program's token from now on")).add_argument("client", metavar="NAME")
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


async def revoke(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    client = await room.clients.get(args.client)
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
