"""Reads the database of the `llm` command line tool (`logs.db`), in any of its schema versions."""
# ruff: noqa: S608  # all names of columns and tables are defined in this module

import sqlite3
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec

from atlas_desktop.importing.entities import ImportedMessage, ImportedSession, Unreadable
from atlas_desktop.importing.sources import (
    LONGEST,
    Note,
    Part,
    digest,
    identifier,
    mapping,
    moment,
    readable_json,
    sequence,
    text,
)
from atlas_desktop.importing.tree import aside, attached, fenced, joined, quoted, session_of
from atlas_desktop.locale import _
from memory.transfer import TravellingSession
from models.messages import Role

Row = dict[str, Any]
_COLUMNS = {
    "id": ("id", "rowid"),
    "conversation": ("conversation_id", "chat_id"),
    "at": ("datetime_utc", "timestamp_utc", "timestamp"),
    "model": ("model",),
    "prompt": ("prompt",),
    "system": ("system",),
    "response": ("response",),
    "reasoning": ("reasoning",),
}
"""The wanted fields of a row, and the columns that have contained them, the newest first."""


def tables_of(conn: sqlite3.Connection) -> dict[str, set[str]]:
    """Returns the columns of each table. Raises `sqlite3.Error`."""
    names = conn.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    ).fetchall()
    return {
        str(name): {str(row[1]) for row in conn.execute("SELECT * FROM pragma_table_info(?)", (name,))}
        for (name,) in names
    }


def rows_of(conn: sqlite3.Connection, table: str, tables: dict[str, set[str]]) -> Iterator[list[Row]]:
    """Yields the rows of each conversation, oldest first; a row without a conversation forms its own.

    Raises `sqlite3.Error`.
    """
    columns = tables[table]
    wanted = {name: _first(known, columns) for name, known in _COLUMNS.items()}
    names = [name for name, column in wanted.items() if column]
    chosen = ", ".join(f'r."{wanted[name]}"' for name in names)
    source = f'"{table}" AS r'
    if (
        table == "responses"
        and wanted["conversation"]
        and {"id", "name"} <= tables.get("conversations", set())
    ):
        chosen += ", c.name"
        source += ' LEFT JOIN conversations AS c ON c.id = r."conversation_id"'
        names.append("name")
    key = f'r."{wanted["conversation"]}"' if wanted["conversation"] else "NULL"
    # In the oldest schemas a conversation's id is the number of its first row, whose `chat_id` is NULL.
    if wanted["conversation"] == "chat_id":
        key = f'CAST(coalesce(r.chat_id, r."{wanted["id"]}") AS TEXT)'
    # Only numbers are sorted, because the text of a large log does not belong in memory.
    for at, group in groupby(
        _places(conn, f'SELECT {key}, r.rowid FROM "{table}" AS r ORDER BY 1, 2'), key=itemgetter(0)
    ):
        gathered = []
        for _unused, number in group:
            values = conn.execute(f"SELECT {chosen} FROM {source} WHERE r.rowid = ?", (number,)).fetchone()
            row = dict(zip(names, values, strict=True))
            if table != "responses":
                row["conversation"] = f"llm-{table}-{at}"
                row["id"] = f"llm-{table}-{row['id']}"
            gathered.append(row)
        yield gathered


def _places(conn: sqlite3.Connection, query: str) -> Iterator[tuple[Any, int]]:
    """Yields conversations and row numbers; a row without a conversation uses its own number."""
    for key, number in conn.execute(query):
        yield (f"row {number}" if key is None else key), number


def _first(known: tuple[str, ...], columns: set[str]) -> str:
    if known[0] == "id" and "id" not in columns:
        return "rowid"
    return next((name for name in known if name in columns), "")


_NEEDED = {
    "threads": {"id", "name", "tip_message_hash", "datetime_utc"},
    "turns": {"id", "thread_id", "parent_message_hash", "tip_message_hash", "model", "datetime_utc"},
    "messages": {"hash", "parent_hash", "role"},
    "parts": {"message_hash", "position", "type", "text", "payload"},
}


