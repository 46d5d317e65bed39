"""Forgets a target in one step: selects, erases and clears it, then checks that nothing is left."""
# ruff: noqa: S608  # the names put into SQL are all written in this module

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from memory.clock import micros
from memory.entities import Affected, Erased, Excerpt, Target
from memory.errors import (
    AmbiguousId,
    DocumentNotFound,
    MemoryNotFound,
    MessageNotFound,
    SessionNotFound,
    TaskNotFound,
)
from memory.memories.entities import depends_on, names, particulars, rewords
from memory.storage.connection import Connection, id_range, storable
from memory.storage.queries import (
    context,
    documents,
    erasure,
    memories,
    projects,
    sessions,
    tasks,
    text_matches,
)

_LISTED = "(SELECT value FROM json_each(?))"


@dataclass(frozen=True, slots=True)
class Chosen:
    """Ids of what is to be forgotten; messages only of sessions that stay."""

    sessions: tuple[str, ...]
    messages: tuple[str, ...]
    memories: tuple[str, ...]
    documents: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()


def choose(conn: Connection, target: Target) -> Chosen:
    """Resolves a target to ids.

    Raises `SessionNotFound`, `MessageNotFound`, `MemoryNotFound`, `AmbiguousId`, `BadQuery`.
    """
    if target.everything:
        return Chosen(_ids(conn, "sessions"), (), _ids(conn, "memories"), _ids(conn, "documents"))
    whole = [sessions.resolve(conn, ref) for ref in target.sessions]
    said = [_message(conn, ref) for ref in target.messages]
    known = [memories.resolve(conn, ref) for ref in target.memories]
    read: list[str] = []
    given: list[str] = []
    for ref in target.ids:
        _sort_in(conn, ref, known, said, whole, read, given)
    named = list(said)
    if target.by_criteria:
        if target.project is not None and not (target.about.strip() or target.since or target.before):
            whole += _of_project(conn, target.project)
        said += _fitting_messages(conn, target)
        known += _fitting_memories(conn, target)
        read += _fitting_documents(conn, target)
    # Text that repeats a match is forgotten with it, however the match was found.
    said = with_repeats(conn, named, said, known)
    if target.by_criteria:
        whole += _emptied(conn, said)
    inside = {
        row[0]
        for row in conn.execute(
            f"SELECT id FROM messages WHERE session_id IN {_LISTED}", (json.dumps(whole),)
        )
    }
    messages = tuple(one for one in dict.fromkeys(said) if one not in inside)
    return Chosen(
        tuple(dict.fromkeys(whole)),
        messages,
        tuple(dict.fromkeys(known)),
        tuple(dict.fromkeys(read)),
        tuple(given),
    )


# --- by reference ----------------------------------------------------------------------------------


def _sort_in(
    conn: Connection,
    ref: str,
    known: list[str],
    said: list[str],
    whole: list[str],
    read: list[str],
    given: list[str],
) -> None:
    """Adds the item with this id or id prefix to its list. Raises `MemoryNotFound`, `AmbiguousId`."""
    kinds: Sequence[tuple[Callable[[Connection, str], str], list[str]]] = (
        (memories.resolve, known),
        (_message, said),
        (sessions.resolve, whole),
        (documents.resolve, read),
        (tasks.resolve, given),
    )
    found: list[tuple[str, list[str]]] = []
    for resolve, place in kinds:
        try:
            found.append((resolve(conn, ref), place))
        except (MemoryNotFound, MessageNotFound, SessionNotFound, DocumentNotFound, TaskNotFound):
            continue
    if not found:
        raise MemoryNotFound(ref)
    if len(found) > 1:
        raise AmbiguousId(ref, len(found))
    found[0][1].append(found[0][0])


def _message(conn: Connection, ref: str) -> str:
    """Returns the id of a message. Raises `MessageNotFound`, `AmbiguousId`."""
    span = id_range(ref)
    if span is None:
        raise MessageNotFound(ref)
    matches, found = conn.execute(
        "SELECT count(*), min(id) FROM messages WHERE id BETWEEN ? AND ?", span
    ).fetchone()
    if matches == 0:
        raise MessageNotFound(ref)
    if matches > 1:
        raise AmbiguousId(ref, matches)
    return str(found)


