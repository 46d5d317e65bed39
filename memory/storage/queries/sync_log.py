"""The log of changes of a synced room: its state, stamps, files and the devices that it knows."""
# ruff: noqa: S608  # the names put into SQL are all written in `memory.sync.tables`

import base64
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from memory.clock import micros, moment
from memory.storage.changes import BORN, FORGOTTEN, GONE, key_of
from memory.storage.connection import Connection
from memory.sync.entities import LONG_VALUE, Change, Device, KeySet, Mark, Outgoing, OwnFile, SyncState
from memory.sync.tables import ALL, BY_NAME, EMPTIED, SyncedTable

_DEVICE = (
    "number, id, name, place, signing, sealing, position, digest, revision, missing, wanted, heard, seen_at,"
    " removed_at, until"
)
_MARKS = (BORN, GONE, FORGOTTEN)
_TEXT_OF_DOCUMENT = frozenset({"chunks", "document_summaries"})
"""Tables whose rows contain the text of a document, which is forgotten as a whole."""


def state(conn: Connection) -> SyncState | None:
    """Returns the state of this device; None if the room is not synced."""
    row = conn.execute(
        """
        SELECT folder, own, keys, signing, sealing, paused, revision, last, digest, head, writing, synced_at,
            invitation, invited_until FROM sync_state
        """
    ).fetchone()
    if row is None:
        return None
    own = device(conn, row[1])
    return SyncState(
        folder=row[0],
        own=own,
        keys=msgspec.msgpack.decode(row[2], type=KeySet),
        signing=row[3],
        sealing=row[4],
        paused=bool(row[5]),
        revision=row[6],
        last=row[7],
        digest=row[8],
        head=row[9],
        writing=row[10],
        synced_at=None if row[11] is None else moment(row[11]),
        invitation=row[12],
        invited_until=moment(row[13]) if row[13] else None,
    )


def begin(
    conn: Connection,
    folder: str,
    device_id: str,
    name: str,
    place: str,
    keys: KeySet,
    signing: tuple[bytes, bytes],
    sealing: tuple[bytes, bytes],
) -> int:
    """Makes this room a device of a folder; `signing` and `sealing` are pairs of private and public keys.
    Returns the number of the device."""
    number = new_device(conn, device_id, name)
    conn.execute(
        "UPDATE sync_devices SET place = ?, signing = ?, sealing = ? WHERE number = ?",
        (place, signing[1], sealing[1], number),
    )
    conn.execute(
        """
        INSERT INTO sync_state (only_row, folder, place, own, keys, signing, sealing)
        VALUES (1, ?, ?, ?, ?, ?, ?)
        """,
        (folder, place, number, msgspec.msgpack.encode(keys), signing[0], sealing[0]),
    )
    return number


_OWN = (
    "sync_state",
    "sync_devices",
    "sync_stamps",
    "sync_waiting",
    "sync_files",
    "sync_blobs",
    "sync_merged",
    "sync_settings",
)


def end(conn: Connection) -> None:
    """Ends the sync of the room; nothing else in it changes."""
    for table in _OWN:
        conn.execute(f"DELETE FROM {table}")


def renew(
    conn: Connection,
    device_id: str,
    place: str,
    signing: tuple[bytes, bytes],
    sealing: tuple[bytes, bytes],
) -> Device:
    """Makes this room a new device, and the present one another device whose files are known so far.

    For a room that was restored or copied: its device has continued elsewhere.
    """
    old = state(conn)
    if old is None:
        raise ValueError("not synced")
    number = new_device(conn, device_id, old.own.name)
    conn.execute(
        "UPDATE sync_devices SET place = ?, signing = ?, sealing = ? WHERE number = ?",
        (place, signing[1], sealing[1], number),
    )
    conn.execute(
        "UPDATE sync_devices SET position = ?, digest = ? WHERE number = ?",
        (old.last, old.digest, old.own.number),
    )
    conn.execute("UPDATE sync_stamps SET by = ? WHERE by = ? AND sent IS NULL", (number, old.own.number))
    conn.execute("UPDATE sync_stamps SET sent = 0 WHERE sent > 0")
    conn.execute("DELETE FROM sync_files")
    conn.execute("DELETE FROM sync_blobs")
    conn.execute(
        """
        UPDATE sync_state SET own = ?, place = ?, signing = ?, sealing = ?, revision = 0, last = 0,
            digest = x'', head = x'', writing = NULL
        """,
        (number, place, signing[0], sealing[0]),
    )
    return device(conn, number)


