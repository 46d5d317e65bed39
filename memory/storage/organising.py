"""How the sessions of one room are organised: marks, projects, suggestions and links."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

from memory.clock import Clock, micros, moment
from memory.entities import CategorySource, RoomKind
from memory.errors import SessionNotFound
from memory.memories.entities import reading
from memory.organising import (
    Backlink,
    Filed,
    Marks,
    MarksPatch,
    Merged,
    Organised,
    Project,
    ProjectContents,
    ProjectDeleted,
    ProjectPatch,
    SharedMemory,
    TagCount,
    TagSuggestion,
)
from memory.storage.connection import Connection, fold, one_line, storable
from memory.storage.database import Database, Reader
from memory.storage.queries import projects, session_merge, sessions
from memory.storage.queries.projects import project_named, resolve
from memory.storage.queries.sessions import set_columns

# ruff: noqa: S608  # the names put into SQL are all written in this module


_SELECT = """
    SELECT s.title, s.starred, s.important, s.pinned_at, s.archived_at, s.deleted_at, s.category,
        s.category_source, p.name,
        (SELECT json_group_array(tag ORDER BY tag) FROM session_tags WHERE session_id = s.id)
    FROM sessions AS s LEFT JOIN projects AS p ON p.id = s.project_id WHERE s.id = ?
"""


def marks_of(conn: Connection, session_id: str) -> tuple[str, Marks]:
    """Returns the session's title and marks. Raises `SessionNotFound`."""
    row = conn.execute(_SELECT, (session_id,)).fetchone()
    if row is None:
        raise SessionNotFound(session_id)
    return row[0], Marks(
        tags=tuple(json.loads(row[9])),
        starred=bool(row[1]),
        important=bool(row[2]),
        pinned_at=projects.as_moment(row[3]),
        archived_at=projects.as_moment(row[4]),
        deleted_at=projects.as_moment(row[5]),
        category=row[6],
        category_source=CategorySource(row[7]),
        project=row[8],
    )


def apply(conn: Connection, session_ids: Sequence[str], patch: MarksPatch, now: datetime) -> list[Organised]:
    """Applies the patch to each session and keeps the changes for undo. Raises `SessionNotFound`."""
    known = {fold(row[0]): row[0] for row in conn.execute("SELECT DISTINCT tag FROM session_tags")}
    made = []
    for session_id in dict.fromkeys(session_ids):
        title, before = marks_of(conn, session_id)
        after = patched(before, patch, known, now)
        _put(conn, session_id, before, after, now)
        # Read again, because an existing project keeps its own capitals.
        made.append(Organised(session_id, title, before, marks_of(conn, session_id)[1]))
    changed = [one for one in made if one.changed]
    if changed:
        projects.keep(conn, changed, now)
    return made


def patched(before: Marks, patch: MarksPatch, known: dict[str, str], now: datetime) -> Marks:
    """Returns the marks with the patch applied; `known` maps a folded tag to its spelling in this room."""
    gone = {fold(one_line(tag)) for tag in patch.remove_tags}
    tags = {fold(tag): tag for tag in before.tags if fold(tag) not in gone}
    for tag in map(one_line, patch.add_tags):
        tags.setdefault(fold(tag), known.setdefault(fold(tag), tag))
    after = replace(before, tags=tuple(sorted(tags.values())))
    after = replace(
        after,
        pinned_at=_since(before.pinned_at, patch.pinned, now),
        archived_at=_since(before.archived_at, patch.archived, now),
        deleted_at=_since(before.deleted_at, patch.binned, now),
    )
    if patch.starred is not None:
        after = replace(after, starred=patch.starred)
    if patch.important is not None:
        after = replace(after, important=patch.important)
    if patch.category is not None:
        after = replace(after, category=one_line(patch.category), category_source=CategorySource.PERSON)
    if patch.project is not None:
        after = replace(after, project=one_line(patch.project) or None)
    return after


