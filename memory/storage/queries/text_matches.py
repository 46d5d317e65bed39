"""Finds texts that contain given words in any form, and clears those outside messages and memories."""
# ruff: noqa: S608  # the names put into SQL are all written in this module

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memory.entities import Place
from memory.errors import BadQuery
from memory.storage.connection import Connection, fold
from memory.storage.queries import sync_log
from memory.storage.words import Term, is_unspaced, terms

_LISTED = "(SELECT value FROM json_each(?))"


def asked(text: str) -> list[Term]:
    """Returns the words of `text`, all of which a text must contain to match. Only `word*` is a prefix.

    Raises `BadQuery` if there is none.
    """
    found = [Term(term.text, prefix=term.prefix and f"{term.text}*" in text) for term in terms(text)]
    if not found:
        raise BadQuery("no word to search for")
    return found


def condition(text: str) -> tuple[str, list[object]]:
    """Returns a condition on `messages AS m` and its parameters."""
    spaced, unspaced = _parted(text)
    conditions = ["instr(fold(m.content), ?) > 0"] * len(unspaced)
    parameters: list[object] = list(unspaced)
    if spaced:
        conditions.append("m.seq IN (SELECT rowid FROM messages_fts WHERE messages_fts MATCH ?)")
        parameters.append(spaced)
    return " AND ".join(conditions), parameters


