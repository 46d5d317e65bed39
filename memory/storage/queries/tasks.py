"""Tasks, their steps, evidence, citations, guidance and events as rows."""
# ruff: noqa: S608  # the names put into SQL are all written in this module

import json
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from memory.clock import micros, moment
from memory.entities import Place
from memory.errors import AmbiguousId, ProjectNotFound, TaskNotFound
from memory.storage.connection import Connection, id_range, new_id, storable
from memory.storage.queries import context, erasure_check, full_text
from memory.storage.queries.projects import project_id
from memory.tasks.entities import (
    ENDED,
    Asked,
    Baseline,
    EventKind,
    Evidence,
    EvidenceKind,
    Guidance,
    NewTask,
    Report,
    Step,
    StepState,
    Task,
    TaskCitation,
    TaskEvent,
    TaskState,
    Team,
)

_LISTED = "(SELECT value FROM json_each(?))"
_COLUMNS = """
    t.id, t.brief, p.name, t.session_id, t.documents, t.teams, t.rounds, t.max_tokens, t.wants_baseline,
    t.state, t.round, t.asked, t.missing, t.title, t.report, t.unsupported, t.by_model, t.document_id,
    t.baseline, t.baseline_context, t.baseline_tokens, t.baseline_ms, t.created_at, t.updated_at, t.ended_at
"""
_FROM = "tasks AS t LEFT JOIN projects AS p ON p.id = t.project_id"
_OF_DOCUMENTS = frozenset({EvidenceKind.DOCUMENT, EvidenceKind.NOTE})


# --- reading ----------------------------------------------------------------------------------------


def resolve(conn: Connection, ref: str) -> str:
    """Returns the id of a task by it or a unique prefix; `last` is the newest. Raises `TaskNotFound`,
    `AmbiguousId`."""
    if ref == "last":
        row = conn.execute("SELECT max(id) FROM tasks").fetchone()
        if row[0] is None:
            raise TaskNotFound(ref)
        return str(row[0])
    bounds = id_range(ref)
    rows = conn.execute("SELECT id FROM tasks WHERE id BETWEEN ? AND ?", bounds or ("", "")).fetchall()
    if not rows:
        raise TaskNotFound(ref)
    if len(rows) > 1:
        raise AmbiguousId(ref, len(rows))
    return str(rows[0][0])


def get(conn: Connection, task_id: str) -> Task:
    """Returns a task with its steps. Raises `TaskNotFound`."""
    row = conn.execute(f"SELECT {_COLUMNS} FROM {_FROM} WHERE t.id = ?", (task_id,)).fetchone()
    if row is None:
        raise TaskNotFound(task_id)
    return _task(conn, row)


def select(
    conn: Connection, *, project: str | None = None, states: Collection[TaskState] | None = None
) -> list[Task]:
    """Returns tasks with their steps, newest first."""
    listed = json.dumps([one.value for one in (TaskState if states is None else states)])
    rows = conn.execute(
        f"""
        SELECT {_COLUMNS} FROM {_FROM}
        WHERE t.state IN {_LISTED} AND (?2 IS NULL OR p.name = ?2) ORDER BY t.id DESC
        """,
        (listed, project),
    ).fetchall()
    return [_task(conn, row) for row in rows]


