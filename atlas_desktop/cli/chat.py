"""`atlas chat`: a conversation line by line, for plain terminals and for programs."""

import argparse
import sys
from contextlib import suppress
from itertools import count
from typing import Any

from atlas_desktop.cli.context import Context, Lines
from atlas_desktop.cli.conversation import Conversation
from atlas_desktop.cli.turns import (
    add_turn_options,
    attachments_of,
    for_new_session,
    open_for,
    options_for,
    refuse_what_is_for_new_sessions,
)
from atlas_desktop.errors import Exit
from atlas_desktop.locale import _
from memory.errors import StorageFull


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    parser = subparsers.add_parser(
        "chat",
        parents=[common],
        help=_("chat line by line"),
        description=_("Chat line by line: text in, streamed text out. `/help` lists the commands."),
    )
    add_turn_options(parser)
    parser.add_argument("--jsonl", action="store_true", help=_("one JSON object per line, in and out"))
    parser.set_defaults(handler=chat, exclusive=True)


async def chat(ctx: Context, args: argparse.Namespace) -> int:
    # Imported here to keep printing the help fast.
    from atlas_desktop.cli.chat_commands import ChatCommands

    refuse_what_is_for_new_sessions(args)
    attached = await attachments_of(args.attach)
    room = await open_for(ctx, args)
    options = await for_new_session(ctx, room, options_for(ctx, args), args)
    session = None if args.session == "new" else (await room.store.get_session(args.session)).id
    talk = Conversation(ctx, room, options, session, attached=list(attached))
    talk.commands = ChatCommands(talk).by_name()
    # A program sends its lines without pauses, so due jobs run between them.
    scripted = not sys.stdin.isatty()
    room.recall.start(talk.report)
    if not scripted:
        room.background.start(talk.report)
    if not ctx.json and sys.stdin.isatty():
        ctx.note(_("Ctrl-C stops a reply, Ctrl-D quits. /help lists the commands."))
    if session is not None:
        await talk.remind()
    lines = Lines(prompt=not ctx.json)
    for number in count(1):
        line = None if talk.ended else await lines.next()
        if line is None:
            break
        ctx.desk.rooms.used()
        await talk.take(line, number)
        if scripted and ctx.desk.settings.jobs.enabled:
            # The jobs run once there is space again; the conversation continues.
            with suppress(StorageFull):
                await talk.room.background.run()
    return Exit.DONE