def holding(conn: Connection, texts: Iterable[tuple[str, ...]], text: str) -> list[str]:
    """Returns the keys of those texts, given as (key, text, text …), that contain the words.

    Uses the tokenizer of the message index, on a temporary table in memory.
    """
    spaced, unspaced = _parted(text)
    begins = _beginnings(text)
    rows = [
        (key, said)
        for key, said in ((key, " ".join(map(_readable, parts))) for key, *parts in texts)
        if _may_hold(said, begins) and all(word in fold(said) for word in unspaced)
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


def _readable(text: str) -> str:
    """Returns JSON with its letters unescaped: some of it is stored with all but ASCII escaped."""
    if "\\u" not in text or text[:1] not in ("{", "["):
        return text
    try:
        return json.dumps(json.loads(text), ensure_ascii=False)
    except ValueError:
        return text


def _beginnings(text: str) -> list[str]:
    """Returns the first two letters of each wanted word, which stemming never changes."""
    words = [word.text[:2].lower() for word in asked(text) if not is_unspaced(word.text)]
    return [word for word in words if word.isascii()]


def _may_hold(text: str, begins: Sequence[str]) -> bool:
    """A quick check that keeps most texts from being indexed."""
    if not text.strip():
        return False
    lowered = text.lower()
    return not lowered.isascii() or all(word in lowered for word in begins)


def _parted(text: str) -> tuple[str, list[str]]:
    """Returns an FTS5 expression for the words of scripts with spaces, and the other words, folded."""
    words = asked(text)
    spaced = " AND ".join(word.fts() for word in words if not is_unspaced(word.text))
    return spaced, [fold(word.text) for word in words if is_unspaced(word.text)]


@dataclass(frozen=True, slots=True)
class Cleared:
    """Other places that mentioned the subject.

    These are sessions now without a title, emptied summaries, the number of earlier versions of memories,
    sessions whose prompts contained the words, and the other places.
    """

    untitled: tuple[str, ...]
    stale: tuple[str, ...]
    versions: int
    told_in: tuple[str, ...]
    places: tuple[Place, ...] = ()


# Other places with text of the user or of a model: (name, query to search, change to make). A place without a
# name is part of one that has a name.
_PLACES: Sequence[tuple[str, str, str]] = (
    (
        "instructions",
        "SELECT id, system_prompt FROM sessions WHERE system_prompt IS NOT NULL",
        f"UPDATE sessions SET system_prompt = NULL WHERE id IN {_LISTED}",
    ),
    # An id stored by an import may be the name of a file.
    (
        "",
        "SELECT id, external_id FROM sessions WHERE external_id IS NOT NULL",
        f"UPDATE sessions SET external_id = NULL WHERE id IN {_LISTED}",
    ),
    (
        "",
        "SELECT id, external_id FROM messages WHERE external_id IS NOT NULL",
        f"UPDATE messages SET external_id = NULL WHERE id IN {_LISTED}",
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
        # Marked as decided, so that the program does not search for a category again.
        f"UPDATE sessions SET category = '', category_source = 'model' WHERE category IN {_LISTED}",
    ),
    (
        "saved search",
        "SELECT id, name, query FROM saved_searches",
        f"DELETE FROM saved_searches WHERE id IN {_LISTED}",
    ),
    (
        "project",
        "SELECT id, name FROM projects",
        # Part of its id distinguishes it from other projects without a name.
        f"UPDATE projects SET name = 'Project ' || substr(id, -12) WHERE id IN {_LISTED}",
    ),
    (
        "instructions",
        "SELECT id, instructions FROM projects WHERE instructions <> ''",
        f"UPDATE projects SET instructions = '' WHERE id IN {_LISTED}",
    ),
    (
        "attachment",
        "SELECT id, name, text FROM attachments",
        f"DELETE FROM attachments WHERE id IN {_LISTED}",
    ),
    # Documents with the words are erased before; the rest was made from earlier versions of others.
    (
        "",
        "SELECT id, context, heading, header, text FROM chunks",
        f"DELETE FROM chunks WHERE id IN {_LISTED}",
    ),
    (
        "",
        "SELECT document_id, text FROM document_summaries",
        f"DELETE FROM document_summaries WHERE document_id IN {_LISTED}",
    ),
    (
        "",
        "SELECT DISTINCT document_id, text FROM document_summary_parts",
        f"DELETE FROM document_summary_parts WHERE document_id IN {_LISTED}",
    ),
    # A citation keeps the words of an earlier version of a document.
    (
        "",
        "SELECT DISTINCT quote, quote FROM citations",
        f"DELETE FROM citations WHERE quote IN {_LISTED}",
    ),
    (
        "",
        "SELECT DISTINCT text, text, heading, header FROM passages",
        f"DELETE FROM passages WHERE text IN {_LISTED}",
    ),
    (
        "folder",
        "SELECT id, path, location, include, exclude FROM document_folders",
        f"DELETE FROM document_folders WHERE id IN {_LISTED}",
    ),
    (
        "",
        "SELECT id, skipped FROM document_folders",
        f"UPDATE document_folders SET skipped = '[]' WHERE id IN {_LISTED}",
    ),
    # Notes with the words are erased before, as documents. Of others, earlier versions may have them.
    (
        "",
        "SELECT document_id || ' ' || version, title, text FROM note_versions",
        f"DELETE FROM note_versions WHERE document_id || ' ' || version IN {_LISTED}",
    ),
    (
        "",
        "SELECT document_id || ' ' || number, target, name, shown FROM note_links",
        f"DELETE FROM note_links WHERE document_id || ' ' || number IN {_LISTED}",
    ),
    (
        "",
        "SELECT document_id || ' ' || name, name, written FROM note_names",
        f"DELETE FROM note_names WHERE document_id || ' ' || name IN {_LISTED}",
    ),
    ("", "SELECT DISTINCT tag, tag FROM note_tags", f"DELETE FROM note_tags WHERE tag IN {_LISTED}"),
    (
        "",
        "SELECT document_id, external_id, disk_path FROM notes",
        f"UPDATE notes SET external_id = '', disk_path = '' WHERE document_id IN {_LISTED}",
    ),
    (
        "folder",
        "SELECT id, path, location FROM note_folders",
        f"DELETE FROM note_folders WHERE id IN {_LISTED}",
    ),
    (
        "",
        "SELECT DISTINCT path, path FROM note_files",
        f"DELETE FROM note_files WHERE path IN {_LISTED}",
    ),
    (
        "persona",
        "SELECT id, name, system_prompt FROM personas",
        f"DELETE FROM personas WHERE id IN {_LISTED}",
    ),
    (
        "template",
        "SELECT id, name, text FROM templates",
        f"DELETE FROM templates WHERE id IN {_LISTED}",
    ),
    (
        "client",
        "SELECT id, name FROM clients",
        f"UPDATE clients SET name = 'client-' || substr(id, -12) WHERE id IN {_LISTED}",
    ),
    (
        "skill",
        """
        SELECT s.id, s.name, coalesce(v.description, ''), coalesce(v.body, ''), coalesce(v.front, '')
        FROM skills AS s LEFT JOIN skill_versions AS v
            ON v.skill_id = s.id AND v.version IN (s.current, s.pending)
        """,
        f"DELETE FROM skills WHERE id IN {_LISTED}",
    ),
    # Of the other skills, earlier versions may have the words.
    (
        "",
        "SELECT skill_id || ' ' || version, description, body, front FROM skill_versions",
        f"DELETE FROM skill_versions WHERE skill_id || ' ' || version IN {_LISTED}",
    ),
    (
        "",
        "SELECT DISTINCT name, name FROM skill_uses",
        f"DELETE FROM skill_uses WHERE name IN {_LISTED}",
    ),
    # A task with the words in its brief or its report goes with everything it wrote. Of others, single steps,
    # passages and quotations may have the words.
    (
        "task",
        "SELECT id, brief, title, coalesce(report, ''), coalesce(baseline, ''), missing FROM tasks",
        f"DELETE FROM tasks WHERE id IN {_LISTED}",
    ),
    (
        "",
        "SELECT id, brief, returned, context FROM task_steps",
        f"UPDATE task_steps SET brief = '{{}}', returned = '', context = '' WHERE id IN {_LISTED}",
    ),
    (
        "",
        "SELECT id, title, heading, header, text, subject FROM task_evidence",
        f"DELETE FROM task_evidence WHERE id IN {_LISTED}",
    ),
    (
        "",
        "SELECT task_id || ' ' || number, title, quote FROM task_citations",
        f"DELETE FROM task_citations WHERE task_id || ' ' || number IN {_LISTED}",
    ),
    (
        "",
        "SELECT task_id || ' ' || number, text FROM task_guidance",
        f"DELETE FROM task_guidance WHERE task_id || ' ' || number IN {_LISTED}",
    ),
    ("", "SELECT name, value FROM sync_settings", f"DELETE FROM sync_settings WHERE name IN {_LISTED}"),
    ("draft", "SELECT place, text FROM drafts", f"DELETE FROM drafts WHERE place IN {_LISTED}"),
    # The log may mention it when the memories no longer do. An emptied change cannot be undone.
    (
        "",
        "SELECT id, before, after FROM memory_changes",
        f"UPDATE memory_changes SET before = '{{}}', after = '{{}}', forgotten = 1 WHERE id IN {_LISTED}",
    ),
    (
        "",
        "SELECT DISTINCT quote, quote FROM memory_sources WHERE quote <> ''",
        f"UPDATE memory_sources SET quote = '' WHERE quote IN {_LISTED}",
    ),
    (
        "",
        "SELECT DISTINCT quote, quote FROM memory_note_sources WHERE quote <> ''",
        f"UPDATE memory_note_sources SET quote = '' WHERE quote IN {_LISTED}",
    ),
    (
        "",
        "SELECT hex(hash), result FROM job_results WHERE kind <> 'timing'",
        f"DELETE FROM job_results WHERE hex(hash) IN {_LISTED}",
    ),
)


_NAMES = {
    "saved search": "SELECT id, name FROM saved_searches",
    "project": "SELECT id, name FROM projects",
    "instructions": "SELECT id, name FROM projects UNION ALL SELECT id, title FROM sessions",
    "attachment": "SELECT id, name FROM attachments",
    "folder": "SELECT id, path FROM document_folders UNION ALL SELECT id, path FROM note_folders",
    "persona": "SELECT id, name FROM personas",
    "template": "SELECT id, name FROM templates",
    "client": "SELECT id, name FROM clients",
    "skill": "SELECT id, name FROM skills",
    "task": "SELECT id, title FROM tasks",
}
"""The names of the places that have one, by id."""
_ITS_OWN_NAME = frozenset(("tag", "category"))
"""Kinds whose key is the name."""


_ENUMERATION = "one of a few values that the schema allows"
_ID = "an id that this program made, or several"
_MODEL = "the name or fingerprint of a model"
_CHOICES = {
    "client_accesses": "kind outcome",
    "clients": "scopes",
    "receipts": "chosen_by",
    "considered": "fate kind",
    "job_results": "kind",
    "jobs": "kind state",
    "memories": "kind origin state tier",
    "memory_changes": "action",
    "memory_uses": "how",
    "messages": "role status stop_reason",
    "moves": "destination kind",
    "projects": "memory_mode",
    "sessions": "category_source memory_mode title_source",
    "summaries": "state",
    "vectors": "kind",
    "documents": "kind state error",
    "note_links": "kind",
    "note_names": "kind",
    "document_folders": "on_missing",
    "skills": "state",
    "skill_versions": "author",
    "skill_sources": "kind",
    "skill_uses": "verdict",
    "tasks": "state asked",
    "task_steps": "team state",
    "task_evidence": "kind",
    "task_citations": "kind",
    "task_events": "kind team",
}
_IDS = {
    "sync_devices": "id",
    "sync_merged": "id into_id",
    "attachments": "id session_id",
    "client_accesses": "client_id",
    "client_sessions": "client_id session_id",
    "clients": "id project_id",
    "considered": "item_id reply_id session_id",
    "drafts": "place session_id",
    "epochs": "id session_id start_id",
    "job_results": "session_id",
    "jobs": "id session_id",
    "learned": "session_id",
    "left_open": "session_id",
    "memories": "id project_id proposed_by superseded_by",
    "memory_change_ids": "change_id memory_id",
    "memory_changes": "id",
    "memory_kept_in": "memory_id session_id",
    "memory_parts": "memory_id part_id",
    "memory_sources": "memory_id message_id session_id",
    "memory_note_sources": "memory_id document_id",
    "memory_uses": "memory_id reply_id session_id",
    "memory_versions": "memory_id",
    "messages": "id parent_id session_id",
    "moves": "item_id",
    "personas": "id",
    "projects": "id persona_id",
    "saved_searches": "id",
    "session_tags": "session_id",
    "sessions": "head_id id project_id",
    "summaries": "id merged_into session_id",
    "summary_messages": "message_id session_id summary_id",
    "tag_suggestions": "session_id",
    "templates": "id",
    "turns": "epoch_id reply_id session_id",
    "vectors": "owner_id session_id",
    "documents": "id folder_id project_id",
    "document_folders": "id project_id",
    "chunks": "id document_id",
    "chunk_vectors": "chunk_id document_id",
    "document_summaries": "document_id",
    "document_summary_parts": "document_id",
    "session_documents": "session_id document_id",
    "passages": "session_id message_id document_id",
    "citations": "session_id reply_id document_id",
    "unsupported": "session_id reply_id",
    "notes": "document_id note_folder_id",
    "note_names": "document_id",
    "note_tags": "document_id",
    "note_links": "document_id to_id",
    "note_versions": "document_id",
    "note_folders": "id",
    "note_files": "folder_id",
    "skills": "id",
    "skill_versions": "skill_id",
    "skill_sources": "skill_id source_id",
    "skill_vectors": "skill_id",
    "skill_uses": "reply_id session_id skill_id message_id",
    "tasks": "id project_id session_id document_id",
    "task_steps": "id task_id",
    "task_evidence": "id task_id step_id source_id document_id source_session",
    "task_citations": "task_id source_id document_id",
    "task_guidance": "task_id",
    "task_events": "task_id step_id",
    "receipts": "id",
}
_MODELS = {
    "epochs": "model",
    "memories": "model",
    "messages": "model token_model",
    "personas": "model",
    "projects": "model",
    "sessions": "model",
    "summaries": "model",
    "turns": "model",
    "vectors": "model",
    "chunk_vectors": "model",
    "document_summaries": "model",
    "document_summary_parts": "model",
    "skill_vectors": "model",
}


def _each(of_tables: Mapping[str, str], why: str) -> dict[str, str]:
    return {f"{table}.{column}": why for table, columns in of_tables.items() for column in columns.split()}


WORDLESS: Mapping[str, str] = {
    **_each(_CHOICES, _ENUMERATION),
    **_each(_IDS, _ID),
    **_each(_MODELS, _MODEL),
    "attachments.media_type": "made from the ending of a file's name",
    "considered.parts": "names of scores, and numbers",
    "duties.name": "the name of a piece of work of this program",
    "epochs.parts": "names of tiers, ids and numbers",
    "job_results.hash": "a digest",
    "jobs.error": "the code of an error",
    "jobs.key": "ids and numbers: a job holds no words",
    "jobs.payload": "ids and numbers: a job holds no words",
    "messages.tokens": "the numbers of the tokens of a message's text, cleared with it",
    "meta.key": "names of this program's own, and ids",
    "meta.value": "ids, digests, numbers and keys; the last change of marks, which has words, is dropped",
    "moves.parcel": "sealed for another room, and looked through there when it has arrived",
    "schema_migrations.name": "written in this program",
    "turns.parts": "names of tiers, ids and numbers",
    "turns.prompt_hash": "a digest",
    "sync_blobs.digest": "a digest",
    "sync_blobs.field": "the name of a column",
    "sync_blobs.key": "ids, numbers and digests",
    "sync_blobs.name": "a random name",
    "sync_blobs.tbl": "the name of a table",
    "sync_devices.digest": "a digest",
    "sync_devices.name": "the name of a computer",
    "sync_devices.place": "a random name",
    "sync_devices.sealing": "a key",
    "sync_devices.signing": "a key",
    "sync_files.digest": "a digest",
    "sync_files.name": "a random name",
    "sync_settings.name": "the name of a setting",
    "sync_stamps.field": "the name of a column",
    "sync_stamps.key": "ids, numbers and digests",
    "sync_stamps.tbl": "the name of a table",
    "sync_state.digest": "a digest",
    "sync_state.folder": "the folder that the user syncs with, until the device leaves it",
    "sync_state.head": "digests",
    "sync_state.invitation": "a random name",
    "sync_state.keys": "keys",
    "sync_state.place": "a random name",
    "sync_state.sealing": "a key",
    "sync_state.signing": "a key",
    "sync_state.writing": "a digest",
    "sync_waiting.key": "ids, numbers and digests",
    "sync_waiting.needs_key": "ids, numbers and digests",
    "sync_waiting.needs_tbl": "the name of a table",
    "sync_waiting.tbl": "the name of a table",
    "vectors.data": "numbers made from a text, deleted with it",
    "chunk_vectors.data": "numbers made from a chunk, deleted with it",
    "clients.token_hash": "a digest",
    "chunks.key": "a digest",
    "citations.sha256": "a digest",
    "document_summaries.sha256": "a digest",
    "document_summary_parts.hash": "a digest",
    "documents.blank_pages": "numbers of pages",
    "documents.content": "a copy of the file, deleted with its text",
    "documents.media_type": "made from the ending and the first bytes of a file",
    "documents.pages": "places in the text",
    "documents.parser": "the name and version of a parser of this program",
    "documents.sha256": "a digest",
    "left_files.digest": "a digest",
    "note_files.content": "a picture or another file that is no text, deleted with its folder",
    "note_files.sha256": "a digest",
    "notes.disk_sha256": "a digest",
    "passages.sha256": "a digest",
    "receipts.cleared": "names of kinds, and numbers",
    "receipts.counts": "names of kinds, and numbers",
    "rejected_drafts.digest": "a digest",
    "tasks.documents": "ids",
    "tasks.teams": "names of this program's own",
    "tasks.unsupported": "places in the text",
    "task_evidence.sha256": "a digest",
    "task_events.code": "a name of this program's own",
    "skill_vectors.data": "numbers made from a description, deleted with it",
}
"""Columns of text and bytes, by table and name, that contain no text of a user or a reply, and why not.

All others are searched after `memory forget --about`, including those that a later schema adds.
"""

_COLUMNS = """
    SELECT t.name, c.name FROM pragma_table_list AS t, pragma_table_info(t.name) AS c
    WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite~_%' ESCAPE '~'
        AND c.type NOT IN ('INTEGER', 'REAL')
    ORDER BY t.name, c.cid
"""


def columns(conn: Connection) -> list[tuple[str, str]]:
    """Returns table and name of each column that can contain text; full-text indexes are made from them."""
    return [(table, column) for table, column in conn.execute(_COLUMNS)]


def documents(conn: Connection, text: str) -> list[str]:
    """Returns the documents that contain the words."""
    rows = conn.execute(
        """
        SELECT id, title, author, created, path, coalesce(location, ''), headings, text FROM documents
        """
    )
    return holding(conn, rows, text)


def still_in(conn: Connection, text: str) -> list[str]:
    """Returns the columns, as `table.column`, that still contain the words."""
    found = []
    for table, column in columns(conn):
        name = f"{table}.{column}"
        if name in WORDLESS:
            continue
        if name == "messages.content":
            where, words = condition(text)
            held = conn.execute(f"SELECT EXISTS (SELECT 1 FROM messages AS m WHERE {where})", words)
            spoken = bool(held.fetchone()[0])
        else:
            rows = conn.execute(f'SELECT DISTINCT \'\', "{column}" FROM "{table}" WHERE "{column}" <> \'\'')
            spoken = bool(holding(conn, ((key, str(said)) for key, said in rows), text))
        found += [name] if spoken else []
    return found


def clear(conn: Connection, text: str) -> Cleared:
    """Clears all texts with the words that are neither messages nor memories.

    These are titles (also the user's own), summaries, tags, categories, names of projects, saved searches,
    attachments, watched folders, skills, personas, templates, drafts, and earlier versions of memories.
    """

    def found(query: str) -> list[str]:
        return holding(conn, conn.execute(query).fetchall(), text)

    places: list[Place] = []
    # Before anything is renamed or deleted.
    names = {kind: dict(conn.execute(query).fetchall()) for kind, query in _NAMES.items()}
    for kind, query, change in _PLACES:
        held = found(query)
        if kind:
            own = names.get(kind, {})
            places += [Place(kind, str(own.get(key, key if kind in _ITS_OWN_NAME else ""))) for key in held]
        conn.execute(change, (json.dumps(held),))
    # What came from other devices and waits for other rows.
    waiting = [int(one) for one in found("SELECT number, change FROM sync_waiting")]
    sync_log.forget_waiting(conn, waiting, lambda said: bool(holding(conn, [("", said)], text)))
    untitled = found("SELECT id, title FROM sessions WHERE title <> ''")
    titles = dict(conn.execute("SELECT id, title FROM sessions").fetchall()) if untitled else {}
    places += [Place("title", titles[key]) for key in untitled]
    conn.execute(
        f"UPDATE sessions SET title = '', title_source = 'first_words' WHERE id IN {_LISTED}",
        (json.dumps(untitled),),
    )
    stale = found("SELECT id, text, topics FROM summaries")
    conn.execute(
        f"""
        UPDATE summaries SET text = '', topics = '[]', state = 'stale', edited = 0 WHERE id IN {_LISTED}
        """,
        (json.dumps(stale),),
    )
    versions = found("SELECT memory_id || ' ' || version, subject, text FROM memory_versions")
    conn.execute(
        f"DELETE FROM memory_versions WHERE memory_id || ' ' || version IN {_LISTED}", (json.dumps(versions),)
    )
    return Cleared(tuple(untitled), tuple(stale), len(versions), told_in(conn, text), tuple(places))


def told_in(conn: Connection, text: str) -> tuple[str, ...]:
    """Empties the prefaces that contain the words, and ends the epochs that contain them or follow such
    prefaces.

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