def has_threads(tables: dict[str, set[str]]) -> bool:
    return all(columns <= tables.get(name, set()) for name, columns in _NEEDED.items())


@dataclass(slots=True)
class Thread:
    """A thread as described by its turns."""

    title: str = field(default="", repr=False)
    messages: list[ImportedMessage] = field(default_factory=list, repr=False)
    system_prompt: str = field(default="", repr=False)
    model: str | None = None
    head: str | None = None
    begun: datetime | None = None
    turns: int = 0


@dataclass(frozen=True, slots=True)
class _Message:
    hash: str
    role: str


class Threads:
    """The threads of a database that `has_threads`; the methods raise `sqlite3.Error`."""

    def __init__(self, conn: sqlite3.Connection, tables: dict[str, set[str]]) -> None:
        self._conn = conn
        self._fragment = _FRAGMENT if {"id", "content"} <= tables.get("fragments", set()) else ""
        known = tables.get("attachments", set())
        self._attached = _ATTACHMENT if {"id", "path", "url", "type"} <= known else ""

    def ids(self) -> Iterator[str]:
        rows = self._conn.execute(
            "SELECT id FROM threads UNION SELECT thread_id FROM turns WHERE thread_id IS NOT NULL ORDER BY 1"
        )
        return (key for (one,) in rows if (key := identifier(one)))

    def has_turn(self, response: str) -> bool:
        """Returns whether a response is also stored as a turn, which contains more."""
        found = self._conn.execute("SELECT 1 FROM turns WHERE id = ?", (response,)).fetchone()
        return found is not None

    def read(self, thread: str, after: str | None = None) -> Thread:
        """Returns a thread.

        `after` is the last message from before threads existed, if there is one: the first turn repeats
        everything up to it.
        """
        row = self._conn.execute(
            "SELECT name, tip_message_hash, datetime_utc FROM threads WHERE id = ?", (thread,)
        ).fetchone()
        name, tip, begun = map(text, row or ("", "", ""))
        reading = _Reading(self, Thread(title=name, begun=moment(begun)), after)
        turns = self._conn.execute(
            "SELECT id, parent_message_hash, tip_message_hash, model, datetime_utc FROM turns"
            " WHERE thread_id = ? ORDER BY id",
            (thread,),
        ).fetchall()
        reading.found.turns = len(turns)
        for turn in turns:
            reading.turn(*map(text, turn))
        if turns or after is None:
            reading.history(tip)
        reading.found.head = reading.places.get(tip)
        return reading.found

    def back(self, start: str, known: Container[str], until: str = "") -> tuple[list[_Message], str]:
        """Returns the messages that lead to `start`, the oldest first.

        Also returns the hash in `known` that they follow, or an empty string.
        """
        found: dict[str, _Message] = {}
        at = start
        while at and at != until and at not in found and at not in known:
            row = self._conn.execute(_MESSAGE, (at,)).fetchone()
            if row is None:
                return list(found.values())[::-1], ""
            found[at] = _Message(at, text(row[0]))
            at = text(row[1])
        return list(found.values())[::-1], at if at in known else ""

    def words(self, messages: Iterable[_Message]) -> str:
        return joined(
            self._part(text(kind), text(words), _decoded(payload))
            for one in messages
            for kind, words, payload in self._conn.execute(
                "SELECT type, text, payload FROM parts WHERE message_hash = ? ORDER BY position", (one.hash,)
            )
        )

    def _part(self, kind: str, words: str, held: dict[str, Any]) -> str:
        words = words or text(held.get("text")) or self._put_together(sequence(held.get("text_ref")))
        name = text(held.get("name"))
        if kind == "reasoning":
            return quoted(words)
        if kind == "tool_call":
            return joined(
                (aside("Asked", name), fenced(readable_json(mapping(held.get("arguments"))) or "{}", "json"))
            )
        if kind == "tool_result":
            failed = text(held.get("exception"))
            body = fenced(text(held.get("output")) or failed)
            files = attached(self._attachment(one) for one in sequence(held.get("attachments")))
            return joined((aside("Error" if failed else "Result", name), body, files))
        if kind == "attachment":
            return attached([self._attachment(held.get("attachment"))])
        return words

    def _put_together(self, pieces: list[Any]) -> str:
        """Returns text that is partly stored in fragments."""
        return "".join(
            text(piece.get("literal")) or self._one(self._fragment, piece.get("fragment"))
            for piece in map(mapping, pieces)
        )

    def _attachment(self, value: Any) -> str:
        return self._one(self._attached, mapping(value).get("id"))

    def _one(self, query: str, key: Any) -> str:
        if not query or not (isinstance(key, str) or (isinstance(key, int) and abs(key) < 1 << 63)):
            return ""
        row = self._conn.execute(query, (key,)).fetchone()
        return "" if row is None else text(row[0])