def set_state(conn: Connection, **changes: object) -> None:
    names = ", ".join(f"{name} = ?" for name in changes)
    conn.execute(f"UPDATE sync_state SET {names}", tuple(changes.values()))


def set_keys(conn: Connection, keys: KeySet) -> None:
    """Replaces the keys; all files of this device are stale, because the newest key has to write them."""
    set_state(conn, keys=msgspec.msgpack.encode(keys))
    conn.execute("UPDATE sync_files SET stale = 1")


# --- devices ---------------------------------------------------------------------------------------


def new_device(conn: Connection, device_id: str, name: str = "") -> int:
    """Returns the number of a device, adding it first if it is unknown."""
    conn.execute(
        "INSERT INTO sync_devices (id, name) VALUES (?, ?) ON CONFLICT DO NOTHING", (device_id, name)
    )
    (number,) = conn.execute("SELECT number FROM sync_devices WHERE id = ?", (device_id,)).fetchone()
    return int(number)


def device(conn: Connection, number: int) -> Device:
    row = conn.execute(f"SELECT {_DEVICE} FROM sync_devices WHERE number = ?", (number,)).fetchone()
    return _device(row)


def devices(conn: Connection) -> list[Device]:
    rows = conn.execute(f"SELECT {_DEVICE} FROM sync_devices ORDER BY number")
    return [_device(row) for row in rows]


def _device(row: Any) -> Device:
    number, device_id, name, place, signing, sealing, position, digest, revision, *rest = row
    missing, wanted, heard, seen_at, removed_at, until = rest
    return Device(
        number=number,
        id=device_id,
        name=name,
        place=place,
        signing=signing,
        sealing=sealing,
        position=position,
        digest=digest,
        revision=revision,
        missing=missing,
        wanted=wanted,
        heard=heard,
        seen_at=None if seen_at is None else moment(seen_at),
        removed_at=None if removed_at is None else moment(removed_at),
        until=until,
    )


def set_device(conn: Connection, number: int, **changes: object) -> None:
    names = ", ".join(f"{name} = ?" for name in changes)
    conn.execute(f"UPDATE sync_devices SET {names} WHERE number = ?", (*changes.values(), number))


def remove_device(conn: Connection, number: int, until: int, now: datetime) -> None:
    """Stops reading a device, and sends its changes as this device's own from now on."""
    set_device(conn, number, removed_at=micros(now), until=until)
    conn.execute("UPDATE sync_stamps SET sent = NULL WHERE by = ?", (number,))


# --- what is sent ----------------------------------------------------------------------------------


def stamp_everything(conn: Connection, now: datetime) -> int:
    """Gives all rows that have no stamp yet the time of their last change; returns how many rows these
    were."""
    limit = micros(now)
    (before,) = conn.execute("SELECT count(*) FROM sync_stamps").fetchone()
    for table in ALL:
        at = f't."{table.changed_at}"' if table.changed_at else str(limit)
        conn.execute(
            f"""
            INSERT INTO sync_stamps (tbl, key, field, at, by, sent)
            SELECT '{table.name}', {key_of(table, "t")}, '', max(min({at}, {limit}), 1), s.own, NULL
            FROM {table.name} AS t, sync_state AS s WHERE {table.only.format(row="t") or "1"}
            ON CONFLICT DO NOTHING
            """
        )
    (after,) = conn.execute("SELECT count(*) FROM sync_stamps").fetchone()
    return int(after - before)


def pending(conn: Connection) -> int:
    """Returns how many rows no file carries as they are now."""
    (count,) = conn.execute(
        "SELECT count(*) FROM (SELECT DISTINCT tbl, key FROM sync_stamps WHERE sent IS NULL)"
    ).fetchone()
    return int(count)


