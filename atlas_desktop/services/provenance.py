"""Why something is known and was or was not given to the model, from stored records and other mentions."""

from collections.abc import Sequence
from dataclasses import dataclass

from atlas_desktop.services.recall import RecallService
from memory.clock import Clock
from memory.context.entities import Outcome, RecallDecision
from memory.documents.entities import StoredPassage
from memory.entities import Message
from memory.errors import AmbiguousId, MemoryNotFound, MessageNotFound, SummaryNotFound
from memory.memories.entities import Memory, MemorySource, MemoryState, MemoryUse
from memory.memories.lifetime import in_use
from memory.organising import Backlink
from memory.recall.entities import Hit, RecallQuery
from memory.skills.entities import UsedSkill
from memory.storage.store import Store
from models.messages import Role

MENTIONS = 5
MENTIONED = "mentioned"
"""The kind of link to a session about the same subject."""
_LOOKED_AT = 30
_NEAR, _NEAR_BY_WORDS = 0.5, 0.4
"""With at least this cosine, or this share of its words, a passage counts as being about the same subject."""


@dataclass(frozen=True, slots=True)
class Item:
    """An item that was considered for a reply, with its current text.

    `text` is empty if the item is no longer in this room. `session` and `said` are its origin: a message
    itself, the first message that a memory was learned from, or the session of a summary. They are empty and
    None if the origin is gone or never existed.
    """

    considered: RecallDecision
    text: str
    session: str = ""
    said: Message | None = None


@dataclass(frozen=True, slots=True)
class Looked:
    """A reply for which an item was considered, and the outcome."""

    reply: str
    considered: RecallDecision


@dataclass(frozen=True, slots=True)
class Why:
    """The origin of a memory, message or reply; `kind` is which of them it is.

    `sources` are the user's messages behind a memory, `memories` those learned from a message, `mentions` the
    best passage of each other session about the same subject. `looked` are replies for which it was
    considered, `uses` those in which it was used. `told` are the items from memory in a reply's prompt,
    `left_out` the others that were considered. `profile` are the memories of the profile that the prompt
    began with, `skills` those that it used, `passages` those of documents and notes that came with the
    message, and `shown` is how many messages were in it verbatim. `hidden` is the reason why a memory is no
    longer found; empty if it is.
    """

    id: str
    kind: str
    text: str
    memory: Memory | None = None
    message: Message | None = None
    sources: tuple[tuple[MemorySource, Message | None], ...] = ()
    memories: tuple[Memory, ...] = ()
    mentions: tuple[Hit, ...] = ()
    looked: tuple[Looked, ...] = ()
    uses: tuple[MemoryUse, ...] = ()
    told: tuple[Item, ...] = ()
    left_out: tuple[Item, ...] = ()
    profile: tuple[Memory, ...] = ()
    skills: tuple[UsedSkill, ...] = ()
    passages: tuple[StoredPassage, ...] = ()
    shown: int = 0
    hidden: str = ""