_MESSAGE = "SELECT role, parent_hash FROM messages WHERE hash = ?"
_FRAGMENT = "SELECT content FROM fragments WHERE id = ?"
_ATTACHMENT = "SELECT coalesce(path, url, type) FROM attachments WHERE id = ?"


class _Reading:
    """Reads the turns of one thread; `places` maps hashes of its messages to ids of ours."""

    def __init__(self, threads: Threads, found: Thread, after: str | None) -> None:
        self.found = found
        self.places: dict[str, str] = {}
        self._threads = threads
        self._after = after

    def turn(self, own: str, asked: str, answered: str, model: str, at: str) -> None:
        before, mine, parent = self._given(asked)
        if self._after is not None and not self.found.messages:
            parent = self._after
            self.places.update((one.hash, parent) for one in before)
        else:
            parent = self._taken(before, parent)
        when = moment(at)
        if mine:
            words = self._threads.words(mine)
            parent = self._said(ImportedMessage(f"{own}:prompt", parent, Role.USER, words, when), mine)
        made, _unused = self._threads.back(answered, self.places, asked)
        words = self._threads.words(made)
        self._said(
            ImportedMessage(f"{own}:response", parent, Role.ASSISTANT, words, when, model=model or None), made
        )
        self.found.model = model or self.found.model

    def history(self, tip: str) -> None:
        """Adds the messages that lead to the last one and belong to no turn."""
        before, mine, parent = self._given(tip)
        self._taken([*before, *mine], parent)

    def _given(self, tip: str) -> tuple[list[_Message], list[_Message], str | None]:
        """Returns the part of a turn's input that is not known yet.

        That is the earlier messages, the request, and our message that it follows. Instructions are not
        messages.
        """
        given, known = self._threads.back(tip, self.places)
        instructions = [one for one in given if one.role == "system"]
        self.found.system_prompt = self._threads.words(instructions) or self.found.system_prompt
        given = [one for one in given if one.role != "system"]
        cut = len(given)
        while cut and given[cut - 1].role in ("user", "tool"):
            cut -= 1
        return given[:cut], given[cut:], self.places.get(known)

    def _taken(self, messages: list[_Message], parent: str | None) -> str | None:
        for one in messages:
            role = Role.ASSISTANT if one.role == "assistant" else Role.USER
            parent = self._said(ImportedMessage(one.hash, parent, role, self._threads.words([one])), [one])
        return parent

    def _said(self, said: ImportedMessage, holds: Iterable[_Message]) -> str:
        self.found.messages.append(said)
        self.places.update((one.hash, said.id) for one in holds)
        return said.id


def _decoded(payload: Any) -> dict[str, Any]:
    try:
        return mapping(msgspec.json.decode(text(payload) or "{}"))
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        return {}


_TABLES = ("responses", "logs", "log")
_STEPS_AT_ONCE = 100_000
_MOST_ROUNDS = 50_000


