"""What a room tells of its own use, counted where it lies. What is in the bin counts nowhere."""
# ruff: noqa: S608  # the names put into SQL are all written in this module

from collections import defaultdict
from datetime import date, datetime, tzinfo
from itertools import accumulate
from typing import Any

from memory.insights.calendar import by_month, monday
from memory.insights.entities import DayCount, Growth, Stored, Topic, Totals, Used
from memory.storage.connection import Connection
from memory.storage.values import micros, moment

_HOUR = 3_600_000_000
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
    """By the hour first: only the zone knows which hours make a day."""
    begin = 0 if since is None else micros(since)
    found: dict[date, dict[str, Any]] = defaultdict(lambda: defaultdict(int))
    sessions: dict[date, set[str]] = defaultdict(set)
    known: dict[int, date] = {}

    def day(hour: int) -> date:
        if hour not in known:
            known[hour] = moment(hour * _HOUR).astimezone(zone).date()
        return known[hour]

    for session_id, hour, messages, questions, characters, written, read in conn.execute(
        f"""
        SELECT m.session_id, m.created_at / {_HOUR}, count(*), sum(m.role = 'user'),
            sum(CASE WHEN m.role = 'user' THEN octet_length(m.content) ELSE 0 END),
            coalesce(sum(length(m.tokens)), 0) / 4, coalesce(sum(t.prompt_tokens), 0)
        FROM messages AS m LEFT JOIN turns AS t ON t.session_id = m.session_id AND t.reply_id = m.id
        WHERE m.created_at >= ? AND m.session_id NOT IN (SELECT id FROM sessions WHERE deleted_at IS NOT NULL)
        GROUP BY m.session_id, m.created_at / {_HOUR}
        """,
        (begin,),
    ):
        at = day(hour)
        sums = found[at]
        sums["messages"] += messages
        sums["questions"] += questions
        sums["characters"] += characters
        sums["tokens_written"] += written
        sums["tokens_read"] += read
        sessions[at].add(session_id)
    for hour, begun in conn.execute(
        f"""
        SELECT created_at / {_HOUR}, count(*) FROM sessions
        WHERE created_at >= ? AND deleted_at IS NULL GROUP BY 1
        """,
        (begin,),
    ):
        found[day(hour)]["begun"] += begun
    return [DayCount(at, sessions=len(sessions[at]), **found[at]) for at in sorted(found)]


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


def growth(conn: Connection, zone: tzinfo | None, since: datetime | None) -> list[Growth]:
    weeks: dict[date, int] = defaultdict(int)
    for hour, count in conn.execute(
        f"""
        SELECT created_at / {_HOUR}, count(*) FROM memories WHERE state IN ('inbox', 'kept') GROUP BY 1
        """
    ):
        weeks[monday(moment(hour * _HOUR).astimezone(zone).date())] += count
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
        SELECT id, kind, CASE subject WHEN '' THEN text ELSE subject || ': ' || text END, uses, used_at
        FROM memories WHERE uses > 0 AND state IN ('inbox', 'kept')
        ORDER BY uses DESC, used_at DESC, id LIMIT ?
        """,
        (max(limit, 0),),
    )
    return [
        Used(memory, kind, text, uses, None if at is None else moment(at))
        for memory, kind, text, uses, at in rows
    ]


# --- storage ---------------------------------------------------------------------------------------

# What a kind takes, measured by its own bytes; the file holds indices and the edges of pages besides.
_KINDS = (
    (
        "messages",
        """
        SELECT coalesce(sum(
            octet_length(content) + octet_length(preface) + coalesce(length(tokens), 0) + 160
        ), 0), count(*) FROM messages
        """,
    ),
    ("vectors", "SELECT coalesce(avg(length(data)) + 100, 0), 0 FROM (SELECT data FROM vectors LIMIT 200)"),
    (
        "full_text",
        " UNION ALL ".join(
            f"SELECT coalesce(sum(length(block)), 0), count(*) FROM {index}_data"
            for index in ("messages_fts", "messages_pieces", "memories_fts", "memories_pieces")
        ),
    ),
    ("summaries", "SELECT coalesce(sum(octet_length(text) + 200), 0), count(*) FROM summaries"),
    ("epochs", "SELECT coalesce(sum(octet_length(head) + octet_length(parts)), 0), count(*) FROM epochs"),
    ("turns", "SELECT coalesce(sum(octet_length(parts) + 200), 0), count(*) FROM turns"),
    (
        "memories",
        """
        SELECT coalesce(sum(octet_length(text) + octet_length(subject) + 250), 0), count(*) FROM memories
        UNION ALL SELECT coalesce(sum(octet_length(quote) + 120), 0), 0 FROM memory_sources
        UNION ALL SELECT coalesce(sum(octet_length(before) + octet_length(after)), 0), 0 FROM memory_changes
        """,
    ),
    ("attachments", "SELECT coalesce(sum(octet_length(text) + 150), 0), count(*) FROM attachments"),
    ("sessions", "SELECT count(*) * 300, count(*) FROM sessions"),
    (
        "jobs",
        """
        SELECT coalesce(sum(octet_length(result) + 80), 0), 0 FROM job_results
        UNION ALL SELECT count(*) * 200, count(*) FROM jobs
        """,
    ),
)


def storage(conn: Connection) -> list[Stored]:
    """The largest first; `other` is what is left of the file: indices, free pages, edges of pages."""
    found = []
    for kind, sql in _KINDS:
        rows = conn.execute(sql).fetchall()
        size, count = sum(row[0] for row in rows), sum(row[1] for row in rows)
        if kind == "vectors":
            # Every vector of a model is as long as the next; reading them all would take as long as a search.
            count = conn.execute("SELECT count(*) FROM vectors").fetchone()[0]
            size *= count
        if kind == "full_text":
            count = None
        found.append(Stored(kind, int(size), count))
    pages = conn.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").fetchone()
    found.append(Stored("other", max(int(pages[0]) - sum(one.bytes for one in found), 0)))
    return sorted(found, key=lambda one: (-one.bytes, one.kind))