class ProvenanceService:
    """Provenance of the content of one room."""

    def __init__(self, store: Store, recall: RecallService, clock: Clock) -> None:
        self._store = store
        self._recall = recall
        self._clock = clock

    async def why(self, ref: str) -> Why:
        """Returns the provenance of a memory, a message or a reply, by its id or a unique prefix of one.

        Raises `MemoryNotFound` if nothing has that ID, `AmbiguousId`, and what the store raises.
        """
        try:
            return await self._of_memory(await self._store.memories.get(ref))
        except MemoryNotFound:
            return await self._of_message(await self._message(ref))

    async def of_last_reply(self, session: str) -> Why:
        """Returns the provenance of a session's last reply. Raises `MessageNotFound` when there is none."""
        branch = await self._store.branch((await self._store.get_session(session)).id)
        reply = next((one for one in reversed(branch) if one.role is Role.ASSISTANT), None)
        if reply is None:
            raise MessageNotFound(session)
        return await self._of_message(reply)

    async def links(self, why: Why) -> list[Backlink]:
        """Returns the sessions linked to a memory or a message.

        These are the sessions where it was learned or used, and those that mention the same.
        """
        found = list(await self._store.links.backlinks(why.id)) if why.memory is not None else []
        there = {one.session_id for one in found}
        for hit in why.mentions:
            source = hit.source
            if source.session is not None and source.session not in there:
                title = (await self._store.get_session(source.session)).title
                message = source.message or hit.id
                found.append(Backlink(source.session, title, MENTIONED, message, source.created_at, 1))
        return found

    async def _message(self, ref: str) -> Message:
        found = await self._recall.messages(ref.strip().lower())
        if not found:
            raise MemoryNotFound(ref)
        if len(found) > 1:
            raise AmbiguousId(ref, len(found))
        return await self._get(found[0])

    async def _get(self, message_id: str) -> Message:
        variants = await self._store.variants(message_id)
        return next(one for one in variants if one.id == message_id)

    async def _of_memory(self, memory: Memory) -> Why:
        sources: list[tuple[MemorySource, Message | None]] = []
        for source in await self._store.memories.sources(memory.id):
            try:
                sources.append((source, await self._get(source.message_id)))
            except MessageNotFound:
                sources.append((source, None))
        return Why(
            memory.id,
            "memory",
            memory.text,
            memory=memory,
            sources=tuple(sources),
            mentions=await self._mentions(memory.text, [source.session_id for source, _ in sources]),
            looked=await self._looked(memory.id),
            uses=tuple(await self._store.memories.uses(memory.id)),
            hidden=self._hidden(memory),
        )

    async def _of_message(self, message: Message) -> Why:
        context = self._store.context
        record = await context.turn(message.id)
        found = [await self._item(one) for one in await context.considered(message.id)]
        parts = record.parts if record else ()
        shown = sum(len(part.ids) for part in parts if part.tier == "recent")
        profile = [one for part in parts if part.tier == "profile" for one in part.ids]
        return Why(
            message.id,
            "message" if record is None else "reply",
            message.content,
            message=message,
            memories=tuple(await self._store.memories.learned_from([message.id])),
            mentions=await self._mentions(message.content, [message.session_id]),
            looked=await self._looked(message.id),
            told=tuple(item for item in found if item.considered.outcome is Outcome.TOLD),
            left_out=tuple(item for item in found if item.considered.outcome is not Outcome.TOLD),
            profile=tuple(await self._store.memories.get_many(profile)),
            skills=(await self._store.skills.used_in([message.id])).get(message.id, ()),
            passages=() if record is None else await self._passages(message),
            shown=shown,
        )

    async def _passages(self, reply: Message) -> tuple[StoredPassage, ...]:
        stored = await self._store.documents.passages(reply.session_id)
        return tuple(one for one in stored if one.message == reply.parent_id)

    async def _mentions(self, text: str, but: Sequence[str]) -> tuple[Hit, ...]:
        """Returns the best message about the same subject from each other session."""
        hits = await self._recall.recall(
            RecallQuery(text, k=_LOOKED_AT, exclude_sessions=but, everywhere=True)
        )
        best: dict[str | None, Hit] = {}
        for hit in hits:
            near = hit.grounds.cosine is not None and hit.grounds.cosine >= _NEAR
            if near or hit.grounds.words >= _NEAR_BY_WORDS:
                best.setdefault(hit.source.session, hit)
        return tuple(best.values())[:MENTIONS]

    async def _looked(self, item: str) -> tuple[Looked, ...]:
        return tuple(Looked(reply, one) for reply, one in await self._store.context.considered_in(item))

    async def _item(self, one: RecallDecision) -> Item:
        if one.kind == "memory":
            memories = await self._store.memories.get_many([one.id])
            said = await self._first_said(memories[0]) if memories else None
            return Item(
                one,
                "".join(memory.text for memory in memories),
                session="" if said is None else said.session_id,
                said=said,
            )
        try:
            if one.kind == "summary":
                summary = await self._store.context.summary(one.id)
                return Item(one, summary.text, session=summary.session_id)
            said = await self._get(one.id)
            return Item(one, said.content, session=said.session_id, said=said)
        except (MessageNotFound, SummaryNotFound):
            return Item(one, "")

    async def _first_said(self, memory: Memory) -> Message | None:
        for source in await self._store.memories.sources(memory.id):
            try:
                return await self._get(source.message_id)
            except MessageNotFound:
                continue
        return None

    def _hidden(self, memory: Memory) -> str:
        """Returns superseded, archived, rejected, expired or unapproved; empty if the memory is found."""
        if memory.state in {MemoryState.SUPERSEDED, MemoryState.ARCHIVED, MemoryState.REJECTED}:
            return memory.state.value
        if memory.expires_at is not None and memory.expires_at <= self._clock.now():
            return "expired"
        if not in_use(memory):
            return "unapproved"
        return ""
