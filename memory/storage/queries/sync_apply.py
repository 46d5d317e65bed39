"""Applies changes of other devices to a room: writes what is newer, erases what was forgotten.

A change whose row refers to one that has not arrived yet waits in `sync_waiting`. Nothing that is written by
this is recorded as this device's own change, except its consequences: two rows of the same name, memories
that were based on what was forgotten.
"""
# ruff: noqa: S608  # the names put into SQL are all written in `memory.sync.tables`

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlcipher3.dbapi2 import IntegrityError

from memory.storage.changes import BORN, FORGOTTEN, GONE, key_of, silent
from memory.storage.connection import Connection
from memory.storage.queries import context, erasure, erasure_check, full_text, session_merge, sync_log
from memory.storage.queries import documents as document_rows
from memory.storage.queries.sync_erase import erase_forgotten
from memory.sync.entities import Change, Stamp
from memory.sync.tables import (
    ALL,
    BY_NAME,
    EMPTIED,
    PLACES,
    Marks,
    Reference,
    Resolution,
    RowChange,
    SyncedTable,
    resolve,
)

_LATER = "zz"
"""The table that a change needs if this program does not know its table or one of its columns."""
_MANY = 200
"""From this many new messages on, they are indexed at the end."""
_OPTIONAL = "?"
"""Prefix of the name of a column whose value waits for the row that it names, while its own row exists."""
_OF_MESSAGES = (
    ("summary_messages", "message_id"),
    ("memory_sources", "message_id"),
    ("memory_uses", "reply_id"),
    ("turns", "reply_id"),
    ("considered", "reply_id"),
    ("epochs", "start_id"),
    ("passages", "message_id"),
    ("citations", "reply_id"),
    ("unsupported", "reply_id"),
    ("skill_uses", "reply_id"),
)
"""Tables whose rows belong to a message and name its session, and the column that names the message."""

_JOINED = ("memories", "messages")
"""Tables whose rows wait for other rows with all that is known about them."""
_SOURCES = ("memory_sources", "memory_note_sources")
"""Tables of what memories rest on. Their keys begin with the memory."""
_UNSOURCED = """
    m.id IN (SELECT value FROM json_each(?)) AND m.own_words = 0 AND m.origin <> 'consolidation'
    AND NOT EXISTS (SELECT 1 FROM memory_sources AS s WHERE s.memory_id = m.id)
    AND NOT EXISTS (SELECT 1 FROM memory_note_sources AS s WHERE s.memory_id = m.id)
"""
_WAITING_SOURCE = f"w.tbl IN {_SOURCES} AND w.key ->> 0 = m.id"

_VERSIONED = {"documents": "note_versions", "memories": "memory_versions"}
_VERSIONS = {
    "note_versions": ("notes", "version", "document_id", "written_at"),
    "memory_versions": ("memories", "version", "memory_id", "created_at"),
}
"""Tables of earlier texts: the table and column of the present one's number, the column that names the row,
and the time of a version.
"""
_OF_VERSIONS = {owner: name for name, (owner, *_) in _VERSIONS.items()}


@dataclass(slots=True)
class Applied:
    """What was applied: the numbers of changes that took effect and of things forgotten, and the latest time
    seen.
    """

    changes: int = 0
    forgotten: int = 0
    latest: int = 0
    settings: dict[str, str] = field(default_factory=dict)


def apply(conn: Connection, changes: Sequence[Change], devices: Sequence[int]) -> Applied:
    """Applies changes; `devices` are the room's numbers of the devices that the stamps name by index."""
    return _ChangeWriter(conn, devices).run(changes)


def _key_of(table: str) -> str:
    return BY_NAME[table].key[0]


def retry(conn: Connection) -> Applied:
    """Applies changes that wait for rows that did not arrive by sync (moved back from another room), or for a
    table or column that an older version of this program did not know.
    """
    rows = conn.execute(
        "SELECT number, needs_tbl, needs_key, change FROM sync_waiting ORDER BY number"
    ).fetchall()
    ready = []
    for number, table, key, packed in rows:
        change = sync_log.unpacked(packed)
        if _readable(change) if table == _LATER else _is_there(conn, BY_NAME[table], key):
            ready.append((number, change))
    conn.executemany("DELETE FROM sync_waiting WHERE number = ?", [(number,) for number, _ in ready])
    return _ChangeWriter(conn, None).run([change for _, change in ready])


def _is_there(conn: Connection, table: SyncedTable, key: str) -> bool:
    where, parameters = sync_log.where_key(table, key)
    return conn.execute(f"SELECT 1 FROM {table.name} AS t WHERE {where}", parameters).fetchone() is not None


def _readable(change: Change) -> bool:
    table = BY_NAME.get(change.table)
    if table is None:
        return False
    known = {*table.key, *table.columns}
    return any(name in known for name in (*change.base, *change.fields)) or not change.fields


