"""Notes which memories served in a reply: brought back, cited by it, confirmed or opened by the person."""

from atlas_desktop.services.events import Replied
from memory.entities import Message, Session
from memory.knowledge.entities import UseKind
from memory.ports import SessionStore
from memory.recall.citing import cited, confirms
from models.messages import Role


class UsefulnessService:
    """Of one room. Being brought back alone strengthens nothing."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        # What the newest reply of each session cited; who agrees with the next words confirms it.
        self._cited: dict[str, tuple[str, list[str]]] = {}

    async def after_reply(self, replied: Replied) -> None:
        """Raises what storage raises."""
        said = await self._asked(replied)
        await self._confirm(replied.session, said)
        recalled = [hit.id for hit in replied.recalled if hit.kind == "memory"]
        if recalled:
            await self._note(recalled, replied, UseKind.RECALLED)
        # What stands in the profile is in every prompt; it serves when it is cited.
        profile = [one for part in replied.context if part.tier == "profile" for one in part.ids]
        memories = await self._store.memories.get_many([*recalled, *profile])
        if not memories:
            return
        asked, reply, *texts = await self._store.evidence.stems_of(
            [said, replied.message.content, *(memory.text for memory in memories)]
        )
        used = [
            memory.id
            for memory, stems in zip(memories, texts, strict=True)
            if cited(stems, frozenset(asked), frozenset(reply))
        ]
        if used:
            self._cited[replied.session.id] = replied.message.id, used
            await self._note(used, replied, UseKind.CITED)

    async def opened(self, memory_id: str, reply: Message) -> None:
        """The person went from a reply to a memory that was told for it. Raises what storage raises."""
        await self._use([memory_id], reply.id, reply.session_id, UseKind.OPENED)

    async def _asked(self, replied: Replied) -> str:
        branch = await self._store.branch(replied.session.id, replied.message.id, newest=2)
        return next((message.content for message in branch if message.role is Role.USER), "")

    async def _confirm(self, session: Session, said: str) -> None:
        reply_id, ids = self._cited.pop(session.id, ("", []))
        if ids and confirms(said):
            await self._use(ids, reply_id, session.id, UseKind.CONFIRMED)

    async def _note(self, ids: list[str], replied: Replied, how: UseKind) -> None:
        await self._use(ids, replied.message.id, replied.session.id, how)

    async def _use(self, ids: list[str], reply_id: str, session_id: str, how: UseKind) -> None:
        await self._store.memories.use(ids, reply_id=reply_id, session_id=session_id, how=how)