def with_repeats(
    conn: Connection, named: Collection[str], message_ids: Collection[str], memory_ids: Collection[str]
) -> list[str]:
    """Returns the messages and what repeats them.

    These are the other variants of the `named` ones, which were chosen by themselves; the variants of the
    others that say the same in other words, or repeat a name or a number that only they contain; the answers
    that state something that only they state; and later replies that repeat such a name or number.
    """
    found = dict.fromkeys([*message_ids, *_variants(conn, named)])
    # On another branch, or another computer, something else may have been said in the same place.
    found.update(dict.fromkeys(_repeating(conn, found, _variants(conn, found), (), rewords)))
    answers = _answers(conn, found)
    later = {one: said for one, said in _later_replies(conn, found, memory_ids).items() if one not in answers}
    texts = conn.execute(f"SELECT content FROM messages WHERE id IN {_LISTED}", (json.dumps(list(found)),))
    wanted = particulars(row[0] for row in texts) if later else frozenset()
    return [
        *found,
        *_repeating(conn, found, answers, later, depends_on),
        *_repeating(conn, found, later, answers, lambda text, _gone, left: names(text, wanted, left)),
    ]


def _variants(conn: Connection, message_ids: Collection[str]) -> dict[str, tuple[str, str]]:
    """Returns session and text of each other variant of the messages that is not among them itself."""
    ids = json.dumps(list(message_ids))
    rows = conn.execute(
        f"""
        SELECT DISTINCT v.id, v.session_id, v.content FROM messages AS m JOIN messages AS v
            ON v.session_id = m.session_id AND v.parent_id IS m.parent_id AND v.role = m.role
        WHERE m.id IN {_LISTED} AND v.id NOT IN {_LISTED}
        """,
        (ids, ids),
    )
    return {one: (session_id, text) for one, session_id, text in rows}


def _repeating(
    conn: Connection,
    gone: Collection[str],
    candidates: Mapping[str, tuple[str, str]],
    undecided: Collection[str],
    repeats: Callable[[str, list[str], list[str]], bool],
) -> list[str]:
    """Returns the candidates that repeat what the messages `gone` of their session state.

    `repeats` is given their text, that of the messages that are gone, and that of the others, without the
    candidates and the `undecided` ones.
    """
    found = []
    for session_id in dict.fromkeys(session for session, _ in candidates.values()):
        said = conn.execute("SELECT id, content FROM messages WHERE session_id = ?", (session_id,)).fetchall()
        going = [text for one, text in said if one in gone]
        left = [text for one, text in said if not (one in gone or one in candidates or one in undecided)]
        found += [
            one for one, (at, text) in candidates.items() if at == session_id and repeats(text, going, left)
        ]
    return found


def _answers(conn: Connection, message_ids: Collection[str]) -> dict[str, tuple[str, str]]:
    """Returns session and text of each answer to one of the messages that is not among them itself."""
    ids = json.dumps(list(message_ids))
    rows = conn.execute(
        f"""
        SELECT id, session_id, content FROM messages
        WHERE role = 'assistant' AND content <> '' AND id NOT IN {_LISTED} AND (parent_id, session_id) IN (
            SELECT id, session_id FROM messages WHERE role = 'user' AND id IN {_LISTED}
        )
        """,
        (ids, ids),
    )
    return {one: (session_id, text) for one, session_id, text in rows}


