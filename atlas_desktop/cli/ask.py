"""`atlas ask`: one message, one reply; and the options and Ctrl-C handling of every command with turns."""

import argparse
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import output
from atlas_desktop.cli.context import Context, given_text
from atlas_desktop.errors import Exit, UsageError
from atlas_desktop.locale import _

if TYPE_CHECKING:
    from atlas_desktop.services.events import Replied
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.services.turns import Turn, TurnOptions
    from memory.attachments import NewAttachment


TEXT_LIMIT = 1_000_000
_MODES = ("normal", "reads", "blank", "off")


def add_turn_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--session", metavar="new|last|ID", default="new", help=_("the session to use"))
    parser.add_argument(
        "--memory",
        choices=_MODES,
        help=_("normal; reads: use memories, add none; blank: neither; off: nothing is written to disk"),
    )
    parser.add_argument("--project", metavar="P", help=_("project for a new session"))
    parser.add_argument("--system", metavar="FILE", help=_("read instructions for a new session from FILE"))
    parser.add_argument(
        "--attach",
        metavar="FILE",
        action="append",
        default=[],
        help=_("attach a file: text, Markdown, code, or the text of a PDF or an office document"),
    )
    parser.add_argument("--persona", metavar="NAME", help=_("persona for a new session"))
    parser.add_argument("--max-tokens", metavar="N", type=_at_least(int, 1), help=_("maximum reply length"))
    parser.add_argument(
        "--temperature",
        metavar="T",
        type=_at_least(float, 0),
        help=_("randomness; 0 always picks the likeliest"),
    )
    parser.add_argument("--seed", metavar="N", type=int, help=_("make the random choices repeatable"))
    parser.add_argument("--model", metavar="M", help=_("an installed model, or NAME:MODEL of an engine"))


def _at_least(kind: type[int] | type[float], least: int) -> Callable[[str], float]:
    def read(text: str) -> float:
        value = kind(text)
        if not least <= value < 1e9:  # also refuses nan
            raise argparse.ArgumentTypeError(
                _("{text} is not a number of {least} or more", text=text, least=least)
            )
        return value

    read.__name__ = kind.__name__
    return read


async def open_for(ctx: Context, args: argparse.Namespace) -> "RoomServices":
    """The room for the conversation. The model's process starts while the key is derived."""
    from memory.entities import RoomKind

    desk = ctx.desk
    if args.model:
        desk.chosen_model = desk.check_model(args.model)
    if args.memory == "off":
        if args.session != "new":
            raise UsageError(
                _("Off the record works only in a new session."), _("Remove --session or --memory off.")
            )
        return await desk.enter(None, RoomKind.OFF_RECORD)
    # The turn reports model errors, after it has saved the user's message.
    import asyncio

    warming = asyncio.create_task(_warm(ctx))
    try:
        return await (ctx.unlock() if args.session == "new" else ctx.unlock_for(args.session))
    except BaseException:
        warming.cancel()
        await asyncio.gather(warming, return_exceptions=True)
        raise


async def _warm(ctx: Context) -> None:
    from models.errors import ModelsError

    try:
        await ctx.desk.model.chat.info()
    except ModelsError:
        return


def options_for(ctx: Context, args: argparse.Namespace) -> "TurnOptions":
    """The turn options from the settings, overridden by the command line."""
    from memory.entities import MemoryMode

    options = ctx.desk.turn_options()
    given = {
        name: value
        for name in ("max_tokens", "temperature", "seed")
        if (value := getattr(args, name)) is not None
    }
    return replace(
        options,
        params=replace(options.params, **given),
        memory_mode=MemoryMode(args.memory) if args.memory else None,
        system=read_text(args.system) if args.system else None,
        project=args.project,
    )


async def attachments_of(files: list[str]) -> "tuple[NewAttachment, ...]":
    """The attachments read from the files. Raises `AttachmentRefused`."""
    from atlas_desktop.services.attachments import read_attachment

    return tuple([await read_attachment(name) for name in files])


