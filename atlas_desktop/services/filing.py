"""Categories and suggested tags, found in the background: by meaning, and by the tags that a person gave."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.events import Replied
from atlas_desktop.setting_types import SessionSettings
from memory.background import Duty
from memory.entities import MemoryMode, MessageStatus, RoomKind
from memory.jobs import Job, Priority
from memory.organising.entities import Filed
from memory.ports import SessionStore
from models.ports import Embedder

if TYPE_CHECKING:
    from memory.organising.tagging import Tagger

KIND = "file"
ALL = "all"
BATCH = 50
"""Sessions that are looked at between two turns."""
MOST_TAGGED = 1000
"""Tagged sessions that are learned from, the latest used ones."""
LATEST = 500
"""Sessions for which tags are suggested once a day."""
_PASSAGE = 1200


class FilingService:
    """Of one room. `embedder` is asked for each time; without one nothing is filed, and tags go by words.

    `complete` makes the vectors that are missing.
    """

    def __init__(
        self,
        store: SessionStore,
        embedder: Callable[[], Embedder | None],
        background: BackgroundService,
        settings: Callable[[], SessionSettings],
        complete: Callable[[], Awaitable[None]],
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._background = background
        self._settings = settings
        self._complete = complete
        self._categories: tuple[str, Mapping[str, Sequence[Sequence[float]]]] | None = None
        background.register(KIND, self._file)
        # What is off the record has no tomorrow.
        if store.room is not RoomKind.OFF_RECORD:
            background.register_duty(Duty("categories and tags", timedelta(days=1), KIND))
            background.register_hook(self.after_reply)

    async def after_reply(self, replied: Replied) -> None:
        """Looks at a session when it begins, and again each time it has grown to twice its length."""
        session = replied.session
        if not self._wanted or replied.message.status is not MessageStatus.COMPLETE:
            return
        turns = session.message_count // 2
        if session.memory_mode in (MemoryMode.NORMAL, MemoryMode.READS) and turns & (turns - 1) == 0:
            await self._background.add(
                KIND,
                session.id,
                session_id=session.id,
                payload={"session": session.id},
                priority=Priority.LOW,
            )

    @property
    def _wanted(self) -> bool:
        return self._settings().categories or self._settings().suggest_tags

    async def _file(self, job: Job) -> None:
        session = job.payload.get("session")
        if session is not None:
            await self._look_at([session], await self._tagger())
            return
        if not self._wanted:
            return
        await self._complete()
        tagger = await self._tagger()
        while found := await self._store.organising.to_file(limit=BATCH):
            await self._look_at(found, tagger)
            if self._embedder() is None or not self._settings().categories:
                break
        if tagger is not None:
            latest = [one.id for one in await self._store.list_sessions(limit=LATEST)]
            for at in range(0, len(latest), BATCH):
                await self._suggest(latest[at : at + BATCH], tagger)

    async def _look_at(self, session_ids: Sequence[str], tagger: "Tagger | None") -> None:
        await self._background.gate.checkpoint()
        categories = await self._known_categories()
        if categories is not None:
            model, known = categories
            for one in await self._store.organising.filed(model, session_ids=session_ids):
                if not one.locked:
                    await self._categorise(one, known)
        if tagger is not None:
            await self._suggest(session_ids, tagger)

    async def _categorise(self, filed: Filed, known: Mapping[str, Sequence[Sequence[float]]]) -> None:
        import numpy as np

        from memory.organising.categories import nearest

        vector = await self._vector(filed)
        # One without a word is not looked at again until it has grown.
        category = "" if vector is None else nearest(np.frombuffer(vector, dtype="<f4"), known)
        await self._store.organising.file(filed.session_id, category)

    async def _suggest(self, session_ids: Sequence[str], tagger: "Tagger") -> None:
        await self._background.gate.checkpoint()
        model = await self._model()
        found = await self._store.organising.filed(model, session_ids=session_ids)
        scores = await asyncio.to_thread(lambda: [tagger.suggest(one) for one in found])
        for one, suggested in zip(found, scores, strict=True):
            await self._store.organising.suggest(one.session_id, suggested)

    async def _tagger(self) -> "Tagger | None":
        """What has been learned of the person's own tags; None when there are none."""
        if not self._settings().suggest_tags:
            return None
        from memory.organising.tagging import Tagger

        model, tagged = await self._model(), list[Filed]()
        for offset in range(0, MOST_TAGGED, BATCH):
            await self._background.gate.checkpoint()
            found = await self._store.organising.filed(model, tagged=True, limit=BATCH, offset=offset)
            tagged += found
            if len(found) < BATCH:
                break
        return await asyncio.to_thread(Tagger, tagged) if tagged else None

    async def _vector(self, filed: Filed) -> bytes | None:
        """The session's; of one whose messages have none yet, that of its first words."""
        embedder = self._embedder()
        if filed.vector is not None or embedder is None or not filed.words.strip():
            return filed.vector
        from memory.vectors.embedding import packed

        return packed((await embedder.embed([filed.words[:_PASSAGE]]))[0])

    async def _known_categories(self) -> tuple[str, Mapping[str, Sequence[Sequence[float]]]] | None:
        """The embedding model's fingerprint, and the examples of each category as vectors."""
        embedder = self._embedder()
        if embedder is None or not self._settings().categories:
            return None
        from memory.organising.categories import examples

        model = await embedder.embedding_fingerprint()
        if self._categories is None or self._categories[0] != model:
            known = {name: await embedder.embed(list(texts)) for name, texts in examples().items()}
            self._categories = model, known
        return self._categories

    async def _model(self) -> str | None:
        embedder = self._embedder()
        return None if embedder is None else await embedder.embedding_fingerprint()