def _since(before: datetime | None, wanted: bool | None, now: datetime) -> datetime | None:  # noqa: FBT001 - a field
    """Returns since when a mark is set; a mark that is already set keeps its time."""
    if wanted is None or wanted == (before is not None):
        return before
    return moment(micros(now)) if wanted else None


def put_back(conn: Connection, changes: Iterable[Organised], now: datetime) -> list[Organised]:
    made = []
    for change in changes:
        try:
            title, is_now = marks_of(conn, change.session_id)
        except SessionNotFound:
            continue
        back = {
            field.name: getattr(change.before, field.name)
            for field in fields(Marks)
            if getattr(change.before, field.name) != getattr(change.after, field.name)
            and getattr(is_now, field.name) == getattr(change.after, field.name)
        }
        if back:
            _put(conn, change.session_id, is_now, replace(is_now, **back), now)
            made.append(Organised(change.session_id, title, is_now, marks_of(conn, change.session_id)[1]))
    return made


def undo_last(conn: Connection, now: datetime) -> list[Organised]:
    return put_back(conn, projects.take(conn), now)


def tags(conn: Connection) -> list[TagCount]:
    rows = conn.execute(
        """
        SELECT t.tag, count(*) FROM session_tags AS t JOIN sessions AS s ON s.id = t.session_id
        WHERE s.deleted_at IS NULL GROUP BY t.tag ORDER BY 2 DESC, 1
        """
    )
    return [TagCount(tag, count) for tag, count in rows]


def _put(conn: Connection, session_id: str, before: Marks, after: Marks, now: datetime) -> None:
    changes: dict[str, object] = {}
    for name in projects.TIMES:
        if getattr(before, name) != getattr(after, name):
            changes[name] = projects.as_micros(getattr(after, name))
    for name in ("starred", "important"):
        if getattr(before, name) != getattr(after, name):
            changes[name] = int(getattr(after, name))
    if (before.category, before.category_source) != (after.category, after.category_source):
        changes |= {"category": after.category, "category_source": after.category_source.value}
    if before.project != after.project:
        changes["project_id"] = _move(conn, session_id, after.project, now)
    if changes:
        set_columns(conn, session_id, changes)
    if before.deleted_at is not None and after.deleted_at is None:
        session_merge.unmerge(conn, session_id)
    _put_tags(conn, session_id, before.tags, after.tags)


def _put_tags(conn: Connection, session_id: str, before: Sequence[str], after: Sequence[str]) -> None:
    gone, new = set(before) - set(after), set(after) - set(before)
    conn.executemany(
        "DELETE FROM session_tags WHERE session_id = ? AND tag = ?", [(session_id, tag) for tag in gone]
    )
    conn.executemany(
        "INSERT OR IGNORE INTO session_tags (session_id, tag) VALUES (?, ?)",
        [(session_id, tag) for tag in new],
    )
    conn.executemany(
        # Open suggestions stay, hidden behind the tag: undoing brings both back as they were.
        "DELETE FROM tag_suggestions WHERE session_id = ? AND tag = ? AND rejected = 1",
        [(session_id, tag) for tag in new],
    )


def _move(conn: Connection, session_id: str, project: str | None, now: datetime) -> str | None:
    """Returns the id of the session's new project; memories based on the session alone move there."""
    target = None
    if project is not None:
        found = projects.project_id(conn, project)
        target = found if found is not None else project_named(conn, project, now)
    projects.follow(conn, session_id, target, now)
    return target


_LISTED = "(SELECT value FROM json_each(?))"
_CHARACTERS = 500
"""Characters of a message that are read."""


def suggest(conn: Connection, session_id: str, scores: Mapping[str, float]) -> list[TagSuggestion]:
    """Replaces the session's open suggestions and returns them. Raises `SessionNotFound`."""
    sessions.require(conn, session_id)
    conn.execute("DELETE FROM tag_suggestions WHERE session_id = ? AND rejected = 0", (session_id,))
    conn.executemany(
        """
        INSERT OR IGNORE INTO tag_suggestions (session_id, tag, score)
        SELECT ?1, ?2, ?3 WHERE NOT EXISTS (SELECT 1 FROM session_tags WHERE session_id = ?1 AND tag = ?2)
        """,
        [(session_id, one_line(tag), score) for tag, score in scores.items() if tag],
    )
    return suggestions(conn, session_id)