def is_forgotten(conn: Connection, table: str, key: str) -> bool:
    row = conn.execute(
        "SELECT 1 FROM sync_stamps WHERE tbl = ? AND key = ? AND field = '!'", (table, key)
    ).fetchone()
    return row is not None


def outgoing(conn: Connection, limit: int) -> Outgoing:
    """Returns changes that no file carries yet, oldest first, of about `limit` bytes."""
    changes: list[Change] = []
    marks: list[Mark] = []
    ids: dict[int, str] = dict(conn.execute("SELECT number, id FROM sync_devices").fetchall())
    (own,) = conn.execute("SELECT own FROM sync_state").fetchone()
    places = {own: 0}
    size = 0
    done: set[tuple[str, str]] = set()
    held = _held(conn)
    rows = conn.execute("SELECT tbl, key FROM sync_stamps WHERE sent IS NULL ORDER BY at")
    more = False
    for name, key in rows:
        if (name, key) in done:
            continue
        if size >= limit:
            more = True
            break
        done.add((name, key))
        stamps = conn.execute(
            "SELECT field, at, by, sent FROM sync_stamps WHERE tbl = ? AND key = ?", (name, key)
        ).fetchall()
        change = _change(conn, name, key, stamps, places)
        if change is not None and (name, key) in held:
            _fill_in(change, held[name, key])
        marks += [Mark(name, key, field, at) for field, at, _, sent in stamps if sent is None]
        if change is not None:
            changes.append(change)
            values = [*change.base.values(), *(value for _, _, value in change.fields.values())]
            size += 64 + sum(map(_weight, values))
    return Outgoing(changes, marks, [ids[number] for number in places], more)


def _held(conn: Connection) -> dict[tuple[str, str], dict[tuple[str, int], Any]]:
    """Returns, by row, the values of columns that stay empty until the row that they name arrives; each by
    the column and the time of its stamp.
    """
    found: dict[tuple[str, str], dict[tuple[str, int], Any]] = {}
    for text in conn.execute("SELECT change FROM sync_waiting WHERE instr(change, '\"?')").fetchall():
        change = unpacked(text[0])
        found.setdefault((change.table, change.key), {}).update(_held_by(change))
    return found


def _held_by(change: Change) -> dict[tuple[str, int], Any]:
    return {(name[1:], at): value for name, (at, _, value) in change.fields.items() if name.startswith("?")}


def fill_in_held(conn: Connection, change: Change) -> None:
    """Restores the values of a row's columns that are empty until the row that they name arrives."""
    rows = conn.execute(
        "SELECT change FROM sync_waiting WHERE tbl = ? AND key = ? AND instr(change, '\"?')",
        (change.table, change.key),
    )
    for (text,) in rows.fetchall():
        _fill_in(change, _held_by(unpacked(text)))


def _fill_in(change: Change, values: Mapping[tuple[str, int], Any]) -> None:
    """Restores the value from the time of a stamp, because the column is empty for now."""
    for (name, at), value in values.items():
        if name in change.fields:
            if change.fields[name][0] == at:
                change.fields[name] = (*change.fields[name][:2], value)
        elif change.born is not None and change.born[0] == at and name in change.base:
            change.base[name] = value


def _weight(value: object) -> int:
    """Returns about how many bytes a value takes in a file of changes."""
    return len(value) + 8 if isinstance(value, str | bytes) and len(value) < LONG_VALUE else 8


