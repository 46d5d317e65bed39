"""Organises sessions: suggests tags and categories, sets marks, merges, and finds related ones."""

import asyncio
import shlex
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

from atlas_desktop.locale import _
from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.services.context import EpochService
from atlas_desktop.services.events import Replied
from atlas_desktop.services.projects import tidy_name
from atlas_desktop.settings.schema import SessionSettings
from memory.entities import CategorySource, MemoryMode, MessageStatus, RoomKind, Session
from memory.jobs.queue import Job, Priority
from memory.jobs.runner import Duty
from memory.organising import Filed, MarksPatch, Merged, Organised, SharedMemory, TagCount, TagSuggestion
from memory.recall.entities import Hit, Recall, RecallQuery
from memory.storage.store import Store
from models.ports import Embedder

if TYPE_CHECKING:
    from memory.organising import Tagger


KIND = "file"
ALL = "all"
BATCH = 50
"""Sessions processed without a pause for turns."""
MOST_TAGGED = 1000
"""How many tagged sessions to learn from, the most recently used ones."""
LATEST = 500
"""For how many sessions tags are suggested once a day."""
_PASSAGE = 1200


class FilingService:
    """Suggests tags and categories in one room.

    `embedder` is called for each use; without one, no category is set, and tags are suggested by text alone.
    `complete` makes the missing vectors.
    """

    def __init__(
        self,
        store: Store,
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
        # An off-the-record session never lives until the next daily run.
        if store.room is not RoomKind.OFF_RECORD:
            background.register_duty(Duty("categories and tags", timedelta(days=1), KIND))
            background.register_hook(self.after_reply)

    async def after_reply(self, replied: Replied) -> None:
        """Queues a session when it begins, and again each time it has doubled in length."""
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

        from memory.organising import nearest

        vector = await self._vector(filed)
        # A session without text is checked again only when it has grown.
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
        """Returns a tagger trained on the user's own tags; None if there are none."""
        if not self._settings().suggest_tags:
            return None
        from memory.organising import Tagger

        model, tagged = await self._model(), list[Filed]()
        for offset in range(0, MOST_TAGGED, BATCH):
            await self._background.gate.checkpoint()
            found = await self._store.organising.filed(model, tagged=True, limit=BATCH, offset=offset)
            tagged += found
            if len(found) < BATCH:
                break
        return await asyncio.to_thread(Tagger, tagged) if tagged else None

    async def _vector(self, filed: Filed) -> bytes | None:
        """Returns the session's vector; if its messages have none yet, the vector of its first words."""
        embedder = self._embedder()
        if filed.vector is not None or embedder is None or not filed.words.strip():
            return filed.vector
        from memory.vectors.indexing import packed

        return packed((await embedder.embed([filed.words[:_PASSAGE]]))[0])

    async def _known_categories(self) -> tuple[str, Mapping[str, Sequence[Sequence[float]]]] | None:
        """Returns the embedding model's fingerprint, and the examples of each category as vectors."""
        embedder = self._embedder()
        if embedder is None or not self._settings().categories:
            return None
        from memory.organising import examples

        model = await embedder.embedding_fingerprint()
        if self._categories is None or self._categories[0] != model:
            known = {name: await embedder.embed(list(texts)) for name, texts in examples().items()}
            self._categories = model, known
        return self._categories

    async def _model(self) -> str | None:
        embedder = self._embedder()
        return None if embedder is None else await embedder.embedding_fingerprint()


LONGEST_TAG = 40
"""Maximum characters of a tag or category."""

Told = Callable[[str], Awaitable[object]]
"""Called with a session id."""


class OrganisingService:
    """Marks, tags, categories and merging in one room.

    `remember` is called with sessions that have new content, `important` with those that became important.
    Ids are full ones. Raises `SessionNotFound`, with nothing changed.
    """

    def __init__(
        self,
        store: Store,
        background: BackgroundService,
        epochs: EpochService,
        *,
        remember: Told,
        important: Told,
    ) -> None:
        self._store = store
        self._background = background
        self._epochs = epochs
        self._remember = remember
        self._important = important

    async def apply(
        self, session_ids: Sequence[str], patch: MarksPatch, *, at: datetime | None = None
    ) -> list[Organised]:
        """Changes all sessions in one step, which `put_back` undoes. `at` is as in `OrganisingStore.apply`.

        Raises ValueError for a tag, category or project that is empty or too long.
        """
        made = await self._store.organising.apply(session_ids, tidy(patch), at=at)
        for one in made:
            if one.after.important and not one.before.important:
                await self._important(one.session_id)
        return made

    async def put_back(self, changes: Sequence[Organised]) -> list[Organised]:
        """Undoes changes, except for marks that have changed since. Returns the changes made."""
        return await self._store.organising.put_back(changes)

    async def last_changed(self) -> datetime | None:
        """Returns when the last change was made; None if none is stored."""
        return await self._store.organising.last_changed()

    async def undo_last(self) -> list[Organised]:
        """Undoes the last change, whoever made it. Returns an empty list if none is stored."""
        return await self._store.organising.undo_last()

    async def tags(self) -> list[TagCount]:
        """Returns all tags, the most used first."""
        return await self._store.organising.tags()

    async def suggestions(self, ref: str | None = None) -> list[TagSuggestion]:
        """Returns the pending tag suggestions, of one session or of all."""
        session = None if ref is None else (await self._store.get_session(ref)).id
        return await self._store.organising.suggestions(session)

    async def accept(self, session_id: str, tags: Collection[str] = ()) -> list[Organised]:
        """Gives the session suggested tags: these, or all pending ones."""
        found = tuple(one.tag for one in await self._store.organising.suggestions(session_id))
        wanted = tuple(one for one in found if not tags or one in tags)
        return await self._store.organising.apply([session_id], MarksPatch(add_tags=wanted))

    async def reject(self, session_id: str, tags: Collection[str] = ()) -> int:
        """Rejects suggestions permanently: these, or all pending ones. Returns how many."""
        wanted = tags or [one.tag for one in await self._store.organising.suggestions(session_id)]
        return await self._store.organising.reject(session_id, wanted)

    async def categorise_again(self, session_ids: Sequence[str]) -> None:
        """Lets the program choose the category of these sessions again, in the background."""
        for session_id in session_ids:
            session = await self._store.get_session(session_id)
            if session.category_source is CategorySource.PERSON:
                await self._store.organising.release(session.id)

    async def merge(self, ref: str, others: Sequence[str]) -> tuple[Session, Merged]:
        """Appends other sessions to one, the earliest created first.

        Restoring one of them from the bin takes its messages out again. No reply may be in progress in any of
        them. Raises `CannotMerge`.
        """
        target = await self._store.get_session(ref)
        found = [await self._store.get_session(one) for one in others]
        ordered = [one.id for one in sorted(found, key=lambda one: (one.created_at, one.id))]
        # A running job could store content of a session that is empty by then.
        async with self._background.stopped():
            await self._epochs.forget([target.id, *ordered])
            merged = await self._store.organising.merge(target.id, ordered)
        await self._remember(target.id)
        return await self._store.get_session(target.id), merged


def tidy(patch: MarksPatch) -> MarksPatch:
    """Returns the patch with its text cleaned. Raises ValueError for text that is empty or too long."""
    return replace(
        patch,
        add_tags=tuple(map(tidy_tag, patch.add_tags)),
        # An imported tag can have any form, and must be removable as it is.
        remove_tags=tuple(
            tag for given in patch.remove_tags for tag in (given, clean_line(given).lstrip("#"))
        ),
        category=tidy_tag(patch.category) if patch.category else patch.category,
        project=tidy_name(patch.project) if patch.project else patch.project,
    )


def tidy_tag(text: str) -> str:
    """Returns one line without a leading #. Raises ValueError when it is empty or too long."""
    tag = clean_line(text).lstrip("#").strip()
    if not tag or len(tag) > LONGEST_TAG:
        raise ValueError(_("a tag or category has 1 to {most} characters", most=LONGEST_TAG))
    return tag


def tags_patch(words: Sequence[str]) -> MarksPatch:
    """Returns the change that typed tags mean, cleaned; `-` before a tag removes it. Raises ValueError as
    `tidy` does."""
    return tidy(
        MarksPatch(
            add_tags=tuple(word for word in words if not word.startswith("-")),
            remove_tags=tuple(word[1:] for word in words if len(word) > 1 and word.startswith("-")),
        )
    )


def split_tags(line: str, *, spaces: bool = False) -> list[str]:
    """Returns the tags in a typed line: between commas, so that a tag can contain spaces, and each # begins
    one. With `spaces`, a line without commas is split at spaces. Quotes keep words together."""
    if spaces and "," not in line:
        between = None
    else:
        between = ","
        if '"' not in line and "'" not in line:
            line = line.replace(" #", ",#").replace(" -#", ",-#")
    lexer = shlex.shlex(line, posix=True)
    lexer.whitespace_split, lexer.whitespace = True, between or " \t\n"
    # The apostrophe of "mother's" is no quote.
    begins_word = any(word.startswith("'") for word in line.replace(",", " ").split())
    lexer.quotes, lexer.escape, lexer.commenters = "\"'" if begins_word else '"', "", ""
    try:
        words = list(lexer)
    except ValueError:  # A quote that does not end.
        words = line.split(between)
    return [word.strip() for word in words if word.strip()]


# --- related sessions, and a topic by month ----------------------------------------------------------

_ASKED = 400
"""Characters of the session's text that are searched for elsewhere."""
_HITS = 60
_CANDIDATES = 40
_LEAST_SCORE = 0.25
"""Sessions with a lower score are not related."""
_MEANING, _WORDS, _SHARED, _TAGS = 0.6, 0.4, 0.3, 0.1
_TOLD = 6
_MOST_HITS = 400
"""The maximum number of messages in a timeline."""
_COSINE, _SHARE = 0.35, 0.5


@dataclass(frozen=True, slots=True)
class Related:
    """A related session, and why.

    `parts` are meaning (the cosine of both subjects), words, memories and tags, each 0 … 1; `words` are those
    that both contain, the rarest first.
    """

    session: Session
    score: float
    parts: Mapping[str, float]
    words: tuple[str, ...] = field(default=(), repr=False)
    memories: tuple[SharedMemory, ...] = ()
    tags: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Month:
    """A topic in one month, such as 2026-03: messages, sessions, and the best hits."""

    month: str
    messages: int
    sessions: Mapping[str, int]
    hits: tuple[Hit, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """A topic by month. `titles` are those of all its sessions; `more`: only the best hits were counted."""

    topic: str = field(repr=False)
    months: tuple[Month, ...]
    titles: Mapping[str, str] = field(repr=False)
    more: bool = False


class RelatedService:
    """Related sessions of one room. `recall` has to be loaded before."""

    def __init__(self, store: Store, recall: Recall) -> None:
        self._store = store
        self._recall = recall

    async def related(self, ref: str, *, limit: int = 10) -> list[Related]:
        """Returns the most related sessions first; none for a session that neither uses nor adds memories."""
        session = await self._store.get_session(ref)
        if session.memory_mode in (MemoryMode.BLANK, MemoryMode.OFF):
            return []
        shared = defaultdict(list)
        for one in await self._store.links.shared(session.id):
            shared[one.session_id].append(one)
        model = await self._store.insights.vector_model()
        (own,) = await self._store.organising.filed(model, session_ids=[session.id]) or (None,)
        if own is None:
            return []
        ids = await self._candidates(own, session.id, shared)
        others = await self._store.organising.filed(model, session_ids=ids)
        scored = [one for one in _scored(own, others, shared) if one[1] >= _LEAST_SCORE]
        scored.sort(key=lambda one: (-one[1], one[0]))
        return [
            Related(await self._store.get_session(found), score, parts, words, tuple(shared[found]), tags)
            for found, score, parts, words, tags in scored[: max(limit, 0)]
        ]

    async def _candidates(
        self, own: Filed, session_id: str, shared: Mapping[str, Sequence[SharedMemory]]
    ) -> list[str]:
        hits = await self._recall.recall(
            RecallQuery(own.words[:_ASKED], k=_HITS, exclude_sessions=[session_id], everywhere=True)
        )
        found = [hit.source.session for hit in hits if hit.source.session is not None]
        return list(dict.fromkeys([*shared, *found]))[:_CANDIDATES]

    async def timeline(
        self, topic: str, *, project: str | None = None, zone: tzinfo | None = None
    ) -> Timeline:
        """Returns a topic by the months of `zone` (None: this computer's), the earliest first."""
        hits = await self._recall.recall(RecallQuery(topic, k=_MOST_HITS, project=project, everywhere=True))
        kept = [hit for hit in hits if hit.source.session is not None and _speaks(hit)]
        months: dict[str, list[Hit]] = defaultdict(list)
        for hit in kept:
            months[f"{hit.source.created_at.astimezone(zone):%Y-%m}"].append(hit)
        sessions = dict.fromkeys(hit.source.session for hit in kept)
        titles = {one: (await self._store.get_session(one)).title for one in sessions if one is not None}
        return Timeline(
            topic,
            tuple(_month(month, months[month]) for month in sorted(months)),
            titles,
            more=len(hits) == _MOST_HITS and len(kept) == _MOST_HITS,
        )


def _speaks(hit: Hit) -> bool:
    """Returns whether a message is about the topic, and is not merely the nearest one."""
    cosine = hit.grounds.cosine
    return hit.grounds.words >= _SHARE or (cosine is not None and cosine >= _COSINE)


def _month(month: str, hits: Sequence[Hit]) -> Month:
    sessions: dict[str, int] = defaultdict(int)
    for hit in hits:
        sessions[str(hit.source.session)] += 1
    ordered = sorted(sessions.items(), key=lambda one: (-one[1], one[0]))
    return Month(month, len(hits), dict(ordered), tuple(hits[:_TOLD]))


_Scored = tuple[str, float, Mapping[str, float], tuple[str, ...], tuple[str, ...]]


def _scored(
    own: Filed, others: Sequence[Filed], shared: Mapping[str, Sequence[SharedMemory]]
) -> list[_Scored]:
    import numpy as np

    from memory.organising import dot, rarity, weighed, words_of

    counts = [words_of(one.words) for one in others]
    mine = words_of(own.words)
    rare = rarity([mine, *counts])
    weights = weighed(mine, rare)
    found: list[_Scored] = []
    for one, words in zip(others, counts, strict=True):
        meaning = 0.0
        if own.vector is not None and one.vector is not None and len(own.vector) == len(one.vector):
            both = np.frombuffer(own.vector, dtype="<f4") @ np.frombuffer(one.vector, dtype="<f4")
            meaning = max(float(both), 0.0)
        common = sorted(set(mine) & set(words), key=lambda word: (-rare[word], word))
        tags = tuple(tag for tag in own.tags if tag in one.tags)
        parts = {
            "meaning": round(meaning, 4),
            "words": round(min(dot(weights, weighed(words, rare)), 1.0), 4),
            "memories": round(1 - 0.5 ** len(shared[one.session_id]) if one.session_id in shared else 0.0, 4),
            "tags": round(len(tags) / max(len(own.tags), 1), 4),
        }
        score = (
            _MEANING * parts["meaning"]
            + _WORDS * parts["words"]
            + _SHARED * parts["memories"]
            + _TAGS * parts["tags"]
        )
        found.append((one.session_id, min(score, 1.0), parts, tuple(common[:_TOLD]), tags))
    return found