def suggestions(conn: Connection, session_id: str | None) -> list[TagSuggestion]:
    rows = conn.execute(
        """
        SELECT g.session_id, g.tag, g.score, s.title
        FROM tag_suggestions AS g JOIN sessions AS s ON s.id = g.session_id
        WHERE g.rejected = 0 AND s.deleted_at IS NULL AND (?1 IS NULL OR g.session_id = ?1)
            AND NOT EXISTS (SELECT 1 FROM session_tags WHERE session_id = g.session_id AND tag = g.tag)
        ORDER BY g.score DESC, g.session_id, g.tag
        """,
        (session_id,),
    )
    return [TagSuggestion(*row) for row in rows]


def reject(conn: Connection, session_id: str, tags: Collection[str]) -> int:
    """Rejects tags and returns how many of them were suggested. Raises `SessionNotFound`."""
    sessions.require(conn, session_id)
    waiting = {one.tag for one in suggestions(conn, session_id)}
    conn.executemany(
        """
        INSERT INTO tag_suggestions (session_id, tag, score, rejected) VALUES (?, ?, 0, 1)
        ON CONFLICT (session_id, tag) DO UPDATE SET rejected = 1
        """,
        [(session_id, one_line(tag)) for tag in tags if tag],
    )
    return len(waiting.intersection(tags))


def file(conn: Connection, session_id: str, category: str) -> bool:
    """Sets a category that the program found; False if the user has decided. Raises `SessionNotFound`."""
    sessions.require(conn, session_id)
    changed = conn.execute(
        """
        UPDATE sessions SET category = ?, category_source = 'model'
        WHERE id = ? AND category_source <> 'person'
        """,
        (storable(category), session_id),
    )
    return bool(changed.rowcount)


def release(conn: Connection, session_id: str) -> None:
    """Removes the category, so that the program decides on it again. Raises `SessionNotFound`."""
    sessions.set_columns(conn, session_id, {"category": "", "category_source": "none"})


def to_file(conn: Connection, limit: int) -> list[str]:
    rows = conn.execute(
        """
        SELECT s.id FROM sessions AS s
        WHERE s.category_source = 'none' AND s.deleted_at IS NULL
            AND s.memory_mode IN ('normal', 'reads') AND s.message_count > 1
        ORDER BY s.updated_at DESC, s.id DESC LIMIT ?
        """,
        (max(limit, 0),),
    )
    return [row[0] for row in rows]


@dataclass(frozen=True, slots=True)
class Page:
    """Which sessions, and how much of each: vectors of `depth` messages, text of `messages` user messages."""

    limit: int
    offset: int
    depth: int
    messages: int


def filed(
    conn: Connection, model: str | None, session_ids: Collection[str] | None, page: Page, *, tagged: bool
) -> list[Filed]:
    where = ["s.deleted_at IS NULL", "s.memory_mode IN ('normal', 'reads')"]
    parameters: list[object] = []
    if session_ids is not None:
        where.append(f"s.id IN {_LISTED}")
        parameters.append(json.dumps(list(session_ids)))
    if tagged:
        where.append("EXISTS (SELECT 1 FROM session_tags WHERE session_id = s.id)")
    rows = conn.execute(
        f"""
        SELECT s.id, s.title, s.category, s.category_source = 'person',
            (SELECT json_group_array(tag ORDER BY tag) FROM session_tags WHERE session_id = s.id),
            (SELECT json_group_array(tag ORDER BY tag) FROM tag_suggestions
             WHERE session_id = s.id AND rejected)
        FROM sessions AS s WHERE {" AND ".join(where)}
        ORDER BY s.updated_at DESC, s.id DESC LIMIT ? OFFSET ?
        """,
        (*parameters, max(page.limit, 0), max(page.offset, 0)),
    ).fetchall()
    return [_filed(conn, row, model, page) for row in rows]