def _change(
    conn: Connection, name: str, key: str, stamps: Sequence[Any], places: dict[int, int]
) -> Change | None:
    """Returns the change that the unsent stamps of a row record; None if the row does not exist."""

    def time(at: int, by: int) -> tuple[int, int]:
        return at, places.setdefault(by, len(places))

    said = {field: time(at, by) for field, at, by, sent in stamps if sent is None}
    change = Change(name, key, gone=said.get(GONE), forgotten=said.get(FORGOTTEN))
    if name not in BY_NAME:
        return change
    table = BY_NAME[name]
    row = None
    if any(field not in (GONE, FORGOTTEN) for field in said):
        row = read(conn, table, key) or _set_aside(conn, name, key)
    if row is None:
        return change if change.gone or change.forgotten else None
    if BORN in said:
        change.born = said[BORN]
        change.base = row
        # Columns that this device has changed since keep their own times. Those that other devices changed
        # are in these devices' files; until one of them is read, this device's value is better than none.
        said |= {field: time(at, by) for field, at, by, sent in stamps if field not in _MARKS and sent != 0}
    change.fields = {
        field: (*at, row[field]) for field, at in said.items() if field not in _MARKS and field in row
    }
    return change


def _set_aside(conn: Connection, name: str, key: str) -> dict[str, Any] | None:
    """Returns a row that waits for the one that it belongs to."""
    rows = conn.execute("SELECT change FROM sync_waiting WHERE tbl = ? AND key = ?", (name, key))
    for (text,) in rows:
        change = unpacked(text)
        if change.born is not None:
            return change.base
    return None


_BYTES = "bytes"


def packed(change: Change) -> str:
    """Returns a waiting change as JSON text, so that forgetting finds the words in it."""

    def plain(value: Any) -> Any:
        return {_BYTES: base64.b64encode(value).decode()} if isinstance(value, bytes) else value

    base = {name: plain(value) for name, value in change.base.items()}
    fields = {name: (at, by, plain(value)) for name, (at, by, value) in change.fields.items()}
    whole = Change(change.table, change.key, change.born, change.gone, change.forgotten, base, fields)
    return msgspec.json.encode(whole).decode()


def unpacked(text: str) -> Change:
    change = msgspec.json.decode(text, type=Change)

    def real(value: Any) -> Any:
        return base64.b64decode(value[_BYTES]) if isinstance(value, dict) else value

    change.base = {name: real(value) for name, value in change.base.items()}
    change.fields = {name: (at, by, real(value)) for name, (at, by, value) in change.fields.items()}
    return change


_EMPTY = {"title": "", "system_prompt": None, "external_id": None, "meta": "{}", "category": ""}
"""Columns of sessions that may contain what is forgotten, and what they contain afterwards."""
_SOURCES = {"title": ("title_source", "first_words"), "category": ("category_source", "model")}


def forget_waiting(conn: Connection, numbers: Collection[int], speaks: Callable[[str], bool]) -> None:
    """Forgets changes that wait for other rows, on all devices: dropped here only, they would stay there.
    `speaks` tells whether a text contains what is forgotten.
    """
    rows = conn.execute(
        "SELECT number, tbl, key, change FROM sync_waiting WHERE number IN (SELECT value FROM json_each(?))",
        (json.dumps(list(numbers)),),
    ).fetchall()
    for number, name, key, text in rows:
        try:
            change = unpacked(text)
        except msgspec.MsgspecError:
            # Not a change: there is nothing to tell other devices.
            change = Change(name, key)
        if name == "messages":
            # Its place in the conversation stays, as that of every message that is forgotten.
            empty_message(change)
            conn.execute("UPDATE sync_waiting SET change = ? WHERE number = ?", (packed(change), number))
            _stamp_own(conn, EMPTIED, key, FORGOTTEN)
            continue
        if name == "sessions":
            _empty_waiting(conn, number, change, speaks)
            continue
        conn.execute("DELETE FROM sync_waiting WHERE number = ?", (number,))
        if name in _TEXT_OF_DOCUMENT and "document_id" in change.base:
            name, key = "documents", str(change.base["document_id"])
        if change.born is not None and name in BY_NAME and not BY_NAME[name].lasting:
            _stamp_own(conn, name, key, GONE, change.born[0] + 1)
        elif name in BY_NAME and BY_NAME[name].lasting:
            conn.execute("DELETE FROM sync_waiting WHERE tbl = ? AND key = ?", (name, key))
            _stamp_own(conn, name, key, FORGOTTEN)


