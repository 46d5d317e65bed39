"""The tasks of one room: the user's operations, and the supervisor that runs them."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.cleaning import clean
from atlas_desktop.services.tasks.reporting import report_document
from atlas_desktop.services.tasks.teams import Outcome, Teams
from memory.errors import BriefMissing, TaskInState
from memory.jobs.queue import Job, Priority
from memory.storage.store import Store
from memory.tasks.briefs import LONGEST
from memory.tasks.contexts import encode
from memory.tasks.entities import (
    MOST_ROUNDS,
    EventKind,
    Evidence,
    NewTask,
    Step,
    Task,
    TaskEvent,
    TaskState,
    Team,
)
from memory.tasks.supervising import Approve, Assign, Continue, Escalate, decide, planned

KIND = "task"
Listener = Callable[[TaskEvent], None]
_UNDER_WAY = frozenset({TaskState.PLANNED, TaskState.RUNNING})
_RESUMABLE = frozenset(
    {TaskState.PLANNED, TaskState.RUNNING, TaskState.PAUSED, TaskState.WAITING, TaskState.FAILED}
)


class TaskService:
    """The tasks of one room. A `ref` is an id, a unique prefix of one, or `last`.

    Every step is stored before it begins and when it ends, so an interruption costs at most the current step.
    Raises what `TaskStore` raises.
    """

    def __init__(
        self,
        store: Store,
        teams: Teams,
        background: BackgroundService,
        embed: Callable[[], Awaitable[None]],
    ) -> None:
        """`embed` is awaited after a report is added to the library."""
        self._store = store
        self._teams = teams
        self._background = background
        self._embed = embed
        self._listeners: list[Listener] = []
        self._working = asyncio.Lock()
        background.register(KIND, self._work)

    # --- looking ----------------------------------------------------------------------------------

    async def get(self, ref: str) -> Task:
        return await self._store.tasks.get(ref)

    async def list(self, project: str | None = None) -> Sequence[Task]:
        """Returns the tasks of the room or of a project, newest first."""
        return await self._store.tasks.list(project=project)

    async def evidence(self, task_id: str) -> Sequence[Evidence]:
        return await self._store.tasks.evidence(task_id)

    async def reports(self) -> frozenset[str]:
        """Returns the documents that are reports of tasks: no task reads them."""
        return await self._store.tasks.reports()

    async def events(self, task_id: str) -> Sequence[TaskEvent]:
        return await self._store.tasks.events(task_id)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Calls `listener` with every event from now on; returns a function that ends this."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    # --- what the user does -----------------------------------------------------------------------

    async def create(self, new: NewTask) -> Task:
        """Stores a task without starting it. Raises `BriefMissing`, `ProjectNotFound`, `DocumentNotFound`."""
        brief = clean(new.brief).strip()[:LONGEST]
        if not brief:
            raise BriefMissing
        documents = new.documents
        if documents is not None:
            documents = tuple(one.id for one in await self._store.documents.get_many(documents))
        teams = tuple(team for team in Team if team in new.teams)
        if Team.RESEARCH not in teams:
            # Without research, there is nothing to work on.
            teams = (Team.RESEARCH, *teams)
        return await self._store.tasks.add(
            replace(
                new,
                brief=brief,
                documents=documents,
                teams=teams,
                rounds=max(0, min(new.rounds, MOST_ROUNDS)),
            )
        )

    async def start(self, task_id: str) -> None:
        """Runs the task in the background from now on."""
        task = await self._store.tasks.get(task_id)
        if task.state not in _UNDER_WAY:
            await self._store.tasks.set_state(task_id, TaskState.RUNNING, among=_RESUMABLE)
        await self._background.add(KIND, task_id, payload={"task": task_id}, priority=Priority.HIGH)

    async def catch_up(self) -> None:
        """Queues the tasks that were running when the program ended."""
        for task_id in await self._store.tasks.running():
            await self._background.add(KIND, task_id, payload={"task": task_id}, priority=Priority.HIGH)

    async def pause(self, ref: str) -> Task:
        """Pauses after the current step. Raises `TaskInState`."""
        task = await self._store.tasks.get(ref)
        return await self._store.tasks.set_state(task.id, TaskState.PAUSED, among=_UNDER_WAY)

    async def resume(self, ref: str) -> Task:
        """Continues a task that is paused, waiting, failed or interrupted. Raises `TaskInState`."""
        task = await self._store.tasks.get(ref)
        if task.state is TaskState.WAITING and not any(
            one.after >= (task.steps[-1].number if task.steps else 0) for one in task.guidance
        ):
            # Without a new instruction, it would ask the same again.
            return task
        return await self._store.tasks.set_state(task.id, TaskState.RUNNING, among=_RESUMABLE)

    async def cancel(self, ref: str) -> Task:
        """Ends a task for good. Its findings stay until the task is deleted. Raises `TaskInState`."""
        task = await self._store.tasks.get(ref)
        return await self._store.tasks.set_state(task.id, TaskState.CANCELLED)

    async def steer(self, ref: str, text: str) -> Task:
        """Gives the supervisor an instruction, which applies from the next step on. A task that waits or has
        ended continues with it. Raises `BriefMissing` without a text, `TaskInState` for a cancelled one."""
        text = clean(text).strip()[:LONGEST]
        if not text:
            raise BriefMissing
        task = await self._store.tasks.get(ref)
        if task.state is TaskState.CANCELLED:
            raise TaskInState(task.state.value)
        ended = task.state in (TaskState.WAITING, TaskState.DONE, TaskState.FAILED)
        task = await self._store.tasks.guide(task.id, text, revises=ended)
        if ended:
            task = await self._store.tasks.set_state(
                task.id, TaskState.RUNNING, among=(TaskState.WAITING, TaskState.DONE, TaskState.FAILED)
            )
        return task

    async def approve(self, ref: str) -> Task:
        """Accepts the report of a waiting task as it is. Raises `TaskInState` unless it has one."""
        task = await self._store.tasks.get(ref)
        if task.state is not TaskState.WAITING or task.report is None:
            raise TaskInState(task.state.value)
        return await self._approve(task, by_user=True)

    async def remove(self, ref: str) -> tuple[str, ...]:
        """Deletes a task with its steps and its report. Returns the sessions whose prompts contained passages
        of the report."""
        return await self._store.tasks.erase(ref)

    # --- carrying on ------------------------------------------------------------------------------

    async def run(self, task_id: str) -> Task:
        """Runs a task in the foreground until it ends or waits. If cancelled, the current step is done again
        when the task continues."""
        while await self.advance(task_id):
            pass
        return await self._store.tasks.get(task_id)

    async def _work(self, job: Job) -> None:
        task_id = str(job.payload["task"])
        if task_id in {one.id for one in await self._store.tasks.list(states=_UNDER_WAY)} and (
            await self.advance(task_id)
        ):
            await self._background.add(KIND, task_id, payload={"task": task_id}, priority=Priority.HIGH)

    async def advance(self, task_id: str) -> bool:
        """Does the next step of a task; returns whether there is more to do."""
        async with self._working:
            began = time.perf_counter()
            task = await self._store.tasks.get(task_id)
            if task.state is TaskState.PLANNED:
                event = TaskEvent(EventKind.PLAN, task.id, code="teams", count=len(planned(task)))
                task = await self._store.tasks.set_state(task.id, TaskState.RUNNING)
                await self._tell(event)
            if task.state is not TaskState.RUNNING:
                return False
            try:
                return await self._next(task, began)
            except TaskInState:
                # It was paused or cancelled in the meantime.
                return False

    async def _next(self, task: Task, began: float) -> bool:
        evidence = await self._store.tasks.evidence(task.id)
        decision = await asyncio.to_thread(decide, task, evidence)
        if isinstance(decision, Approve):
            await self._approve(task, by_user=False)
            return False
        if isinstance(decision, Escalate):
            await self._compare(task)
            event = TaskEvent(
                EventKind.ESCALATED, task.id, code=decision.asked.value, count=len(decision.missing)
            )
            await self._store.tasks.set_state(
                task.id,
                TaskState.WAITING,
                event,
                among=(TaskState.RUNNING,),
                asked=decision.asked,
                missing=decision.missing,
            )
            self._announce(replace(event, detail="; ".join(decision.missing)))
            return False
        task, step = await self._begun(task, decision)
        outcome = await self._teams.work(task, step)
        waited = 1000 * (time.perf_counter() - began) - outcome.step.own_ms - outcome.step.model_ms
        await self._end(
            task, replace(outcome, step=replace(outcome.step, own_ms=outcome.step.own_ms + max(0.0, waited)))
        )
        return True

    async def _begun(self, task: Task, decision: Assign | Continue) -> tuple[Task, Step]:
        if isinstance(decision, Continue):
            await self._store.tasks.begin_again(decision.step.id)
            return task, replace(decision.step, attempts=decision.step.attempts + 1)
        brief = encode(decision.brief)
        events = [TaskEvent(EventKind.ASSIGNED, task.id, team=decision.team, code="assigned")]
        if decision.revises:
            events.insert(0, TaskEvent(EventKind.REVISION, task.id, code="round", count=decision.round))
        task = await self._store.tasks.begin_step(task.id, decision.round, decision.team, brief, events)
        step = task.steps[-1]
        for event in events:
            self._announce(replace(event, step=step.id if event.team is not None else None, detail=brief))
        return task, step

    async def _end(self, task: Task, outcome: Outcome) -> None:
        step = outcome.step
        event = TaskEvent(EventKind.RETURNED, task.id, step.id, step.team, outcome.code, outcome.count)
        await self._store.tasks.end_step(step, outcome.evidence, event, outcome.report)
        self._announce(replace(event, detail=step.returned))

    async def _compare(self, task: Task) -> None:
        """Makes the answer from a single context, if the user wants it and it does not exist yet."""
        if task.wants_baseline and task.baseline is None:
            await self._store.tasks.put_baseline(task.id, await self._teams.baseline(task))

    async def _approve(self, task: Task, *, by_user: bool) -> Task:
        """Makes the report a document of the library, and ends the task."""
        await self._compare(task)
        new = None
        if task.report is not None and task.report.text:
            new = await asyncio.to_thread(report_document, task.report, task.project)
        events = (
            TaskEvent(EventKind.APPROVED, task.id, code="user" if by_user else "rules"),
            TaskEvent(EventKind.DONE, task.id, code="done"),
        )
        done = await self._store.tasks.finish(task.id, new, events)
        for event in events:
            self._announce(event)
        if new is not None:
            await self._embed()
        return done

    # --- events -----------------------------------------------------------------------------------

    async def _tell(self, event: TaskEvent) -> None:
        await self._store.tasks.note(event)
        self._announce(event)

    def _announce(self, event: TaskEvent) -> None:
        for listener in tuple(self._listeners):
            listener(event)
