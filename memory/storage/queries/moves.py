"""Moves sessions and documents between rooms in parcels, which are stored until they have arrived."""
# ruff: noqa: S608  # the names put into SQL come from the schema

import json
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec

from memory.clock import micros, moment
from memory.context.entities import TOLD, TierUse
from memory.documents.entities import ErasedDocuments
from memory.entities import Erased, RoomKind
from memory.errors import DocumentNotFound, SessionNotFound
from memory.kinds import MovedKind
from memory.storage import changes
from memory.storage.connection import Connection
from memory.storage.queries import documents, erasure, session_merge
from memory.storage.queries import projects as project_names
from memory.storage.queries.context import pack_parts, unpack_parts
from memory.storage.queries.forgetting import combined
from memory.storage.queries.sync_erase import erase_forgotten
from memory.storage.queries.table_ownership import ForeignKey, Lineage, Table, tables
from memory.transfer import KEY_BYTES, Move

_KEY = "parcel_key"


def sealing_key(conn: Connection) -> bytes:
    """Returns the key that seals parcels, made at the first call.

    It is not the room's own key, which may be changed while a parcel waits.
    """
    row = conn.execute("SELECT value FROM meta WHERE key = ?", (_KEY,)).fetchone()
    if row is not None:
        return bytes.fromhex(row[0])
    made = secrets.token_bytes(KEY_BYTES)
    conn.execute("INSERT INTO meta (key, value) VALUES (?, ?)", (_KEY, made.hex()))
    return made


def begin(
    conn: Connection, item_id: str, destination: RoomKind, parcel: bytes, now: datetime, kind: MovedKind
) -> Move:
    conn.execute(
        "INSERT INTO moves (item_id, destination, begun_at, parcel, kind) VALUES (?, ?, ?, ?, ?)",
        (item_id, destination.value, micros(now), parcel, kind.value),
    )
    return Move(item_id, destination, moment(micros(now)), kind)


def waiting(conn: Connection) -> list[Move]:
    rows = conn.execute("SELECT item_id, destination, begun_at, kind FROM moves ORDER BY begun_at, item_id")
    return [Move(row[0], RoomKind(row[1]), moment(row[2]), MovedKind(row[3])) for row in rows]


def parcel(conn: Connection, item_id: str) -> bytes:
    """Returns the sealed parcel of a session or document. Raises `SessionNotFound`."""
    row = conn.execute("SELECT parcel FROM moves WHERE item_id = ?", (item_id,)).fetchone()
    if row is None:
        raise SessionNotFound(item_id)
    return bytes(row[0])


def end(conn: Connection, item_id: str) -> None:
    conn.execute("DELETE FROM moves WHERE item_id = ?", (item_id,))


Row = dict[str, Any]
_LISTED = "(SELECT value FROM json_each(?))"


class Parcel(msgspec.Struct, frozen=True):
    """Rows by table, each with the names of its columns, in the order in which they are to be stored.

    `learned_from` is the newest message that was learned from: each room numbers its messages itself.
    `merged` has, by their ids, what the sessions that were merged into this one gave away: they move with it.
    """

    # Parcels of earlier versions, which may still wait, have this name for it.
    item_id: str = msgspec.field(name="session_id")
    tables: dict[str, list[Row]]
    learned_from: str | None
    kind: MovedKind = MovedKind.SESSION
    merged: dict[str, session_merge.MergeNote] = {}

    def rows(self, table: str) -> list[Row]:
        return self.tables.get(table, [])


def encode(parcel: Parcel) -> bytes:
    return msgspec.msgpack.encode(parcel)


def decode(data: bytes) -> Parcel:
    return msgspec.msgpack.decode(data, type=Parcel)


