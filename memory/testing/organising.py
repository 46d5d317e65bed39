"""`memory.organising.ports.OrganisingStore` in memory. It merges sessions without what was made from them."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime

from memory.entities import CategorySource, MemoryMode, MessageStatus, Session
from memory.errors import CannotMerge
from memory.organising.entities import (
    Filed,
    Marks,
    MarksPatch,
    Merged,
    Organised,
    TagCount,
    TagSuggestion,
)
from memory.ports import Clock
from memory.storage.connection import fold
from memory.storage.queries.marks import patched
from memory.testing.projects import InMemoryProjectStore
from memory.testing.rows import Rows
from models.messages import Role


class InMemoryOrganisingStore:
    def __init__(self, rows: Rows, clock: Clock, projects: InMemoryProjectStore) -> None:
        self._rows = rows
        self._projects = projects
        self._clock = clock
        self._last: list[Organised] = []
        self._last_at: datetime | None = None
        self._suggested: dict[tuple[str, str], float] = {}
        self._rejected: set[tuple[str, str]] = set()

    async def apply(
        self, session_ids: Sequence[str], patch: MarksPatch, *, at: datetime | None = None
    ) -> list[Organised]:
        self._rows.require_open()
        now = at or self._clock.now()
        known = {fold(tag): tag for one in self._rows.sessions.values() for tag in one.tags}
        found = [self._rows.session(one) for one in dict.fromkeys(session_ids)]
        made = []
        for session in found:
            before = _marks(session)
            after = patched(before, patch, known, now)
            if after.project is not None:
                after = replace(after, project=self._projects.spelt(after.project))
            self._put(session, after)
            made.append(Organised(session.id, session.title, before, after))
        changed = [one for one in made if one.changed]
        if changed:
            self._last, self._last_at = changed, now
        return made

    async def put_back(self, changes: Sequence[Organised]) -> list[Organised]:
        self._rows.require_open()
        made = []
        for change in changes:
            session = self._rows.sessions.get(change.session_id)
            if session is None:
                continue
            is_now = _marks(session)
            back = {
                field.name: getattr(change.before, field.name)
                for field in fields(Marks)
                if getattr(is_now, field.name) == getattr(change.after, field.name)
            }
            after = replace(is_now, **back)
            if after != is_now:
                self._put(session, after)
                made.append(Organised(session.id, session.title, is_now, after))
        return made

    async def last_changed(self) -> datetime | None:
        return self._last_at

    async def undo_last(self) -> list[Organised]:
        last, self._last, self._last_at = self._last, [], None
        return await self.put_back(last)

    async def tags(self) -> list[TagCount]:
        self._rows.require_open()
        shown = [one for one in self._rows.sessions.values() if one.deleted_at is None]
        counts = Counter(tag for one in shown for tag in one.tags)
        return [TagCount(tag, n) for tag, n in sorted(counts.items(), key=lambda one: (-one[1], one[0]))]

    async def suggest(self, session_id: str, scores: Mapping[str, float]) -> list[TagSuggestion]:
        session = self._rows.session(session_id)
        for key in [key for key in self._suggested if key[0] == session_id]:
            del self._suggested[key]
        for tag, score in scores.items():
            if tag not in session.tags and (session_id, tag) not in self._rejected:
                self._suggested[session_id, tag] = score
        return await self.suggestions(session_id)

    async def suggestions(self, session_id: str | None = None) -> list[TagSuggestion]:
        self._rows.require_open()
        found = [
            TagSuggestion(own, tag, score, self._rows.sessions[own].title)
            for (own, tag), score in self._suggested.items()
            if own in self._rows.sessions
            and self._rows.sessions[own].deleted_at is None
            and session_id in {None, own}
            and tag not in self._rows.sessions[own].tags
        ]
        return sorted(found, key=lambda one: (-one.score, one.session_id, one.tag))

    async def reject(self, session_id: str, tags: Collection[str]) -> int:
        self._rows.session(session_id)
        self._rejected |= {(session_id, tag) for tag in tags}
        return sum(self._suggested.pop((session_id, tag), None) is not None for tag in tags)

    async def file(self, session_id: str, category: str) -> bool:
        session = self._rows.session(session_id)
        if session.category_source is CategorySource.PERSON:
            return False
        self._rows.keep(replace(session, category=category, category_source=CategorySource.MODEL))
        return True

    async def release(self, session_id: str) -> None:
        session = self._rows.session(session_id)
        self._rows.keep(replace(session, category="", category_source=CategorySource.NONE))

    async def filed(
        self,
        model: str | None,  # noqa: ARG002 - it has no vectors
        *,
        session_ids: Collection[str] | None = None,
        tagged: bool = False,
        limit: int = 1000,
        offset: int = 0,
        depth: int = 24,  # noqa: ARG002 - as above
        messages: int = 4,
    ) -> list[Filed]:
        self._rows.require_open()
        found = [
            one
            for one in self._by_use()
            if (session_ids is None or one.id in session_ids) and (one.tags or not tagged)
        ]
        return [self._filed(one, messages) for one in found[offset : offset + limit]]

    async def to_file(self, *, limit: int = 100) -> list[str]:
        self._rows.require_open()
        found = [one for one in self._by_use() if one.category_source is CategorySource.NONE]
        return [one.id for one in found if one.message_count > 1][:limit]

    async def merge(self, session_id: str, others: Sequence[str]) -> Merged:
        self._check([session_id, *others])
        moved = 0
        for other in others:
            session = self._rows.session(session_id)
            said = [one for one in self._rows.messages.values() if one.session_id == other]
            for message in said:
                del self._rows.messages[message.id]
                parent = session.head_id if message.parent_id is None else message.parent_id
                self._rows.messages[message.id] = replace(message, session_id=session_id, parent_id=parent)
            source = self._rows.session(other)
            self._rows.keep(
                replace(
                    session,
                    head_id=source.head_id or session.head_id,
                    updated_at=max(session.updated_at, source.updated_at),
                    message_count=session.message_count + len(said),
                    tags=tuple(sorted({*session.tags, *source.tags})),
                    starred=session.starred or source.starred,
                    important=session.important or source.important,
                )
            )
            self._rows.keep(replace(source, head_id=None, message_count=0, deleted_at=self._clock.now()))
            moved += len(said)
        return Merged(session_id, tuple(others), moved)

    def _check(self, ids: Sequence[str]) -> None:
        self._rows.require_open()
        if len(set(ids)) < max(len(ids), 2):
            raise CannotMerge("same")
        found = [self._rows.session(one) for one in ids]
        if any(one.deleted_at for one in found):
            raise CannotMerge("binned")
        said = [one for one in self._rows.messages.values() if one.session_id in ids]
        if any(one.status is MessageStatus.STREAMING for one in said):
            raise CannotMerge("writing")
        if len({one.memory_mode for one in found}) > 1:
            raise CannotMerge("mode")

    def _by_use(self) -> list[Session]:
        found = [
            one
            for one in self._rows.sessions.values()
            if one.deleted_at is None and one.memory_mode in (MemoryMode.NORMAL, MemoryMode.READS)
        ]
        return sorted(found, key=lambda one: (one.updated_at, one.id), reverse=True)

    def _filed(self, session: Session, messages: int) -> Filed:
        said = [
            one.content[:500]
            for one in self._rows.messages.values()
            if one.session_id == session.id and one.role is Role.USER
        ]
        return Filed(
            session.id,
            "\n".join([session.title, *said[:messages]]),
            session.tags,
            session.category,
            session.category_source is CategorySource.PERSON,
            None,
            tuple(sorted(tag for own, tag in self._rejected if own == session.id)),
        )

    def _put(self, session: Session, marks: Marks) -> None:
        changes = {field.name: getattr(marks, field.name) for field in fields(Marks)}
        self._rows.keep(replace(session, **changes))


def _marks(session: Session) -> Marks:
    return Marks(**{field.name: getattr(session, field.name) for field in fields(Marks)})