class _ChangeWriter:
    """One run. `devices` translates the indices in stamps to numbers; None if they are numbers already."""

    def __init__(self, conn: Connection, devices: Sequence[int] | None) -> None:
        self._conn = conn
        self._devices = devices
        (self._own,) = conn.execute("SELECT own FROM sync_state").fetchone()
        rows = conn.execute("SELECT number, id FROM sync_devices").fetchall()
        self._ids: dict[int, str] = dict(rows)
        self._numbers = {device_id: number for number, device_id in rows}
        self._joined_projects = dict(conn.execute("SELECT id, into_id FROM sync_merged").fetchall())
        self._needed = {
            (table, key) for table, key in conn.execute("SELECT needs_tbl, needs_key FROM sync_waiting")
        }
        self._waiting = {
            (table, key)
            for table, key in conn.execute(
                "SELECT tbl, key FROM sync_waiting WHERE needs_tbl <> ?", (_LATER,)
            )
            if table in _JOINED
        }
        self._done = Applied()
        self._many: full_text.Many | None = None
        # For most new rows, the rows before them have shown that the rows they refer to exist.
        self._here: set[tuple[str, str]] = set()
        self._new: set[tuple[str, str]] = set()
        self._session_of: dict[str, str] = {}
        self._moved: set[str] = set()
        self._unsourced: set[str] = set()
        self._lost_a_source: set[str] = set()
        self._taken_sources: list[Change] = []
        self._orphans: set[str] = set()  # Messages whose parents were forgotten.
        self._again: list[Change] = []
        self._texts: dict[tuple[str, str], tuple[str, str]] = {}
        self._versioned: set[tuple[str, str]] = set()
        self._touched: dict[str, None] = {}
        self._inserted_in: dict[str, int] = {}

    def run(self, changes: Sequence[Change]) -> Applied:
        if not changes:
            return self._done
        local = [self._localised(change) for change in changes]
        self._forget([change for change in local if change.forgotten is not None])
        with silent(self._conn):
            # Heads and parents refer in both directions.
            self._conn.execute("PRAGMA defer_foreign_keys = ON")
            rest = [change for change in local if change.forgotten is None]
            # Removed rows go before the rows that they belonged to.
            gone = [one for one in rest if one.gone is not None and one.born is None]
            gone.sort(key=lambda one: -PLACES.get(one.table, len(ALL)))
            rest = [one for one in rest if one.gone is None or one.born is not None]
            rest.sort(key=lambda one: (PLACES.get(one.table, len(ALL)), (one.born or (0, 0))[0]))
            for change in gone:
                self._take(change)
            self._look_ahead(rest)
            with self._indexed_at_the_end(rest):
                for change in rest:
                    self._take(change)
                while self._again:
                    self._take(self._again.pop(0))
            self._settle_messages()
            self._give_back_sources()
            self._set_unsourced_aside()
        self._settle_versions()
        self._forget_unsourced()
        return self._done

    def _look_ahead(self, changes: Sequence[Change]) -> None:
        """Records which messages have no stamp yet: looking up each by itself would take as long as storing
        it.
        """
        asked = {one.key for one in changes if one.table == "messages"}
        known = self._conn.execute(
            """
            SELECT DISTINCT key FROM sync_stamps WHERE tbl IN ('messages', ?)
                AND key IN (SELECT value FROM json_each(?))
            """,
            (EMPTIED, json.dumps(sorted(asked))),
        )
        self._new = {("messages", key) for key in asked - {row[0] for row in known}}

    @contextmanager
    def _indexed_at_the_end(self, changes: Sequence[Change]) -> Iterator[None]:
        """Adds many new messages to the full-text indexes at once, which takes a third of the time."""
        new = sum(one.table == "messages" and one.born is not None for one in changes)
        # A message that is written twice in between would be removed from an index that it is not in yet.
        if new < _MANY or self._needed:
            yield
            return
        with full_text.many(self._conn) as self._many:
            yield
        self._many = None

    # --- stamps ------------------------------------------------------------------------------------

    def _localised(self, change: Change) -> Change:
        def time(given: tuple[int, int] | None) -> tuple[int, int] | None:
            if given is None:
                return None
            self._done.latest = max(self._done.latest, given[0])
            return given[0], given[1] if self._devices is None else self._devices[given[1]]

        fields = {}
        for name, (at, place, value) in change.fields.items():
            local = time((at, place))
            if local is not None:
                fields[name] = (*local, value)
        return Change(
            change.table,
            change.key,
            time(change.born),
            time(change.gone),
            time(change.forgotten),
            change.base,
            fields,
        )

    def _stamp(self, time: tuple[int, int] | None) -> Stamp | None:
        return None if time is None else Stamp(time[0], self._ids[time[1]])

    def _marks(self, table: str, key: str) -> Marks:
        if (table, key) in self._new:
            return Marks()
        found = {
            name: Stamp(at, self._ids[by])
            for name, at, by in self._conn.execute(
                "SELECT field, at, by FROM sync_stamps WHERE tbl = ? AND key = ?", (table, key)
            )
        }
        born, gone, forgotten = (found.pop(one, None) for one in (BORN, GONE, FORGOTTEN))
        return Marks(born, gone, forgotten, found)

    def _keep(self, table: str, key: str, name: str, stamp: Stamp) -> None:
        by = self._numbers[stamp.by]
        self._new.discard((table, key))
        # This device's own changes may not have been sent before they had to wait.
        self._conn.execute(
            """
            INSERT INTO sync_stamps (tbl, key, field, at, by, sent) VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET at = excluded.at, by = excluded.by, sent = excluded.sent
            """,
            (table, key, name, stamp.at, by, None if by == self._own else 0),
        )

    # --- forgetting --------------------------------------------------------------------------------

    def _forget(self, changes: Sequence[Change]) -> None:
        """Records what was forgotten, then erases it with everything that was made from it on this device."""
        new: dict[str, list[str]] = {}
        for change in changes:
            marks = self._marks(change.table, change.key)
            stamp = self._stamp(change.forgotten)
            if stamp is None or marks.forgotten is not None:
                continue
            self._conn.execute(
                """
                UPDATE sync_files SET stale = 1 WHERE number IN (
                    SELECT sent FROM sync_stamps WHERE tbl = ? AND key = ? AND sent > 0
                )
                """,
                ("messages" if change.table == EMPTIED else change.table, change.key),
            )
            self._keep(change.table, change.key, FORGOTTEN, stamp)
            if change.table == EMPTIED:
                sync_log.empty_waiting_message(self._conn, change.key)
            else:
                self._conn.execute(
                    "DELETE FROM sync_stamps WHERE tbl = ? AND key = ? AND field <> '!'",
                    (change.table, change.key),
                )
                self._conn.execute(
                    "DELETE FROM sync_waiting WHERE tbl = ? AND key = ?", (change.table, change.key)
                )
            new.setdefault(change.table, []).append(change.key)
            self._done.forgotten += 1
            self._done.changes += 1
        if new:
            self._forget_waiting(new)
            erase_forgotten(self._conn, new)

    def _forget_waiting(self, forgotten: Mapping[str, Sequence[str]]) -> None:
        """Drops what waits for rows that were forgotten."""
        todo = [(table, key) for table, keys in forgotten.items() for key in keys]
        while todo:
            table, needs = todo.pop()
            rows = self._conn.execute(
                "SELECT number, tbl, key, change FROM sync_waiting WHERE needs_tbl = ? AND needs_key = ?",
                ("messages" if table == EMPTIED else table, needs),
            ).fetchall()
            for number, name, key, packed in rows:
                change = sync_log.unpacked(packed)
                if name in _SOURCES:
                    self._lost_a_source.add(json.loads(key)[0])
                elif name == "memories":
                    # It may rest on something else.
                    self._lost_a_source.add(key)
                    self._again.append(change)
                elif table == EMPTIED:
                    # The message stays in its place, without its text.
                    continue
                elif name == "messages":
                    # It may be in a session that stays.
                    self._again.append(change)
                self._conn.execute("DELETE FROM sync_waiting WHERE number = ?", (number,))
                if name not in ("memories", "messages") and not any(
                    one.startswith(_OPTIONAL) for one in change.fields
                ):
                    todo.append((name, key))

    def _forget_unsourced(self) -> None:
        """Forgets memories on all devices whose sources were all forgotten, some while they waited here."""
        rows = self._conn.execute(
            f"""
            SELECT m.id FROM memories AS m WHERE {_UNSOURCED}
                AND NOT EXISTS (SELECT 1 FROM sync_waiting AS w WHERE {_WAITING_SOURCE})
            """,
            (json.dumps(sorted(self._lost_a_source)),),
        ).fetchall()
        erasure.take_memories(self._conn, [row[0] for row in rows])

    def _is_forgotten(self, table: str, key: str) -> bool:
        return sync_log.is_forgotten(self._conn, table, key)

    def _dies(self, table: SyncedTable, key: str, row: Mapping[str, Any]) -> bool:
        """Whether a row belongs to one that was forgotten; what waits for it is dropped with it."""
        if not self._is_dead(table, row):
            return False
        self._forget_waiting({table.name: [key]})
        return True

    def _is_dead(self, table: SyncedTable, values: Mapping[str, Any]) -> bool:
        """Whether a row belongs to one that was forgotten, directly or through others."""
        for one in table.refers:
            value = values.get(one.column)
            if one.optional or value is None or (one.table, str(value)) in self._here:
                continue
            if self._is_forgotten(one.table, str(value)):
                return True
            parent = BY_NAME[one.table]
            if one.table != table.name and any(ref.column in parent.key for ref in parent.refers):
                own = dict(zip(parent.key, [value], strict=False))
                if self._is_dead(parent, own):
                    return True
        return False

    # --- rows --------------------------------------------------------------------------------------

    def _take(self, change: Change) -> None:
        """Applies one change, and then those that waited for its row."""
        todo = [change]
        while todo:
            one = todo.pop(0)
            if self._apply(one) and (one.table, one.key) in self._needed:
                todo += self._woken(one.table, one.key)
            if one.table in ("projects", "sync_merged") and one.key in self._joined_projects:
                # A row that names a project that became another one does not wait for it.
                todo += self._woken("projects", one.key, own=False)

    def _woken(self, table: str, key: str, *, own: bool = True) -> list[Change]:
        """Takes out the changes that wait for a row; without changes of the row itself unless `own`."""
        if own:
            self._needed.discard((table, key))
        rows = self._conn.execute(
            """
            SELECT number, change FROM sync_waiting
            WHERE needs_tbl = ?1 AND needs_key = ?2 AND (?3 OR tbl <> ?1) ORDER BY number
            """,
            (table, key, own),
        ).fetchall()
        self._conn.executemany("DELETE FROM sync_waiting WHERE number = ?", [(row[0],) for row in rows])
        return [sync_log.unpacked(row[1]) for row in rows]

    def _wait(self, change: Change, needs: str, key: str) -> None:
        if change.table == "messages" and self._is_forgotten(EMPTIED, change.key):
            sync_log.empty_message(change)
        self._conn.execute(
            "INSERT INTO sync_waiting (tbl, key, needs_tbl, needs_key, change) VALUES (?, ?, ?, ?, ?)",
            (change.table, change.key, needs, key, sync_log.packed(change)),
        )
        self._needed.add((needs, key))
        if change.table in _JOINED and needs != _LATER:
            self._waiting.add((change.table, change.key))
        if change.table in _SOURCES:
            self._unsourced.add(json.loads(change.key)[0])

    def _apply(self, change: Change) -> bool:
        """Returns whether the row exists afterwards."""
        table = BY_NAME.get(change.table)
        if table is None:
            self._wait(change, _LATER, change.table)
            return False
        if change.table in erasure_check.OF_REPLIES and self._is_forgotten(
            EMPTIED, json.loads(change.key)[0]
        ):
            # The reply was forgotten here, and what it cites contains sentences of it.
            return False
        if any(name.startswith(_OPTIONAL) for name in change.fields):
            self._arrived(table, change)
            return False
        if (table.name, change.key) in self._waiting:
            change = self._joined(change)
        change = self._known_columns(table, change)
        known = self._marks(table.name, change.key)
        there = known.exists and self._exists(table, change.key)
        if known.exists and not there:
            # It was deleted with what it belonged to.
            self._conn.execute(
                "DELETE FROM sync_stamps WHERE tbl = ? AND key = ? AND field NOT IN ('-', '!')",
                (table.name, change.key),
            )
            known = Marks(None, known.gone)
        found = resolve(
            known,
            RowChange(
                self._stamp(change.born),
                self._stamp(change.gone),
                None,
                change.base,
                {name: (Stamp(at, self._ids[by]), value) for name, (at, by, value) in change.fields.items()},
            ),
        )
        if found.marks.forgotten is not None:
            return False
        if not found.marks.exists:
            self._remove(table, change.key, known, found, there=there)
            return False
        if not found.values and found.marks == known:
            return there
        if not self._write(table, change, known, found, there=there):
            return False
        self._done.changes += 1
        return True

    def _known_columns(self, table: SyncedTable, change: Change) -> Change:
        """Returns the change without columns that this program does not know; they wait for a newer one."""
        columns = {*table.key, *table.columns}
        unknown = {name: (*(change.born or (0, 0)), value) for name, value in change.base.items()}
        unknown |= change.fields
        unknown = {name: value for name, value in unknown.items() if name not in columns}
        if not unknown:
            return change
        self._wait(Change(table.name, change.key, fields=unknown), _LATER, table.name)
        return Change(
            table.name,
            change.key,
            change.born,
            change.gone,
            None,
            {name: value for name, value in change.base.items() if name in columns},
            {name: value for name, value in change.fields.items() if name in columns},
        )

    def _exists(self, table: SyncedTable, key: str) -> bool:
        if (table.name, key) in self._here:
            return True
        there = _is_there(self._conn, table, key)
        if there:
            self._here.add((table.name, key))
        return there

    def _remove(self, table: SyncedTable, key: str, known: Marks, found: Resolution, *, there: bool) -> None:
        waiting = {name: (at.at, self._numbers[at.by], value) for name, (at, value) in found.waiting.items()}
        if there:
            row = sync_log.read(self._conn, table, key) or {}
            kept = Change(
                table.name,
                key,
                fields={
                    name: (at.at, self._numbers[at.by], row[name])
                    for name, at in found.kept.items()
                    if name in row
                },
            )
            sync_log.fill_in_held(self._conn, kept)
            waiting |= kept.fields
            if table.name in _SOURCES:
                self._taken_sources.append(Change(table.name, key, base=row))
            self._set_aside(table, key)
            self._delete(table, key)
            self._done.changes += 1
        if found.marks != known or not there:
            self._keep_marks(table.name, key, known, found.marks)
        if waiting:
            self._wait(Change(table.name, key, fields=waiting), table.name, key)

    def _set_aside(self, table: SyncedTable, key: str) -> None:
        """Makes rows wait that belong to a removed one and that the device that removed it did not know.

        They come back with it; the rows that it knew, that device has removed or moved itself.
        """
        for child in ALL:
            for one in child.refers:
                if one.table != table.name:
                    continue
                if one.optional:
                    self._empty(child, one, key)
                    continue
                column = one.within or one.column
                wanted = json.loads(key)[0] if one.within else key
                rows = self._conn.execute(
                    f'SELECT {key_of(child, "t")} FROM {child.name} AS t WHERE t."{column}" = ?', (wanted,)
                ).fetchall()
                for (own,) in rows:
                    self._set_aside(child, own)
                    kept = self._whole(child, own)
                    if kept is not None:
                        self._wait(kept, table.name, key)
                    if child.name == "messages":
                        self._delete(child, own)

    def _give_back_sources(self) -> None:
        """Restores sources of a memory that has none left.

        Two devices have each moved one of its conversations to the private room, and left it the other one.
        The sources come back with their messages; until then the memory waits with them.
        """
        of_memory = {change.key: json.loads(change.key)[0] for change in self._taken_sources}
        rows = self._conn.execute(
            f"SELECT m.id FROM memories AS m WHERE {_UNSOURCED}", (json.dumps(sorted(of_memory.values())),)
        )
        unsourced = {row[0] for row in rows}
        (now,) = self._conn.execute("SELECT sync_at()").fetchone()
        for change in self._taken_sources:
            gone = self._marks(change.table, change.key).gone
            if of_memory[change.key] in unsourced and gone is not None:
                change.born = (max(now, gone.at + 1), self._own)
                self._take(change)

    def _set_unsourced_aside(self) -> None:
        """Makes memories wait that rest only on what waits itself: what was learned from a conversation that
        another device moved to the private room does not stay in this one.
        """
        memories = BY_NAME["memories"]
        rows = self._conn.execute(
            f"""
            SELECT m.id, w.needs_tbl, w.needs_key
            FROM sync_waiting AS w CROSS JOIN memories AS m ON {_WAITING_SOURCE}
            WHERE {_UNSOURCED} AND w.needs_tbl <> '{_LATER}' GROUP BY m.id ORDER BY m.seq
            """,
            (json.dumps(sorted(self._unsourced)),),
        ).fetchall()
        for memory_id, table, key in rows:
            kept = self._whole(memories, memory_id)
            if kept is None:
                continue
            self._set_aside(memories, memory_id)
            self._wait(kept, table, key)
            self._drop_vectors("memory", memory_id)
            context.forget_recalled(self._conn, [memory_id], gone=[memory_id])
            self._conn.execute("DELETE FROM memories WHERE id = ?", (memory_id,))
            self._here.clear()

    def _empty(self, table: SyncedTable, one: Reference, needs: str, where: str = "1") -> None:
        """Empties an optional column that names a row which is removed; its value comes back with that
        row."""
        rows = self._conn.execute(
            f'SELECT {key_of(table, "t")} FROM {table.name} AS t WHERE t."{one.column}" = ? AND {where}',
            (needs,),
        ).fetchall()
        for (key,) in rows:
            self._wait_for_optional(table, key, one, needs, needs, self._marks(table.name, key))
            self._update(table, key, {one.column: None})

    def _whole(self, table: SyncedTable, key: str) -> Change | None:
        """Returns everything known about a row."""
        row = sync_log.read(self._conn, table, key)
        marks = self._marks(table.name, key)
        if row is None or marks.born is None:
            return None
        whole = Change(
            table.name,
            key,
            (marks.born.at, self._numbers[marks.born.by]),
            base=row,
            fields={
                name: (at.at, self._numbers[at.by], row[name])
                for name, at in marks.fields.items()
                if name in row
            },
        )
        sync_log.fill_in_held(self._conn, whole)
        return whole

    def _delete(self, table: SyncedTable, key: str) -> None:
        """Deletes a row that was moved to another room, or removed, on another device."""
        where, parameters = sync_log.where_key(table, key)
        self._here.clear()
        self._session_of.clear()
        if table.name == "sessions":
            # Without its note, the sessions merged into it are not erased with it: each session is removed by
            # itself.
            self._conn.execute("UPDATE sync_state SET capturing = 1")
            session_merge.drop_note(self._conn, [key, *session_merge.merged_into(self._conn, [key])])
            self._conn.execute("UPDATE sync_state SET capturing = 0")
            erasure.erase_sessions(self._conn, [key])
        elif table.name == "documents":
            document_rows.erase(self._conn, [key])
        elif table.name == "memories":
            erasure.take_memories(self._conn, [key])
        elif table.name == "messages":
            self._delete_message(key)
        elif table.name == "projects":
            self._conn.execute("UPDATE document_folders SET project_id = NULL WHERE project_id = ?", (key,))
            self._conn.execute("DELETE FROM projects WHERE id = ?", (key,))
        else:
            self._conn.execute(f"DELETE FROM {table.name} AS t WHERE {where}", parameters)

    def _delete_message(self, key: str) -> None:
        """Deletes a message although its session may not count it: messages are counted at the end."""
        for (session_id,) in self._conn.execute("SELECT session_id FROM messages WHERE id = ?", (key,)):
            self._touched[session_id] = None
            self._conn.execute(
                "UPDATE sessions SET message_count = max(message_count, 1) WHERE id = ?", (session_id,)
            )
        self._conn.execute("DELETE FROM messages WHERE id = ?", (key,))

    def _write(
        self, table: SyncedTable, change: Change, known: Marks, found: Resolution, *, there: bool
    ) -> bool:
        """Writes the columns that are newer; False if the row has to wait, or belongs to what was
        forgotten."""
        values = dict(found.values)
        before = (sync_log.read(self._conn, table, change.key) or {}) if there else {}
        row = {**before, **values}
        mapped = self._map_projects(table, values, row)
        if table.name == "messages" and not self._place_message(change, values, row):
            return False
        if self._dies(table, change.key, row):
            return False
        later = self._look_up(table, change, values, row, there=there)
        if later is None:
            return False
        self._follow_message(table, values, row)
        name = table.unique if table.unique in values else None
        if name is not None and not self._free_name(table, change.key, values):
            # It was joined with another project, and is removed on every device.
            if not there:
                self._keep_marks(table.name, change.key, known, Marks(found.marks.born))
                self._stamp_as_own(table.name, change.key, GONE)
            return False
        if there:
            self._remember_text(table, change.key, known, values)
            self._update(table, change.key, values)
            if table.name == "messages" and "session_id" in values:
                self._touched[before["session_id"]] = None
        elif not self._insert(table, {**row, **values}):
            self._wait(change, _LATER, table.name)
            return False
        self._keep_marks(table.name, change.key, known, found.marks)
        # The decision of this device is recorded as its change, so that every device reaches the same result.
        if name is not None and values[name] != found.values[name]:
            self._stamp_as_own(table.name, change.key, name)
        if mapped and values["project_id"] is not None:
            self._stamp_as_own(table.name, change.key, "project_id")
        for one, needs in later:
            value = found.values.get(one.column, row[one.column])
            self._wait_for_optional(table, change.key, one, needs, value, found.marks)
        self._after(table, change.key, {**row, **values}, found.values, there=there)
        return True

    def _look_up(
        self,
        table: SyncedTable,
        change: Change,
        values: dict[str, Any],
        row: Mapping[str, Any],
        *,
        there: bool,
    ) -> list[tuple[Reference, str]] | None:
        """Looks for the rows that a row refers to. Returns the optional columns that stay empty until they
        are filled in later. If any other row is missing, makes the change wait and returns None.
        """
        later: list[tuple[Reference, str]] = []
        for one in table.refers:
            value = row.get(one.column)
            if value is None or (there and one.column not in values) or self._refers(table, one, row):
                continue
            needs = self._named(one, row)
            if not one.optional:
                self._wait(change, one.table, needs)
                return None
            values[one.column] = None
            later.append((one, needs))
        return later

    # --- references --------------------------------------------------------------------------------

    def _named(self, one: Reference, row: Mapping[str, Any]) -> str:
        if one.within is None:
            return str(row[one.column])
        return json.dumps([row[one.within], row[one.column]], separators=(",", ":"))

    def _refers(self, table: SyncedTable, one: Reference, row: Mapping[str, Any]) -> bool:
        """Whether the row that a column names exists; for a head, whether it is in its session."""
        parent = BY_NAME[one.table]
        if table.name == "sessions" and one.column == "head_id":
            found = self._conn.execute(
                "SELECT 1 FROM messages WHERE id = ? AND session_id = ?", (row["head_id"], row["id"])
            ).fetchone()
            return found is not None
        return self._exists(parent, self._named(one, row))

    def _wait_for_optional(
        self, table: SyncedTable, key: str, one: Reference, needs: str, value: object, marks: Marks
    ) -> None:
        """Makes the value of a column wait for the row that it names, for as long as its stamp stays.

        A project that has become another one is waited for as well: it may come back from another room.
        """
        stamp = marks.of(one.column)
        if stamp is None:
            return
        field = {f"{_OPTIONAL}{one.column}": (stamp.at, self._numbers[stamp.by], value)}
        self._wait_for_either(Change(table.name, key, fields=field), one, needs, value)

    def _wait_for_either(self, change: Change, one: Reference, needs: str, value: object) -> None:
        packed = sync_log.packed(change)
        for wanted in dict.fromkeys((needs, str(value)) if one.table == "projects" else (needs,)):
            waits = self._conn.execute(
                """
                SELECT 1 FROM sync_waiting
                WHERE tbl = ? AND key = ? AND needs_tbl = ? AND needs_key = ? AND change = ?
                """,
                (change.table, change.key, one.table, wanted, packed),
            ).fetchone()
            if waits is None and not self._is_forgotten(one.table, wanted):
                self._wait(change, one.table, wanted)

    def _arrived(self, table: SyncedTable, change: Change) -> bool:
        """Fills in columns whose rows have arrived. Returns whether the change was one of these."""
        ((name, (at, by, value)),) = change.fields.items()
        column = name.removeprefix(_OPTIONAL)
        marks = self._marks(table.name, change.key)
        row = sync_log.read(self._conn, table, change.key)
        if row is None or not marks.exists or marks.of(column) != Stamp(at, self._ids[by]):
            return True
        (one,) = [found for found in table.refers if found.column == column]
        row[column] = self._project_now(value) if one.table == "projects" else value
        if not self._refers(table, one, row):
            self._wait_for_either(change, one, self._named(one, row), value)
            return True
        self._update(table, change.key, {column: row[column]})
        if row[column] != value:
            self._stamp_as_own(table.name, change.key, column)
        return True

    def _project_now(self, project: Any) -> Any:
        """Returns the project that a project has become. One that exists has come back since."""
        seen: set[str] = set()
        projects = BY_NAME["projects"]
        while (
            project in self._joined_projects and project not in seen and not self._exists(projects, project)
        ):
            seen.add(project)
            project = self._joined_projects[project]
        return project

    def _map_projects(self, table: SyncedTable, values: dict[str, Any], row: dict[str, Any]) -> bool:
        """Replaces a project that has become another one of the same name; whether it did."""
        if "project_id" not in values or not any(one.table == "projects" for one in table.refers):
            return False
        project = self._project_now(row["project_id"])
        if project == row["project_id"]:
            return False
        row["project_id"] = values["project_id"] = project
        return True

    def _follow_message(self, table: SyncedTable, values: dict[str, Any], row: Mapping[str, Any]) -> None:
        """Everything that belongs to a message is in its session, even if it has moved to another one on this
        device.
        """
        if "session_id" not in table.columns or table.name == "messages":
            return
        for one in table.refers:
            if one.table == "messages" and row.get(one.column) is not None:
                found = self._conn.execute(
                    "SELECT session_id FROM messages WHERE id = ?", (row[one.column],)
                ).fetchone()
                if found is not None and found[0] != row.get("session_id"):
                    values["session_id"] = found[0]

    # --- messages ----------------------------------------------------------------------------------

    def _place_message(self, change: Change, values: dict[str, Any], row: dict[str, Any]) -> bool:
        """Puts a message into the session of its parent; of a forgotten one, only its place is left. If it
        has no place, makes it wait for one and returns False."""
        key = change.key
        if row.get("parent_id") is not None:
            session_id = self._session_of_message(row["parent_id"])
            if session_id is not None and session_id != row["session_id"]:
                row["session_id"] = values["session_id"] = session_id
            elif session_id is None and self._is_forgotten("messages", row["parent_id"]):
                # If its session stays, the device that wrote it forgets it too, or gives it another parent.
                row["parent_id"] = values["parent_id"] = None
                self._orphans.add(key)
        if ("messages", key) not in self._new and self._is_forgotten(EMPTIED, key):
            for name, empty in (("content", ""), ("meta", "{}")):
                row[name] = empty
                values[name] = empty
        if self._is_homeless(change, row):
            self._wait(change, "messages", row.get("parent_id") or key)
            return False
        return True

    def _is_homeless(self, change: Change, row: Mapping[str, Any]) -> bool:
        """Whether nothing here tells in which session a message is. Its change then no longer names one.

        The session that it names was forgotten, but its parent may have been in another one, before or
        since: on another device it followed its parent there, and stays. Every device that has it gives it
        a new place, or else forgets it as well.
        """
        if row["session_id"] is None:
            return True
        follows = change.base.get("parent_id") is not None or "parent_id" in change.fields
        if change.born is None or not follows or not self._is_dead(BY_NAME["messages"], row):
            return False
        change.base["session_id"] = None
        change.fields.pop("session_id", None)
        return True

    def _joined(self, change: Change) -> Change:
        """Returns a change of a message or memory together with the others that wait for a place or a source.

        Any of them may name a parent that is here, and each may have the latest value of a column.
        """
        rows = self._conn.execute(
            """
            SELECT number, change FROM sync_waiting
            WHERE tbl = ? AND key = ? AND needs_tbl <> ? AND NOT instr(change, '"?')
            """,
            (change.table, change.key, _LATER),
        ).fetchall()
        waiting = {number: sync_log.unpacked(text) for number, text in rows}
        written = [one for one in (change, *waiting.values()) if one.born is not None]
        if not written or change.gone is not None:
            return change
        whole = max(written, key=self._written_at)
        for other in (change, *waiting.values()):
            for name, (at, by, value) in other.fields.items():
                known = whole.fields.get(name)
                if known is None or (known[0], self._ids[known[1]]) < (at, self._ids[by]):
                    whole.fields[name] = (at, by, value)
        self._conn.executemany("DELETE FROM sync_waiting WHERE number = ?", [(one,) for one in waiting])
        if change.table == "memories":
            self._unsourced.add(change.key)
        return whole

    def _written_at(self, change: Change) -> tuple[int, str]:
        at, by = change.born or (0, 0)
        return at, self._ids.get(by, "")

    def _session_of_message(self, message_id: str) -> str | None:
        found = self._session_of.get(message_id)
        if found is None:
            row = self._conn.execute("SELECT session_id FROM messages WHERE id = ?", (message_id,)).fetchone()
            found = None if row is None else str(row[0])
        return found

    def _settle_messages(self) -> None:
        """Moves what belongs to messages that changed their session, and counts the messages of sessions."""
        listed = "(SELECT value FROM json_each(?))"
        if self._moved:
            self._open_circles()
            rows = self._conn.execute(
                f"""
                WITH RECURSIVE moved (id, session_id, depth) AS (
                    SELECT id, session_id, 0 FROM messages WHERE id IN {listed}
                    UNION
                    SELECT m.id, moved.session_id, moved.depth + 1
                    FROM moved JOIN messages AS m ON m.parent_id = moved.id WHERE moved.depth < 100000
                )
                SELECT id, session_id, max(depth) FROM moved GROUP BY id ORDER BY max(depth)
                """,
                (json.dumps(sorted(self._moved)),),
            ).fetchall()
            for message_id, session_id, _ in rows:
                self._resettle(message_id, session_id)
        if self._touched:
            self._conn.execute(
                f"""
                UPDATE sessions SET message_count =
                    (SELECT count(*) FROM messages WHERE session_id = sessions.id)
                WHERE id IN {listed}
                """,
                (json.dumps(sorted(self._touched)),),
            )
        for session_id in self._inserted_in:
            self._count_as_learned(session_id)

    def _open_circles(self) -> None:
        """Makes one message the first of messages that follow each other in a circle.

        That happens if two devices merge two sessions, each into the other one. Every device chooses the
        oldest message, so they reach the same result.
        """
        parents: dict[str, str | None] = {}
        for message_id in sorted(self._moved):
            path: dict[str, None] = {}
            at: str | None = message_id
            while at is not None and at not in parents:
                path[at] = None
                row = self._conn.execute("SELECT parent_id FROM messages WHERE id = ?", (at,)).fetchone()
                parents[at] = None if row is None else row[0]
                at = parents[at]
            if at in path:
                ids = list(path)
                first = min(ids[ids.index(at) :])
                parents[first] = None
                self._conn.execute("UPDATE messages SET parent_id = NULL WHERE id = ?", (first,))
                self._stamp_as_own("messages", first, "parent_id")
                self._stamp_as_own("messages", first, "session_id")
                self._moved.add(first)

    def _resettle(self, message_id: str, session_id: str) -> None:
        """Puts a message, with everything that belongs to it, into its parent's session, after the parent."""
        own, seq, status, parent = self._conn.execute(
            "SELECT session_id, seq, status, parent_id FROM messages WHERE id = ?", (message_id,)
        ).fetchone()
        up = self._conn.execute("SELECT seq, session_id FROM messages WHERE id = ?", (parent,)).fetchone()
        session_id = session_id if up is None else up[1]
        if own != session_id:
            self._touched |= {own: None, session_id: None}
            self._conn.execute("UPDATE messages SET session_id = ? WHERE id = ?", (session_id, message_id))
        if up is not None and up[0] >= seq:
            # The full-text indexes know a message by its number: it leaves them meanwhile.
            self._conn.execute("UPDATE messages SET status = 'streaming' WHERE id = ?", (message_id,))
            self._conn.execute(
                "UPDATE messages SET seq = (SELECT max(seq) + 1 FROM messages) WHERE id = ?", (message_id,)
            )
            self._conn.execute("UPDATE messages SET status = ? WHERE id = ?", (status, message_id))
        sessions = BY_NAME["sessions"]
        (head,) = [one for one in sessions.refers if one.column == "head_id"]
        self._empty(sessions, head, message_id, f"t.id <> '{session_id}'")
        for table, column in _OF_MESSAGES:
            self._conn.execute(
                f"UPDATE {table} SET session_id = ? WHERE {column} = ? AND session_id <> ?",
                (session_id, message_id, session_id),
            )
        session_merge.move_vectors(self._conn, session_id, "kind = 'message' AND owner_id = ?", message_id)

    def _count_as_learned(self, session_id: str) -> None:
        """Learns nothing from messages of other devices, which do that themselves, unless messages of this
        one before them are still to be learned from."""
        self._conn.execute(
            """
            INSERT INTO learned (session_id, seq)
            SELECT ?1, max(seq) FROM messages WHERE session_id = ?1
            HAVING max(seq) IS NOT NULL AND NOT EXISTS (
                SELECT 1 FROM messages AS m JOIN sync_stamps AS s
                    ON s.tbl = 'messages' AND s.key = m.id AND s.field = '' AND s.sent IS NOT 0
                WHERE m.session_id = ?1
                    AND m.seq > coalesce((SELECT seq FROM learned WHERE session_id = ?1), 0)
            )
            ON CONFLICT DO UPDATE SET seq = max(seq, excluded.seq)
            """,
            (session_id,),
        )

    # --- versions ----------------------------------------------------------------------------------

    def _remember_text(self, table: SyncedTable, key: str, known: Marks, values: Mapping[str, Any]) -> None:
        """Remembers a text of this device that another device's later one replaces: it becomes a version."""
        name = _VERSIONED.get(table.name)
        stamp = known.of("text")
        if name is None or "text" not in values or stamp is None or stamp.by != self._ids[self._own]:
            return
        title = "title" if table.name == "documents" else "subject"
        row = self._conn.execute(f"SELECT {title}, text FROM {table.name} WHERE id = ?", (key,)).fetchone()
        if row is not None and row[1] not in ("", values["text"]):
            self._texts[(name, key)] = (row[0], row[1])

    def _settle_versions(self) -> None:
        """Keeps replaced texts, and gives the present text a higher number than all earlier ones."""
        for (name, key), (title, text) in self._texts.items():
            owner, _, column, at = _VERSIONS[name]
            there = self._conn.execute(
                f"""
                SELECT (SELECT max(version) FROM {owner} WHERE {_key_of(owner)} = ?1),
                    EXISTS (SELECT 1 FROM {name} WHERE {column} = ?1 AND text = ?2)
                """,
                (key, text),
            ).fetchone()
            if there[0] is None or there[1]:
                continue
            titled = "title" if name == "note_versions" else "subject"
            self._conn.execute(
                f"""
                INSERT INTO {name} ({column}, version, {titled}, text, {at})
                SELECT ?1, 1 + max(?2, coalesce((SELECT max(version) FROM {name} WHERE {column} = ?1), 0)),
                    ?3, ?4, sync_at()
                """,
                (key, there[0], title, text),
            )
            self._versioned.add((name, key))
        for name, key in sorted(self._versioned):
            owner, number, column, _ = _VERSIONS[name]
            self._conn.execute(
                f"""
                UPDATE {owner} SET {number} = 1 + (SELECT max(version) FROM {name} WHERE {column} = ?1)
                WHERE {_key_of(owner)} = ?1
                    AND {number} <= (SELECT max(version) FROM {name} WHERE {column} = ?1)
                """,
                (key,),
            )

    # --- names -------------------------------------------------------------------------------------

    def _free_name(self, table: SyncedTable, key: str, values: dict[str, Any]) -> bool:
        """Makes sure that no other row has the name. Returns False if the row was joined with another.

        Every device reaches the same result: of two projects the older one stays, with what belongs to both;
        of other things the younger one gets another name.
        """
        column = str(table.unique)
        found = self._conn.execute(
            f'SELECT id FROM {table.name} WHERE "{column}" = ? AND id <> ?', (values[column], key)
        ).fetchone()
        if found is None:
            return True
        other = str(found[0])
        if table.name == "projects":
            if other < key:
                self._become(key, other)
                return False
            self._become(other, key)
            return True
        if key < other:
            self._conn.execute("UPDATE sync_state SET capturing = 1")
            free = self._unused(table, str(values[column]))
            self._conn.execute(f'UPDATE {table.name} SET "{column}" = ? WHERE id = ?', (free, other))
            self._conn.execute("UPDATE sync_state SET capturing = 0")
        else:
            values[column] = self._unused(table, str(values[column]))
        return True

    def _unused(self, table: SyncedTable, name: str) -> str:
        number = 2
        while self._conn.execute(
            f'SELECT 1 FROM {table.name} WHERE "{table.unique}" = ?', (f"{name} ({number})",)
        ).fetchone():
            number += 1
        return f"{name} ({number})"

    def _become(self, loser: str, winner: str) -> None:
        """Makes a project another one of the same name, as a change of this device."""
        self._conn.execute("UPDATE sync_state SET capturing = 1, leaving = 1")
        for name in ("sessions", "memories", "documents", "document_folders"):
            self._conn.execute(f"UPDATE {name} SET project_id = ? WHERE project_id = ?", (winner, loser))
        self._conn.execute("DELETE FROM projects WHERE id = ?", (loser,))
        self._here.discard(("projects", loser))
        self._conn.execute(
            """
            INSERT INTO sync_merged (id, into_id) VALUES (?, ?)
            ON CONFLICT DO UPDATE SET into_id = excluded.into_id
            """,
            (loser, winner),
        )
        self._conn.execute("UPDATE sync_state SET capturing = 0, leaving = 0")
        self._joined_projects[loser] = winner

    def _stamp_as_own(self, table: str, key: str, column: str) -> None:
        sync_log.stamp_as_own(self._conn, table, key, column)

    # --- writing -----------------------------------------------------------------------------------

    def _insert(self, table: SyncedTable, row: Mapping[str, Any]) -> bool:
        names = ", ".join(f'"{name}"' for name in row)
        marks = ", ".join("?" for _ in row)
        try:
            self._conn.execute(f"INSERT INTO {table.name} ({names}) VALUES ({marks})", tuple(row.values()))
        except IntegrityError:
            # A value that this program does not know: a newer one does.
            return False
        return True

    def _update(self, table: SyncedTable, key: str, values: Mapping[str, Any]) -> None:
        changed = {name: value for name, value in values.items() if name not in table.key}
        if not changed:
            return
        where, parameters = sync_log.where_key(table, key)
        names = ", ".join(f'"{name}" = ?' for name in changed)
        self._conn.execute(
            f"UPDATE {table.name} AS t SET {names} WHERE {where}", (*changed.values(), *parameters)
        )

    def _keep_marks(self, table: str, key: str, known: Marks, marks: Marks) -> None:
        for name, before, after in (
            (BORN, known.born, marks.born),
            (GONE, known.gone, marks.gone),
        ):
            if after is not None and after != before:
                self._keep(table, key, name, after)
        for name, stamp in marks.fields.items():
            if known.fields.get(name) != stamp:
                self._keep(table, key, name, stamp)
        for name in known.fields:
            if name not in marks.fields:
                self._conn.execute(
                    "DELETE FROM sync_stamps WHERE tbl = ? AND key = ? AND field = ?", (table, key, name)
                )

    def _after(
        self,
        table: SyncedTable,
        key: str,
        row: Mapping[str, Any],
        changed: Mapping[str, Any],
        *,
        there: bool,
    ) -> None:
        """Applies what follows from a row that was written."""
        self._here.add((table.name, key))
        if table.name in _VERSIONS:
            self._versioned.add((table.name, str(row[table.key[0]])))
        elif table.name in _OF_VERSIONS and there and "version" in changed:
            self._versioned.add((_OF_VERSIONS[table.name], key))
        if table.name == "messages":
            self._after_message(key, row, changed, there=there)
        elif table.name == "summaries" and there and "text" in changed:
            self._drop_vectors("summary", key)
        elif table.name == "memories" and not there:
            self._unsourced.add(key)
        elif table.name == "memories" and not {"text", "subject"}.isdisjoint(changed):
            self._drop_vectors("memory", key)
        elif table.name == "sync_merged":
            loser, winner = str(row["id"]), str(row["into_id"])
            self._joined_projects[loser] = winner
            projects = BY_NAME["projects"]
            if self._exists(projects, loser) and self._exists(projects, winner):
                self._become(loser, winner)
        elif table.name == "sync_settings":
            self._done.settings[str(row["name"])] = str(row["value"])

    def _after_message(
        self, key: str, row: Mapping[str, Any], changed: Mapping[str, Any], *, there: bool
    ) -> None:
        session_id = str(row["session_id"])
        self._session_of[key] = session_id
        if there and not {"session_id", "parent_id"}.isdisjoint(changed):
            self._moved.add(key)
            self._touched[session_id] = None
        elif not there:
            self._inserted_in[session_id] = 1
            if self._many is not None:
                self._many.added(session_id, [(key, str(row["content"]))])
        if there and "content" in changed:
            self._drop_vectors("message", key)
        if key in self._orphans:
            # Devices on which it had followed its parent elsewhere do not know that it is here.
            self._stamp_as_own("messages", key, "session_id")

    def _drop_vectors(self, kind: str, key: str) -> None:
        self._conn.execute("DELETE FROM vectors WHERE kind = ? AND owner_id = ?", (kind, key))