def pack(conn: Connection, session_id: str) -> tuple[Parcel, Erased]:
    """Takes the session with everything that belongs to it out of the room. Raises `SessionNotFound`.

    Includes the memories that are erased with it (those without another source), those that were stored in
    it, and the sessions that were merged into it.
    """
    known = tables(conn)
    merged = {
        one: note
        for one in session_merge.merged_into(conn, [session_id])
        if (note := session_merge.look_at_note(conn, one)) is not None
    }
    session = _session_rows(conn, known, [session_id, *merged])
    learned = _learned_from(conn, session_id)
    kept = _kept_in(conn, session_id)
    candidates = _memories_of(conn, session_id) | kept
    memory = _memory_rows(conn, known, candidates)
    projects = _projects(conn, session, memory)
    with changes.leaving(conn):
        erased = erasure.erase_session(conn, session_id)
        if kept:
            erased = combined([erased, erasure.take_memories(conn, kept)])
    gone = candidates - _still_there(conn, candidates)
    rows = {**session, "projects": projects}
    for name, found in _only(memory, gone).items():
        rows[name] = [*rows.get(name, []), *found]
    _keep_own_words(rows)
    _cut_what_points_out(rows, known)
    rows["projects"] = _taken_along(conn, known, rows["projects"])
    held = {name: found for name, found in rows.items() if found}
    return Parcel(session_id, held, learned, merged=merged), erased


def pack_document(conn: Connection, document_id: str) -> tuple[Parcel, ErasedDocuments]:
    """Takes a document with everything made from it out of the room. Raises `DocumentNotFound`.

    Sessions stay, and lose its passages and citations. A document of a watched folder leaves the folder; no
    scan will add the file again.
    """
    known = tables(conn)
    rows = {
        table.name: _select(conn, table, '"document_id" = ?', document_id)
        for table in known.values()
        if table.lineage is Lineage.DOCUMENT and table.name != "documents"
    }
    rows["documents"] = _select(conn, known["documents"], "id = ?", document_id)
    if not rows["documents"]:
        raise DocumentNotFound(document_id)
    (document,) = rows["documents"]
    folder = document["folder_id"]
    rows["projects"] = _projects(conn, rows)
    with changes.leaving(conn):
        erased = documents.erase(conn, [document_id], for_good=True)
    _cut_what_points_out(rows, known)
    # A document that is taken back is in its folder again.
    rows["documents"] = [{**row, "folder_id": folder} for row in rows["documents"]]
    rows["projects"] = _taken_along(conn, known, rows["projects"])
    held = {name: found for name, found in rows.items() if found}
    return Parcel(document_id, held, None, MovedKind.DOCUMENT), erased


def _session_rows(
    conn: Connection, known: dict[str, Table], session_ids: Collection[str]
) -> dict[str, list[Row]]:
    listed = json.dumps(list(session_ids))
    found = {
        table.name: _select(conn, table, f'"session_id" IN {_LISTED}', listed)
        for table in known.values()
        if table.lineage is Lineage.SESSION and table.name not in ("sessions", "learned")
    }
    found["sessions"] = _select(conn, known["sessions"], f"id IN {_LISTED}", listed)
    return found


def _learned_from(conn: Connection, session_id: str) -> str | None:
    row = conn.execute(
        """
        SELECT id FROM messages
        WHERE session_id = ?1 AND seq <= (SELECT seq FROM learned WHERE session_id = ?1)
        ORDER BY seq DESC LIMIT 1
        """,
        (session_id,),
    ).fetchone()
    return None if row is None else str(row[0])


# --- memories ---------------------------------------------------------------------------------------


def _memories_of(conn: Connection, session_id: str) -> set[str]:
    rows = conn.execute("SELECT DISTINCT memory_id FROM memory_sources WHERE session_id = ?", (session_id,))
    return {row[0] for row in rows}


def _kept_in(conn: Connection, session_id: str) -> set[str]:
    """Returns the memories that the user wrote in the session and that have no source in another session."""
    rows = conn.execute(
        """
        SELECT k.memory_id FROM memory_kept_in AS k JOIN memories AS m ON m.id = k.memory_id
        WHERE k.session_id = ?1 AND m.own_words = 1 AND NOT EXISTS (
            SELECT 1 FROM memory_sources AS s WHERE s.memory_id = k.memory_id AND s.session_id <> ?1
        )
        """,
        (session_id,),
    )
    return {row[0] for row in rows}


