"""What recall reads of one room."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from memory.recall.entities import (
    Entry,
    EntryChanges,
    FoundItem,
    Posting,
    RecallItem,
    SessionEntry,
    Text,
    Wording,
)
from memory.storage.changes import ChangeNotes
from memory.storage.connection import Connection, open_memory
from memory.storage.database import Database
from memory.storage.queries import evidence, projects
from memory.storage.words import pieces, terms


class EvidenceStore:
    """What recall reads of one room. Raises the errors of `Store`."""

    def __init__(self, database: Database, items: ChangeNotes) -> None:
        self._database = database
        self._items = items
        self._stemmer: Connection | None = None
        self._ready = False

    async def entries(self, *, after: int = 0, limit: int = 5000) -> list[Entry]:
        """Returns finished messages in storage order, from the first `seq` greater than `after`."""
        return await self._database.read(lambda conn: evidence.entries(conn, after, limit))

    async def entries_of(self, seqs: Collection[int]) -> list[Entry]:
        """Returns those of these messages that exist and are finished."""
        return await self._database.read(lambda conn: evidence.entries_of(conn, seqs))

    async def wordings(self, seqs: Collection[int]) -> list[Wording]:
        return await self._database.read(lambda conn: evidence.wordings(conn, seqs))

    async def session_entries(self, ids: Collection[str] | None = None) -> list[SessionEntry]:
        """Returns the entries of these sessions, or of all."""
        return await self._database.read(lambda conn: evidence.session_entries(conn, ids))

    async def changes(self, since: int | None) -> EntryChanges:
        """Returns what was written since a version; None starts tracking and reports nothing."""
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
        return await self._database.read(lambda conn: evidence.items(conn, kind, after, limit))

    async def items_of(self, ids: Collection[str]) -> list[RecallItem]:
        """Returns those of both kinds that exist and may be found."""
        return await self._database.read(lambda conn: evidence.items_of(conn, ids))

    async def items_matching(self, query: str, *, kinds: Collection[str], limit: int) -> list[FoundItem]:
        """Returns memories and summaries that contain every word, "phrase" and beginning* of `query`, best
        first, without those of sessions in the bin. Raises `BadQuery`."""
        expression = " AND ".join(term.fts() for term in terms(query))
        return await self._database.read(lambda conn: self._matching(conn, expression, kinds, limit))

    async def postings(self, terms: Sequence[str], *, at_most: int) -> list[Posting]:
        """Returns where each of these stems occurs; those in more than `at_most` messages come without
        places."""
        if not self._ready:
            await self._database.prepare(evidence.know_vocabularies)
            self._ready = True

        def work(conn: Connection) -> list[Posting]:
            found = (evidence.posting(conn, term, at_most) for term in terms)
            return [one for one in found if one is not None]

        return await self._database.read(work)

    async def texts(self, seqs: Sequence[int]) -> list[Text]:
        """Returns the texts in the order asked for, without those that no longer exist."""
        return await self._database.read(lambda conn: evidence.texts(conn, seqs))

    async def fixed(self, name: str) -> str | None:
        return await self._database.read(lambda conn: evidence.fixed(conn, name))

    async def keep_fixed(self, name: str, value: str) -> None:
        await self._database.write(lambda conn: evidence.keep_fixed(conn, name, value))

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
        every = [item for kind in sorted(kinds) for item in evidence.standing(conn, kind)]
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