def _filed(conn: Connection, row: Any, model: str | None, page: Page) -> Filed:
    own, title, category, locked, tags, rejected = row
    # The first message is one without a parent; for more, all have to be sorted.
    first = "AND parent_id IS NULL" if page.messages == 1 else ""
    said = conn.execute(
        f"""
        SELECT substr(content, 1, {_CHARACTERS}) FROM messages
        WHERE session_id = ? AND role = 'user' AND status <> 'streaming' {first} ORDER BY seq LIMIT ?
        """,
        (own, page.messages),
    ).fetchall()
    return Filed(
        own,
        "\n".join([title, *(text for (text,) in said)]),
        tuple(json.loads(tags)),
        category,
        bool(locked),
        None if model is None else centroid(conn, own, model, page.depth),
        tuple(json.loads(rejected)),
    )


def centroid(conn: Connection, session_id: str, model: str, depth: int) -> bytes | None:
    """Returns the mean of the vectors of a session's earliest messages, of length 1; None without any."""
    import numpy as np

    rows = conn.execute(
        """
        SELECT data FROM vectors
        WHERE session_id = ? AND kind = 'message' AND part = 0 AND model = ?
        ORDER BY kind, owner_id LIMIT ?
        """,
        (session_id, model, depth),
    ).fetchall()
    if not rows:
        return None
    total = np.frombuffer(b"".join(row[0] for row in rows), dtype="<f4").reshape(len(rows), -1).sum(axis=0)
    length = float(np.linalg.norm(total))
    return (total / length).astype("<f4").tobytes() if length > 0 else None


# All relations of memories to sessions: learned from, or used in.
_TIES = """
    SELECT memory_id, session_id FROM memory_sources
    UNION SELECT memory_id, session_id FROM memory_uses WHERE how <> 'recalled'
"""
_MOST = 500


def shared_memories(conn: Connection, session_id: str) -> list[SharedMemory]:
    """Returns memories shared with other sessions. Recall alone is not a link: most of what is recalled is
    not used.
    """
    rows = conn.execute(
        f"""
        WITH own (memory_id) AS (
            SELECT memory_id FROM memory_sources WHERE session_id = ?1
            UNION SELECT memory_id FROM memory_uses WHERE session_id = ?1 AND how <> 'recalled'
        )
        SELECT t.session_id, m.id, m.subject, m.text
        FROM ({_TIES}) AS t JOIN own ON own.memory_id = t.memory_id
        JOIN memories AS m ON m.id = t.memory_id
        JOIN sessions AS s ON s.id = t.session_id
        WHERE t.session_id <> ?1 AND s.deleted_at IS NULL AND m.state IN ('inbox', 'kept')
        ORDER BY t.session_id, m.seq LIMIT {_MOST}
        """,
        (session_id,),
    )
    return [SharedMemory(other, own, reading(subject, text)) for other, own, subject, text in rows]


def backlinks(conn: Connection, memory_id: str) -> list[Backlink]:
    rows = conn.execute(
        """
        SELECT r.session_id, s.title, 'learned', m.id, min(m.created_at), count(*)
        FROM memory_sources AS r
        JOIN messages AS m ON m.id = r.message_id AND m.session_id = r.session_id
        JOIN sessions AS s ON s.id = r.session_id
        WHERE r.memory_id = ?1 AND s.deleted_at IS NULL GROUP BY r.session_id
        UNION ALL
        SELECT u.session_id, s.title,
            CASE max(CASE u.how WHEN 'opened' THEN 4 WHEN 'confirmed' THEN 3 WHEN 'cited' THEN 2 ELSE 1 END)
                WHEN 4 THEN 'opened' WHEN 3 THEN 'confirmed' WHEN 2 THEN 'cited' ELSE 'recalled' END,
            u.reply_id, min(u.used_at), count(DISTINCT u.reply_id)
        FROM memory_uses AS u JOIN sessions AS s ON s.id = u.session_id
        WHERE u.memory_id = ?1 AND s.deleted_at IS NULL GROUP BY u.session_id
        """,
        (memory_id,),
    ).fetchall()
    rows.sort(key=lambda row: (row[2] != "learned", row[4], row[0]))
    return [
        Backlink(session, title, how, message, moment(at), count)
        for session, title, how, message, at, count in rows
    ]


