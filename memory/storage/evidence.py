"""The data of one room that recall reads."""

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from sys import intern
from typing import Any

from memory.clock import moment
from memory.memories.entities import MemoryKind, MemoryState, MemoryTier, reading
from memory.memories.lifetime import looks_secret
from memory.recall.decay import RATES, base_of, importance
from memory.recall.entities import (
    Entry,
    EntryChanges,
    FoundItem,
    Posting,
    RecallItem,
    SessionEntry,
    Source,
    Text,
    Wording,
)
from memory.recall.moments import speaks_of_time
from memory.recall.words import AFTER_A_QUESTION, instructs, parts, repeats, states_preference, told_words
from memory.storage.changes import ChangeNotes
from memory.storage.connection import Connection, columns, open_memory
from memory.storage.database import Database
from memory.storage.queries import projects
from memory.storage.words import is_unspaced, pieces, terms

# ruff: noqa: S608  # the names put into SQL are all written in this module
# ruff: noqa: S608  # the names put into SQL are all written in this module

_MACHINE = "m.role = 'assistant' AND (m.model IS NOT NULL OR lower(m.speaker) IN ('', 'assistant'))"
# The bytes of ? and of its full-width form.
_ASKS = """
    substr(CAST(rtrim(m.content, ?1) AS BLOB), -1) = x'3f'
    OR substr(CAST(rtrim(m.content, ?1) AS BLOB), -3) = x'efbc9f'
"""
_FINISHED = "m.status <> 'streaming' AND m.role <> 'system' AND m.content <> ''"
# Letters of scripts without spaces take three bytes. They are counted only in messages that have some.
_LETTERS = "iif(p.id IS NULL, 0, (octet_length(m.content) - length(m.content)) / 2)"
# FTS5 stores the length of a row as one variable-length number per column, and there is one column.
_ENTRY = f"""
    SELECT m.seq, m.id, m.session_id, m.parent_id, m.speaker, {_MACHINE} AS machine, m.created_at,
        m.important, {_ASKS} AS asks, hex(w.sz) AS words, {_LETTERS} AS letters
    FROM messages AS m
    LEFT JOIN messages_fts_docsize AS w ON w.id = m.seq
    LEFT JOIN messages_pieces_docsize AS p ON p.id = m.seq
    WHERE {_FINISHED}
"""
_ENTRY_COLUMNS = (
    "seq", "id", "session_id", "parent_id", "speaker", "machine", "created_at", "important", "asks",
    "words", "letters",
)  # fmt: skip
# The vocabularies list where each stem and each piece of three characters occurs, and how often; they store
# nothing themselves.
_VOCABULARIES = (
    "CREATE VIRTUAL TABLE temp.word_places USING fts5vocab(main, messages_fts, instance)",
    "CREATE VIRTUAL TABLE temp.word_counts USING fts5vocab(main, messages_fts, row)",
    "CREATE VIRTUAL TABLE temp.piece_places USING fts5vocab(main, messages_pieces, instance)",
)
_SHARED = 0.5
"""The least share of words that an edited message has in common with the one before."""
_PLACES_A_MESSAGE = 4
"""A letter in more places than this many for each message that a term may be in counts as too common."""


def know_vocabularies(conn: Connection) -> None:
    """Lets the connection query the full-text indexes for single words and letters."""
    for statement in _VOCABULARIES:
        conn.execute(statement)


def entries(conn: Connection, after: int, limit: int) -> list[Entry]:
    which = "m.seq > ?2 ORDER BY m.seq LIMIT ?3"
    return _entries(conn, which, (AFTER_A_QUESTION, after, max(limit, 0)))


def entries_of(conn: Connection, seqs: Collection[int]) -> list[Entry]:
    which = "m.seq IN (SELECT value FROM json_each(?2)) ORDER BY m.seq"
    return _entries(conn, which, (AFTER_A_QUESTION, json.dumps(list(seqs))))


def wordings(conn: Connection, seqs: Collection[int]) -> list[Wording]:
    rows = conn.execute(
        f"""
        SELECT m.seq, {_MACHINE}, m.content FROM messages AS m
        WHERE {_FINISHED} AND m.seq IN (SELECT value FROM json_each(?))
        """,
        (json.dumps(list(seqs)),),
    )
    return [
        Wording(
            seq,
            speaks_of_time(content),
            not machine and states_preference(content),
            not machine and instructs(content),
        )
        for seq, machine, content in rows.fetchall()
    ]