def _later_replies(
    conn: Connection, message_ids: Collection[str], memory_ids: Collection[str]
) -> dict[str, tuple[str, str]]:
    """Returns session and text of each reply for which the model may have read the messages or memories.

    These are the later replies in the same sessions, and the replies for which one was recalled.
    """
    ids = json.dumps(list(message_ids))
    resting = erasure.dependents_of(conn, message_ids).going
    told = [turn.reply_id for turn in context.turns_naming(conn, [*message_ids, *memory_ids, *resting])]
    rows = conn.execute(
        f"""
        WITH forgotten AS MATERIALIZED (
            SELECT session_id, min(seq) AS first FROM messages WHERE id IN {_LISTED} GROUP BY session_id
        )
        SELECT m.id, m.session_id, m.content FROM forgotten AS f CROSS JOIN messages AS m
            ON m.session_id = f.session_id AND m.seq > f.first
        WHERE m.role = 'assistant' AND m.content <> '' AND m.id NOT IN {_LISTED}
        UNION
        SELECT id, session_id, content FROM messages
        WHERE id IN {_LISTED} AND content <> '' AND id NOT IN {_LISTED}
        """,
        (ids, ids, json.dumps(told), ids),
    )
    return {one: (session_id, text) for one, session_id, text in rows}


# --- by criteria -----------------------------------------------------------------------------------


def _of_project(conn: Connection, project: str) -> list[str]:
    rows = conn.execute(
        "SELECT s.id FROM sessions AS s JOIN projects AS p ON p.id = s.project_id WHERE p.name = ?",
        (storable(project),),
    )
    return [row[0] for row in rows]


def _fitting_messages(conn: Connection, target: Target) -> list[str]:
    where, parameters = ["(m.content <> '' OR m.preface <> '')"], list[object]()
    if target.project is not None:
        where.append(f"m.session_id IN {_LISTED}")
        parameters.append(json.dumps(_of_project(conn, target.project)))
    _in_time(target, where, parameters)
    if target.about.strip():
        spoken, words = text_matches.condition(target.about)
        speakers = conn.execute("SELECT DISTINCT speaker, speaker FROM messages WHERE speaker <> ''")
        where.append(f"({spoken} OR m.speaker IN {_LISTED})")
        parameters += [*words, json.dumps(text_matches.holding(conn, speakers, target.about))]
    rows = conn.execute(f"SELECT m.id FROM messages AS m WHERE {' AND '.join(where)}", parameters)
    return [row[0] for row in rows]


def _fitting_memories(conn: Connection, target: Target) -> list[str]:
    where, parameters = ["1"], list[object]()
    if target.project is not None:
        where.append("m.project_id = (SELECT id FROM projects WHERE name = ?)")
        parameters.append(storable(target.project))
    if target.since or target.before:
        # Memories learned from messages are deleted with these; this selects the ones without a source.
        where.append("m.id NOT IN (SELECT memory_id FROM memory_sources)")
        _in_time(target, where, parameters)
    rows = conn.execute(
        f"SELECT m.id, m.subject, m.text FROM memories AS m WHERE {' AND '.join(where)}", parameters
    )
    return (
        text_matches.holding(conn, rows, target.about) if target.about.strip() else [row[0] for row in rows]
    )


def _fitting_documents(conn: Connection, target: Target) -> list[str]:
    """Returns documents by what they contain, their project, and when they were added."""
    where, parameters = ["1"], list[object]()
    if target.project is not None:
        where.append("project_id = (SELECT id FROM projects WHERE name = ?)")
        parameters.append(storable(target.project))
    _in_time(target, where, parameters, "added_at")
    rows = conn.execute(f"SELECT id FROM documents WHERE {' AND '.join(where)} ORDER BY seq", parameters)
    found = [row[0] for row in rows.fetchall()]
    if not target.about.strip():
        return found
    holding = set(text_matches.documents(conn, target.about))
    return [one for one in found if one in holding]


def _in_time(
    target: Target, where: list[str], parameters: list[object], column: str = "m.created_at"
) -> None:
    if target.since is not None:
        where.append(f"{column} >= ?")
        parameters.append(micros(target.since))
    if target.before is not None:
        where.append(f"{column} < ?")
        parameters.append(micros(target.before))


def _emptied(conn: Connection, message_ids: Collection[str]) -> list[str]:
    """Returns the sessions of which no message with content is left."""
    rows = conn.execute(
        """
        SELECT session_id FROM messages WHERE content <> ''
        GROUP BY session_id HAVING sum(id NOT IN (SELECT value FROM json_each(?1))) = 0
        """,
        (json.dumps(list(message_ids)),),
    )
    return [row[0] for row in rows]


