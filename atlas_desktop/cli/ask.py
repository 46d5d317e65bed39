"""`atlas ask`: one message, one reply."""

import argparse
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import output
from atlas_desktop.cli.context import Context, given_text
from atlas_desktop.cli.turns import (
    add_turn_options,
    attachments_of,
    for_new_session,
    on_interrupt,
    open_for,
    options_for,
    refuse_what_is_for_new_sessions,
    written_out,
)
from atlas_desktop.errors import Exit, UsageError
from atlas_desktop.locale import _

if TYPE_CHECKING:
    from atlas_desktop.services.events import Replied
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.services.turns import Turn, TurnOptions


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    parser = subparsers.add_parser(
        "ask",
        parents=[common],
        help=_("send one message and print the reply"),
        description=_(
            "Send one message and print the reply. The session is saved unless you use --memory off."
        ),
    )
    parser.add_argument("text", metavar="TEXT", help=_("the message; `-` reads it from standard input"))
    add_turn_options(parser)
    parser.add_argument(
        "--split",
        action="store_true",
        help=_("send a text that is too long in parts, with the full text of attached files first"),
    )
    parser.set_defaults(handler=ask, exclusive=True, hand_over=prepare)


def prepare(args: argparse.Namespace) -> bool:
    """Makes the arguments mean the same in another process; returns False where that cannot be."""
    if args.memory == "off" or args.model:
        return False
    args.text = given_text(args.text)
    args.system = None if args.system is None else _absolute(args.system)
    args.attach = [_absolute(name) for name in args.attach]
    return True


def _absolute(name: str) -> str:
    return str(Path(name).absolute())


async def ask(ctx: Context, args: argparse.Namespace) -> int:
    text = args.text if ctx.shared else given_text(args.text)
    if not text.strip():
        raise UsageError(_("The message is empty."), _("Give a text, or `-` to read it from standard input."))
    refuse_what_is_for_new_sessions(args)
    attached = await attachments_of(args.attach)
    room = await open_for(ctx, args)
    ctx.tell_damage(room)
    session = None if args.session == "new" else args.session
    options = await for_new_session(ctx, room, options_for(ctx, args), args)
    if not args.split:
        return await answer(ctx, room, [text], session, replace(options, attachments=attached))
    # The files are sent in full then. The question comes last, next to the reply.
    whole = "\n\n".join(filter(None, [written_out(attached), text]))
    parts = await room.chat.in_parts(whole, session=session, options=options)
    return await answer(ctx, room, parts, session, options)


async def answer(
    ctx: Context, room: "RoomServices", parts: "Sequence[str]", session: str | None, options: "TurnOptions"
) -> int:
    """Sends a message, in parts if it is too long for one, and prints the reply to the last of them."""
    from atlas_desktop.services.turns import part_options
    from models.messages import StopReason

    for number, part in enumerate(parts, 1):
        turn = room.chat.turn(part, session=session, options=part_options(options, number, len(parts)))
        done = await _run(ctx, turn, show=number == len(parts))
        session = done.session.id
        if done.completion.stop_reason is StopReason.CANCELLED:
            break
        if number < len(parts):
            ctx.note(_("Sent part {number} of {count}.", number=number, count=len(parts)))
    ctx.emit(output.reply(done), "\n" if not done.message.content.endswith("\n") else "")
    return Exit.INTERRUPTED if done.completion.stop_reason is StopReason.CANCELLED else Exit.DONE


async def _run(ctx: Context, turn: "Turn", *, show: bool) -> "Replied":
    """Runs a turn and returns its final event. With `show`, prints the text as it arrives."""
    from atlas_desktop.services.events import Delta, Notice, Replied

    done: Replied | None = None
    with (ctx.interrupts or on_interrupt)(lambda _number: turn.stop()):
        # Close this before the room: the reply must be saved even if the reader exits early (`| head`).
        async with aclosing(aiter(turn)) as events:
            async for event in events:
                if isinstance(event, Delta) and show and not ctx.json:
                    ctx.write(event.text, end="")
                elif isinstance(event, Notice):
                    ctx.note(event.text)
                elif isinstance(event, Replied):
                    done = event
    if done is None:
        raise RuntimeError("the turn ended without a final event")
    return done
