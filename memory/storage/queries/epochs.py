"""Prompt epochs, what each turn's prompt consisted of, and what was considered for it."""
# ruff: noqa: S608  # the names put into SQL are all written in this module

import json
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec

from memory.clock import micros, moment
from memory.context.decisions import Outcome, RecallDecision
from memory.context.entities import TOLD, Epoch, NewEpoch, Summary, TierUse, TurnRecord
from memory.errors import MessageNotFound, SummaryStale
from memory.storage.connection import Connection
from memory.storage.queries import summaries
from memory.storage.queries.messages import require_in
from memory.storage.queries.sessions import require
from memory.storage.values import new_id, storable

_COLUMNS = "id, session_id, model, head, parts, start_id, created_at"
TURN_COLUMNS = "reply_id, session_id, epoch_id, model, prompt_hash, prompt_tokens, parts"


def pack_parts(parts: Sequence[TierUse]) -> str:
    return msgspec.json.encode(parts).decode()


def unpack_parts(text: str) -> tuple[TierUse, ...]:
    return msgspec.json.decode(text, type=tuple[TierUse, ...])


def _epoch(row: Any) -> Epoch:
    return Epoch(
        id=row[0],
        session_id=row[1],
        model=row[2],
        head=row[3],
        parts=unpack_parts(row[4]),
        start_id=row[5],
        created_at=moment(row[6]),
    )


def insert(conn: Connection, new: NewEpoch, now: datetime) -> Epoch:
    """Stores a new epoch. Raises `SessionNotFound`, `MessageNotFound`, `SummaryStale`."""
    require(conn, new.session_id)
    require_in(conn, new.session_id, new.start_id)
    held = [held for part in new.parts for held in part.ids]
    stale = conn.execute(
        "SELECT id FROM summaries WHERE state = 'stale' AND id IN (SELECT value FROM json_each(?)) LIMIT 1",
        (json.dumps(held),),
    ).fetchone()
    if stale is not None:
        raise SummaryStale(str(stale[0]))
    at = moment(micros(now))
    epoch = Epoch(new_id(), new.session_id, new.model, storable(new.head), new.parts, new.start_id, at)
    put(conn, epoch)
    return epoch


def put(conn: Connection, epoch: Epoch) -> None:
    """Stores an epoch unchanged."""
    conn.execute(
        f"INSERT INTO epochs ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            epoch.id,
            epoch.session_id,
            epoch.model,
            epoch.head,
            pack_parts(epoch.parts),
            epoch.start_id,
            micros(epoch.created_at),
        ),
    )


def of_session(conn: Connection, session_id: str, model: str | None = None) -> list[Epoch]:
    """Returns epochs, oldest first, of one model's fingerprint or of all. Raises `SessionNotFound`."""
    require(conn, session_id)
    rows = conn.execute(
        f"SELECT {_COLUMNS} FROM epochs WHERE session_id = ?1 AND (?2 IS NULL OR model = ?2) ORDER BY seq",
        (session_id, model),
    )
    return [_epoch(row) for row in rows]


def drop(conn: Connection, session_id: str) -> int:
    """Ends all epochs of a session; returns how many. Raises `SessionNotFound`."""
    require(conn, session_id)
    return int(conn.execute("DELETE FROM epochs WHERE session_id = ?", (session_id,)).rowcount)


def drop_holding(conn: Connection, sessions: Sequence[str], ids: Sequence[str]) -> int:
    """Ends the epochs of these sessions whose head contains one of the ids; returns how many."""
    changed = conn.execute(
        """
        DELETE FROM epochs WHERE session_id IN (SELECT value FROM json_each(?)) AND EXISTS (
            SELECT 1 FROM json_each(parts) AS part, json_each(part.value, '$.ids') AS held
            WHERE held.value IN (SELECT value FROM json_each(?))
        )
        """,
        (json.dumps(list(sessions)), json.dumps(list(ids))),
    ).rowcount
    return int(changed)