def read(parts: Sequence[Part], note: Note) -> Iterator[tuple[str, TravellingSession]]:
    """Yields sessions with their places. Raises `Unreadable`, `OSError`."""
    for part in parts:
        if part.path is None:
            raise Unreadable(_("a database in an archive cannot be read: unpack it first"))
        log = part.path.with_name(part.path.name + "-wal")
        if log.is_file() and log.stat().st_size:
            note(f"{part.where}-wal", _("the newest entries are still in a separate log file"))
        try:
            yield from _sessions(part, note)
        except (sqlite3.Error, OverflowError) as fault:
            raise Unreadable(_("the database is damaged, or not from llm")) from fault


def _sessions(part: Part, note: Note) -> Iterator[tuple[str, TravellingSession]]:
    assert part.path is not None
    address = f"{part.path.resolve().as_uri()}?mode=ro&immutable=1"
    with closing(sqlite3.connect(address, uri=True, check_same_thread=False)) as conn:
        conn.execute("PRAGMA query_only = ON")
        conn.execute("PRAGMA trusted_schema = OFF")
        conn.execute("PRAGMA temp_store = MEMORY")
        conn.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
        conn.text_factory = lambda data: data.decode("utf-8", "replace")
        rounds = iter(range(_MOST_ROUNDS))
        conn.set_progress_handler(lambda: next(rounds, None) is None, _STEPS_AT_ONCE)
        tables = tables_of(conn)
        if not {*_TABLES, "turns"} & tables.keys():
            raise Unreadable(_("a database without the llm tables"))
        pace = _Pace(conn, tables, part)
        for where, talk in _talks(conn, tables, pace):
            pace.tell()
            try:
                yield f"{part.where}:{where}", session_of(talk, otherwise=part.changed_at)
            except Unreadable as fault:
                note(f"{part.where}:{where}", fault.why)


class _Pace:
    """Reports progress by the share of rows read, because their position in the file is unknown."""

    def __init__(self, conn: sqlite3.Connection, tables: dict[str, set[str]], part: Part) -> None:
        kept = [name for name in (*_TABLES, "turns") if name in tables]
        counts = (conn.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in kept)
        self._all = sum(counts)
        self._read = 0
        self._part = part
        self._before = part.meter.done

    def step(self, rows: int) -> None:
        self._read += rows

    def tell(self) -> None:
        share = min(self._read / self._all, 1.0) if self._all else 1.0
        self._part.meter.done = self._before + int(share * self._part.size)


def _talks(
    conn: sqlite3.Connection, tables: dict[str, set[str]], pace: _Pace
) -> Iterator[tuple[str, ImportedSession]]:
    """Yields each conversation with its place; one continued in a later version is in two tables."""
    threads = Threads(conn, tables) if has_threads(tables) else None
    begun: set[str] = set()
    for table in _TABLES:
        for place, rows in enumerate(rows_of(conn, table, tables) if table in tables else (), start=1):
            pace.step(len(rows))
            if threads is not None:
                rows = [row for row in rows if not threads.has_turn(identifier(row.get("id")))]
            talk = _talk(conn, rows, tables) if rows else None
            if talk is not None:
                begun.add(talk.id)
                yield f"{table}:{place}", talk if threads is None else _gone_on(talk, threads, pace)
    if threads is None:
        return
    for place, key in enumerate(threads.ids(), start=1):
        if key not in begun:
            yield (
                f"threads:{place}",
                _gone_on(ImportedSession(key, [], meta={"imported_from": "llm"}), threads, pace),
            )


def _gone_on(talk: ImportedSession, threads: Threads, pace: _Pace) -> ImportedSession:
    """Returns a conversation with the contents of its turns added."""
    found = threads.read(talk.id, talk.messages[-1].id if talk.messages else None)
    pace.step(found.turns)
    said = [*talk.messages, *found.messages]
    return replace(
        talk,
        messages=said,
        created_at=None if any(one.created_at for one in said) else found.begun,
        title=talk.title or found.title,
        system_prompt=found.system_prompt or talk.system_prompt,
        model=found.model or talk.model,
        head=found.head,
    )


