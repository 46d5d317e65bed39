"""`atlas chat`: a conversation line by line, for plain terminals and for programs."""

import argparse
import asyncio
import json
import shlex
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import context_shapes, shapes
from atlas_desktop.cli.context import Context, dumps
from atlas_desktop.cli.context_commands import compaction_text
from atlas_desktop.cli.turns import (
    add_turn_options,
    on_interrupt,
    open_for,
    options_for,
    refuse_what_is_for_new_sessions,
    with_attachments,
)
from atlas_desktop.explain import Exit, UsageError, explain
from atlas_desktop.services.cleaning import clean

if TYPE_CHECKING:
    from atlas_desktop.services.room import OpenRoom
    from atlas_desktop.services.turn import Turn, TurnOptions

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
    room = await open_for(ctx, args)
    options = options_for(ctx, args)
    first = with_attachments("", args.attach).lstrip() if args.attach else ""
    session = None if args.session == "new" else (await room.sessions.view(args.session)).session.id
    talk = Conversation(ctx, room, options, session, pending=first)
    # Lines that a program sends follow one another at once: what is due is done between them.
    scripted = not sys.stdin.isatty()
    if not scripted:
        room.background.start(talk.report)
    if not ctx.json and sys.stdin.isatty():
        ctx.note("Ctrl-C stops a reply, Ctrl-D ends. /help lists the commands.")
    lines = Lines(prompt=not ctx.json)
    while not talk.ended:
        line = await lines.next()
        if line is None:
            break
        await talk.take(line)
        if scripted and ctx.desk.settings.jobs.enabled:
            await room.background.run()
    return Exit.DONE


class Lines:
    """Lines of standard input, read by a thread that nobody waits for.

    A thread of asyncio's own would be joined at the end, and Ctrl-C at the prompt would wait for Enter.
    """

    def __init__(self, *, prompt: bool) -> None:
        self._prompt = prompt and sys.stdin.isatty()
        self._loop = asyncio.get_running_loop()
        self._wanted = threading.Semaphore(0)
        self._found: asyncio.Queue[str | None] = asyncio.Queue()
        threading.Thread(target=self._read, name="lines", daemon=True).start()

    async def next(self) -> str | None:
        """The next line without its end, or None at the end of the input."""
        self._wanted.release()
        return await self._found.get()

    def _read(self) -> None:
        line: str | None = ""
        while line is not None:
            self._wanted.acquire()
            line = self._line()
            try:
                self._loop.call_soon_threadsafe(self._found.put_nowait, line)
            except RuntimeError:
                # The loop has ended while the person was still typing.
                return

    def _line(self) -> str | None:
        if self._prompt:
            try:
                return input("> ")
            except EOFError:
                return None
        line = sys.stdin.readline()
        return line.rstrip("\r\n") if line else None


