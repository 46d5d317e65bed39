"""Forgetting whatever is meant, in one step: chosen, erased, cleared, and looked for once more."""
# ruff: noqa: S608  # the names put into SQL are all written in this module

import json
from collections.abc import Collection, Sequence
from dataclasses import fields, replace

from memory.entities import Erased
from memory.forgetting import Affected, Excerpt, Target
from memory.storage.connection import Connection
from memory.storage.queries import about, copies, erasure, last_change, targets, titles

NOTHING = Erased(0, 0, 0, 0, 0, 0, 0, 0, verified=True)
SHOWN = 20
"""Of each kind so many are named."""
LENGTH = 80
_LISTED = "(SELECT value FROM json_each(?))"

# What is left of a room when no session and no memory is.
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
    "projects",
    "attachments",
    "personas",
    "templates",
)


def forget(conn: Connection, target: Target) -> Affected:
    """Raises as `targets.choose`."""
    chosen = targets.choose(conn, target)
    held_in = conn.execute(
        f"SELECT DISTINCT session_id FROM messages WHERE id IN {_LISTED}", (json.dumps(chosen.messages),)
    )
    affected = Affected(
        NOTHING,
        len(chosen.sessions),
        _excerpts(conn, "sessions", "title", chosen.sessions),
        _excerpts(conn, "messages", "content", chosen.messages),
        (),
        (*chosen.sessions, *(row[0] for row in held_in)),
    )
    last_change.drop(conn)
    same = [] if target.everything else copies.of(conn, chosen.sessions, chosen.messages)
    titled = titles.own(conn, affected.touched, chosen.messages)
    known = {row[0]: row[1] for row in conn.execute("SELECT id, text FROM memories")}
    done: list[Erased] = []
    if chosen.sessions:
        done.append(erasure.erase_sessions(conn, chosen.sessions))
    if chosen.messages:
        done.append(erasure.forget_messages(conn, chosen.messages))
    if chosen.memories:
        done.append(erasure.forget_memories(conn, chosen.memories))
    erased = combined(done)
    if target.about.strip():
        erased = _without_words(conn, target, erased)
    if target.project is not None:
        _drop_project(conn, target.project)
    if target.everything:
        erased = _nothing_left(conn, erased)
    there = {row[0] for row in conn.execute("SELECT id FROM sessions")}
    erased = replace(
        erased,
        recalled_in=tuple(one for one in erased.recalled_in if one in there),
        copies=tuple(dict.fromkeys([*copies.left(conn, same), *copies.titled(conn, titled)])),
    )
    left = {row[0] for row in conn.execute("SELECT id FROM memories")}
    gone = [Excerpt(key, beginning(text)) for key, text in known.items() if key not in left]
    return replace(affected, erased=erased, memories=tuple(gone[:SHOWN]))


def _without_words(conn: Connection, target: Target, erased: Erased) -> Erased:
    """Clears what else speaks of it; where words were taken away by time or project, the others stay."""
    if target.project is not None or target.since is not None or target.before is not None:
        return erased
    cleared = about.clear(conn, target.about)
    return replace(
        erased,
        versions=erased.versions + cleared.versions,
        places=(*erased.places, *cleared.places),
        stale=tuple(dict.fromkeys([*erased.stale, *cleared.stale])),
        untitled=tuple(dict.fromkeys([*erased.untitled, *cleared.untitled])),
        recalled_in=tuple(dict.fromkeys([*erased.recalled_in, *cleared.told_in])),
        verified=erased.verified and not about.still_in(conn, target.about),
    )


def _drop_project(conn: Connection, project: str) -> None:
    """Erases a project to which nothing belongs any more."""
    conn.execute(
        """
        DELETE FROM projects WHERE name = ?
            AND NOT EXISTS (SELECT 1 FROM sessions WHERE project_id = projects.id)
            AND NOT EXISTS (SELECT 1 FROM memories WHERE project_id = projects.id)
        """,
        (project,),
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
    """The sums; verified when all are. What was touched and is gone by the end is left out."""
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