def _talk(conn: sqlite3.Connection, rows: list[Row], tables: dict[str, set[str]]) -> ImportedSession:
    said: list[ImportedMessage] = []
    for row in rows:
        said += _turn(conn, row, said[-1].id if said else None, tables)
    first = rows[0]
    system = next((words for row in reversed(rows) if (words := _instructions(conn, row, tables))), "")
    key = identifier(first.get("conversation")) or f"llm-{identifier(first.get('id'))}"
    return ImportedSession(
        id=key,
        messages=said,
        title=text(first.get("name")),
        system_prompt=system or None,
        model=text(rows[-1].get("model")) or None,
        meta={"imported_from": "llm"},
    )


def _instructions(conn: sqlite3.Connection, row: Row, tables: dict[str, set[str]]) -> str:
    """Returns the instructions of a row; fragments precede what was typed, as in the prompt."""
    fragments = _held(conn, _SYSTEM_FRAGMENTS, identifier(row.get("id")), tables)
    return joined((*fragments, text(row.get("system"))))


def _turn(
    conn: sqlite3.Connection, row: Row, parent: str | None, tables: dict[str, set[str]]
) -> Iterator[ImportedMessage]:
    own = identifier(row.get("id")) or digest(parent or "", text(row.get("prompt")))
    at = moment(row.get("at"))
    prompt = joined(
        (
            *_held(conn, _FRAGMENTS, own, tables),
            text(row.get("prompt")),
            *_tool_results(conn, own, tables),
            attached(_held(conn, _ATTACHMENTS, own, tables)),
        )
    )
    asked = ImportedMessage(f"{own}:prompt", parent, Role.USER, prompt, at)
    yield asked
    calls = _held(conn, _CALLS, own, tables, width=2)
    asked_of_tools = [joined((aside("Asked", name), fenced(given, "json"))) for name, given in calls]
    reply = joined((quoted(text(row.get("reasoning"))), text(row.get("response")), *asked_of_tools))
    yield ImportedMessage(
        f"{own}:response", asked.id, Role.ASSISTANT, reply, at, model=text(row.get("model")) or None
    )


_FRAGMENTS, _SYSTEM_FRAGMENTS = (
    (
        {table: {"response_id", "fragment_id", "order"}, "fragments": {"id", "content"}},
        f"""
        SELECT f.content FROM {table} AS p JOIN fragments AS f ON f.id = p.fragment_id
        WHERE p.response_id = ? ORDER BY p."order"
        """,
    )
    for table in ("prompt_fragments", "system_fragments")
)
_ATTACHMENTS = (
    {
        "prompt_attachments": {"response_id", "attachment_id", "order"},
        "attachments": {"id", "path", "url", "type"},
    },
    """
    SELECT coalesce(a.path, a.url, a.type) FROM prompt_attachments AS p
    JOIN attachments AS a ON a.id = p.attachment_id WHERE p.response_id = ? ORDER BY p."order"
    """,
)
_CALLS = (
    {"tool_calls": {"response_id", "name", "arguments"}},
    "SELECT name, arguments FROM tool_calls WHERE response_id = ? ORDER BY rowid",
)
_RESULTS = (
    {"tool_results": {"response_id", "name", "output"}},
    "SELECT name, output FROM tool_results WHERE response_id = ? ORDER BY rowid",
)


def _held(
    conn: sqlite3.Connection,
    what: tuple[dict[str, set[str]], str],
    response: str,
    tables: dict[str, set[str]],
    *,
    width: int = 1,
) -> list[Any]:
    """Returns the data that belongs to a response; empty if the schema does not have it."""
    needed, query = what
    if any(not columns <= tables.get(name, set()) for name, columns in needed.items()):
        return []
    rows = conn.execute(query, (response,)).fetchall()
    return [text(row[0]) if width == 1 else tuple(map(text, row)) for row in rows]


def _tool_results(conn: sqlite3.Connection, response: str, tables: dict[str, set[str]]) -> list[str]:
    found = _held(conn, _RESULTS, response, tables, width=2)
    return [joined((aside("Result", name), fenced(output))) for name, output in found]