def _task(conn: Connection, row: Any) -> Task:
    task_id = row[0]
    report = None
    if row[14] is not None:
        report = Report(
            text=row[14],
            citations=tuple(_citations(conn, task_id)),
            unsupported=tuple((begin, end) for begin, end in json.loads(row[15])),
            document=row[17],
            title=row[13],
            by_model=bool(row[16]),
        )
    baseline = None if row[18] is None else Baseline(row[18], row[19], row[20], row[21] / 1000)
    return Task(
        id=task_id,
        brief=row[1],
        project=row[2],
        session=row[3],
        documents=None if row[4] is None else tuple(json.loads(row[4])),
        teams=tuple(map(Team, json.loads(row[5]))),
        rounds=row[6],
        max_tokens=row[7],
        wants_baseline=bool(row[8]),
        state=TaskState(row[9]),
        round=row[10],
        asked=None if row[11] is None else Asked(row[11]),
        missing=tuple(json.loads(row[12])),
        report=report,
        baseline=baseline,
        created_at=moment(row[22]),
        updated_at=moment(row[23]),
        ended_at=None if row[24] is None else moment(row[24]),
        steps=tuple(_steps(conn, task_id)),
        guidance=tuple(
            Guidance(text, after, bool(revises))
            for text, after, revises in conn.execute(
                "SELECT text, after, revises FROM task_guidance WHERE task_id = ? ORDER BY number", (task_id,)
            )
        ),
    )


def _steps(conn: Connection, task_id: str) -> list[Step]:
    found: dict[str, list[str]] = {}
    for step_id, evidence_id in conn.execute(
        "SELECT step_id, id FROM task_evidence WHERE task_id = ? ORDER BY marker", (task_id,)
    ):
        found.setdefault(step_id, []).append(evidence_id)
    rows = conn.execute(
        """
        SELECT id, number, round, team, brief, state, returned, context, context_tokens, tokens, model_ms,
            own_ms, attempts
        FROM task_steps WHERE task_id = ? ORDER BY number
        """,
        (task_id,),
    )
    return [
        Step(
            id=row[0],
            number=row[1],
            round=row[2],
            team=Team(row[3]),
            brief=row[4],
            state=StepState(row[5]),
            returned=row[6],
            context=row[7],
            context_tokens=row[8],
            tokens=row[9],
            model_ms=row[10],
            own_ms=row[11],
            attempts=row[12],
            evidence=tuple(found.get(row[0], ())),
        )
        for row in rows
    ]


def evidence(conn: Connection, task_id: str) -> list[Evidence]:
    """Returns the evidence of a task, in the order of its numbers."""
    rows = conn.execute(
        """
        SELECT id, step_id, marker, kind, source_id, title, begin, "end", text, page, first_line, last_line,
            heading, header, source_session, sha256, subject
        FROM task_evidence WHERE task_id = ? ORDER BY marker
        """,
        (task_id,),
    )
    return [
        Evidence(
            id=row[0],
            step=row[1],
            marker=row[2],
            kind=EvidenceKind(row[3]),
            source=row[4],
            title=row[5],
            begin=row[6],
            end=row[7],
            text=row[8],
            page=row[9],
            lines=None if row[10] is None else (row[10], row[11]),
            heading=tuple(json.loads(row[12])),
            header=row[13],
            session=row[14],
            sha256=row[15],
            subject=row[16],
        )
        for row in rows
    ]


def _citations(conn: Connection, task_id: str) -> list[TaskCitation]:
    rows = conn.execute(
        """
        SELECT marker, kind, source_id, title, page, first_line, last_line, begin, "end", quote, verified
        FROM task_citations WHERE task_id = ? ORDER BY number
        """,
        (task_id,),
    )
    return [
        TaskCitation(
            marker=row[0],
            kind=EvidenceKind(row[1]),
            source=row[2],
            title=row[3],
            page=row[4],
            lines=None if row[5] is None else (row[5], row[6]),
            begin=row[7],
            end=row[8],
            quote=row[9],
            verified=bool(row[10]),
        )
        for row in rows
    ]


def events(conn: Connection, task_id: str) -> list[TaskEvent]:
    """Returns the events of a task, in order."""
    rows = conn.execute(
        "SELECT kind, step_id, team, code, count FROM task_events WHERE task_id = ? ORDER BY number",
        (task_id,),
    )
    return [
        TaskEvent(EventKind(kind), task_id, step, None if team is None else Team(team), code, count)
        for kind, step, team, code, count in rows
    ]