class OrganisingStore:
    """Marks of many sessions at once, suggestions, and session_merge. Ids must be complete.

    Raises `SessionNotFound` for any session that does not exist, with nothing changed, and the errors of
    `Store`. A call that has returned is durable.
    """

    def __init__(self, database: Database, clock: Clock, reader: Database | Reader) -> None:
        self._database = database
        self._reader = reader
        self._clock = clock

    async def apply(
        self, session_ids: Sequence[str], patch: MarksPatch, *, at: datetime | None = None
    ) -> list[Organised]:
        """Changes all of them in one transaction, and remembers it as the last change, if it changed any.

        `at` is the time of the change (default: now); changes in several rooms at one time are one change. A
        project that does not exist is created. Memories that are based on a session alone follow it into its
        project.
        """
        now = at or self._clock.now()
        return await self._database.write(lambda conn: apply(conn, session_ids, patch, now))

    async def put_back(self, changes: Sequence[Organised]) -> list[Organised]:
        """Undoes changes: every mark that is still as the change left it is restored.

        Sessions that no longer exist are skipped. Returns the changes.
        """
        now = self._clock.now()
        return await self._database.write(lambda conn: put_back(conn, changes, now))

    async def last_changed(self) -> datetime | None:
        """Returns when the change was made that `undo_last` would undo; None when there is none."""
        return await self._database.read(projects.when)

    async def undo_last(self) -> list[Organised]:
        """Like `put_back` for the last change, which is then no longer remembered; empty when there is none.

        Whatever is forgotten, erased or moved to another room is also removed from the remembered change.
        """
        now = self._clock.now()
        return await self._database.write(lambda conn: undo_last(conn, now))

    async def tags(self) -> list[TagCount]:
        """Returns all tags in use outside the bin, most used first."""
        return await self._database.read(tags)

    async def suggest(self, session_id: str, scores: Mapping[str, float]) -> list[TagSuggestion]:
        """Replaces the session's suggestions by these, without rejected tags and those it already has.
        Returns the present suggestions."""
        return await self._database.write(lambda conn: suggest(conn, session_id, scores))

    async def suggestions(self, session_id: str | None = None) -> list[TagSuggestion]:
        """Returns the open suggestions of a session or of all outside the bin, likeliest first."""
        return await self._database.read(lambda conn: suggestions(conn, session_id))

    async def reject(self, session_id: str, tags: Collection[str]) -> int:
        """Stops suggesting these tags for the session. Returns how many were waiting."""
        return await self._database.write(lambda conn: reject(conn, session_id, tags))

    async def file(self, session_id: str, category: str) -> bool:
        """Sets a category that the program found. Returns False, without a change, when the user has
        decided."""
        return await self._database.write(lambda conn: file(conn, session_id, category))

    async def release(self, session_id: str) -> None:
        """Lets the program decide on the category again, as if it had never examined the session."""
        await self._database.write(lambda conn: release(conn, session_id))

    async def filed(
        self,
        model: str | None,
        *,
        session_ids: Collection[str] | None = None,
        tagged: bool = False,
        limit: int = 1000,
        offset: int = 0,
        depth: int = 24,
        messages: int = 4,
    ) -> list[Filed]:
        """Returns the data for filing these sessions or the latest ones (`tagged`: those with tags), outside
        the bin and where memory may be used. `model` is the fingerprint of the vectors, of which the earliest
        `depth` of each session are used. `messages` is how many of the user's messages are included."""
        page = Page(limit, offset, depth, messages)
        return await self._reader.read(lambda conn: filed(conn, model, session_ids, page, tagged=tagged))

    async def to_file(self, *, limit: int = 100) -> list[str]:
        """Returns sessions with a reply that were never examined for a category, latest used first."""
        return await self._database.read(lambda conn: to_file(conn, limit))

    async def merge(self, session_id: str, others: Sequence[str]) -> Merged:
        """Appends the messages of other sessions, in the order given, after the end of one, with everything
        made from them. The others are emptied and moved to the bin. `restore_session` of one removes its
        messages again. Raises `CannotMerge`.
        """
        now = self._clock.now()
        return await self._database.write(lambda conn: session_merge.merge(conn, session_id, others, now))