@dataclass(slots=True)
class Conversation:
    """The state of one `atlas chat`: which session is talked in, and whether it is over."""

    ctx: Context
    room: "OpenRoom"
    options: "TurnOptions"
    session: str | None
    pending: str = ""
    ended: bool = False
    commands: dict[str, Callable[[str], Awaitable[None]]] = field(init=False)

    def __post_init__(self) -> None:
        self.commands = {
            "/help": self._help,
            "/new": self._new,
            "/sessions": self._sessions,
            "/resume": self._resume,
            "/rename": self._rename,
            "/regenerate": self._regenerate,
            "/context": self._context,
            "/summarise": self._summarise,
            "/important": self._important,
            "/save": self._save,
            "/quit": self._quit,
        }

    async def take(self, line: str) -> None:
        """Does what one line says. Errors are printed; the conversation goes on."""
        try:
            text, command = self._understand(line)
            if command:
                name, _, rest = command.partition(" ")
                await self._command(name)(rest.strip())
            elif text.strip():
                await self._say(text)
        except Exception as error:  # noqa: BLE001 - every error has its words, and the talk goes on
            self.report(error)

    def _understand(self, line: str) -> tuple[str, str]:
        """(what was said, the command): one of the two is empty."""
        if self.ctx.json and line.lstrip().startswith("{"):
            try:
                given = json.loads(line)
            except json.JSONDecodeError as error:
                raise UsageError(
                    f"That line is not JSON: {error.msg}.", 'Send {"say": "…"} or plain text.'
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

    async def _say(self, text: str) -> None:
        if self.pending:
            text, self.pending = f"{text}\n\n{self.pending}", ""
        await self._run(self.room.chat.turn(text, session=self.session, options=self.options))

    async def _regenerate(self, _rest: str) -> None:
        if self.session is None:
            raise UsageError("There is nothing to answer again yet.", "Say something first.")
        await self._run(self.room.chat.regenerate(self.session, options=self.options))

    async def _run(self, turn: "Turn") -> None:
        from atlas_desktop.services.events import Accepted, Delta, Notice

        def stop(number: int) -> None:
            turn.stop()
            # A polite kill ends the conversation too, once the reply is saved.
            self.ended = self.ended or number == signal.SIGTERM

        with on_interrupt(stop):
            async with aclosing(self.room.background.attend(turn)) as events:
                async for event in events:
                    if isinstance(event, Accepted):
                        self.session = event.session.id
                    if self.ctx.json:
                        print(dumps(shapes.event(event)), flush=True)
                    elif isinstance(event, Delta):
                        print(event.text, end="", flush=True)
                    elif isinstance(event, Notice):
                        self.ctx.note(event.text)
        if not self.ctx.json:
            print(flush=True)

    # --- commands ---------------------------------------------------------------------------------

    async def _help(self, _rest: str) -> None:
        """/help: list the commands."""
        docs = [act.__doc__ or "" for act in self.commands.values()]
        self._tell("help", "\n".join(doc for doc in docs if doc))

    async def _new(self, _rest: str) -> None:
        """/new (or !clear): begin a new session; the old one is kept."""
        self.session = None
        self._tell("new", "A new session begins with your next words.")

    async def _sessions(self, _rest: str) -> None:
        """/sessions: list the latest sessions."""
        found = await self.room.sessions.recent(limit=10)
        self._tell("sessions", "\n".join(f"{s.id}  {s.title}" for s in found) or "There are none yet.")

    async def _resume(self, rest: str) -> None:
        """/resume ID|last: go on with an earlier session."""
        view = await self.room.sessions.view(rest or "last")
        self.session = view.session.id
        self._tell("resumed", f"{view.session.title} ({len(view.messages)} messages)")

    async def _rename(self, rest: str) -> None:
        """/rename TITLE: name this session."""
        try:
            session = await self.room.sessions.rename(self._begun(), rest)
        except ValueError:
            raise UsageError("A title is needed.", "Write /rename followed by the title.") from None
        self._tell("renamed", session.title)

    async def _context(self, _rest: str) -> None:
        """/context: what the model is given next, by tier, and its exact words."""
        from atlas_desktop.services.meter import meter, next_prompt

        view = await self.room.chat.context.view(self._begun(), reply=self.options.params.max_tokens)
        assert view is not None
        if self.ctx.json:
            print(dumps({"type": "context", **context_shapes.context(view)}), flush=True)
        else:
            self._tell("context", f"{meter(view)}\n\n{next_prompt(view)}")

    async def _summarise(self, _rest: str) -> None:
        """/summarise: summarise all but the newest messages now."""
        made = await self.room.epochs.summarise_now(self._begun())
        self._tell("compacted", compaction_text(made))

    async def _important(self, rest: str) -> None:
        """/important [last|ID]: keep a message (your newest) in sight longest."""
        await self.room.sessions.mark_important(self._begun(), rest or "last")
        self._tell("important", "The message is marked as important.")

    def _begun(self) -> str:
        """The session's id. Raises `UsageError` before its first words."""
        if self.session is None:
            raise UsageError("This session has not begun.", "Say something first.")
        return self.session

    async def _save(self, _rest: str) -> None:
        """/save (or !save): nothing to do, every word is saved as it comes."""
        kept = "Nothing is saved here: this conversation is off the record."
        off = self.options.memory_mode == "off"
        self._tell("saved", kept if off else "Everything is saved already.")

    async def _quit(self, _rest: str) -> None:
        """/quit (or exit, quit): end."""
        self.ended = True

    # --- output -----------------------------------------------------------------------------------

    def _tell(self, code: str, text: str) -> None:
        if self.ctx.json:
            print(dumps({"type": "notice", "code": code, "text": text, "session": self.session}), flush=True)
        else:
            print(clean(text), flush=True)

    def report(self, error: BaseException) -> None:
        """Prints an error as its words."""
        words = explain(error)
        if self.ctx.json:
            print(dumps({"type": "error", **words.as_json()}), flush=True)
        else:
            self.ctx.note(f"{words.title}: {words.message}\n{words.next_step}")
