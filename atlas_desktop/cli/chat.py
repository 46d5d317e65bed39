"""`atlas chat`: a conversation line by line, for plain terminals and for programs."""

import argparse
import json
import shlex
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import shapes
from atlas_desktop.cli.context import Context, dumps
from atlas_desktop.cli.lines import Lines, whole
from atlas_desktop.cli.turns import (
    add_turn_options,
    attachments_of,
    on_interrupt,
    open_for,
    options_for,
    refuse_what_is_for_new_sessions,
    with_persona,
)
from atlas_desktop.explain import Exit, UsageError, explain
from atlas_desktop.services.cleaning import clean
from memory.errors import StorageFull

if TYPE_CHECKING:
    from atlas_desktop.services.room import OpenRoom
    from atlas_desktop.services.sessions import SessionView
    from atlas_desktop.services.turn import Turn, TurnOptions
    from memory.attachments.entities import NewAttachment
    from memory.context.beginning import Compaction
    from memory.lifecycle.forgetting import Target

_WORDS = {"exit": "/quit", "quit": "/quit", "!help": "/help", "!clear": "/new", "!save": "/save"}


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    parser = subparsers.add_parser(
        "chat",
        parents=[common],
        help="talk line by line",
        description="Talk line by line: text in, streamed text out. `/help` lists the commands.",
    )
    add_turn_options(parser)
    parser.add_argument("--jsonl", action="store_true", help="one JSON object a line, in and out")
    parser.set_defaults(handler=chat, exclusive=True)


async def chat(ctx: Context, args: argparse.Namespace) -> int:
    refuse_what_is_for_new_sessions(args)
    attached = await attachments_of(args.attach)
    room = await open_for(ctx, args)
    options = await with_persona(ctx, room, options_for(ctx, args), args)
    session = None if args.session == "new" else (await room.store.get_session(args.session)).id
    talk = Conversation(ctx, room, options, session, attached=list(attached))
    # Lines that a program sends follow one another at once: what is due is done between them.
    scripted = not sys.stdin.isatty()
    room.recall.start(talk.report)
    if not scripted:
        room.background.start(talk.report)
    if not ctx.json and sys.stdin.isatty():
        ctx.note("Ctrl-C stops a reply, Ctrl-D ends. /help lists the commands.")
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
            # It is done when there is space again; the talk goes on.
            with suppress(StorageFull):
                await talk.room.background.run()
    return Exit.DONE