def session_entries(conn: Connection, ids: Collection[str] | None) -> list[SessionEntry]:
    sql = """
        SELECT s.id, p.name, s.memory_mode IN ('normal', 'off'), s.deleted_at IS NOT NULL
        FROM sessions AS s LEFT JOIN projects AS p ON p.id = s.project_id
    """
    if ids is None:
        rows = conn.execute(sql)
    else:
        rows = conn.execute(f"{sql} WHERE s.id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),))
    return [SessionEntry(id_, project, bool(lends), bool(binned)) for id_, project, lends, binned in rows]


def posting(conn: Connection, term: str, at_most: int) -> Posting | None:
    """Returns where a term occurs, without places if it is in more than `at_most` messages; None if it is
    nowhere."""
    if is_unspaced(term):
        # One or two letters are the beginning of pieces. Reading stops where it is clear that there are many.
        limit = _PLACES_A_MESSAGE * at_most
        (places,) = conn.execute(
            """
            SELECT json_group_array(doc) FROM (
                SELECT doc FROM temp.piece_places WHERE term >= ?1 AND term < ?1 || char(0x10ffff) LIMIT ?2
            )
            """,
            (term, limit + 1),
        ).fetchone()
        found = json.loads(places)
        common = len(found) > limit or len(set(found)) > at_most
    else:
        known = conn.execute("SELECT doc FROM temp.word_counts WHERE term = ?", (term,)).fetchone()
        if known is None:
            return None
        common = known[0] > at_most
        if not common:
            # One text with all places is read several times faster than one row for each.
            (places,) = conn.execute(
                "SELECT json_group_array(doc) FROM temp.word_places WHERE term = ?", (term,)
            ).fetchone()
            found = json.loads(places)
    if common:
        return Posting(term, (), common=True)
    return Posting(term, found) if found else None


def vocabulary(conn: Connection, beginning: str, limit: int) -> list[str]:
    """Returns up to `limit` words of the index that start with `beginning`."""
    rows = conn.execute(
        "SELECT term FROM temp.word_counts WHERE term >= ?1 AND term < ?1 || char(0x10ffff) LIMIT ?2",
        (beginning, limit),
    )
    return [term for (term,) in rows]


def texts(conn: Connection, seqs: Sequence[int]) -> list[Text]:
    rows = conn.execute(
        """
        SELECT m.seq, m.content, m.session_id, m.id, m.external_id, m.created_at, m.speaker,
            NOT EXISTS (SELECT 1 FROM unsupported AS u WHERE u.reply_id = m.id),
            m.role = 'assistant',
            (
                SELECT json_group_array(s.quote) FROM memory_sources AS s
                JOIN memories AS k ON k.id = s.memory_id
                WHERE s.session_id = m.session_id
                    AND s.message_id IN (m.id, iif(m.role = 'assistant', m.parent_id, m.id))
                    AND k.kind <> 'digest'
                    AND (k.state IN ('rejected', 'superseded') OR (k.state = 'kept' AND k.version > 1))
            )
        FROM messages AS m WHERE m.seq IN (SELECT value FROM json_each(?))
        """,
        (json.dumps(list(seqs)),),
    )
    rows = rows.fetchall()
    replaced = _replaced(conn, seqs)
    changes = _changes(conn) if any(by_model for *_, by_model, _corrected in rows) else []
    found = {
        seq: Text(
            seq,
            content,
            Source(
                session,
                message,
                external,
                None,
                moment(created),
                speaker,
                bool(supported),
                bool(by_model),
                (*json.loads(corrected), *_repeated(content, changes if by_model else ())),
                seq in replaced,
            ),
        )
        for (
            seq,
            content,
            session,
            message,
            external,
            created,
            speaker,
            supported,
            by_model,
            corrected,
        ) in rows
    }
    return [found[seq] for seq in seqs if seq in found]


def _changes(conn: Connection) -> list[tuple[str, frozenset[str], frozenset[str]]]:
    """Returns what memories said before, with its words, and the words of what they say now: none if the user
    has rejected them."""
    rows: list[tuple[str, str]] = conn.execute(
        """
        SELECT v.subject || ' ' || v.text, k.subject || ' ' || k.text
        FROM memories AS k JOIN memory_versions AS v ON v.memory_id = k.id AND v.version < k.version
        WHERE k.state IN ('kept', 'rejected') AND k.kind <> 'digest'
        UNION ALL
        SELECT k.subject || ' ' || k.text, n.subject || ' ' || n.text
        FROM memories AS k JOIN memories AS n ON n.id = k.superseded_by
        WHERE k.state = 'superseded' AND k.kind <> 'digest'
        UNION ALL
        SELECT subject || ' ' || text, '' FROM memories WHERE state = 'rejected' AND kind <> 'digest'
        """
    ).fetchall()
    return [(before, told_words(before), told_words(now)) for before, now in rows]


def _repeated(reply: str, changes: Sequence[tuple[str, frozenset[str], frozenset[str]]]) -> Iterator[str]:
    """Yields what memories said before they were changed and a reply still says."""
    whole = told_words(reply) if changes else frozenset()
    likely = [change for change in changes if not whole.isdisjoint(change[1] - change[2])]
    said = [told_words(sentence) for sentence in parts(reply)] if likely else []
    return (before for before, old, new in likely if any(repeats(one, old, new) for one in said))


def _replaced(conn: Connection, seqs: Sequence[int]) -> set[int]:
    """Returns which of the messages were edited, or reply to one that was, if the conversation goes on from
    the other version. Only statements count, because a reply to another question is still true, and versions
    with mostly the same words: others are two messages, such as those that a conversation was continued with
    on two devices."""
    rows = conn.execute(
        """
        SELECT m.seq, old.content, new.id, new.content, old.session_id FROM messages AS m
        JOIN messages AS old ON old.session_id = m.session_id
            AND old.id = iif(m.role = 'user', m.id, m.parent_id) AND old.role = 'user'
        JOIN messages AS new ON new.session_id = old.session_id AND new.parent_id IS old.parent_id
            AND new.role = 'user' AND new.id <> old.id
        WHERE m.seq IN (SELECT value FROM json_each(?))
        """,
        (json.dumps(list(seqs)),),
    ).fetchall()
    return {
        seq
        for seq, old, id_, new, session in rows
        if _is_version(old, new) and _leads_to_head(conn, session, id_)
    }


def _is_version(old: str, new: str) -> bool:
    """Whether an old text is a statement, and one of the texts has most of the words, or letters in scripts
    without spaces, of the other."""
    if old.rstrip().endswith(("?", "？")):
        return False
    one, other = (
        {piece for word in text.casefold().split() for piece in (word if is_unspaced(word) else (word,))}
        for text in (old, new)
    )
    return len(one & other) >= _SHARED * max(len(one), len(other))


def _leads_to_head(conn: Connection, session_id: str, message_id: str) -> bool:
    (found,) = conn.execute(
        """
        WITH RECURSIVE path (id, parent_id) AS (
            SELECT id, parent_id FROM messages
            WHERE session_id = ?1 AND id = (SELECT head_id FROM sessions WHERE id = ?1)
            UNION ALL
            SELECT up.id, up.parent_id FROM path
            JOIN messages AS up ON up.session_id = ?1 AND up.id = path.parent_id
            WHERE path.id <> ?2
        )
        SELECT EXISTS (SELECT 1 FROM path WHERE id = ?2)
        """,
        (session_id, message_id),
    ).fetchone()
    return bool(found)


def fixed(conn: Connection, name: str) -> str | None:
    row = conn.execute("SELECT value FROM meta WHERE key = ?", (f"fixed:{name}",)).fetchone()
    return None if row is None else str(row[0])


def keep_fixed(conn: Connection, name: str, value: str) -> None:
    conn.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (f"fixed:{name}", value))


