"""What can be done in `atlas chat` besides talking: the commands that begin with a slash."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from atlas_desktop.cli import context_shapes, forgetting
from atlas_desktop.cli.chat_memories import MemoryCommands
from atlas_desktop.cli.chat_rooms import RoomCommands
from atlas_desktop.cli.chat_tools import ToolCommands
from atlas_desktop.cli.context import dumps
from atlas_desktop.cli.context_commands import compaction_text
from atlas_desktop.cli.finding import marked
from atlas_desktop.explain import UsageError

if TYPE_CHECKING:
    from atlas_desktop.cli.chat import Conversation
    from memory.entities import Message

Command = Callable[[str], Awaitable[None]]


class ChatCommands:
    """The commands of one conversation; each takes the rest of its line, and its docstring is its help."""

    def __init__(self, talk: "Conversation") -> None:
        self._talk = talk

    def by_name(self) -> dict[str, Command]:
        return {
            "/help": self.help,
            "/new": self.new,
            "/sessions": self.sessions,
            "/resume": self.resume,
            "/rename": self.rename,
            "/regenerate": self.regenerate,
            "/edit": self.edit,
            "/continue": self.go_on,
            "/fork": self.fork,
            "/split": self.split,
            "/context": self.context,
            "/summarise": self.summarise,
            "/important": self.important,
            "/forget": self.forget,
            **MemoryCommands(self._talk).by_name(),
            **RoomCommands(self._talk).by_name(),
            **ToolCommands(self._talk).by_name(),
            "/save": self.save,
            "/quit": self.quit,
        }

    async def help(self, _rest: str) -> None:
        """/help: list the commands."""
        docs = [act.__doc__ or "" for act in self.by_name().values()]
        self._talk.tell("help", "\n".join(doc for doc in docs if doc))

    # --- sessions ---------------------------------------------------------------------------------

    async def new(self, _rest: str) -> None:
        """/new (or !clear): begin a new session; the old one is kept."""
        self._talk.session = None
        self._talk.tell("new", "A new session begins with your next words.")

    async def sessions(self, _rest: str) -> None:
        """/sessions: list the latest sessions."""
        found = [s for room in self._talk.rooms for s in await room.sessions.recent(limit=10)]
        found = sorted(found, key=lambda s: s.updated_at, reverse=True)[:10]
        self._talk.tell("sessions", "\n".join(f"{s.id}  {marked(s)}" for s in found) or "There are none yet.")

    async def resume(self, rest: str) -> None:
        """/resume ID|last: go on with an earlier session."""
        view = await self._talk.go_to(rest or "last")
        self._talk.session = view.session.id
        self._talk.tell("resumed", f"{view.session.title} ({len(view.messages)} messages)")
        await self._talk.remind()

    async def rename(self, rest: str) -> None:
        """/rename TITLE: name this session."""
        try:
            session = await self._talk.room.sessions.rename(self._talk.begun(), rest)
        except ValueError:
            raise UsageError("A title is needed.", "Write /rename followed by the title.") from None
        self._talk.tell("renamed", session.title)

    async def fork(self, rest: str) -> None:
        """/fork [TITLE]: go on in a copy of this session, which stays as it is."""
        session = await self._talk.room.sessions.fork(self._talk.begun(), title=rest)
        self._talk.session = session.id
        self._talk.tell("forked", f"{session.title} ({session.message_count} messages)")

    # --- turns ------------------------------------------------------------------------------------

    async def regenerate(self, _rest: str) -> None:
        """/regenerate: answer my newest message again; the earlier answer is kept."""
        talk = self._talk
        await talk.run(talk.room.chat.regenerate(talk.begun(), options=talk.options))

    async def go_on(self, _rest: str) -> None:
        """/continue: go on with the newest reply, which was stopped or cut, from its last word."""
        talk = self._talk
        view = await talk.room.branches.open(talk.begun(), newest=1)
        newest = view.newest[-1] if view.newest else None
        whole = newest is None or (newest.status == "complete" and newest.stop_reason != "length")
        if newest is None or newest.role != "assistant" or whole or not newest.content.strip():
            raise UsageError("The newest reply is whole.", "/regenerate asks for another one.")
        await talk.run(talk.room.chat.go_on(talk.begun(), newest.id, options=talk.options))

    async def edit(self, rest: str) -> None:
        """/edit TEXT: say this in the place of my newest message; the old words and their answer are kept."""
        talk = self._talk
        if not rest:
            raise UsageError("The new words are needed.", "Write /edit followed by them.")
        newest = await self._newest()
        await talk.run(talk.room.chat.edit(talk.begun(), newest.id, rest, options=talk.options))

    async def split(self, rest: str) -> None:
        """/split [TEXT]: say a long text (or my newest message, if it was too long) in parts that fit."""
        from atlas_desktop.services.parts import part_options

        talk = self._talk
        chat = talk.room.chat
        # The first part of what did not fit takes its place.
        whole = None if rest else await self._newest()
        parts = await chat.in_parts(
            rest if whole is None else whole.content, session=talk.session, options=talk.options
        )
        if whole is not None and len(parts) < 2:
            raise UsageError("Your newest message fits as it is.", "Write /split followed by a long text.")
        for number, part in enumerate(parts, 1):
            options = part_options(talk.options, number, len(parts))
            if number == 1 and whole is not None:
                turn = chat.edit(talk.begun(), whole.id, part, options=options)
            else:
                turn = chat.turn(part, session=talk.session, options=options)
            await talk.run(turn)
            if talk.stopped:
                return

    # --- context ----------------------------------------------------------------------------------

    async def context(self, _rest: str) -> None:
        """/context: what the model is given next, by tier, and its exact words."""
        from atlas_desktop.services.meter import meter, next_prompt

        talk = self._talk
        view = await talk.room.chat.context.view(talk.begun(), reply=talk.options.params.max_tokens)
        assert view is not None
        if talk.ctx.json:
            print(dumps({"type": "context", **context_shapes.context(view)}), flush=True)
        else:
            talk.tell("context", f"{meter(view)}\n\n{next_prompt(view)}")

    async def summarise(self, _rest: str) -> None:
        """/summarise: summarise all but the newest messages now."""
        made = await self._talk.room.epochs.summarise_now(self._talk.begun())
        self._talk.tell("compacted", compaction_text(made))

    async def important(self, rest: str) -> None:
        """/important [last|ID]: keep a message (your newest) in sight longest."""
        await self._talk.room.sessions.mark_important(self._talk.begun(), rest or "last")
        self._talk.tell("important", "The message is marked as important.")

    # --- forgetting -------------------------------------------------------------------------------

    async def forget(self, rest: str) -> None:
        """/forget last|this|ID: say what would go with my newest words, this session or anything with an id;
        /forget yes then erases it for good."""
        await forgetting.forget_in_chat(self._talk, rest)

    # --- the conversation itself ------------------------------------------------------------------

    async def save(self, _rest: str) -> None:
        """/save (or !save): nothing to do, every word is saved as it comes."""
        kept = "Nothing is saved here: this conversation is off the record. /keep saves it."
        off = self._talk.room.store.room == "off"
        self._talk.tell("saved", kept if off else "Everything is saved already.")

    async def quit(self, _rest: str) -> None:
        """/quit (or exit, quit): end."""
        self._talk.ended = True

    async def _newest(self) -> "Message":
        """The person's newest message. Raises `UsageError` when there is none."""
        view = await self._talk.room.sessions.view(self._talk.begun())
        found = next((m for m in reversed(view.messages) if m.role == "user"), None)
        if found is None:
            raise UsageError("You have said nothing here yet.", "Say something first.")
        return found