def _ids(conn: Connection, table: str) -> tuple[str, ...]:
    return tuple(row[0] for row in conn.execute(f"SELECT id FROM {table}"))


NOTHING = Erased(0, 0, 0, 0, 0, 0, 0, 0, verified=True)
SHOWN = 1000
"""Excerpts that are returned of each kind."""
LENGTH = 80

# What is left of a room that has no session and no memory.
_EVERYTHING = (
    "vectors",
    "summaries",
    "epochs",
    "turns",
    "jobs",
    "job_results",
    "memory_changes",
    "memory_change_ids",
    "learned",
    "drafts",
    "session_tags",
    "tag_suggestions",
    "saved_searches",
    "documents",
    "document_folders",
    "note_folders",
    "left_files",
    "projects",
    "attachments",
    "skills",
    "skill_uses",
    "rejected_drafts",
    "tasks",
    "personas",
    "templates",
    "sync_waiting",
    "sync_settings",
)


def forget(conn: Connection, target: Target) -> Affected:
    """Erases the target and reports what was affected. Raises the errors of `choose`."""
    chosen = choose(conn, target)
    held_in = conn.execute(
        f"SELECT DISTINCT session_id FROM messages WHERE id IN {_LISTED}", (json.dumps(chosen.messages),)
    )
    notes, files = _by_kind(conn, chosen.documents)
    affected = Affected(
        NOTHING,
        len(chosen.sessions),
        _excerpts(conn, "sessions", "title", chosen.sessions),
        _excerpts(conn, "messages", "content", chosen.messages),
        (),
        _excerpts(conn, "documents", "title", files),
        (*chosen.sessions, *(row[0] for row in held_in)),
        _excerpts(conn, "documents", "title", notes),
    )
    projects.drop(conn)
    same = [] if target.everything else erasure.copies_of(conn, chosen.sessions, chosen.messages)
    by_words = bool(target.about.strip())
    titled = erasure.own_titles(conn, affected.touched, chosen.messages)
    if by_words and _everywhere(target):
        # Titles with the words go; others have nothing of what is forgotten.
        titled = ()
    known = {row[0]: row[1] for row in conn.execute("SELECT id, text FROM memories")}
    done: list[Erased] = []
    if chosen.sessions:
        done.append(erasure.erase_sessions(conn, chosen.sessions))
    if chosen.messages:
        done.append(erasure.forget_messages(conn, chosen.messages))
    if chosen.memories:
        done.append(erasure.forget_memories(conn, chosen.memories))
    if chosen.documents:
        done.append(_without_documents(conn, chosen.documents))
    if chosen.tasks:
        done.append(_without_tasks(conn, chosen.tasks))
    erased = combined(done)
    if by_words:
        erased = _without_words(conn, target, erased)
    if target.project is not None:
        _drop_project(conn, target)
    if target.everything:
        erased = _nothing_left(conn, erased)
    there = {row[0] for row in conn.execute("SELECT id FROM sessions")}
    erased = replace(
        erased,
        recalled_in=tuple(one for one in erased.recalled_in if one in there),
        copies=tuple(dict.fromkeys([*erasure.copies_left(conn, same), *erasure.titled_copies(conn, titled)])),
    )
    left = {row[0] for row in conn.execute("SELECT id FROM memories")}
    gone = [Excerpt(key, beginning(text)) for key, text in known.items() if key not in left]
    return replace(affected, erased=erased, memories=tuple(gone[:SHOWN]))


def _by_kind(conn: Connection, document_ids: Collection[str]) -> tuple[list[str], list[str]]:
    """Returns those that are notes, and those that are other documents."""
    rows = conn.execute(
        f"SELECT id FROM documents WHERE kind = 'note' AND id IN {_LISTED}", (json.dumps(list(document_ids)),)
    )
    notes = {row[0] for row in rows.fetchall()}
    return [one for one in document_ids if one in notes], [one for one in document_ids if one not in notes]


def _everywhere(target: Target) -> bool:
    """Whether a target is not limited by time or project."""
    return target.project is None and target.since is None and target.before is None