def record_turn(conn: Connection, record: TurnRecord) -> None:
    """Stores a reply's record; replaces an earlier one. Raises `SessionNotFound`, `MessageNotFound`."""
    require(conn, record.session_id)
    reply = conn.execute(
        "SELECT 1 FROM messages WHERE id = ? AND session_id = ? AND role = 'assistant'",
        (record.reply_id, record.session_id),
    ).fetchone()
    if reply is None:
        raise MessageNotFound(record.reply_id)
    put_turn(conn, record)


def put_turn(conn: Connection, record: TurnRecord) -> None:
    """Stores what a reply's prompt consisted of. An epoch that has ended meanwhile is left out."""
    conn.execute(
        f"""
        INSERT INTO turns ({TURN_COLUMNS})
        VALUES (?, ?, (SELECT id FROM epochs WHERE id = ? AND session_id = ?), ?, ?, ?, ?)
        ON CONFLICT (session_id, reply_id) DO UPDATE SET
            epoch_id = excluded.epoch_id, model = excluded.model, prompt_hash = excluded.prompt_hash,
            prompt_tokens = excluded.prompt_tokens, parts = excluded.parts
        """,
        (
            record.reply_id,
            record.session_id,
            record.epoch_id,
            record.session_id,
            record.model,
            record.prompt_hash,
            record.prompt_tokens,
            pack_parts(record.parts),
        ),
    )


def turn(conn: Connection, reply_id: str) -> TurnRecord | None:
    row = conn.execute(
        f"""
        SELECT {TURN_COLUMNS} FROM turns
        WHERE session_id = (SELECT session_id FROM messages WHERE id = ?1) AND reply_id = ?1
        """,
        (reply_id,),
    ).fetchone()
    return None if row is None else turn_of(row)


def turns_of_session(conn: Connection, session_id: str) -> list[TurnRecord]:
    rows = conn.execute(f"SELECT {TURN_COLUMNS} FROM turns WHERE session_id = ?", (session_id,))
    return [turn_of(row) for row in rows]


def turn_of(row: Any) -> TurnRecord:
    """Builds a record from a row of `TURN_COLUMNS`."""
    return TurnRecord(
        reply_id=row[0],
        session_id=row[1],
        epoch_id=row[2],
        model=row[3],
        prompt_hash=row[4],
        prompt_tokens=row[5],
        parts=unpack_parts(row[6]),
    )


def put_considered(conn: Connection, session_id: str, reply_id: str, found: Sequence[RecallDecision]) -> None:
    """Replaces what is stored for the reply. Items that have been deleted meanwhile are left out."""
    conn.execute("DELETE FROM considered WHERE reply_id = ?", (reply_id,))
    conn.executemany(
        """
        INSERT INTO considered (reply_id, position, session_id, kind, item_id, fate, score, parts)
        SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE
            EXISTS (SELECT 1 FROM messages WHERE id = ?5 AND content <> '')
            OR EXISTS (SELECT 1 FROM memories WHERE id = ?5) OR EXISTS (SELECT 1 FROM summaries WHERE id = ?5)
        """,
        [
            (
                reply_id,
                position,
                session_id,
                one.kind,
                one.id,
                one.outcome,
                one.score,
                json.dumps({name: round(part, 6) for name, part in one.parts.items()}),
            )
            for position, one in enumerate(found)
        ],
    )


def considered_for(conn: Connection, reply_id: str) -> list[RecallDecision]:
    """Returns the decisions in the order of ranking."""
    rows = conn.execute(
        """
        SELECT kind, item_id, fate, score, parts FROM considered WHERE reply_id = ? ORDER BY position
        """,
        (reply_id,),
    )
    return [
        RecallDecision(kind, item, Outcome(fate), score, json.loads(parts))
        for kind, item, fate, score, parts in rows
    ]