def reports(conn: Connection) -> frozenset[str]:
    """Returns the documents that are reports of tasks, which are not evidence for other tasks."""
    rows = conn.execute("SELECT document_id FROM tasks WHERE document_id IS NOT NULL")
    return frozenset(row[0] for row in rows)


def running(conn: Connection) -> list[str]:
    """Returns the tasks that are planned or running, oldest first."""
    rows = conn.execute("SELECT id FROM tasks WHERE state IN ('planned', 'running') ORDER BY id")
    return [row[0] for row in rows]


def before(conn: Connection, task_id: str) -> list[tuple[str, str, int]]:
    """Returns the finished tasks: id, brief, and how many sources they cite; newest first."""
    rows = conn.execute(
        """
        SELECT t.id, t.brief, (SELECT count(*) FROM task_citations AS c WHERE c.task_id = t.id)
        FROM tasks AS t WHERE t.state = 'done' AND t.id <> ?1
            AND t.project_id IS (SELECT project_id FROM tasks WHERE id = ?1)
        ORDER BY t.id DESC LIMIT 200
        """,
        (task_id,),
    )
    return [(row[0], row[1], row[2]) for row in rows]


# --- writing ----------------------------------------------------------------------------------------


def add(conn: Connection, new: NewTask, now: datetime) -> str:
    """Stores a task as planned; returns its id. Raises `ProjectNotFound`."""
    project = None if new.project is None else project_id(conn, new.project)
    if new.project is not None and project is None:
        raise ProjectNotFound(new.project)
    task_id, at = new_id(), micros(now)
    conn.execute(
        """
        INSERT INTO tasks
            (id, brief, project_id, session_id, documents, teams, rounds, max_tokens, wants_baseline, state,
            created_at, updated_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'planned', ?, ?)
        """,
        (
            task_id,
            storable(new.brief),
            project,
            new.session,
            None if new.documents is None else json.dumps(list(new.documents)),
            json.dumps([one.value for one in new.teams]),
            new.rounds,
            new.max_tokens,
            int(new.baseline),
            at,
            at,
        ),
    )
    return task_id


def set_state(
    conn: Connection,
    task_id: str,
    state: TaskState,
    now: datetime,
    *,
    asked: Asked | None = None,
    missing: Sequence[str] = (),
) -> None:
    at = micros(now)
    conn.execute(
        """
        UPDATE tasks SET state = ?, asked = ?, missing = ?, updated_at = ?, ended_at = ? WHERE id = ?
        """,
        (
            state.value,
            None if asked is None else asked.value,
            json.dumps([storable(one) for one in missing], ensure_ascii=False),
            at,
            at if state in ENDED else None,
            task_id,
        ),
    )


def set_round(conn: Connection, task_id: str, number: int) -> None:
    conn.execute("UPDATE tasks SET round = ? WHERE id = ?", (number, task_id))


def add_rounds(conn: Connection, task_id: str, count: int) -> None:
    """Allows more rounds of revision."""
    conn.execute("UPDATE tasks SET rounds = rounds + ? WHERE id = ?", (count, task_id))


def begin_step(conn: Connection, task_id: str, round_: int, team: Team, brief: str, now: datetime) -> str:
    """Stores a step that begins; returns its id."""
    step_id = new_id()
    conn.execute(
        """
        INSERT INTO task_steps (id, task_id, number, round, team, brief, state, begun_at)
        SELECT ?1, ?2, 1 + coalesce(max(number), 0), ?3, ?4, ?5, 'running', ?6
        FROM task_steps WHERE task_id = ?2
        """,
        (step_id, task_id, round_, team.value, storable(brief), micros(now)),
    )
    return step_id


def begin_again(conn: Connection, step_id: str) -> None:
    """Counts another attempt at a step that the end of the program interrupted."""
    conn.execute("UPDATE task_steps SET attempts = attempts + 1 WHERE id = ?", (step_id,))


