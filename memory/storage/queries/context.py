"""The parts of prompts as rows: epochs, summaries, attached texts, what was considered for a turn."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec

from memory.attachments import Attachment, Document, NewAttachment
from memory.clock import micros, moment
from memory.context.entities import (
    TOLD,
    Epoch,
    NewEpoch,
    NewSummary,
    Outcome,
    RecallDecision,
    Summary,
    SummaryState,
    TierUse,
    TurnRecord,
    require_wider,
    state_of_new,
)
from memory.errors import AmbiguousId, AttachmentNotFound, MessageNotFound, SummaryNotFound, SummaryStale
from memory.personas import found_among
from memory.storage.connection import Connection, id_range, new_id, storable
from memory.storage.queries import sessions as messages
from memory.storage.queries.sessions import require, require_in
from memory.transfer import TravellingAttachment

# ruff: noqa: S608  # the names put into SQL are all written in this module


_SUMMARY_COLUMNS = """
    s.id, s.session_id, s.level, s.text,
    (SELECT json_group_array(message_id ORDER BY position) FROM summary_messages WHERE summary_id = s.id),
    s.created_at, s.updated_at, s.state, s.topics, s.fallback, s.edited, s.model, s.merged_into
"""


def _summary(row: Any, ids: dict[str, str] | None = None) -> Summary:
    """Builds a summary; `ids` shares id strings among summaries, as each level covers what those below do."""
    covers = json.loads(row[4])
    return Summary(
        id=row[0],
        session_id=row[1],
        level=row[2],
        text=row[3],
        covers=tuple(covers) if ids is None else tuple(ids.setdefault(one, one) for one in covers),
        created_at=moment(row[5]),
        updated_at=moment(row[6]),
        state=SummaryState(row[7]),
        topics=tuple(json.loads(row[8])),
        fallback=bool(row[9]),
        edited=bool(row[10]),
        model=row[11],
        merged_into=row[12],
    )


def _topics(topics: Sequence[str]) -> str:
    return json.dumps([storable(topic) for topic in topics], ensure_ascii=False)


def get_summary(conn: Connection, summary_id: str) -> Summary:
    """Returns one summary. Raises `SummaryNotFound`."""
    row = conn.execute(
        f"SELECT {_SUMMARY_COLUMNS} FROM summaries AS s WHERE s.id = ?", (summary_id,)
    ).fetchone()
    if row is None:
        raise SummaryNotFound(summary_id)
    return _summary(row)


def resolve(conn: Connection, ref: str) -> str:
    """Returns the full id for `ref` (an id or a unique prefix of one).

    Raises `SummaryNotFound`, `AmbiguousId`.
    """
    span = id_range(ref)
    if span is None:
        raise SummaryNotFound(ref)
    matches, found = conn.execute(
        "SELECT count(*), min(id) FROM summaries WHERE id BETWEEN ? AND ?", span
    ).fetchone()
    if matches == 0:
        raise SummaryNotFound(ref)
    if matches > 1:
        raise AmbiguousId(ref, matches)
    return str(found)


def summaries_of_session(conn: Connection, session_id: str) -> list[Summary]:
    """Returns a session's summaries, oldest first. Raises `SessionNotFound`."""
    require(conn, session_id)
    rows = conn.execute(
        f"SELECT {_SUMMARY_COLUMNS} FROM summaries AS s WHERE s.session_id = ? ORDER BY s.seq", (session_id,)
    )
    ids: dict[str, str] = {}
    return [_summary(row, ids) for row in rows]