def considered_naming(conn: Connection, item_id: str, limit: int) -> list[tuple[str, RecallDecision]]:
    """Returns the replies for which an item was considered, latest first, and what was decided."""
    rows = conn.execute(
        """
        SELECT reply_id, kind, item_id, fate, score, parts FROM considered
        WHERE item_id = ? ORDER BY reply_id DESC LIMIT ?
        """,
        (item_id, limit),
    )
    return [
        (reply, RecallDecision(kind, item, Outcome(fate), score, json.loads(parts)))
        for reply, kind, item, fate, score, parts in rows
    ]


def age_summaries(conn: Connection, message_ids: Sequence[str]) -> list[Summary]:
    """Marks the summaries of the messages as stale, and ends the epochs whose head contains one of either."""
    aged = summaries.age(conn, message_ids)
    held_in = [
        str(row[0])
        for row in conn.execute(
            "SELECT DISTINCT session_id FROM messages WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(message_ids)),),
        )
    ]
    drop_holding(conn, held_in, [*message_ids, *(one.id for one in aged)])
    return aged


def forget_recalled(conn: Connection, ids: Collection[str], *, gone: Collection[str]) -> tuple[str, ...]:
    """Empties the prefaces in which one of the ids was recalled or read, and ends the epochs that use these.

    Also ends the epochs that contain one of the ids in their head. Ids in `gone` are removed from the records
    of all turns as well. Returns the sessions.
    """
    known, missing = set(ids), set(gone)
    touched: list[str] = []
    for turn in turns_naming(conn, known):
        tiers = {part.tier for part in turn.parts if not known.isdisjoint(part.ids)}
        if not TOLD.isdisjoint(tiers):
            conn.execute(
                "UPDATE messages SET preface = '' WHERE id = (SELECT parent_id FROM messages WHERE id = ?)",
                (turn.reply_id,),
            )
            drop(conn, turn.session_id)
            touched.append(turn.session_id)
        if any(not missing.isdisjoint(part.ids) for part in turn.parts):
            parts = tuple(
                replace(part, ids=tuple(held for held in part.ids if held not in missing))
                for part in turn.parts
            )
            # An epoch that has ended meanwhile is left out.
            put_turn(conn, replace(turn, parts=parts))
    for epoch_id, session_id, parts in conn.execute("SELECT id, session_id, parts FROM epochs").fetchall():
        if names_one_of(parts, known):
            conn.execute("DELETE FROM epochs WHERE id = ?", (epoch_id,))
            touched.append(session_id)
    return tuple(dict.fromkeys(touched))


def drop_prefaces_of(conn: Connection, document_ids: Collection[str]) -> None:
    """Empties the prefaces that contain passages of documents, also of turns that were not recorded."""
    conn.execute(
        """
        UPDATE messages SET preface = '' WHERE preface <> '' AND (id, session_id) IN (
            SELECT message_id, session_id FROM passages
            WHERE document_id IN (SELECT value FROM json_each(?))
        )
        """,
        (json.dumps(list(document_ids)),),
    )


def names_one_of(text: str, ids: AbstractSet[str]) -> bool:
    """Whether JSON names one of the ids, as a key or a value. Much faster than parsing it."""
    return not ids.isdisjoint(text.split('"'))


def turns_naming(conn: Connection, ids: Collection[str]) -> list[TurnRecord]:
    """Returns the turns of which a part names one of the ids."""
    known = set(ids)
    if not known:
        return []
    found = [
        (session_id, reply_id)
        for session_id, reply_id, parts in conn.execute("SELECT session_id, reply_id, parts FROM turns")
        if names_one_of(parts, known)
    ]
    rows = conn.execute(
        f"""
        SELECT {TURN_COLUMNS} FROM turns WHERE (session_id, reply_id) IN (
            SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?)
        )
        """,
        (json.dumps(found),),
    )
    return [turn_of(row) for row in rows]