def _still_there(conn: Connection, ids: Collection[str]) -> set[str]:
    rows = conn.execute(f"SELECT id FROM memories WHERE id IN {_LISTED}", (json.dumps(list(ids)),))
    return {row[0] for row in rows}


def _memory_rows(conn: Connection, known: dict[str, Table], ids: Collection[str]) -> dict[str, list[Row]]:
    listed = json.dumps(sorted(ids))
    found = {
        table.name: _select(conn, table, f'"memory_id" IN {_LISTED}', listed)
        for table in known.values()
        if table.lineage is Lineage.MEMORY and table.name != "memories"
    }
    found["memories"] = _select(conn, known["memories"], f"id IN {_LISTED}", listed)
    found["vectors"] = _select(
        conn, known["vectors"], f"kind = 'memory' AND session_id IS NULL AND owner_id IN {_LISTED}", listed
    )
    return found


def _only(memory: dict[str, list[Row]], gone: Collection[str]) -> dict[str, list[Row]]:
    owner = {"memories": "id", "vectors": "owner_id"}
    return {
        name: [row for row in rows if row[owner.get(name, "memory_id")] in gone]
        for name, rows in memory.items()
    }


# --- projects ---------------------------------------------------------------------------------------


def _projects(conn: Connection, *groups: dict[str, list[Row]]) -> list[Row]:
    ids = {
        row["project_id"]
        for group in groups
        for rows in group.values()
        for row in rows
        if row.get("project_id") is not None
    }
    return _select(conn, tables(conn)["projects"], f"id IN {_LISTED}", json.dumps(sorted(ids)))


def _taken_along(conn: Connection, known: dict[str, Table], projects: Iterable[Row]) -> list[Row]:
    """Deletes those of the projects that have become empty: the name would reveal the session.

    Returns what the parcel contains of each; the instructions of a project that stays are not included.
    """
    users = [
        (table.name, key.columns[0])
        for table in known.values()
        for key in table.foreign
        if key.parent == "projects"
    ]
    found: list[Row] = []
    for project in projects:
        used = any(
            conn.execute(f'SELECT 1 FROM "{table}" WHERE "{column}" = ? LIMIT 1', (project["id"],)).fetchone()
            for table, column in users
        )
        if not used:
            with changes.leaving(conn):
                conn.execute("DELETE FROM projects WHERE id = ?", (project["id"],))
        found.append({**project, "instructions": "", "model": None} if used else project)
    return found


# --- what does not move -----------------------------------------------------------------------------


def _keep_own_words(rows: dict[str, list[Row]]) -> None:
    """Removes from prompts all content of anything that stays.

    In the other room, forgetting could not reach it, or users could see it who must not.
    """
    owners = ("sessions", "messages", "summaries", "memories", "attachments")
    own = {row["id"] for name in owners for row in rows.get(name, [])}
    asked = {row["id"]: row["parent_id"] for row in rows["messages"]}
    # What is cited from a document stays with the document, also where no turn was recorded.
    emptied: set[str | None] = {row["message_id"] for row in rows["passages"]}
    for turn in rows["turns"]:
        parts = unpack_parts(turn["parts"])
        if any(part.tier in TOLD and not own.issuperset(part.ids) for part in parts):
            emptied.add(asked[turn["reply_id"]])
        turn["parts"] = pack_parts([_own_part(part, own) for part in parts])
    for message in rows["messages"]:
        if message["id"] in emptied:
            message["preface"] = ""
    rows["considered"] = [row for row in rows["considered"] if row["item_id"] in own]
    # An epoch continues its session with the prefaces as they were.
    rows["epochs"] = [
        epoch
        for epoch in rows["epochs"]
        if not emptied and all(own.issuperset(part.ids) for part in unpack_parts(epoch["parts"]))
    ]