def insert_summary(conn: Connection, session_id: str, new: NewSummary, now: datetime) -> Summary:
    """Stores a summary and marks those that it replaces. Raises the errors of `ContextStore.add_summary`."""
    require(conn, session_id)
    missing = conn.execute(
        """
        SELECT c.value FROM json_each(?) AS c
        WHERE NOT EXISTS (SELECT 1 FROM messages AS m WHERE m.id = c.value AND m.session_id = ?)
        ORDER BY c.key LIMIT 1
        """,
        (json.dumps(new.covers), session_id),
    ).fetchone()
    if missing is not None:
        raise MessageNotFound(str(missing[0]))
    replaced = [get_summary(conn, summary_id) for summary_id in new.replaces]
    for one in replaced:
        if one.session_id != session_id:
            raise SummaryNotFound(one.id)
    require_wider(new, replaced)
    added = Summary(
        id=new_id(),
        session_id=session_id,
        level=new.level,
        text=storable(new.text),
        covers=new.covers,
        created_at=moment(micros(now)),
        updated_at=moment(micros(now)),
        state=state_of_new(replaced),
        topics=tuple(storable(topic) for topic in new.topics),
        fallback=new.fallback,
        model=new.model,
    )
    put_summary(conn, added)
    conn.executemany(
        """
        UPDATE summaries SET merged_into = ?, state = CASE state WHEN 'stale' THEN 'stale' ELSE 'merged' END
        WHERE id = ?
        """,
        [(added.id, one.id) for one in replaced],
    )
    return added


