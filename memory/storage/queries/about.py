"""Which texts speak of something, by its words in any form; and what besides messages and memories does."""
# ruff: noqa: S608  # the names put into SQL are all written in this module

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory.errors import BadQuery
from memory.storage.connection import Connection, fold
from memory.storage.words import Term, is_unspaced, terms

_LISTED = "(SELECT value FROM json_each(?))"


def asked(text: str) -> list[Term]:
    """The words of `text`, all of which a text must hold to speak of it. Only `word*` is a beginning.

    Raises `BadQuery` when there is none.
    """
    found = [Term(term.text, prefix=term.prefix and f"{term.text}*" in text) for term in terms(text)]
    if not found:
        raise BadQuery("no word to search for")
    return found


def condition(text: str) -> tuple[str, list[object]]:
    """A condition on `messages AS m`, and its parameters."""
    spaced, unspaced = _parted(text)
    conditions = ["instr(fold(m.content), ?) > 0"] * len(unspaced)
    parameters: list[object] = list(unspaced)
    if spaced:
        conditions.append("m.seq IN (SELECT rowid FROM messages_fts WHERE messages_fts MATCH ?)")
        parameters.append(spaced)
    return " AND ".join(conditions), parameters


def holding(conn: Connection, texts: Iterable[tuple[str, str]], text: str) -> list[str]:
    """The keys of those texts, of (key, text), that hold the words: by the same tokenizer as the index of
    messages, on a table in memory that is there for as long."""
    spaced, unspaced = _parted(text)
    rows = [
        (key, said) for key, said in texts if all(word in fold(said) for word in unspaced) and said.strip()
    ]
    if not spaced or not rows:
        return list(dict.fromkeys(key for key, _ in rows))
    conn.execute(
        """
        CREATE VIRTUAL TABLE temp.looked_through USING fts5 (
            text, tokenize = 'porter unicode61 remove_diacritics 2'
        )
        """
    )
    try:
        conn.executemany(
            "INSERT INTO temp.looked_through (rowid, text) VALUES (?, ?)",
            [(number, said) for number, (_, said) in enumerate(rows)],
        )
        hits = conn.execute(
            "SELECT rowid FROM temp.looked_through WHERE looked_through MATCH ? ORDER BY rowid", (spaced,)
        ).fetchall()
    finally:
        conn.execute("DROP TABLE temp.looked_through")
    return list(dict.fromkeys(rows[number][0] for (number,) in hits))


def _parted(text: str) -> tuple[str, list[str]]:
    """An expression for the words of scripts with spaces, and the others."""
    words = asked(text)
    spaced = " AND ".join(word.fts() for word in words if not is_unspaced(word.text))
    return spaced, [fold(word.text) for word in words if is_unspaced(word.text)]


@dataclass(frozen=True, slots=True)
class Cleared:
    """What else spoke of it: sessions without a title now, summaries without a word, earlier versions of
    memories, sessions in whose prompts the words stood."""

    untitled: tuple[str, ...]
    stale: tuple[str, ...]
    versions: int
    told_in: tuple[str, ...]
    places: tuple[str, ...] = ()
    """Where else the words stood, a name for each: tag, persona, project …"""