def empty_message(change: Change) -> None:
    """Removes the text from a change of a message."""
    for column, empty in (("content", ""), ("meta", "{}")):
        if column in change.base:
            change.base[column] = empty
        if column in change.fields:
            change.fields[column] = (*change.fields[column][:2], empty)


def empty_waiting_message(conn: Connection, key: str) -> None:
    """Removes the text from the changes of a message that wait for other rows."""
    rows = conn.execute(
        "SELECT number, change FROM sync_waiting WHERE tbl = 'messages' AND key = ?", (key,)
    ).fetchall()
    for number, text in rows:
        change = unpacked(text)
        empty_message(change)
        conn.execute("UPDATE sync_waiting SET change = ? WHERE number = ?", (packed(change), number))


def _empty_waiting(conn: Connection, number: int, change: Change, speaks: Callable[[str], bool]) -> None:
    """Empties columns of a session that waits, as a change of this device: it is sent when the session has
    arrived, and counts as later than the text on every device.
    """
    own, now = conn.execute("SELECT own, sync_at() FROM sync_state").fetchone()
    values = change.base | {name: value for name, (_, _, value) in change.fields.items()}
    emptied = {
        name: empty
        for name, empty in _EMPTY.items()
        if isinstance(values.get(name), str) and speaks(values[name])
    }
    for name in list(emptied):
        emptied |= dict([_SOURCES[name]] if name in _SOURCES else [])
    for name, value in emptied.items():
        known = change.fields[name][0] if name in change.fields else (change.born or (0, 0))[0]
        change.fields[name] = (max(now, known + 1), own, value)
        if name in change.base:
            change.base[name] = value
    conn.execute("UPDATE sync_waiting SET change = ? WHERE number = ?", (packed(change), number))


def _stamp_own(conn: Connection, table: str, key: str, mark: str, least: int = 0) -> None:
    conn.execute(
        """
        INSERT INTO sync_stamps (tbl, key, field, at, by, sent)
        SELECT ?, ?, ?, max(sync_at(), ?), own, NULL FROM sync_state WHERE 1
        ON CONFLICT (tbl, key, field) DO NOTHING
        """,
        (table, key, mark, least),
    )


def stamp_as_own(conn: Connection, table: str, key: str, column: str) -> None:
    """Records the present value of a column as the newest change of it, made by this device."""
    conn.execute(
        """
        INSERT INTO sync_stamps (tbl, key, field, at, by, sent)
        SELECT ?1, ?2, ?3, max(sync_at(), coalesce(
            (SELECT max(at) + 1 FROM sync_stamps WHERE tbl = ?1 AND key = ?2 AND field IN ('', ?3)), 0
        )), own, NULL FROM sync_state WHERE 1
        ON CONFLICT DO UPDATE SET at = excluded.at, by = excluded.by, sent = NULL
        """,
        (table, key, column),
    )


def read(conn: Connection, table: SyncedTable, key: str) -> dict[str, Any] | None:
    """Returns the columns of a row that are synced, or None if there is no such row to send."""
    names = (*table.key, *table.columns)
    where, parameters = where_key(table, key)
    only = f" AND {table.only.format(row='t')}" if table.only else ""
    listed = ", ".join(f't."{name}"' for name in names)
    row = conn.execute(f"SELECT {listed} FROM {table.name} AS t WHERE {where}{only}", parameters).fetchone()
    return None if row is None else dict(zip(names, row, strict=True))


def where_key(table: SyncedTable, key: str) -> tuple[str, tuple[object, ...]]:
    """Returns a condition on the row of that key, as `t`, and its parameters."""
    if len(table.key) == 1:
        return f't."{table.key[0]}" = ?', (key,)
    first = json.loads(key)[0]
    return f't."{table.key[0]}" = ? AND {key_of(table, "t")} = ?', (first, key)


def sent(conn: Connection, marks: Iterable[Mark], number: int) -> None:
    """Records that a file of this device carries these stamps, unless they have changed since."""
    conn.executemany(
        """
        UPDATE sync_stamps SET sent = ?
        WHERE tbl = ? AND key = ? AND field = ? AND at = ? AND sent IS NULL
        """,
        [(number, one.table, one.key, one.field, one.at) for one in marks],
    )


