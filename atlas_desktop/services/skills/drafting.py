"""Drafts skills in the background from what the user said, and notes which skills helped."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import pairwise

from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.events import Replied
from atlas_desktop.services.skills.library import SkillService
from atlas_desktop.settings.schema import MemorySettings
from memory.entities import Message, MessageStatus, RoomKind
from memory.jobs.queue import Job
from memory.jobs.runner import Duty
from memory.learning.learner import may_learn
from memory.memories.entities import MemoryFilter, MemoryKind, MemoryState
from memory.recall.entities import QueryVectors
from memory.recall.words import confirms, content_words
from memory.skills.drafting import (
    SAME_REQUEST,
    SAME_WORDS,
    Request,
    is_remark,
    is_request,
    of_memory,
    of_requests,
    repeated,
)
from memory.skills.entities import NewSkill, Verdict
from memory.storage.store import Store
from models.messages import Role

KIND = "draft_skills"
_DAILY = timedelta(days=1)
_SESSIONS = 100
"""The latest conversations that are looked at."""
_MESSAGES = 200
"""The latest messages of each that are read."""
_REQUESTS = 300
_HOW_TO = MemoryFilter(states=frozenset({MemoryState.KEPT}), kinds=frozenset({MemoryKind.PROCEDURE}))


class SkillDrafter:
    """Drafts skills of one room once a day. Registers its job and its hook with `background`."""

    def __init__(
        self,
        store: Store,
        background: BackgroundService,
        skills: SkillService,
        vectors: QueryVectors,
        settings: Callable[[], MemorySettings],
    ) -> None:
        self._store = store
        self._background = background
        self._skills = skills
        self._vectors = vectors
        self._settings = settings
        if store.room is not RoomKind.OFF_RECORD:
            background.register(KIND, self._run)
            background.register_duty(Duty("drafts of skills", _DAILY, KIND))
        background.register_hook(self.after_reply)

    async def after_reply(self, replied: Replied) -> None:
        """Counts the skill of the reply before as helpful if the user agreed with it."""
        if not any(part.tier == "skill" for part in replied.context):
            return
        branch = await self._store.branch(replied.session.id, replied.message.id, newest=3)
        if len(branch) < 3 or not confirms(branch[1].content):
            return
        before = branch[0].id
        used = (await self._store.skills.used_in([before])).get(before, ())
        if used and all(one.verdict is None for one in used):
            await self._store.skills.judge(before, Verdict.HELPED)

    async def draft(self) -> int:
        """Proposes skills, and returns how many."""
        if self._settings().learn == "off":
            return 0
        known = {one.name for one in await self._store.skills.list()}
        used = await self._store.skills.drafted_from()
        made = 0
        for memory in await self._store.memories.select(_HOW_TO):
            await self._background.gate.checkpoint()
            if memory.id not in used:
                made += await self._proposed(of_memory(memory, known), known)
        requests = [one for one in await self._requests() if one.message not in used]
        for group in await self._repeated(requests):
            await self._background.gate.checkpoint()
            made += await self._proposed(of_requests(group, known), known)
        return made

    async def _run(self, _job: Job) -> None:
        await self.draft()

    async def _proposed(self, new: NewSkill | None, known: set[str]) -> bool:
        if new is None or await self._store.skills.was_rejected([one.id for one in new.sources]):
            return False
        await self._skills.propose(new)
        known.add(new.name)
        return True

    # --- requests ---------------------------------------------------------------------------------

    async def _requests(self) -> list[Request]:
        """Returns requests whose replies were kept, oldest first."""
        found: list[Request] = []
        for session in await self._store.list_sessions(limit=_SESSIONS):
            await self._background.gate.checkpoint()
            if may_learn(session.memory_mode):
                found += await self._of_session(await self._store.branch(session.id, newest=_MESSAGES))
        found.sort(key=lambda one: one.message)
        return found[-_REQUESTS:]

    async def _of_session(self, branch: Sequence[Message]) -> list[Request]:
        found = []
        for at, (said, reply) in enumerate(pairwise(branch)):
            if said.role is not Role.USER or not is_request(said.content):
                continue
            if reply.role is not Role.ASSISTANT or reply.status is not MessageStatus.COMPLETE:
                continue
            if not await self._kept(said, reply):
                continue
            later = [one for one in branch[at + 2 :] if one.role is Role.USER][:2]
            remarks = tuple((one.id, one.content) for one in later if is_remark(one.content))
            found.append(Request(said.id, said.session_id, said.content, remarks))
        return found

    async def _kept(self, said: Message, reply: Message) -> bool:
        """Whether neither the message was edited nor the reply made again."""
        return len(await self._store.variants(said.id)) == 1 == len(await self._store.variants(reply.id))

    async def _repeated(self, requests: Sequence[Request]) -> list[tuple[Request, ...]]:
        if len(requests) < 2:
            return []
        stems = await self._store.evidence.stems_of([one.text for one in requests])
        words = {one.message: frozenset(content_words(own)) for one, own in zip(requests, stems, strict=True)}
        vectors: dict[str, Sequence[float]] = {}
        for one in requests:
            await self._background.gate.checkpoint()
            vector = await self._vectors.vector(one.text)
            if vector is None:
                vectors.clear()
                break
            vectors[one.message] = vector.numbers

        def alike(a: Request, b: Request) -> bool:
            if vectors:
                pairs = zip(vectors[a.message], vectors[b.message], strict=True)
                return sum(x * y for x, y in pairs) >= SAME_REQUEST
            both = words[a.message] | words[b.message]
            return len(words[a.message] & words[b.message]) >= SAME_WORDS * len(both)

        return repeated(requests, alike)