# Where a person's or a model's words stand besides: (what it is, what is looked through, what becomes of it).
# What has no name is part of something that has one.
_PLACES: Sequence[tuple[str, str, str]] = (
    (
        "instructions",
        "SELECT id, system_prompt FROM sessions WHERE system_prompt IS NOT NULL",
        f"UPDATE sessions SET system_prompt = NULL WHERE id IN {_LISTED}",
    ),
    (
        "",
        "SELECT id, meta FROM sessions WHERE meta <> '{}'",
        f"UPDATE sessions SET meta = '{{}}' WHERE id IN {_LISTED}",
    ),
    (
        "",
        "SELECT id, meta FROM messages WHERE meta <> '{}'",
        f"UPDATE messages SET meta = '{{}}' WHERE id IN {_LISTED}",
    ),
    (
        "",
        "SELECT DISTINCT speaker, speaker FROM messages WHERE content = '' AND speaker <> ''",
        f"UPDATE messages SET speaker = '' WHERE content = '' AND speaker IN {_LISTED}",
    ),
    ("tag", "SELECT DISTINCT tag, tag FROM session_tags", f"DELETE FROM session_tags WHERE tag IN {_LISTED}"),
    (
        "",
        "SELECT DISTINCT tag, tag FROM tag_suggestions",
        f"DELETE FROM tag_suggestions WHERE tag IN {_LISTED}",
    ),
    (
        "category",
        "SELECT DISTINCT category, category FROM sessions WHERE category <> ''",
        # Looked at once: it is not found again.
        f"UPDATE sessions SET category = '', category_source = 'model' WHERE category IN {_LISTED}",
    ),
    (
        "saved search",
        "SELECT id, name || ' ' || query FROM saved_searches",
        f"DELETE FROM saved_searches WHERE id IN {_LISTED}",
    ),
    (
        "project",
        "SELECT id, name FROM projects",
        # Its number tells it apart from others without a name.
        f"UPDATE projects SET name = 'Project ' || substr(id, -12) WHERE id IN {_LISTED}",
    ),
    (
        "attachment",
        "SELECT id, name || ' ' || text FROM attachments",
        f"DELETE FROM attachments WHERE id IN {_LISTED}",
    ),
    (
        "persona",
        "SELECT id, name || ' ' || system_prompt FROM personas",
        f"DELETE FROM personas WHERE id IN {_LISTED}",
    ),
    (
        "template",
        "SELECT id, name || ' ' || text FROM templates",
        f"DELETE FROM templates WHERE id IN {_LISTED}",
    ),
    ("draft", "SELECT place, text FROM drafts", f"DELETE FROM drafts WHERE place IN {_LISTED}"),
    (
        "",
        "SELECT hex(hash), result FROM job_results WHERE kind <> 'timing'",
        f"DELETE FROM job_results WHERE hex(hash) IN {_LISTED}",
    ),
)


def clear(conn: Connection, text: str) -> Cleared:
    """Takes the words out of all that is neither message nor memory: titles (a person's own, too), summaries,
    tags, categories, names of projects, saved searches, attachments, personas, templates, drafts, what
    memories said earlier."""

    def found(query: str) -> list[str]:
        return holding(conn, conn.execute(query).fetchall(), text)

    places: list[str] = []
    for name, query, change in _PLACES:
        held = found(query)
        conn.execute(change, (json.dumps(held),))
        places += [name] * len(held) if name else []
    untitled = found("SELECT id, title FROM sessions WHERE title <> ''")
    conn.execute(
        f"UPDATE sessions SET title = '', title_source = 'first_words' WHERE id IN {_LISTED}",
        (json.dumps(untitled),),
    )
    stale = found("SELECT id, text || ' ' || topics FROM summaries")
    conn.execute(
        f"""
        UPDATE summaries SET text = '', topics = '[]', state = 'stale', edited = 0 WHERE id IN {_LISTED}
        """,
        (json.dumps(stale),),
    )
    versions = found("SELECT memory_id || ' ' || version, subject || ' ' || text FROM memory_versions")
    conn.execute(
        f"DELETE FROM memory_versions WHERE memory_id || ' ' || version IN {_LISTED}", (json.dumps(versions),)
    )
    return Cleared(tuple(untitled), tuple(stale), len(versions), told_in(conn, text), tuple(places))


def told_in(conn: Connection, text: str) -> tuple[str, ...]:
    """Empties the prefaces that hold the words, and ends the epochs that hold them or go on with those.

    Returns the sessions.
    """
    prefaces = conn.execute("SELECT id, preface FROM messages WHERE preface <> ''").fetchall()
    emptied = json.dumps(holding(conn, prefaces, text))
    heads = conn.execute("SELECT session_id, head FROM epochs").fetchall()
    owners = conn.execute(f"SELECT DISTINCT session_id FROM messages WHERE id IN {_LISTED}", (emptied,))
    found = tuple(dict.fromkeys([*(row[0] for row in owners), *holding(conn, heads, text)]))
    conn.execute(f"UPDATE messages SET preface = '' WHERE id IN {_LISTED}", (emptied,))
    conn.execute(f"DELETE FROM epochs WHERE session_id IN {_LISTED}", (json.dumps(found),))
    return found