# --- files -----------------------------------------------------------------------------------------


def files(conn: Connection) -> list[OwnFile]:
    rows = conn.execute(
        "SELECT number, name, bytes, digest, changes, weight, stale FROM sync_files ORDER BY number"
    )
    return [
        OwnFile(number, name, size, digest, changes, weight, stale=bool(stale))
        for number, name, size, digest, changes, weight, stale in rows
    ]


def add_file(conn: Connection, file: OwnFile) -> None:
    conn.execute(
        "INSERT INTO sync_files (number, name, bytes, digest, changes, weight) VALUES (?, ?, ?, ?, ?, ?)",
        (file.number, file.name, file.size, file.digest, file.changes, file.weight),
    )
    set_state(conn, last=file.number, digest=file.digest, writing=None)


def mark_stale(conn: Connection, numbers: Iterable[int]) -> None:
    conn.executemany("UPDATE sync_files SET stale = 1 WHERE number = ?", [(one,) for one in numbers])


def take_up_stale(conn: Connection) -> list[int]:
    """Marks the current changes in stale files as unsent, so that they are written again; returns the files'
    numbers.
    """
    numbers = [
        row[0] for row in conn.execute("SELECT number FROM sync_files WHERE stale = 1 ORDER BY number")
    ]
    conn.executemany("UPDATE sync_stamps SET sent = NULL WHERE sent = ?", [(one,) for one in numbers])
    return numbers


def drop_files(conn: Connection, numbers: Iterable[int]) -> None:
    conn.executemany("DELETE FROM sync_files WHERE number = ?", [(one,) for one in numbers])


def keep_blobs(conn: Connection, blobs: Iterable[tuple[str, str, str, bytes, str]]) -> None:
    """Records the long values of rows (table, key, column), their digests, and the names of their files."""
    conn.executemany(
        """
        INSERT INTO sync_blobs (tbl, key, field, digest, name) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET digest = excluded.digest, name = excluded.name
        """,
        list(blobs),
    )


def blob_names(conn: Connection) -> set[str]:
    """Returns the names of the files of long values that are still in use, and drops the others."""
    conn.execute(
        """
        DELETE FROM sync_blobs WHERE NOT EXISTS (
            SELECT 1 FROM sync_stamps AS s WHERE s.tbl = sync_blobs.tbl AND s.key = sync_blobs.key
                AND s.field IN ('', sync_blobs.field) AND (s.sent IS NULL OR s.sent > 0)
        )
        """
    )
    return {row[0] for row in conn.execute("SELECT name FROM sync_blobs")}


def files_with_blobs(conn: Connection, names: Collection[str]) -> list[int]:
    """Returns the numbers of this device's files whose long values are in the files of these names."""
    rows = conn.execute(
        """
        SELECT DISTINCT s.sent FROM sync_blobs AS b
        JOIN sync_stamps AS s ON s.tbl = b.tbl AND s.key = b.key AND s.field IN ('', b.field)
        WHERE s.sent > 0 AND b.name IN (SELECT value FROM json_each(?))
        """,
        (json.dumps(list(names)),),
    )
    return [int(row[0]) for row in rows]


def unheard_forgettings(conn: Connection, number: int) -> int:
    """Returns how many things that were forgotten a device may still have."""
    (count,) = conn.execute(
        """
        SELECT count(*) FROM sync_stamps AS s, sync_devices AS d
        WHERE s.field = '!' AND d.number = ? AND (s.sent IS NULL OR s.sent > d.heard)
        """,
        (number,),
    ).fetchone()
    return int(count)


def waiting(conn: Connection) -> int:
    (count,) = conn.execute("SELECT count(*) FROM sync_waiting").fetchone()
    return int(count)


def settings(conn: Connection) -> dict[str, str]:
    return dict(conn.execute("SELECT name, value FROM sync_settings").fetchall())


def put_settings(conn: Connection, values: dict[str, str]) -> None:
    conn.executemany(
        """
        INSERT INTO sync_settings (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value
        """,
        list(values.items()),
    )
