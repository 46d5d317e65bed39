"""The database of the `llm` command line tool (`logs.db`), in any of its schema versions.

It is opened to be read only, as it is: no log beside it is written back, and nothing in it is run. Tables are
read, never views. Responses of one conversation follow one another; each is a prompt and its reply. Since
there are threads, their turns are what responses were.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from atlas_desktop.services.importing.entities import Said, Talk, Unreadable
from atlas_desktop.services.importing.llm_schema import Row, rows_of, tables_of
from atlas_desktop.services.importing.llm_threads import Threads, has_threads
from atlas_desktop.services.importing.scanning import LONGEST, Note
from atlas_desktop.services.importing.sources import Part
from atlas_desktop.services.importing.tree import session_of
from atlas_desktop.services.importing.values import digest, identifier, moment, text
from atlas_desktop.services.importing.wording import aside, attached, fenced, joined, quoted
from atlas_desktop.words.catalogue import tr
from memory.transfer.entities import TravellingSession
from models.messages import Role

_TABLES = ("responses", "logs", "log")
_STEPS_AT_ONCE = 100_000
_MOST_ROUNDS = 50_000


def read(parts: Sequence[Part], note: Note) -> Iterator[tuple[str, TravellingSession]]:
    """Raises `Unreadable`, `OSError`."""
    for part in parts:
        if part.path is None:
            raise Unreadable(tr("left_out.llm.archive"))
        log = part.path.with_name(part.path.name + "-wal")
        if log.is_file() and log.stat().st_size:
            note(f"{part.where}-wal", tr("left_out.llm.log"))
        try:
            yield from _sessions(part, note)
        except (sqlite3.Error, OverflowError) as fault:
            raise Unreadable(tr("left_out.llm.damaged")) from fault


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
            raise Unreadable(tr("left_out.llm.tables"))
        pace = _Pace(conn, tables, part)
        for where, talk in _talks(conn, tables, pace):
            pace.tell()
            try:
                yield f"{part.where}:{where}", session_of(talk, otherwise=part.changed_at)
            except Unreadable as fault:
                note(f"{part.where}:{where}", fault.why)


class _Pace:
    """Says how much of a file is read by how many of its rows are: where they lie in it is not known."""

    def __init__(self, conn: sqlite3.Connection, tables: dict[str, set[str]], part: Part) -> None:
        kept = [name for name in (*_TABLES, "turns") if name in tables]
        counts = (conn.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in kept)  # noqa: S608 - names written here
        self._all = sum(counts)
        self._read = 0
        self._part = part
        self._before = part.meter.done

    def step(self, rows: int) -> None:
        self._read += rows

    def tell(self) -> None:
        share = min(self._read / self._all, 1.0) if self._all else 1.0
        self._part.meter.done = self._before + int(share * self._part.size)


def _talks(conn: sqlite3.Connection, tables: dict[str, set[str]], pace: _Pace) -> Iterator[tuple[str, Talk]]:
    """Each conversation with its place. One that was gone on with in a later version is in two tables."""
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
            yield f"threads:{place}", _gone_on(Talk(key, [], meta={"imported_from": "llm"}), threads, pace)


def _gone_on(talk: Talk, threads: Threads, pace: _Pace) -> Talk:
    """With what its turns tell."""
    found = threads.read(talk.id, talk.said[-1].id if talk.said else None)
    pace.step(found.turns)
    said = [*talk.said, *found.said]
    return replace(
        talk,
        said=said,
        created_at=None if any(one.created_at for one in said) else found.begun,
        title=talk.title or found.title,
        system_prompt=found.system_prompt or talk.system_prompt,
        model=found.model or talk.model,
        head=found.head,
    )


def _talk(conn: sqlite3.Connection, rows: list[Row], tables: dict[str, set[str]]) -> Talk:
    said: list[Said] = []
    for row in rows:
        said += _turn(conn, row, said[-1].id if said else None, tables)
    first = rows[0]
    system = next((words for row in reversed(rows) if (words := _instructions(conn, row, tables))), "")
    key = identifier(first.get("conversation")) or f"llm-{identifier(first.get('id'))}"
    return Talk(
        id=key,
        said=said,
        title=text(first.get("name")),
        system_prompt=system or None,
        model=text(rows[-1].get("model")) or None,
        meta={"imported_from": "llm"},
    )


def _instructions(conn: sqlite3.Connection, row: Row, tables: dict[str, set[str]]) -> str:
    """Fragments come before what was typed, as they do in the prompt."""
    fragments = _held(conn, _SYSTEM_FRAGMENTS, identifier(row.get("id")), tables)
    return joined((*fragments, text(row.get("system"))))


def _turn(
    conn: sqlite3.Connection, row: Row, parent: str | None, tables: dict[str, set[str]]
) -> Iterator[Said]:
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
    asked = Said(f"{own}:prompt", parent, Role.USER, prompt, at)
    yield asked
    calls = _held(conn, _CALLS, own, tables, width=2)
    asked_of_tools = [joined((aside("Asked", name), fenced(given, "json"))) for name, given in calls]
    reply = joined((quoted(text(row.get("reasoning"))), text(row.get("response")), *asked_of_tools))
    yield Said(f"{own}:response", asked.id, Role.ASSISTANT, reply, at, model=text(row.get("model")) or None)


_FRAGMENTS, _SYSTEM_FRAGMENTS = (
    (
        {table: {"response_id", "fragment_id", "order"}, "fragments": {"id", "content"}},
        f"""
        SELECT f.content FROM {table} AS p JOIN fragments AS f ON f.id = p.fragment_id
        WHERE p.response_id = ? ORDER BY p."order"
        """,  # noqa: S608 - names written here
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
    """What goes with a response, in a schema that has it."""
    needed, query = what
    if any(not columns <= tables.get(name, set()) for name, columns in needed.items()):
        return []
    rows = conn.execute(query, (response,)).fetchall()
    return [text(row[0]) if width == 1 else tuple(map(text, row)) for row in rows]


def _tool_results(conn: sqlite3.Connection, response: str, tables: dict[str, set[str]]) -> list[str]:
    found = _held(conn, _RESULTS, response, tables, width=2)
    return [joined((aside("Result", name), fenced(output))) for name, output in found]
