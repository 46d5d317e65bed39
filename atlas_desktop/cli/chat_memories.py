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
        return {"/memories": self.memories, "/remember": self.remember, "/pin": self.pin}

    async def memories(self, rest: str) -> None:
        """/memories [WORDS]: what is remembered (with these words), pinned memories first."""
        from memory.knowledge.entities import MemoryFilter

        found = await self._talk.room.knowledge.select(MemoryFilter(containing=rest), limit=_SHOWN)
        text = "\n".join(map(shapes.line, found)) or "Nothing is remembered that fits."
        await self._tell("memories", text, found)

    async def remember(self, rest: str) -> None:
        """/remember TEXT: keep this at once, in your words."""
        await self._refuse_unless_learning()
        try:
            made = await self._talk.room.knowledge.add(rest)
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

    async def _refuse_unless_learning(self) -> None:
        talk = self._talk
        mode = talk.options.memory_mode
        if talk.session is not None:
            mode = (await talk.room.store.get_session(talk.session)).memory_mode
        if mode not in (None, "normal"):
            raise UsageError(
                "This conversation adds nothing to memory.", "/normal lets it; then /remember again."
            )

    async def _tell(self, code: str, text: str, memories: "list[Memory]") -> None:
        talk = self._talk
        if not talk.ctx.json:
            talk.tell(code, text)
            return
        views = await talk.room.knowledge.views(memories)
        event: dict[str, Any] = {"type": "notice", "code": code, "text": text, "session": talk.session}
        print(dumps({**event, "memories": [shapes.memory(view) for view in views]}), flush=True)
