"""The tasks of one room, with their steps, evidence, reports and events."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from memory.clock import Clock
from memory.documents.entities import NewDocument
from memory.errors import TaskInState
from memory.storage.connection import Connection
from memory.storage.database import Database
from memory.storage.queries import documents, tasks
from memory.tasks.entities import (
    ENDED,
    Asked,
    Baseline,
    Evidence,
    NewTask,
    Report,
    Step,
    Task,
    TaskEvent,
    TaskState,
    Team,
)


class TaskStore:
    """The tasks of one room. A `ref` is an id, a unique prefix of one, or `last`.

    Raises `TaskNotFound`, `AmbiguousId`, and the errors of `Store`. A call that has returned is durable.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    # --- reading ----------------------------------------------------------------------------------

    async def get(self, ref: str) -> Task:
        return await self._database.read(lambda conn: tasks.get(conn, tasks.resolve(conn, ref)))

    async def list(
        self, *, project: str | None = None, states: Collection[TaskState] | None = None
    ) -> Sequence[Task]:
        """Returns tasks with their steps, newest first."""
        return await self._database.read(lambda conn: tasks.select(conn, project=project, states=states))

    async def evidence(self, task_id: str) -> Sequence[Evidence]:
        """Returns the evidence of a task, in the order of its numbers."""
        return await self._database.read(lambda conn: tasks.evidence(conn, task_id))

    async def events(self, task_id: str) -> Sequence[TaskEvent]:
        """Returns the events of a task, in order, without any text."""
        return await self._database.read(lambda conn: tasks.events(conn, task_id))

    async def reports(self) -> frozenset[str]:
        """Returns the documents that are reports of tasks."""
        return await self._database.read(tasks.reports)

    async def running(self) -> Sequence[str]:
        """Returns the tasks that are planned or running, oldest first."""
        return await self._database.read(tasks.running)

    async def before(self, task_id: str) -> Sequence[tuple[str, str, int]]:
        """Returns the finished tasks of the same project: id, brief, how many places they cite."""
        return await self._database.read(lambda conn: tasks.before(conn, task_id))

    # --- writing ----------------------------------------------------------------------------------

    async def add(self, new: NewTask) -> Task:
        """Stores a task as planned. Raises `ProjectNotFound`."""
        now = self._clock.now()
        return await self._database.write(lambda conn: tasks.get(conn, tasks.add(conn, new, now)))

    async def set_state(
        self,
        task_id: str,
        state: TaskState,
        event: TaskEvent | None = None,
        *,
        among: Collection[TaskState] | None = None,
        asked: Asked | None = None,
        missing: Sequence[str] = (),
    ) -> Task:
        """Changes the state, with the event that it belongs to. Raises `TaskInState` if it is not `among`
        these, or has ended already."""
        now = self._clock.now()

        def work(conn: Connection) -> Task:
            known = tasks.get(conn, task_id)
            if known.state not in (set(TaskState) - ENDED if among is None else among):
                raise TaskInState(known.state.value)
            tasks.set_state(conn, task_id, state, now, asked=asked, missing=missing)
            if event is not None:
                tasks.note(conn, event, now)
            return tasks.get(conn, task_id)

        return await self._database.write(work)

    async def begin_step(
        self, task_id: str, round_: int, team: Team, brief: str, events: Sequence[TaskEvent] = ()
    ) -> Task:
        """Stores a step that begins, and its round. An event without a step gets the id of this step. Raises
        `TaskInState` unless the task runs.
        """
        now = self._clock.now()

        def work(conn: Connection) -> Task:
            if (known := tasks.get(conn, task_id)).state is not TaskState.RUNNING:
                raise TaskInState(known.state.value)
            tasks.set_round(conn, task_id, round_)
            step_id = tasks.begin_step(conn, task_id, round_, team, brief, now)
            for event in events:
                tasks.note(conn, _of(event, step_id), now)
            return tasks.get(conn, task_id)

        return await self._database.write(work)

    async def begin_again(self, step_id: str) -> None:
        """Counts another attempt at an interrupted step."""
        await self._database.write(lambda conn: tasks.begin_again(conn, step_id))

    async def end_step(
        self,
        step: Step,
        found: Sequence[Evidence],
        event: TaskEvent,
        report: Report | None = None,
    ) -> None:
        """Stores the result of a step, its evidence and its report, in one transaction. Does nothing if the
        task was deleted meanwhile.
        """
        now = self._clock.now()

        def work(conn: Connection) -> None:
            if conn.execute("SELECT 1 FROM task_steps WHERE id = ?", (step.id,)).fetchone() is None:
                return
            tasks.end_step(conn, step, found, now)
            if report is not None:
                tasks.put_report(conn, event.task, report, now)
            tasks.note(conn, event, now)

        await self._database.write(work)

    async def put_baseline(self, task_id: str, baseline: Baseline) -> None:
        await self._database.write(lambda conn: tasks.put_baseline(conn, task_id, baseline))

    async def finish(self, task_id: str, document: NewDocument | None, events: Sequence[TaskEvent]) -> Task:
        """Ends a task as done, and stores its report as a document, in one transaction. Raises `TaskInState`
        unless the task runs or waits."""
        now = self._clock.now()

        def work(conn: Connection) -> Task:
            known = tasks.get(conn, task_id)
            if known.state not in (TaskState.RUNNING, TaskState.WAITING):
                raise TaskInState(known.state.value)
            if document is not None:
                tasks.put_document(conn, task_id, documents.put(conn, document, now))
            tasks.set_state(conn, task_id, TaskState.DONE, now)
            for event in events:
                tasks.note(conn, event, now)
            return tasks.get(conn, task_id)

        return await self._database.write(work)

    async def guide(self, task_id: str, text: str, *, revises: bool, rounds: int = 0) -> Task:
        """Stores an instruction for the supervisor and allows `rounds` more rounds."""

        def work(conn: Connection) -> Task:
            tasks.guide(conn, task_id, text, revises=revises)
            tasks.add_rounds(conn, task_id, rounds)
            return tasks.get(conn, task_id)

        return await self._database.write(work)

    async def note(self, event: TaskEvent) -> None:
        now = self._clock.now()
        await self._database.write(lambda conn: tasks.note(conn, event, now))

    async def erase(self, ref: str) -> tuple[str, ...]:
        """Deletes a task with everything it wrote and its report; returns the sessions whose prompts had
        passages of it.
        """
        return await self._database.erase(lambda conn: tasks.erase(conn, [tasks.resolve(conn, ref)]))


def _of(event: TaskEvent, step_id: str) -> TaskEvent:
    return event if event.step is not None or event.team is None else replace(event, step=step_id)