def end_step(conn: Connection, step: Step, found: Sequence[Evidence], now: datetime) -> None:
    """Stores the result of a step, with the evidence that it found."""
    conn.execute(
        """
        UPDATE task_steps SET state = 'done', returned = ?, context = ?, context_tokens = ?, tokens = ?,
            model_ms = ?, own_ms = ?, ended_at = ?
        WHERE id = ?
        """,
        (
            storable(step.returned),
            storable(step.context),
            step.context_tokens,
            step.tokens,
            step.model_ms,
            step.own_ms,
            micros(now),
            step.id,
        ),
    )
    conn.executemany(
        """
        INSERT INTO task_evidence
            (id, task_id, step_id, marker, kind, source_id, document_id, source_session, title, begin, "end",
            page, first_line, last_line, heading, header, text, sha256, subject)
        SELECT ?, task_id, id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM task_steps WHERE id = ?
        """,
        [
            (
                one.id or new_id(),
                one.marker,
                one.kind.value,
                one.source,
                one.source if one.kind in _OF_DOCUMENTS else None,
                one.session,
                storable(one.title),
                one.begin,
                one.end,
                one.page,
                *(one.lines or (None, None)),
                json.dumps([storable(part) for part in one.heading], ensure_ascii=False),
                storable(one.header),
                storable(one.text),
                one.sha256,
                storable(one.subject),
                step.id,
            )
            for one in found
        ],
    )


def add_own_time(conn: Connection, step_id: str, own_ms: float) -> None:
    conn.execute("UPDATE task_steps SET own_ms = own_ms + ? WHERE id = ?", (own_ms, step_id))


