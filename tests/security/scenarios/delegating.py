"""Tasks: what a step returned is kept, the one under way is done again, and each task gets one report."""

from collections.abc import Sequence

from atlas_desktop.services.models import Model
from atlas_desktop.services.room import RoomFactory, RoomServices
from atlas_desktop.settings.schema import Settings
from memory.clock import SystemClock
from memory.jobs.foreground_gate import ForegroundGate
from memory.storage.store import Store
from memory.tasks.entities import EventKind, NewTask, StepState, TaskEvent, TaskState, Team
from tests.fakes.models import HashEmbedder, ScriptedChatModel, WordCounter
from tests.fakes.vector_index import BruteForceVectorIndex
from tests.security.crash import Said, Say, Scenario
from tests.storage.conftest import Place
from tests.tui.shelves import shelve

BRIEF = "Compare the weight and price of the two stoves."
STOVES = (("Alpine", 310, 45), ("Brook", 190, 28))


def room_of(store: Store) -> RoomServices:
    async def close() -> None:
        """A scripted model holds nothing that must be given back."""

    chat = ScriptedChatModel(["The Brook stove weighs 190 g."])
    model = Model(chat, WordCounter(), close, prefixes=chat, embedder=HashEmbedder())
    factory = RoomFactory(
        clock=SystemClock(),
        gate=ForegroundGate(),
        power=None,
        model=lambda: model,
        settings=Settings,
        vector_index=lambda _passages: BruteForceVectorIndex(),
    )
    return factory.room(store, None)


class Delegating(Scenario):
    name = "tasks"
    steps = 12
    moment_s = 0.02
    soak_rounds = 200

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.returned: dict[str, str] = {}

    async def act(self, given: str, say: Say) -> None:
        store = await self.place.open(create=True)
        if len(await store.documents.known_files()) < len(STOVES):
            for name, weight, price in STOVES:
                text = f"{name} stove\n\nThe {name} stove weighs {weight} g and costs {price} euros."
                await shelve(store, f"/home/ada/{name}.md", text, title=f"{name} stove")
        room = room_of(store)

        def told(event: TaskEvent) -> None:
            if event.kind is EventKind.RETURNED:
                say("returned", event.task, event.step or "", event.detail)
            elif event.kind is EventKind.DONE:
                say("done", event.task)

        room.tasks.listen(told)
        for task_id in await store.tasks.running():
            await room.tasks.run(task_id)
        for _ in range(1_000):
            task = await room.tasks.create(NewTask(BRIEF))
            say("given", task.id)
            await room.tasks.run(task.id)

    async def look(self, said: Sequence[Said]) -> None:
        store = await self.place.open()
        tasks = {task.id: task for task in await store.tasks.list()}
        steps = {step.id: step for task in tasks.values() for step in task.steps}
        self.returned |= {one[2]: one[3] for one in said if one[0] == "returned"}
        assert {one[1] for one in said if one[0] == "given"} <= set(tasks)
        assert all(tasks[one[1]].state is TaskState.DONE for one in said if one[0] == "done")
        for step_id, text in self.returned.items():
            assert (steps[step_id].state, steps[step_id].returned) == (StepState.DONE, text)
        running = [step for step in steps.values() if step.state is StepState.RUNNING]
        assert len(running) <= 1
        room = room_of(store)
        if len(await store.documents.known_files()) == len(STOVES):
            for task_id in await store.tasks.running():
                ended = await room.tasks.run(task_id)
                assert ended.state is TaskState.DONE
                assert [step.team for step in ended.steps] == list(Team)
        done = [task.report for task in await store.tasks.list() if task.state is TaskState.DONE]
        reports = [report.document for report in done if report is not None]
        assert len(set(reports)) == len(done)
        unfiled = [one for one in await room.documents.list() if one.path == ""]
        assert {one.id for one in unfiled} == set(reports)
        # The room stays small: in one full of reports, the words of the stoves would be too common to search.
        for task_id in [task.id for task in await store.tasks.list() if task.state is TaskState.DONE]:
            await room.remove_task(task_id)
        self.returned.clear()
        assert not [one for one in await room.documents.list() if one.path == ""]
        assert (await store.verify()).problems == ()
        await room.close()