async def for_new_session(
    ctx: Context, room: "RoomServices", options: "TurnOptions", args: argparse.Namespace
) -> "TurnOptions":
    """The options with the defaults of the project and the persona of a new session applied.

    The command line takes precedence. Raises `PersonaNotFound`, `ModelNotInstalled`, `UnknownModel`.
    """
    from atlas_desktop.services.forgetting_in_rooms import persona_for
    from atlas_desktop.services.projects import ProjectDefaults

    defaults = ProjectDefaults()
    if options.project is not None and args.session == "new":
        defaults = await room.projects.defaults(options.project)
    persona = defaults.persona if not args.system else None
    if args.persona:
        persona = await persona_for(room, ctx.opened or [room], args.persona)
    model = defaults.model or (persona.model if persona is not None else None)
    if args.persona and persona is not None and persona.model:
        model = persona.model
    if model and not args.model:
        if ctx.shared:
            raise UsageError(
                _("This needs another model than the open Atlas uses."), _("Ask there, or close it first.")
            )
        ctx.desk.chosen_model = ctx.desk.check_model(model)
        await ctx.desk.switch_model()
    if options.memory_mode is None and defaults.memory_mode is not None:
        options = replace(options, memory_mode=defaults.memory_mode)
    if defaults.any:
        from atlas_desktop.phrases import defaults_line

        ctx.note(defaults_line(options.project or "", defaults))
    if persona is None:
        return options
    if persona.temperature is not None and args.temperature is None:
        options = replace(options, params=replace(options.params, temperature=persona.temperature))
    return replace(options, system=options.system or persona.system_prompt)


def written_out(attachments: "Sequence[NewAttachment]") -> str:
    """The texts of files as part of a message: each file name followed by a fenced block."""
    parts = []
    for one in attachments:
        fence = "```"
        while fence in one.text:
            fence += "`"
        parts.append(f"{one.name}:\n{fence}\n{one.text}\n{fence}")
    return "\n\n".join(parts)


def read_text(name: str) -> str:
    """Returns the text of a file of at most 1 MB. Raises `UsageError`."""
    path = Path(name)
    try:
        if path.stat().st_size > TEXT_LIMIT:
            raise UsageError(_("{name} is larger than 1 MB.", name=path.name), _("Use a smaller file."))
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError(
            _("{name} is not UTF-8 text.", name=path.name), _("Use a plain text file.")
        ) from None
    except OSError as error:
        raise UsageError(
            _("Cannot read {path}: {reason}.", path=path.name, reason=error.strerror), _("Check the path.")
        ) from None


def refuse_what_is_for_new_sessions(args: argparse.Namespace) -> None:
    """Refuses options that an existing session cannot take. Raises `UsageError`."""
    if args.session != "new" and (args.system or args.project or args.persona):
        raise UsageError(
            _("--system, --persona and --project need a new session."),
            _("Remove them, or remove --session."),
        )


@contextmanager
def on_interrupt(act: Callable[[int], None]) -> Iterator[None]:
    """Inside the block, the first SIGINT or SIGTERM calls `act` with the signal number.

    Later signals have their usual effect.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    numbers = [signal.SIGINT, signal.SIGTERM]
    before = {number: signal.getsignal(number) or signal.SIG_DFL for number in numbers}

    def handle(number: int, _frame: FrameType | None) -> None:
        restore()
        loop.call_soon_threadsafe(act, number)

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    for number in numbers:
        signal.signal(number, handle)
    try:
        yield
    finally:
        restore()


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
    """Makes the arguments independent of this process; returns False if that is impossible."""
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
    # Then the files are sent in full. The question comes last, next to the reply.
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
    if done.cited is not None:
        from atlas_desktop.phrases import sources_text

        if sources := sources_text(done.message.content, done.cited):
            ctx.note(sources)
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