def put_summary(conn: Connection, summary: Summary) -> None:
    """Stores a summary unchanged."""
    conn.execute(
        """
        INSERT INTO summaries
            (id, session_id, level, text, topics, state, fallback, edited, model, merged_into, created_at,
             updated_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            summary.id,
            summary.session_id,
            summary.level,
            summary.text,
            _topics(summary.topics),
            summary.state.value,
            int(summary.fallback),
            int(summary.edited),
            summary.model,
            summary.merged_into,
            micros(summary.created_at),
            micros(summary.updated_at),
        ),
    )
    conn.executemany(
        "INSERT INTO summary_messages (summary_id, position, message_id, session_id) VALUES (?, ?, ?, ?)",
        [(summary.id, at, covered, summary.session_id) for at, covered in enumerate(summary.covers)],
    )


def rewrite(
    conn: Connection,
    summary_id: str,
    now: datetime,
    *,
    text: str,
    topics: Sequence[str],
    fallback: bool,
    edited: bool,
    model: str | None,
) -> Summary:
    """Replaces the text; a stale summary gets its previous state back. Raises `SummaryNotFound`."""
    conn.execute(
        """
        UPDATE summaries SET
            text = ?, topics = ?, fallback = ?, edited = ?, model = ?, updated_at = ?,
            state = CASE WHEN merged_into IS NULL THEN 'current' ELSE 'merged' END
        WHERE id = ?
        """,
        (storable(text), _topics(topics), int(fallback), int(edited), model, micros(now), summary_id),
    )
    return get_summary(conn, summary_id)


def age(conn: Connection, message_ids: Sequence[str]) -> list[Summary]:
    """Marks the summaries that cover one of the messages as stale; returns them, oldest first."""
    found = [
        str(row[0])
        for row in conn.execute(
            """
            SELECT s.id FROM summaries AS s WHERE s.id IN (
                SELECT c.summary_id FROM json_each(?) AS changed
                JOIN messages AS m ON m.id = changed.value
                JOIN summary_messages AS c ON c.session_id = m.session_id AND c.message_id = m.id
            )
            ORDER BY s.seq
            """,
            (json.dumps(list(message_ids)),),
        )
    ]
    conn.executemany("UPDATE summaries SET state = 'stale' WHERE id = ?", [(one,) for one in found])
    return [get_summary(conn, one) for one in found]


def to_improve(conn: Connection, limit: int) -> list[Summary]:
    """Returns fallback and stale summaries that the user has not edited, oldest first."""
    rows = conn.execute(
        f"""
        SELECT {_SUMMARY_COLUMNS} FROM summaries AS s
        WHERE s.edited = 0 AND (s.fallback = 1 OR s.state = 'stale') ORDER BY s.seq LIMIT ?
        """,
        (max(limit, 0),),
    )
    return [_summary(row) for row in rows]


# ruff: noqa: S608  # the names put into SQL are all written in this module


_EPOCH_COLUMNS = "id, session_id, model, head, parts, start_id, created_at"
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


def insert_epoch(conn: Connection, new: NewEpoch, now: datetime) -> Epoch:
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
    put_epoch(conn, epoch)
    return epoch


def put_epoch(conn: Connection, epoch: Epoch) -> None:
    """Stores an epoch unchanged."""
    conn.execute(
        f"INSERT INTO epochs ({_EPOCH_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",
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


def epochs_of_session(conn: Connection, session_id: str, model: str | None = None) -> list[Epoch]:
    """Returns epochs, oldest first, of one model's fingerprint or of all. Raises `SessionNotFound`."""
    require(conn, session_id)
    rows = conn.execute(
        f"""
        SELECT {_EPOCH_COLUMNS} FROM epochs
        WHERE session_id = ?1 AND (?2 IS NULL OR model = ?2) ORDER BY seq
        """,
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
    """Stores the parts of a reply's prompt. An epoch that has ended meanwhile is left out."""
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
    aged = age(conn, message_ids)
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


_SELECT = "SELECT id, session_id, name, media_type, bytes, added_at, text FROM attachments"


def _attachment(row: Any) -> Attachment:
    return Attachment(row[0], row[1], row[2], row[3], row[4], moment(row[5]), row[6])


def insert_attachment(conn: Connection, session_id: str, new: NewAttachment, now: datetime) -> Attachment:
    """Attaches a text; one of the same name and text is stored once. Raises `SessionNotFound`."""
    messages.head_of(conn, session_id)
    name, text = storable(new.name), storable(new.text)
    row = conn.execute(
        f"{_SELECT} WHERE session_id = ? AND name = ? AND text = ?", (session_id, name, text)
    ).fetchone()
    if row is not None:
        return _attachment(row)
    made = Attachment(new_id(), session_id, name, new.media_type, new.size, moment(micros(now)), text)
    conn.execute(
        """
        INSERT INTO attachments (id, session_id, name, media_type, bytes, text, added_at)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        """,
        (made.id, session_id, name, made.media_type, made.size, text, micros(now)),
    )
    return made


def arrive(conn: Connection, session_id: str, given: Iterable[TravellingAttachment]) -> None:
    """Attaches those that do not exist yet, with their own times."""
    for one in given:
        insert_attachment(
            conn, session_id, NewAttachment(one.name, one.media_type, one.size, one.text), one.added_at
        )


def attachments_of_session(conn: Connection, session_id: str) -> list[Attachment]:
    rows = conn.execute(f"{_SELECT} WHERE session_id = ? ORDER BY added_at, id", (session_id,))
    return [_attachment(row) for row in rows]


def documents(conn: Connection) -> list[Document]:
    rows = conn.execute(
        """
        SELECT a.name, dense_rank() OVER (ORDER BY a.name, a.text), a.media_type, a.bytes, length(a.text),
            a.session_id, a.id
        FROM attachments AS a JOIN sessions AS s ON s.id = a.session_id WHERE s.deleted_at IS NULL
        ORDER BY 1, 2, a.seq DESC
        """
    )
    found = []
    for _, group in groupby(rows, key=itemgetter(1)):
        uses = list(group)
        name, _, media_type, size, characters, *_ = uses[0]
        found.append(Document(name, media_type, size, characters, tuple((use[5], use[6]) for use in uses)))
    return found


def erase(conn: Connection, session_id: str, ref: str) -> Attachment:
    """Erases an attachment, and its text in prompts.

    Raises `SessionNotFound`, `AttachmentNotFound`, `AmbiguousId`.
    """
    messages.head_of(conn, session_id)
    gone = found_among(attachments_of_session(conn, session_id), ref)
    if gone is None:
        raise AttachmentNotFound(ref)
    conn.execute("DELETE FROM attachments WHERE id = ?", (gone.id,))
    forget_recalled(conn, [gone.id], gone=[gone.id])
    return gone


def copy(conn: Connection, source: str, target: str) -> Mapping[str, str]:
    """Copies all attachments of one session to another; returns the ids of the copies by the original ids."""
    ids = {one.id: new_id() for one in attachments_of_session(conn, source)}
    conn.executemany(
        """
        INSERT INTO attachments (id, session_id, name, media_type, bytes, text, added_at)
        SELECT ?, ?, name, media_type, bytes, text, added_at FROM attachments WHERE id = ?
        """,
        [(copied, target, original) for original, copied in ids.items()],
    )
    return ids