@dataclass(slots=True)
class Conversation:
    """The state of one `atlas chat`: which session is talked in, and whether it is over.

    `attached` goes to the session with the next words. `stopped` says whether the newest reply was stopped.
    """

    ctx: Context
    room: "OpenRoom"
    options: "TurnOptions"
    session: str | None
    attached: "list[NewAttachment]" = field(default_factory=list)
    ended: bool = False
    stopped: bool = False
    to_forget: "Target | None" = None
    commands: dict[str, Callable[[str], Awaitable[None]]] = field(init=False)

    def __post_init__(self) -> None:
        from atlas_desktop.cli.chat_commands import ChatCommands

        self.commands = ChatCommands(self).by_name()
        self.room.epochs.on_compaction = self._compacted

    # --- rooms ------------------------------------------------------------------------------------

    @property
    def rooms(self) -> "Sequence[OpenRoom]":
        """Those that are open, the present one among them."""
        return self.ctx.opened or [self.room]

    def enter(self, room: "OpenRoom") -> None:
        """Goes on in another room that is open."""
        self.room = room
        room.epochs.on_compaction = self._compacted
        room.recall.start(self.report)
        if sys.stdin.isatty():
            room.background.start(self.report)

    async def go_to(self, ref: str) -> "SessionView":
        """The session of an id, wherever it is, and its room."""
        if len(self.rooms) > 1:
            room, session = await self.ctx.desk.rooms.find(ref)
            self.enter(room)
            ref = session.id
        return await self.room.sessions.view(ref)

    # --- lines ------------------------------------------------------------------------------------

    async def take(self, line: str, number: int = 1) -> None:
        """Does what one line says. Errors are printed; the conversation goes on."""
        try:
            text, command = self._understand(whole(line, where=f"line {number}"))
            whole(text, where=f"line {number}")
            if command:
                name, rest, *_ = (*command.split(maxsplit=1), "", "")
                await self._command(name)(rest.strip())
            elif text.strip():
                await self.say(text)
        except Exception as error:  # noqa: BLE001 - every error has its words, and the talk goes on
            self.report(error)

    def _understand(self, line: str) -> tuple[str, str]:
        """(what was said, the command): one of the two is empty."""
        if self.ctx.json and line.lstrip().startswith("{"):
            try:
                given = json.loads(line)
            except (json.JSONDecodeError, RecursionError) as error:
                why = error.msg if isinstance(error, json.JSONDecodeError) else "it is nested too deeply"
                raise UsageError(
                    f"That line is not JSON: {why}.", 'Send {"say": "…"} or plain text.'
                ) from None
            say, command = given.get("say", ""), given.get("command", "")
            if not isinstance(say, str) or not isinstance(command, str) or not (say or command):
                raise UsageError("The line says nothing.", 'Send {"say": "…"} or {"command": "/…"}.')
            return say, command
        word = _WORDS.get(line.strip(), "")
        if word or line.startswith("/"):
            return "", word or line.strip()
        return line, ""

    def _command(self, name: str) -> Callable[[str], Awaitable[None]]:
        act = self.commands.get(name)
        if act is None:
            raise UsageError(f"There is no command {shlex.quote(name)}.", "/help lists the commands.")
        return act

    # --- turns ------------------------------------------------------------------------------------

    async def say(self, text: str) -> None:
        """Says something, with what is attached and not said yet."""
        options = replace(self.options, attachments=tuple(self.attached))
        await self.run(self.room.chat.turn(text, session=self.session, options=options))

    async def run(self, turn: "Turn") -> None:
        """Runs a turn and prints what it tells. Ctrl-C ends the reply, which is kept."""
        from atlas_desktop.services.events import Accepted, Delta, Notice

        def stop(number: int) -> None:
            turn.stop()
            self.stopped = True
            # A polite kill ends the conversation too, once the reply is saved.
            self.ended = self.ended or number == signal.SIGTERM

        self.stopped = False
        with on_interrupt(stop):
            async with aclosing(self.room.background.attend(turn)) as events:
                async for event in events:
                    if isinstance(event, Accepted):
                        self.session = event.session.id
                        self.attached.clear()
                    if self.ctx.json:
                        print(dumps(shapes.event(event)), flush=True)
                    elif isinstance(event, Delta):
                        print(event.text, end="", flush=True)
                    elif isinstance(event, Notice):
                        self.ctx.note(event.text)
        if not self.ctx.json:
            print(flush=True)

    def begun(self) -> str:
        """The session's id. Raises `UsageError` before its first words."""
        if self.session is None:
            raise UsageError("This session has not begun.", "Say something first.")
        return self.session

    async def remind(self) -> None:
        """Shows what the session was about when it rests for a while. The model is not told."""
        session = (await self.room.sessions.view(self.begun())).session
        found = await self.room.continuity.reminder(session)
        if found is not None:
            self.tell("last_time", f"Last time ({found.last.astimezone():%Y-%m-%d %H:%M}): {found.text}")

    # --- output -----------------------------------------------------------------------------------

    def tell(self, code: str, text: str) -> None:
        if self.ctx.json:
            print(dumps({"type": "notice", "code": code, "text": text, "session": self.session}), flush=True)
        else:
            print(clean(text), flush=True)

    def _compacted(self, made: "Compaction") -> None:
        from atlas_desktop.services.events import compaction_notice

        if made.session_id == self.session:
            notice = compaction_notice(made)
            if self.ctx.json:
                self.tell(notice.code, notice.text)
            else:
                self.ctx.note(notice.text)

    def report(self, error: BaseException) -> None:
        """Prints an error as its words."""
        words = explain(error)
        if self.ctx.json:
            print(dumps({"type": "error", **words.as_json()}), flush=True)
        else:
            self.ctx.note(f"{words.title}: {words.message}\n{words.next_step}")