def put_report(conn: Connection, task_id: str, report: Report, now: datetime) -> None:
    """Stores a report in place of an earlier one."""
    conn.execute(
        """
        UPDATE tasks SET title = ?, report = ?, unsupported = ?, by_model = ?, updated_at = ? WHERE id = ?
        """,
        (
            storable(report.title),
            storable(report.text),
            json.dumps([list(one) for one in report.unsupported]),
            int(report.by_model),
            micros(now),
            task_id,
        ),
    )
    conn.execute("DELETE FROM task_citations WHERE task_id = ?", (task_id,))
    conn.executemany(
        """
        INSERT INTO task_citations
            (task_id, number, marker, kind, source_id, document_id, title, begin, "end", page, first_line,
            last_line, quote, verified)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        [
            (
                task_id,
                number,
                one.marker,
                one.kind.value,
                one.source,
                one.source if one.kind in _OF_DOCUMENTS else None,
                storable(one.title),
                one.begin,
                one.end,
                one.page,
                *(one.lines or (None, None)),
                storable(one.quote),
                int(one.verified),
            )
            for number, one in enumerate(report.citations)
        ],
    )


def put_document(conn: Connection, task_id: str, document_id: str) -> None:
    conn.execute("UPDATE tasks SET document_id = ? WHERE id = ?", (document_id, task_id))


def put_baseline(conn: Connection, task_id: str, baseline: Baseline) -> None:
    conn.execute(
        """
        UPDATE tasks SET baseline = ?, baseline_context = ?, baseline_tokens = ?, baseline_ms = ? WHERE id = ?
        """,
        (
            storable(baseline.text),
            baseline.context_tokens,
            baseline.tokens,
            1000 * baseline.seconds,
            task_id,
        ),
    )


def guide(conn: Connection, task_id: str, text: str, *, revises: bool) -> None:
    """Stores the user's instruction to the supervisor."""
    conn.execute(
        """
        INSERT INTO task_guidance (task_id, number, text, after, revises)
        SELECT ?1, (SELECT count(*) FROM task_guidance WHERE task_id = ?1), ?2,
            (SELECT coalesce(max(number), 0) FROM task_steps WHERE task_id = ?1), ?3
        """,
        (task_id, storable(text), int(revises)),
    )


def note(conn: Connection, event: TaskEvent, now: datetime) -> None:
    """Stores an event."""
    conn.execute(
        """
        INSERT INTO task_events (task_id, number, kind, step_id, team, code, count, at)
        SELECT ?1, (SELECT count(*) FROM task_events WHERE task_id = ?1), ?2, ?3, ?4, ?5, ?6, ?7
        """,
        (
            event.task,
            event.kind.value,
            event.step,
            None if event.team is None else event.team.value,
            event.code,
            event.count,
            micros(now),
        ),
    )


# --- forgetting -------------------------------------------------------------------------------------


def places_of(conn: Connection, task_ids: Collection[str]) -> tuple[Place, ...]:
    """Returns tasks as what contains forgotten text."""
    rows = conn.execute(
        f"SELECT title FROM tasks WHERE id IN {_LISTED}", (json.dumps(list(task_ids)),)
    ).fetchall()
    return tuple(Place("task", row[0]) for row in rows)


def erase(conn: Connection, task_ids: Collection[str]) -> tuple[str, ...]:
    """Deletes tasks with everything they wrote, their reports in the library and their jobs.

    Returns the sessions whose prompts had passages of a report.
    """
    ids = json.dumps(list(task_ids))
    rows = conn.execute(
        f"SELECT document_id FROM tasks WHERE document_id IS NOT NULL AND id IN {_LISTED}", (ids,)
    ).fetchall()
    reports_ = [row[0] for row in rows]
    jobs = erasure_check.jobs_naming(conn, [*task_ids, *reports_])
    conn.execute(f"DELETE FROM jobs WHERE id IN {_LISTED}", (json.dumps(jobs),))
    conn.execute(f"DELETE FROM tasks WHERE id IN {_LISTED}", (ids,))
    if not reports_:
        return ()
    listed = json.dumps(reports_)
    context.drop_prefaces_of(conn, reports_)
    touched = context.forget_recalled(conn, reports_, gone=reports_)
    (count,) = conn.execute(
        f"SELECT count(*) FROM chunks WHERE document_id IN {_LISTED}", (listed,)
    ).fetchone()
    with full_text.purged(conn, "chunks", count):
        conn.execute(f"DELETE FROM documents WHERE id IN {_LISTED}", (listed,))
    return touched


def dependents_of(conn: Connection, source_ids: Collection[str]) -> list[str]:
    """Returns the tasks that read one of these messages or memories, or were started in one of these
    sessions. They go with them: each quotes what it read, in its report, too.
    """
    ids = json.dumps(list(source_ids))
    rows = conn.execute(
        f"""
        SELECT task_id FROM task_evidence WHERE source_id IN {_LISTED} OR source_session IN {_LISTED}
        UNION SELECT id FROM tasks WHERE session_id IN {_LISTED}
        """,
        (ids, ids, ids),
    )
    return [row[0] for row in rows]


def of_project(conn: Connection, project: str) -> list[str]:
    """Returns the tasks of a project, by its name."""
    rows = conn.execute(
        "SELECT t.id FROM tasks AS t JOIN projects AS p ON p.id = t.project_id WHERE p.name = ?", (project,)
    )
    return [row[0] for row in rows]


def forget_documents(conn: Connection, document_ids: Collection[str]) -> None:
    """Empties the texts that tasks wrote from erased documents; reports stay, as replies do."""
    ids = json.dumps(list(document_ids))
    conn.execute(
        f"""
        UPDATE task_steps SET context = '', returned = ''
        WHERE task_id IN (SELECT task_id FROM task_evidence WHERE document_id IN {_LISTED})
        """,
        (ids,),
    )
    conn.execute(f"DELETE FROM task_evidence WHERE document_id IN {_LISTED}", (ids,))
    conn.execute(f"DELETE FROM task_citations WHERE document_id IN {_LISTED}", (ids,))
