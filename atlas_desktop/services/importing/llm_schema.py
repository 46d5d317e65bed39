"""How the `llm` tool kept its log before it had threads: in `log`, in `logs`, and in `responses`."""
# ruff: noqa: S608  # names of columns are those of this module, and of tables too

import sqlite3
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

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
"""What is wanted of a row, and the columns that it has been in, the newest first."""


def tables_of(conn: sqlite3.Connection) -> dict[str, set[str]]:
    """The columns of each table. Raises `sqlite3.Error`."""
    names = conn.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    ).fetchall()
    return {
        str(name): {str(row[1]) for row in conn.execute("SELECT * FROM pragma_table_info(?)", (name,))}
        for (name,) in names
    }


def rows_of(conn: sqlite3.Connection, table: str, tables: dict[str, set[str]]) -> Iterator[list[Row]]:
    """The rows of each conversation, the oldest first; a row of no conversation is one by itself.

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
    # In the oldest schemas a conversation goes by the number of its first row, which does not name itself.
    if wanted["conversation"] == "chat_id":
        key = f'CAST(coalesce(r.chat_id, r."{wanted["id"]}") AS TEXT)'
    # Sorted are numbers alone: the texts of a large log are more than memory should hold.
    for at, group in groupby(
        _places(conn, f'SELECT {key}, r.rowid FROM "{table}" AS r ORDER BY 1, 2'), key=itemgetter(0)
    ):
        gathered = []
        for _, number in group:
            values = conn.execute(f"SELECT {chosen} FROM {source} WHERE r.rowid = ?", (number,)).fetchone()
            row = dict(zip(names, values, strict=True))
            if table != "responses":
                row["conversation"] = f"llm-{table}-{at}"
                row["id"] = f"llm-{table}-{row['id']}"
            gathered.append(row)
        yield gathered


def _places(conn: sqlite3.Connection, query: str) -> Iterator[tuple[Any, int]]:
    """A row of no conversation has its own number for one."""
    for key, number in conn.execute(query):
        yield (f"row {number}" if key is None else key), number


def _first(known: tuple[str, ...], columns: set[str]) -> str:
    if known[0] == "id" and "id" not in columns:
        return "rowid"
    return next((name for name in known if name in columns), "")