def _without_words(conn: Connection, target: Target, erased: Erased) -> Erased:
    """Clears other mentions of the subject; they stay if the target is limited by time or project."""
    if not _everywhere(target):
        return erased
    cleared = text_matches.clear(conn, target.about)
    return replace(
        erased,
        versions=erased.versions + cleared.versions,
        places=(*erased.places, *cleared.places),
        stale=tuple(dict.fromkeys([*erased.stale, *cleared.stale])),
        untitled=tuple(dict.fromkeys([*erased.untitled, *cleared.untitled])),
        recalled_in=tuple(dict.fromkeys([*erased.recalled_in, *cleared.told_in])),
        verified=erased.verified and not text_matches.still_in(conn, target.about),
    )


def _without_documents(conn: Connection, document_ids: Collection[str]) -> Erased:
    """Erases documents; no scan of a watched folder adds their files again."""
    gone = documents.erase(conn, document_ids, for_good=True)
    return replace(
        NOTHING,
        vectors=gone.vectors,
        full_text=gone.chunks,
        summaries=gone.summaries,
        jobs=gone.jobs,
        documents=gone.documents - gone.notes,
        notes=gone.notes,
        memories=gone.memories,
        chunks=gone.chunks,
        recalled_in=gone.recalled_in,
        verified=gone.verified,
    )


def _without_tasks(conn: Connection, task_ids: Collection[str]) -> Erased:
    """Erases tasks with everything they wrote, and their reports."""
    places = tasks.places_of(conn, task_ids)
    return replace(NOTHING, places=places, recalled_in=tasks.erase(conn, task_ids))


def _drop_project(conn: Connection, target: Target) -> None:
    """Deletes a project that has become empty. A project that is forgotten as a whole does not watch a folder
    either.
    """
    if not (target.about.strip() or target.since or target.before):
        tasks.erase(conn, tasks.of_project(conn, target.project or ""))
        conn.execute(
            "DELETE FROM document_folders WHERE project_id = (SELECT id FROM projects WHERE name = ?)",
            (target.project,),
        )
    conn.execute(
        """
        DELETE FROM projects WHERE name = ?
            AND NOT EXISTS (SELECT 1 FROM sessions WHERE project_id = projects.id)
            AND NOT EXISTS (SELECT 1 FROM memories WHERE project_id = projects.id)
            AND NOT EXISTS (SELECT 1 FROM documents WHERE project_id = projects.id)
            AND NOT EXISTS (SELECT 1 FROM document_folders WHERE project_id = projects.id)
            AND NOT EXISTS (SELECT 1 FROM tasks WHERE project_id = projects.id)
        """,
        (target.project,),
    )


def _nothing_left(conn: Connection, erased: Erased) -> Erased:
    jobs = conn.execute("SELECT count(*) FROM jobs").fetchone()[0]
    for table in _EVERYTHING:
        conn.execute(f"DELETE FROM {table}")
    left = sum(
        conn.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]
        for table in ("sessions", "messages", "memories", *_EVERYTHING)
    )
    return replace(erased, jobs=erased.jobs + int(jobs), verified=erased.verified and left == 0)


def combined(done: Sequence[Erased]) -> Erased:
    """Returns the sums; verified if all are. Each session is in `recalled_in` once."""
    total = NOTHING
    for one in done:
        total = Erased(
            **{
                field.name: getattr(total, field.name) and getattr(one, field.name)
                if field.name == "verified"
                else getattr(total, field.name) + getattr(one, field.name)
                for field in fields(Erased)
            }
        )
    return replace(total, recalled_in=tuple(dict.fromkeys(total.recalled_in)))


def _excerpts(conn: Connection, table: str, column: str, ids: Collection[str]) -> tuple[Excerpt, ...]:
    shown = list(ids)[:SHOWN]
    rows = dict(
        conn.execute(
            f"SELECT id, substr({column}, 1, 400) FROM {table} WHERE id IN {_LISTED}", (json.dumps(shown),)
        ).fetchall()
    )
    return tuple(Excerpt(one, beginning(rows[one])) for one in shown if one in rows)


def beginning(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LENGTH else f"{line[: LENGTH - 1].rstrip()}…"
