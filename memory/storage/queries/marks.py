"""Marks of sessions: changed for many at once, remembered, and put back."""
# the names put into SQL are all written in this module

import json
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from datetime import datetime

from memory.clock import micros, moment
from memory.entities import CategorySource
from memory.errors import SessionNotFound
from memory.organising.entities import Marks, MarksPatch, Organised, TagCount
from memory.storage.connection import Connection, fold
from memory.storage.queries import belongings, last_change, parting
from memory.storage.queries.sessions import project_named, set_columns
from memory.storage.values import one_line

_SELECT = """
    SELECT s.title, s.starred, s.important, s.pinned_at, s.archived_at, s.deleted_at, s.category,
        s.category_source, p.name,
        (SELECT json_group_array(tag ORDER BY tag) FROM session_tags WHERE session_id = s.id)
    FROM sessions AS s LEFT JOIN projects AS p ON p.id = s.project_id WHERE s.id = ?
"""


def marks_of(conn: Connection, session_id: str) -> tuple[str, Marks]:
    """The session's title and marks. Raises `SessionNotFound`."""
    row = conn.execute(_SELECT, (session_id,)).fetchone()
    if row is None:
        raise SessionNotFound(session_id)
    return row[0], Marks(
        tags=tuple(json.loads(row[9])),
        starred=bool(row[1]),
        important=bool(row[2]),
        pinned_at=last_change.as_moment(row[3]),
        archived_at=last_change.as_moment(row[4]),
        deleted_at=last_change.as_moment(row[5]),
        category=row[6],
        category_source=CategorySource(row[7]),
        project=row[8],
    )


def apply(conn: Connection, session_ids: Sequence[str], patch: MarksPatch, now: datetime) -> list[Organised]:
    """Raises `SessionNotFound`."""
    known = {fold(row[0]): row[0] for row in conn.execute("SELECT DISTINCT tag FROM session_tags")}
    made = []
    for session_id in dict.fromkeys(session_ids):
        title, before = marks_of(conn, session_id)
        after = patched(before, patch, known, now)
        _put(conn, session_id, before, after, now)
        # A project that was there in other capitals is that one.
        made.append(Organised(session_id, title, before, marks_of(conn, session_id)[1]))
    changed = [one for one in made if one.changed]
    if changed:
        last_change.keep(conn, changed, now)
    return made


def patched(before: Marks, patch: MarksPatch, known: dict[str, str], now: datetime) -> Marks:
    """The marks with the patch put over them; `known` leads from a folded tag to how it is spelt here."""
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
    """Since when it is so; what is so already stays as it is."""
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
    return put_back(conn, last_change.take(conn), now)


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
    for name in last_change.TIMES:
        if getattr(before, name) != getattr(after, name):
            changes[name] = last_change.as_micros(getattr(after, name))
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
        parting.part(conn, session_id)
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
        # What was suggested waits behind the tag: undoing brings both back as they were.
        "DELETE FROM tag_suggestions WHERE session_id = ? AND tag = ? AND rejected = 1",
        [(session_id, tag) for tag in new],
    )


def _move(conn: Connection, session_id: str, project: str | None, now: datetime) -> str | None:
    """The id of the project that the session is in from now on, with what rests on it alone."""
    target = None
    if project is not None:
        found = belongings.project_id(conn, project)
        target = found if found is not None else project_named(conn, project, now)
    belongings.follow(conn, session_id, target, now)
    return target
