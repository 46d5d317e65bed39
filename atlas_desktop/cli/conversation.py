"""The conversation of one `atlas chat`: reads its lines, runs its turns, and prints what happens."""

import json
import shlex
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from atlas_desktop import phrases as phrases
from atlas_desktop.cli import output
from atlas_desktop.cli.ask import (
    on_interrupt,
)
from atlas_desktop.cli.context import Context, dumps, whole
from atlas_desktop.error_table import explain
from atlas_desktop.errors import UsageError
from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean
from memory.entities import Target

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.services.sessions import SessionView
    from atlas_desktop.services.turns import Turn, TurnOptions
    from memory.attachments import NewAttachment
    from memory.context.epochs import Compaction


Command = Callable[[str], Awaitable[None]]
_WORDS = {"exit": "/quit", "quit": "/quit", "!help": "/help", "!clear": "/new", "!save": "/save"}


@dataclass(slots=True)
class Conversation:
    """The state of one `atlas chat`: its current session, and whether the chat has ended.

    `attached` is sent with the next message. `stopped`: the latest reply was stopped.
    """

    ctx: Context
    room: "RoomServices"
    options: "TurnOptions"
    session: str | None
    attached: "list[NewAttachment]" = field(default_factory=list)
    ended: bool = False
    stopped: bool = False
    to_forget: "Target | None" = None
    commands: dict[str, Command] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.room.epochs.on_compaction = self._compacted

    # --- rooms ------------------------------------------------------------------------------------

    @property
    def rooms(self) -> "Sequence[RoomServices]":
        """The unlocked rooms, including the current one."""
        return self.ctx.opened or [self.room]

    def enter(self, room: "RoomServices") -> None:
        """Continues in another unlocked room."""
        self.room = room
        room.epochs.on_compaction = self._compacted
        room.recall.start(self.report)
        if sys.stdin.isatty():
            room.background.start(self.report)

    async def go_to(self, ref: str) -> "SessionView":
        """Finds a session by its id in any unlocked room, and enters that room."""
        if len(self.rooms) > 1:
            room, session = await self.ctx.desk.rooms.find(ref)
            self.enter(room)
            ref = session.id
        return await self.room.sessions.view(ref)

    # --- lines ------------------------------------------------------------------------------------

    async def take(self, line: str, number: int = 1) -> None:
        """Handles one line. Errors are printed; the conversation continues."""
        try:
            text, command = self._understand(whole(line, line=number))
            whole(text, line=number)
            if command:
                name, rest, *_unused = (*command.split(maxsplit=1), "", "")
                await self._command(name)(rest.strip())
            elif text.strip():
                await self.say(text)
        except Exception as error:  # noqa: BLE001 - every error is printed, and the conversation continues
            self.report(error)

    def _understand(self, line: str) -> tuple[str, str]:
        """Returns (message, command); one of the two is empty."""
        if self.ctx.json and line.lstrip().startswith("{"):
            try:
                given = json.loads(line)
            except (json.JSONDecodeError, RecursionError) as error:
                why = error.msg if isinstance(error, json.JSONDecodeError) else _("it is nested too deeply")
                raise UsageError(
                    _("The line is not valid JSON: {why}.", why=why), _('Send {"say": "…"} or plain text.')
                ) from None
            say, command = given.get("say", ""), given.get("command", "")
            if not isinstance(say, str) or not isinstance(command, str) or not (say or command):
                raise UsageError(
                    _("The line has no message or command."),
                    _('Send {"say": "…"} or {"command": "/…"}.'),
                )
            return say, command
        word = _WORDS.get(line.strip(), "")
        if word or line.startswith("/"):
            return "", word or line.strip()
        return line, ""

    def _command(self, name: str) -> Command:
        act = self.commands.get(name)
        if act is None:
            raise UsageError(
                _("Unknown command: {name}.", name=shlex.quote(name)), _("/help lists the commands.")
            )
        return act

    # --- turns ------------------------------------------------------------------------------------

    async def say(self, text: str) -> None:
        """Sends a message with the attachments that are not sent yet."""
        options = replace(self.options, attachments=tuple(self.attached))
        await self.run(self.room.chat.turn(text, session=self.session, options=options))

    async def run(self, turn: "Turn") -> None:
        """Runs a turn and prints its events. Ctrl-C stops the reply, which is kept."""
        from atlas_desktop.services.events import Accepted, Delta, Notice, Replied

        done: Replied | None = None

        def stop(number: int) -> None:
            turn.stop()
            self.stopped = True
            # SIGTERM also ends the conversation, once the reply is saved.
            self.ended = self.ended or number == signal.SIGTERM

        self.stopped = False
        with on_interrupt(stop):
            async with aclosing(aiter(turn)) as events:
                async for event in events:
                    if isinstance(event, Accepted):
                        self.session = event.session.id
                        self.attached.clear()
                    if isinstance(event, Replied):
                        done = event
                    if self.ctx.json:
                        print(dumps(output.event(event)), flush=True)
                    elif isinstance(event, Delta):
                        print(event.text, end="", flush=True)
                    elif isinstance(event, Notice):
                        self.ctx.note(event.text)
        if not self.ctx.json:
            print(flush=True)
        if done is not None and done.cited is not None:
            sources = phrases.sources_text(done.message.content, done.cited)
            if sources:
                self.ctx.note(sources)

    def begun(self) -> str:
        """The session's id. Raises `UsageError` before its first message."""
        if self.session is None:
            raise UsageError(_("This session has no messages yet."), _("Send a message first."))
        return self.session

    async def remind(self) -> None:
        """Shows what the session was about if it was not used for a while. The model does not see it."""
        session = (await self.room.sessions.view(self.begun())).session
        found = await self.room.continuity.reminder(session)
        if found is not None:
            self.tell(
                "last_time",
                _(
                    "Last time ({when:%Y-%m-%d %H:%M}): {text}",
                    when=found.last.astimezone(),
                    text=found.text,
                ),
            )

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
        """Prints an error."""
        words = explain(error)
        if self.ctx.json:
            print(dumps({"type": "error", **words.as_json()}), flush=True)
        else:
            self.ctx.note(f"{words.title}: {words.message}\n{words.next_step}")