def _entries(conn: Connection, which: str, parameters: Sequence[object]) -> list[Entry]:
    found, _ = columns(conn, f"{_ENTRY} AND {which}", _ENTRY_COLUMNS, parameters)
    seqs, ids, sessions, parents, speakers, machine, times, important, asks, words, letters = found
    length = {size: _number(size) for size in {*words}}
    lengths = [length[size] + more for size, more in zip(words, letters, strict=True)]
    flags = [map(bool, column) for column in (machine, important, asks)]
    return list(
        map(Entry, seqs, map(intern, ids), sessions, parents, speakers, flags[0], times, *flags[1:], lengths)
    )


def _number(varint: str | None) -> int:
    """Decodes SQLite's variable-length number in hex: seven bits a byte, the highest set if more follow."""
    value = 0
    for byte in bytes.fromhex(varint or ""):
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return value


_MEMORIES = """
    SELECT k.seq, k.id, k.kind, k.tier, k.state, k.subject, k.text, k.importance, k.pinned, k.uses, k.used_at,
        k.created_at, k.expires_at, p.name, k.proposed_by,
        (
            SELECT json_group_array(json_array(message_id, session_id)) FROM memory_sources
            WHERE memory_id = k.id
        ),
        k.version > 1 AND k.kind <> 'digest'
    FROM memories AS k LEFT JOIN projects AS p ON p.id = k.project_id
    WHERE k.state IN ('inbox', 'kept')
"""
_SUMMARIES = """
    SELECT y.seq, y.id, y.text, y.created_at, y.session_id, p.name FROM summaries AS y
    JOIN sessions AS s ON s.id = y.session_id LEFT JOIN projects AS p ON p.id = s.project_id
    WHERE y.state <> 'stale' AND y.text <> ''
"""