def _own_part(part: TierUse, own: Collection[str]) -> TierUse:
    return replace(part, ids=tuple(held for held in part.ids if held in own))


def _cut_what_points_out(
    rows: dict[str, list[Row]], known: dict[str, Table], here: Mapping[str, Collection[Row]] | None = None
) -> None:
    """Removes rows, or clears optional references, until every row refers only to rows in the parcel, or to
    those that are `here`, in the receiving room.
    """
    changed = True
    while changed:
        changed = False
        for name, key in _keys(rows, known):
            parents = [*rows.get(key.parent, []), *(here or {}).get(key.parent, [])]
            there = {tuple(row[column] for column in key.parent_columns) for row in parents}
            kept: list[Row] = []
            for row in rows[name]:
                refers = tuple(row[column] for column in key.columns)
                if None in refers or refers in there:
                    kept.append(row)
                    continue
                changed = True
                if key.optional:
                    kept.append({**row, **dict.fromkeys(key.columns)})
            rows[name] = kept


def _keys(rows: dict[str, list[Row]], known: dict[str, Table]) -> Iterator[tuple[str, ForeignKey]]:
    return ((name, key) for name in list(rows) for key in known[name].foreign if rows[name])


def _select(conn: Connection, table: Table, where: str, value: str) -> list[Row]:
    order = f'ORDER BY "{table.order}"' if table.order else ""
    names = ", ".join(f'"{column}"' for column in table.columns)
    rows = conn.execute(f'SELECT {names} FROM "{table.name}" WHERE {where} {order}', (value,))
    return [dict(zip(table.columns, row, strict=True)) for row in rows]


# Jobs are added again where they are needed, and another session may already have led to the same results.
_EITHER = ("jobs", "job_results")


def unpack(conn: Connection, parcel: Parcel) -> bool:
    """Stores a parcel. Returns False and stores nothing if the room already has the session or document."""
    if conn.execute(f"SELECT 1 FROM {parcel.kind}s WHERE id = ?", (parcel.item_id,)).fetchone() is not None:
        return False
    known = tables(conn)
    held, both = _new_rows(conn, known, parcel.tables)
    projects = {row["id"]: _project(conn, known["projects"], row) for row in parcel.rows("projects")}
    # Heads, parents and merged summaries refer in both directions.
    conn.execute("PRAGMA defer_foreign_keys = ON")
    # Triggers count a session's messages: it is inserted first, with a count of 0.
    _insert(
        conn, known["sessions"], [{**row, "message_count": 0} for row in held.get("sessions", [])], projects
    )
    for name, rows in held.items():
        if name not in ("sessions", "projects") and name in known:
            settled = [_settled(conn, name, row) for row in rows]
            _insert(conn, known[name], settled, projects, ignore=both or name in _EITHER)
    for one, note in parcel.merged.items():
        if any(row["id"] == one for row in held.get("sessions", [])):
            session_merge.keep_note(conn, one, note)
    if parcel.learned_from is not None:
        conn.execute(
            """
            INSERT INTO learned (session_id, seq) SELECT session_id, seq FROM messages
            WHERE session_id = ? AND id = ?
            """,
            (parcel.item_id, parcel.learned_from),
        )
    _forget_again(conn, held)
    return True


def _forget_again(conn: Connection, held: Mapping[str, list[Row]]) -> None:
    """Erases what another device has forgotten while it was in the parcel."""
    ids = [row["id"] for rows in held.values() for row in rows if "id" in row]
    forgotten: dict[str, list[str]] = {}
    for table, key in conn.execute(
        f"SELECT tbl, key FROM sync_stamps WHERE field = '{changes.FORGOTTEN}' AND key IN {_LISTED}",
        (json.dumps(ids),),
    ).fetchall():
        forgotten.setdefault(table, []).append(key)
    if forgotten:
        erase_forgotten(conn, forgotten)