class ProjectStore:
    """The projects of one room. A `ref` is a name (in any case), an id or a unique prefix of one.

    Raises `ProjectNotFound`, `AmbiguousId`, and the errors of `Store`. A call that has returned is durable.
    """

    def __init__(self, database: Database, room: RoomKind, clock: Clock) -> None:
        self._database = database
        self._room = room
        self._clock = clock

    async def list(self, *, archived: bool | None = None) -> list[Project]:
        """Returns projects by name; None: all, True: only archived ones, False: the others."""
        return await self._database.read(lambda conn: projects.select(conn, self._room, archived))

    async def get(self, ref: str) -> Project:
        return await self._database.read(lambda conn: projects.get(conn, resolve(conn, ref), self._room))

    async def create(self, name: str) -> Project:
        """Creates a project. Raises `ProjectExists`."""
        now = self._clock.now()
        return await self._database.write(
            lambda conn: projects.get(conn, projects.create(conn, name, now), self._room)
        )

    async def rename(self, ref: str, name: str) -> Project:
        """Renames a project. Raises `ProjectExists`, unless it is the project's own name in another case."""
        return await self._database.write(
            lambda conn: projects.get(conn, projects.rename(conn, ref, name), self._room)
        )

    async def archive(self, ref: str) -> Project:
        """Archives a project; one that is already archived is not changed."""
        now = self._clock.now()
        return await self._database.write(
            lambda conn: projects.get(conn, projects.set_archived(conn, ref, now), self._room)
        )

    async def reopen(self, ref: str) -> Project:
        return await self._database.write(
            lambda conn: projects.get(conn, projects.set_archived(conn, ref, None), self._room)
        )

    async def change(self, ref: str, patch: ProjectPatch) -> Project:
        """Changes a project's settings. One that becomes isolated takes over the memories without a project
        that were learned only in its sessions; one that is no longer isolated releases them.
        """
        now = self._clock.now()

        def work(conn: Connection) -> Project:
            return projects.get(conn, projects.change(conn, ref, patch, now), self._room)

        return await self._database.write(work)

    async def contents(self, ref: str) -> ProjectContents:
        """Returns how much belongs to a project."""
        return await self._database.read(lambda conn: projects.contents(conn, ref))

    async def instructions(self, name: str) -> str:
        """Returns the instructions of the project of that name; "" if there is none."""
        return await self._database.read(lambda conn: projects.instructions(conn, name))

    async def isolated(self) -> frozenset[str]:
        """Returns the names of the isolated projects."""
        return await self._database.read(projects.isolated)

    async def delete(self, ref: str, *, with_sessions: bool = False) -> ProjectDeleted:
        """Deletes a project. Its sessions and memories stay, without a project; `with_sessions` moves the
        sessions to the bin."""
        now = self._clock.now()

        def work(conn: Connection) -> ProjectDeleted:
            return projects.delete(conn, ref, self._room, now, binned=with_sessions)

        return await self._database.write(work)


class LinkStore:
    """The links of one room; content of the bin is ignored. Raises the errors of `Store`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def shared(self, session_id: str) -> list[SharedMemory]:
        """Returns memories that the session shares with others, by the other session and by age."""
        return await self._database.read(lambda conn: shared_memories(conn, session_id))

    async def backlinks(self, memory_id: str) -> list[Backlink]:
        """Returns where a memory was learned, then where it was used; each earliest first."""
        return await self._database.read(lambda conn: backlinks(conn, memory_id))
