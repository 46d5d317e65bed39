"""The commands of `atlas chat` about what is remembered."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import memory_shapes as shapes
from atlas_desktop.cli.context import dumps
from atlas_desktop.explain import UsageError

if TYPE_CHECKING:
    from atlas_desktop.cli.chat import Conversation
    from memory.knowledge.entities import Memory

Command = Callable[[str], Awaitable[None]]
_SHOWN = 10


class MemoryCommands:
    """Of one conversation; in its room."""

    def __init__(self, talk: "Conversation") -> None:
        self._talk = talk

    def by_name(self) -> dict[str, Command]:
        return {"/memories": self.memories, "/remember": self.remember, "/pin": self.pin, "/why": self.why}

    async def memories(self, rest: str) -> None:
        """/memories [WORDS]: what is remembered (with these words), pinned memories first."""
        from memory.knowledge.entities import MemoryFilter

        found = await self._talk.room.knowledge.select(MemoryFilter(containing=rest), limit=_SHOWN)
        text = "\n".join(map(shapes.line, found)) or "Nothing is remembered that fits."
        await self._tell("memories", text, found)

    async def remember(self, rest: str) -> None:
        """/remember TEXT: keep this at once, in your words."""
        project = await self._learning_in()
        try:
            made = await self._talk.room.learning.remember(
                rest, project=project, session_id=self._talk.session
            )
        except ValueError as error:
            raise UsageError(
                f"That cannot be remembered: {error}.", "Write /remember followed by a sentence."
            ) from None
        await self._tell("remembered", f"Remembered: {made.text}", [made])

    async def pin(self, rest: str) -> None:
        """/pin [ID|last]: always tell the model this memory (the one that was learned last)."""
        made = await self._talk.room.knowledge.pin_latest(rest)
        if made is None:
            raise UsageError("Nothing has been learned yet.", "/remember keeps something at once.")
        await self._tell("pinned", f"Pinned: {made.text}", [made])

    async def why(self, rest: str) -> None:
        """/why [ID]: where the last reply (or a memory, a message) comes from, and what else there was."""
        from atlas_desktop.cli import why

        talk = self._talk
        service = talk.room.why
        found = await (service.why(rest) if rest else service.of_last_reply(talk.begun()))
        if talk.ctx.json:
            told = {"type": "notice", "code": "why", "text": why.described(found), "why": why.as_json(found)}
            print(dumps(told), flush=True)
        else:
            talk.tell("why", why.described(found))

    async def _learning_in(self) -> str | None:
        """The project that is talked in. Raises `UsageError` where nothing is added to memory."""
        talk = self._talk
        mode, project = talk.options.memory_mode, talk.options.project
        if talk.session is not None:
            session = await talk.room.store.get_session(talk.session)
            mode, project = session.memory_mode, session.project
        if mode not in (None, "normal"):
            raise UsageError(
                "This conversation adds nothing to memory.", "/normal lets it; then /remember again."
            )
        return project

    async def _tell(self, code: str, text: str, memories: "list[Memory]") -> None:
        talk = self._talk
        if not talk.ctx.json:
            talk.tell(code, text)
            return
        views = await talk.room.knowledge.views(memories)
        event: dict[str, Any] = {"type": "notice", "code": code, "text": text, "session": talk.session}
        print(dumps({**event, "memories": [shapes.memory(view) for view in views]}), flush=True)