def _new_rows(
    conn: Connection, known: dict[str, Table], held: Mapping[str, list[Row]]
) -> tuple[dict[str, list[Row]], bool]:
    """Returns the rows of a parcel that the room does not have, and whether it has any of the others.

    A session that was merged into the one that arrives may have come back before, by itself, with messages
    that this one held. They stay where they are; what was said after them continues what was said before.
    """
    here = {
        name: _select(conn, known[name], f"id IN {_LISTED}", json.dumps([row["id"] for row in rows]))
        for name, rows in held.items()
        if name in known and name != "projects" and "id" in known[name].columns
    }
    ids = {name: {row["id"] for row in rows} for name, rows in here.items() if rows}
    if not ids:
        return dict(held), False
    rows = {
        name: [dict(row) for row in found if row.get("id") not in ids.get(name, ())]
        for name, found in held.items()
    }
    place = {row["id"]: row["session_id"] for row in here.get("messages", [])}
    before = {row["id"]: row["parent_id"] for row in held.get("messages", [])}

    def outside(message: str | None) -> str | None:
        while message in place:
            message = before[message]
        return message

    for row in rows.get("messages", []):
        row["parent_id"] = outside(row["parent_id"])
    for row in rows.get("sessions", []):
        row["head_id"] = outside(row["head_id"])
    for name, key in _keys(rows, known):
        if key.parent == "messages" and key.columns[1:] == ("session_id",) and name != "messages":
            for row in rows[name]:
                row["session_id"] = place.get(row[key.columns[0]], row["session_id"])
    _cut_what_points_out(rows, known, here)
    return rows, True


def _settled(conn: Connection, name: str, row: Row) -> Row:
    """Returns the row to store: a job that was running when its session left is queued again, and a note is
    learned from again."""
    if name == "jobs" and row["state"] == "running":
        return {**row, "state": "queued"}
    if name == "notes":
        # What was learned from it stayed behind.
        return {**row, "learned": 0}
    return _placed(conn, row) if name == "documents" else row


def _placed(conn: Connection, row: Row) -> Row:
    """Returns the row of an arriving document.

    If another document of this room belongs to its file, that one keeps following the file, and this one
    keeps its text.
    """
    location, folder = row["location"], row["folder_id"]
    if location is not None:
        documents.readmit(conn, location, row["sha256"])
        taken = conn.execute("SELECT 1 FROM documents WHERE location = ?", (location,)).fetchone()
        location = location if taken is None else None
    known = conn.execute("SELECT id FROM document_folders WHERE id = ?", (folder,)).fetchone()
    return {**row, "location": location, "folder_id": None if known is None else known[0]}


def _project(conn: Connection, table: Table, row: Row) -> str:
    """Returns the id in this room of the project of that name, ignoring case; made if there is none.

    A project that arrived before and was renamed in this room is the same. One without instructions gets
    those of the project that arrives, whose room no longer has it.
    """
    found = project_names.project_id(conn, row["name"])
    if found is None and conn.execute("SELECT 1 FROM projects WHERE id = ?", (row["id"],)).fetchone():
        found = str(row["id"])
    if found is None:
        _insert(conn, table, [row], {})
        return str(row["id"])
    conn.execute(
        "UPDATE projects SET instructions = ? WHERE id = ? AND instructions = ''",
        (row.get("instructions", ""), found),
    )
    return found


def _insert(
    conn: Connection, table: Table, rows: list[Row], projects: Mapping[str, str], *, ignore: bool = False
) -> None:
    """Stores rows; with `ignore`, those that the room does not have."""
    if not rows:
        return
    columns = [name for name in table.columns if name in rows[0] and name != table.order]
    verb = "INSERT OR IGNORE" if ignore else "INSERT"
    names, marks = ", ".join(f'"{name}"' for name in columns), ", ".join("?" for _ in columns)
    conn.executemany(
        f'{verb} INTO "{table.name}" ({names}) VALUES ({marks})',
        [
            [projects.get(row[name], row[name]) if name == "project_id" else row[name] for name in columns]
            for row in rows
        ],
    )