_ALL = 2**62


def items(conn: Connection, kind: str, after: int, limit: int) -> list[RecallItem]:
    """Returns up to `limit` items of a kind (memory or summary), in order, after row `after`."""
    if kind == "memory":
        rows = conn.execute(f"{_MEMORIES} AND k.seq > ? ORDER BY k.seq LIMIT ?", (after, max(limit, 0)))
        return [_memory(row) for row in rows]
    rows = conn.execute(f"{_SUMMARIES} AND y.seq > ? ORDER BY y.seq LIMIT ?", (after, max(limit, 0)))
    return [_summary(row) for row in rows]


def standing(conn: Connection, kind: str) -> list[RecallItem]:
    """Returns all items of a kind, except those whose sessions are all in the bin."""
    binned = {row[0] for row in conn.execute("SELECT id FROM sessions WHERE deleted_at IS NOT NULL")}
    found = items(conn, kind, 0, _ALL)
    return [one for one in found if not one.sessions or not binned.issuperset(one.sessions)]


def items_of(conn: Connection, ids: Collection[str]) -> list[RecallItem]:
    wanted = (json.dumps(list(ids)),)
    memories = conn.execute(f"{_MEMORIES} AND k.id IN (SELECT value FROM json_each(?))", wanted)
    summaries = conn.execute(f"{_SUMMARIES} AND y.id IN (SELECT value FROM json_each(?))", wanted)
    return [*map(_memory, memories), *map(_summary, summaries)]


def _memory(row: tuple[Any, ...]) -> RecallItem:
    (
        seq,
        id_,
        kind,
        tier,
        state,
        subject,
        text,
        own,
        pinned,
        uses,
        used,
        created,
        expires,
        project,
        proposed_by,
        places,
        corrected,
    ) = row
    learned = json.loads(places)
    return RecallItem(
        seq,
        intern(id_),
        "memory",
        reading(subject, text),
        created,
        max(created, used or 0),
        0.0 if pinned else RATES[MemoryTier(tier)],
        importance(base_of(own), uses),
        approved=state == MemoryState.KEPT,
        procedure=(
            kind == MemoryKind.PROCEDURE
            or tier == MemoryTier.PROCEDURAL
            or proposed_by is not None
            or looks_secret(text)
        ),
        prefers=kind == MemoryKind.PREFERENCE,
        expires_at=expires,
        project=project,
        messages=tuple(message for message, _ in learned),
        sessions=tuple(dict.fromkeys(session for _, session in learned)),
        corrected=bool(corrected),
    )


def _summary(row: tuple[Any, ...]) -> RecallItem:
    seq, id_, text, created, session, project = row
    rate = RATES[MemoryTier.EPISODIC]
    return RecallItem(
        seq,
        intern(id_),
        "summary",
        text,
        created,
        created,
        rate,
        1.0,
        approved=True,
        project=project,
        sessions=(session,),
    )


