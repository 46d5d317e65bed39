"""Statistics of one room's use, computed in the database."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import date, datetime, tzinfo
from functools import cache
from itertools import accumulate

from memory.clock import micros, moment
from memory.insights import DayCount, Growth, Stored, Timed, Topic, Totals, Used, by_month, monday
from memory.memories.entities import reading
from memory.storage.connection import Connection
from memory.storage.database import Database, Reader

# ruff: noqa: S608  # the names put into SQL are all written in this module


_QUARTER = 900_000_000
"""Microseconds. Days begin at such a quarter of an hour in every zone, but not at a full hour in all."""
_TOPICS = (
    ("tag", "session_tags AS t ON t.session_id = s.id", "t.tag"),
    ("project", "projects AS t ON t.id = s.project_id", "t.name"),
    ("category", "(SELECT 1) AS t ON s.category <> ''", "s.category"),
)


def totals(conn: Connection) -> Totals:
    row = conn.execute(
        """
        SELECT count(*), count(archived_at), coalesce(sum(message_count), 0), min(created_at),
            max(updated_at), (SELECT count(*) FROM memories WHERE state IN ('inbox', 'kept')),
            (SELECT count(*) FROM projects)
        FROM sessions WHERE deleted_at IS NULL
        """
    ).fetchone()
    return Totals(
        sessions=row[0],
        archived=row[1],
        messages=row[2],
        first_at=None if row[3] is None else moment(row[3]),
        last_at=None if row[4] is None else moment(row[4]),
        memories=row[5],
        projects=row[6],
    )


def days(conn: Connection, zone: tzinfo | None, since: datetime | None) -> list[DayCount]:
    """Returns the counts of each day.

    Counts by quarter of an hour first: only the zone defines which of them make a day.
    """
    begin = 0 if since is None else micros(since)
    found: dict[date, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    day = _days_of(zone)
    for name, query in _QUARTERLY:
        for quarter, *values in conn.execute(query, (begin,)):
            for one, value in zip(name, values, strict=True):
                found[day(quarter)][one] += value or 0
    for quarter, read in _tokens_read(conn, begin).items():
        found[day(quarter)]["tokens_read"] += read
    for at, count in _sessions_of_days(conn, begin, day).items():
        found[at]["sessions"] = count
    return [DayCount(at, **found[at]) for at in sorted(found)]


def hours(conn: Connection, zone: tzinfo | None, since: datetime | None) -> list[int]:
    """Returns how many messages the user wrote in each hour of the day, from midnight on."""
    found = [0] * 24
    for quarter, count in conn.execute(
        f"""
        SELECT created_at / {_QUARTER}, count(*) FROM messages
        WHERE created_at >= ? AND role = 'user'
            AND session_id NOT IN (SELECT id FROM sessions WHERE deleted_at IS NOT NULL)
        GROUP BY 1
        """,
        (0 if since is None else micros(since),),
    ):
        found[moment(quarter * _QUARTER).astimezone(zone).hour] += count
    return found


def _days_of(zone: tzinfo | None) -> Callable[[int], date]:
    """Returns a cached function that maps a quarter of an hour since 1970 to its day."""
    return cache(lambda quarter: moment(quarter * _QUARTER).astimezone(zone).date())


# By quarter of an hour, without what is in the bin. Only numbers leave the database: text would take longer.
_QUARTERLY = (
    (
        ("messages", "questions", "characters", "tokens_written"),
        f"""
        SELECT created_at / {_QUARTER}, count(*), sum(role = 'user'),
            sum(CASE role WHEN 'user' THEN length(content) END), sum(length(tokens)) / 4
        FROM messages WHERE created_at >= ?
            AND session_id NOT IN (SELECT id FROM sessions WHERE deleted_at IS NOT NULL)
        GROUP BY 1
        """,
    ),
    (
        ("begun",),
        f"""
        SELECT created_at / {_QUARTER}, count(*) FROM sessions
        WHERE created_at >= ? AND deleted_at IS NULL GROUP BY 1
        """,
    ),
)


def _tokens_read(conn: Connection, begin: int) -> Counter[int]:
    """Returns counts by quarter of an hour. A reply's id begins with the milliseconds of its storing."""
    found: Counter[int] = Counter()
    for reply, read in conn.execute(
        """
        SELECT reply_id, prompt_tokens FROM turns
        WHERE session_id NOT IN (SELECT id FROM sessions WHERE deleted_at IS NOT NULL)
        """
    ):
        at = int(reply[:8] + reply[9:13], 16) * 1000
        if at >= begin:
            found[at // _QUARTER] += read
    return found


def _sessions_of_days(conn: Connection, begin: int, day: Callable[[int], date]) -> Counter[date]:
    """Returns the number of sessions with messages by day. Only sessions of several days are searched."""
    found: Counter[date] = Counter()
    longer = []
    for own, first, last in conn.execute(
        f"""
        SELECT id, created_at / {_QUARTER}, updated_at / {_QUARTER} FROM sessions
        WHERE deleted_at IS NULL AND message_count > 0 AND updated_at >= ?
        """,
        (begin,),
    ):
        if day(first) == day(last) and first * _QUARTER >= begin:
            found[day(first)] += 1
        else:
            longer.append(own)
    quarters = conn.execute(
        f"""
        SELECT DISTINCT session_id, created_at / {_QUARTER} FROM messages
        WHERE created_at >= ? AND session_id IN (SELECT value FROM json_each(?))
        """,
        (begin, json.dumps(longer)),
    )
    found.update(at for _, at in {(own, day(quarter)) for own, quarter in quarters})
    return found


def topics(conn: Connection, zone: tzinfo | None, since: datetime | None, limit: int) -> list[Topic]:
    found = []
    for kind, join, name in _TOPICS:
        named: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for topic, session_id, at in conn.execute(
            f"""
            SELECT {name}, s.id, s.created_at FROM sessions AS s JOIN {join}
            WHERE s.deleted_at IS NULL AND s.updated_at >= ? ORDER BY s.created_at, s.id
            """,
            (0 if since is None else micros(since),),
        ):
            named[topic].append((session_id, at))
        most = sorted(named.items(), key=lambda one: (-len(one[1]), one[0]))[: max(limit, 0)]
        found += [
            Topic(
                kind,
                topic,
                len(held),
                by_month([moment(at) for _, at in held], zone),
                session_ids=tuple(session_id for session_id, _ in held),
            )
            for topic, held in most
        ]
    return found


def vector_model(conn: Connection) -> str | None:
    row = conn.execute("SELECT model FROM vectors WHERE kind = 'message' LIMIT 1").fetchone()
    return None if row is None else str(row[0])


def growth(conn: Connection, zone: tzinfo | None, since: datetime | None) -> list[Growth]:
    weeks: dict[date, int] = defaultdict(int)
    for quarter, count in conn.execute(
        f"""
        SELECT created_at / {_QUARTER}, count(*) FROM memories WHERE state IN ('inbox', 'kept') GROUP BY 1
        """
    ):
        weeks[monday(moment(quarter * _QUARTER).astimezone(zone).date())] += count
    first = None if since is None else monday(since.astimezone(zone).date())
    ordered = sorted(weeks.items())
    reached = accumulate(added for _, added in ordered)
    return [
        Growth(week, added, total)
        for (week, added), total in zip(ordered, reached, strict=True)
        if first is None or week >= first
    ]


def most_used(conn: Connection, limit: int) -> list[Used]:
    rows = conn.execute(
        """
        SELECT id, kind, subject, text, uses, used_at
        FROM memories WHERE uses > 0 AND state IN ('inbox', 'kept')
        ORDER BY uses DESC, used_at DESC, id LIMIT ?
        """,
        (max(limit, 0),),
    )
    return [
        Used(memory, kind, reading(subject, text), uses, None if at is None else moment(at))
        for memory, kind, subject, text, uses, at in rows
    ]


# --- storage ---------------------------------------------------------------------------------------

# The size of a kind is that of its own bytes; large kinds are estimated from a sample of rows.
_ESTIMATED = (
    (
        "messages",
        "SELECT coalesce(sum(message_count), 0) FROM sessions",
        "octet_length(content) + octet_length(preface) + coalesce(length(tokens), 0) + 160",
        "messages",
    ),
    *(
        # An index lists the pages that contain its words.
        ("full_text", f"SELECT count(*) FROM {index}_idx", "length(block)", f"{index}_data")
        for owner in ("messages", "memories", "chunks")
        for index in (f"{owner}_fts", f"{owner}_pieces")
    ),
)
_KINDS = (
    ("summaries", "SELECT coalesce(sum(octet_length(text) + 200), 0), count(*) FROM summaries"),
    ("epochs", "SELECT coalesce(sum(octet_length(head) + octet_length(parts)), 0), count(*) FROM epochs"),
    (
        "memories",
        """
        SELECT coalesce(sum(octet_length(text) + octet_length(subject) + 250), 0), count(*) FROM memories
        UNION ALL SELECT coalesce(sum(octet_length(quote) + 120), 0), 0 FROM memory_sources
        UNION ALL SELECT coalesce(sum(octet_length(before) + octet_length(after)), 0), 0 FROM memory_changes
        """,
    ),
    ("attachments", "SELECT coalesce(sum(octet_length(text) + 150), 0), count(*) FROM attachments"),
    # A text is stored twice: as a whole and in pieces.
    (
        "documents",
        """
        SELECT coalesce(sum(
            octet_length(text) + coalesce(length(content), 0) + octet_length(headings) + 600
        ), 0), count(*) FROM documents
        UNION ALL SELECT coalesce(sum(octet_length(text) + octet_length(context) + 250), 0), 0 FROM chunks
        UNION ALL SELECT coalesce(sum(octet_length(text) + 120), 0), 0 FROM document_summaries
        UNION ALL SELECT coalesce(sum(octet_length(text) + 120), 0), 0 FROM document_summary_parts
        UNION ALL SELECT coalesce(sum(octet_length(text) + 250), 0), 0 FROM passages
        UNION ALL SELECT coalesce(sum(octet_length(quote) + 250), 0), 0 FROM citations
        """,
    ),
    ("sessions", "SELECT count(*) * 300, count(*) FROM sessions"),
)
_SAMPLE = 300
_PAGE = 4096
_IDS = 90
"""Bytes of a vector's row in addition to the numbers and the model's name."""
_FILLED = 1.4
"""Leaves of an index are about seven tenths full."""


def storage(conn: Connection) -> list[Stored]:
    """Returns the bytes of each kind, largest first.

    `other` is the rest of the file: turns, jobs, indexes, free pages.
    """
    sizes: dict[str, int] = defaultdict(int)
    rows: dict[str, int | None] = {}
    for kind, counting, measure, table in _ESTIMATED:
        (count,) = conn.execute(counting).fetchone()
        sizes[kind] += round(count * _typical(conn, table, measure))
        rows[kind] = None if kind == "full_text" else count
    sizes["vectors"], rows["vectors"] = _vectors(conn, rows["messages"] or 0)
    for kind, sql in _KINDS:
        found = conn.execute(sql).fetchall()
        sizes[kind], rows[kind] = sum(row[0] for row in found), sum(row[1] for row in found)
    (file,) = conn.execute(
        "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
    ).fetchone()
    sizes["other"] = max(file - sum(sizes.values()), 0)
    stored = [Stored(kind, size, rows.get(kind)) for kind, size in sizes.items()]
    return sorted(stored, key=lambda one: (-one.bytes, one.kind))


def _vectors(conn: Connection, messages: int) -> tuple[int, int]:
    """Returns bytes and rows; the number of passages per message is estimated from a sample."""
    passages = _typical(
        conn, "messages", "(SELECT count(*) FROM vectors WHERE kind = 'message' AND owner_id = messages.id)"
    )
    (others,) = conn.execute(
        "SELECT count(*) FROM vectors WHERE kind IN ('memory', 'summary', 'chunk')"
    ).fetchone()
    row = conn.execute("SELECT length(data), length(model) FROM vectors LIMIT 1").fetchone()
    count = round(passages * messages) + others
    size = 0 if row is None else _with_keys(*row)
    row = conn.execute("SELECT length(data), length(model) FROM chunk_vectors LIMIT 1").fetchone()
    (chunks,) = conn.execute("SELECT count(*) FROM chunk_vectors").fetchone()
    return round(count * size + chunks * (0 if row is None else _with_keys(*row))), count + chunks


def _with_keys(data: int, model: int) -> float:
    """Returns the bytes that a row takes.

    That is its part of a leaf, the separate pages of one that is too long, and its keys, which are in two
    indexes.

    https://www.sqlite.org/fileformat2.html#payload; SQLCipher keeps 80 bytes of each page to itself.
    """
    usable = _PAGE - 80
    most, least = usable - 35, (usable - 12) * 32 // 255 - 23
    size, beside = data + model + _IDS, 0
    if size > most:
        local = least + (size - least) % (usable - 4)
        local = local if local <= most else least
        size, beside = local, -(-(size - local) // (usable - 4)) * _PAGE
    keys = (model + 2 * _IDS) * _FILLED
    return _PAGE / max(usable // size, 1) + beside + keys


def _typical(conn: Connection, table: str, measure: str) -> float:
    """Returns the mean over rows at even distances."""
    last = conn.execute(f"SELECT max(rowid) FROM {table}").fetchone()[0] or 0
    first = conn.execute(f"SELECT min(rowid) FROM {table}").fetchone()[0] or 0
    step = max((last - first) // _SAMPLE, 1)
    sizes = [
        row[0]
        for at in range(first, last + 1, step)
        if (
            row := conn.execute(
                f"SELECT {measure} FROM {table} WHERE rowid >= ? ORDER BY rowid LIMIT 1", (at,)
            ).fetchone()
        )
        is not None
    ]
    return sum(sizes) / len(sizes) if sizes else 0.0


TIMING = "timing"


def note_timing(conn: Connection, session_id: str, timed: Timed) -> None:
    text = json.dumps(
        [
            timed.message_id,
            timed.model,
            round(timed.first_token_ms, 1),
            round(timed.tokens_per_second, 2),
            timed.prompt_tokens,
            timed.completion_tokens,
            timed.drafted_tokens,
            timed.accepted_tokens,
        ]
    )
    conn.execute(
        """
        INSERT INTO job_results (kind, hash, session_id, result, created_at) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (kind, hash) DO UPDATE SET result = excluded.result, created_at = excluded.created_at
        """,
        (TIMING, hashlib.sha256(timed.message_id.encode()).digest(), session_id, text, micros(timed.at)),
    )


def timings(conn: Connection, since: int | None, limit: int) -> list[Timed]:
    """Returns the latest `limit` timings of sessions outside the bin, earliest first."""
    rows = conn.execute(
        """
        SELECT result, created_at FROM job_results
        WHERE kind = ? AND created_at >= ?
            AND session_id NOT IN (SELECT id FROM sessions WHERE deleted_at IS NOT NULL)
        ORDER BY created_at DESC LIMIT ?
        """,
        (TIMING, since or 0, max(limit, 0)),
    ).fetchall()
    found = []
    for text, at in reversed(rows):
        # Older ones end before the guesses.
        message, model, first, speed, read, written, *guesses = json.loads(text)
        found.append(Timed(message, model, moment(at), first, speed, read, written, *guesses))
    return found


class InsightStore:
    """Counts of one room. Content of the bin counts only in `storage`. `since` bounds the time at which
    something was written, done or learned. Days are those of `zone` (None: this computer's). Raises the
    errors of `Store`.
    """

    def __init__(self, database: Database, reader: Database | Reader) -> None:
        self._database = database
        self._reader = reader

    async def totals(self) -> Totals:
        return await self._database.read(totals)

    async def days(self, zone: tzinfo | None, since: datetime | None = None) -> list[DayCount]:
        """Returns the days on which something was written, earliest first."""
        return await self._reader.read(lambda conn: days(conn, zone, since))

    async def hours(self, zone: tzinfo | None, since: datetime | None = None) -> list[int]:
        """Returns how many messages the user wrote in each hour of the day, from midnight on."""
        return await self._reader.read(lambda conn: hours(conn, zone, since))

    async def topics(
        self, zone: tzinfo | None, since: datetime | None = None, *, limit: int = 20
    ) -> list[Topic]:
        """Returns tags, categories and projects, of each kind the most frequent first."""
        return await self._database.read(lambda conn: topics(conn, zone, since, limit))

    async def timings(self, since: datetime | None = None, *, limit: int = 10_000) -> list[Timed]:
        """Returns how fast the latest `limit` replies came, earliest first."""
        begin = None if since is None else micros(since)
        return await self._database.read(lambda conn: timings(conn, begin, limit))

    async def note_timing(self, session_id: str, timed: Timed) -> None:
        """Stores how fast a reply came; deleted with its session."""
        await self._database.write(lambda conn: note_timing(conn, session_id, timed))

    async def vector_model(self) -> str | None:
        """Returns the fingerprint of a model that has vectors of messages; None without any."""
        return await self._database.read(vector_model)

    async def storage(self) -> list[Stored]:
        """Returns the storage used, largest first."""
        return await self._database.read(storage)

    async def growth(self, zone: tzinfo | None, since: datetime | None = None) -> list[Growth]:
        """Returns the weeks in which memories were learned, earliest first."""
        return await self._database.read(lambda conn: growth(conn, zone, since))

    async def most_used(self, *, limit: int = 10) -> list[Used]:
        return await self._database.read(lambda conn: most_used(conn, limit))