class EvidenceStore:
    """The data of one room that recall reads. Raises the errors of `Store`."""

    def __init__(self, database: Database, items: ChangeNotes) -> None:
        self._database = database
        self._items = items
        self._stemmer: Connection | None = None
        self._ready = False

    async def entries(self, *, after: int = 0, limit: int = 5000) -> list[Entry]:
        """Returns finished messages in storage order, from the first `seq` greater than `after`."""
        return await self._database.read(lambda conn: entries(conn, after, limit))

    async def entries_of(self, seqs: Collection[int]) -> list[Entry]:
        """Returns those of these messages that exist and are finished."""
        return await self._database.read(lambda conn: entries_of(conn, seqs))

    async def wordings(self, seqs: Collection[int]) -> list[Wording]:
        return await self._database.read(lambda conn: wordings(conn, seqs))

    async def session_entries(self, ids: Collection[str] | None = None) -> list[SessionEntry]:
        """Returns the entries of these sessions, or of all."""
        return await self._database.read(lambda conn: session_entries(conn, ids))

    async def changes(self, since: int | None) -> EntryChanges:
        """Returns the changes since a version; None starts tracking and reports nothing."""
        if since is None:
            await self._database.prepare(self._items.listen)
            return EntryChanges(self._items.version, frozenset(), frozenset())
        return await self._database.read(lambda conn: self._since(conn, since))

    async def stems(self, text: str) -> list[str]:
        """Returns the stems of `text` as in the index, in order, without repetitions."""
        (found,) = await self.stems_of([text])
        return list(dict.fromkeys(found))

    async def stems_of(self, texts: Sequence[str]) -> list[list[str]]:
        """Returns the stems of each text, as in `stems`, with repetitions."""
        return await self._database.read(lambda _conn: self._stems(texts))

    async def items(self, kind: str, *, after: int = 0, limit: int = 1000) -> list[RecallItem]:
        """Returns memories in a state in which they can be found, or summaries that are not out of date, in
        storage order, from the first `seq` greater than `after`."""
        return await self._database.read(lambda conn: items(conn, kind, after, limit))

    async def items_of(self, ids: Collection[str]) -> list[RecallItem]:
        """Returns those of both kinds that exist and may be found."""
        return await self._database.read(lambda conn: items_of(conn, ids))

    async def items_matching(self, query: str, *, kinds: Collection[str], limit: int) -> list[FoundItem]:
        """Returns memories and summaries that contain every word, "phrase" and beginning* of `query`, best
        first, without those of sessions in the bin. Raises `BadQuery`."""
        expression = " AND ".join(term.fts() for term in terms(query))
        return await self._database.read(lambda conn: self._matching(conn, expression, kinds, limit))

    async def postings(self, terms: Sequence[str], *, at_most: int) -> list[Posting]:
        """Returns where each of these stems occurs; those in more than `at_most` messages come without
        places."""
        await self._know_vocabularies()

        def work(conn: Connection) -> list[Posting]:
            found = (posting(conn, term, at_most) for term in terms)
            return [one for one in found if one is not None]

        return await self._database.read(work)

    async def vocabulary(self, beginnings: Sequence[str], *, limit: int) -> list[list[str]]:
        """Returns the words of the index that start with each of these, up to `limit` of each."""
        await self._know_vocabularies()
        return await self._database.read(
            lambda conn: [vocabulary(conn, beginning, limit) for beginning in beginnings]
        )

    async def _know_vocabularies(self) -> None:
        if not self._ready:
            await self._database.prepare(know_vocabularies)
            self._ready = True

    async def texts(self, seqs: Sequence[int]) -> list[Text]:
        """Returns the texts in the requested order, without those that no longer exist."""
        return await self._database.read(lambda conn: texts(conn, seqs))

    async def fixed(self, name: str) -> str | None:
        return await self._database.read(lambda conn: fixed(conn, name))

    async def keep_fixed(self, name: str, value: str) -> None:
        await self._database.write(lambda conn: keep_fixed(conn, name, value))

    def _since(self, conn: Connection, since: int) -> EntryChanges:
        messages = self._items.since("message", since)
        sessions = self._items.since("session", since)
        items = frozenset().union(*(self._items.since(kind, since) for kind in ("memory", "use", "summary")))
        return EntryChanges(
            self._items.version,
            frozenset(map(int, messages)),
            frozenset(map(str, sessions)),
            frozenset(map(str, items)),
            projects.isolated(conn),
        )

    def _matching(
        self, conn: Connection, expression: str, kinds: Collection[str], limit: int
    ) -> list[FoundItem]:
        """Memories and summaries are few, and are indexed together for the search, so their scores are
        comparable."""
        every = [item for kind in sorted(kinds) for item in standing(conn, kind)]
        with self._indexed([item.text for item in every]) as index:
            rows = index.execute(
                "SELECT rowid, rank FROM words WHERE words MATCH ? ORDER BY rank, rowid DESC LIMIT ?",
                (expression, max(limit, 0)),
            ).fetchall()
        return [FoundItem(every[row], -rank) for row, rank in rows]

    @contextmanager
    def _indexed(self, texts: Sequence[str]) -> Iterator[Connection]:
        if self._stemmer is None:
            self._stemmer = open_memory()
            self._stemmer.execute(
                """
                CREATE VIRTUAL TABLE words USING fts5 (
                    text, tokenize = 'porter unicode61 remove_diacritics 2'
                )
                """
            )
            self._stemmer.execute("CREATE VIRTUAL TABLE places USING fts5vocab(words, instance)")
        self._stemmer.execute("BEGIN")
        try:
            self._stemmer.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", enumerate(texts))
            yield self._stemmer
        finally:
            self._stemmer.execute("ROLLBACK")

    def _stems(self, texts: Sequence[str]) -> list[list[str]]:
        """Returns the stems of each text, by the index's own tokenizer on a table in memory that is emptied
        afterwards."""
        with self._indexed(texts) as index:
            rows = index.execute("SELECT doc, term FROM places ORDER BY doc, offset").fetchall()
        found: list[list[str]] = [[] for _ in texts]
        for row, term in rows:
            found[row] += pieces(term)
        return found
