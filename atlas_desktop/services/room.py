"""An unlocked room with all its services, and the factory that assembles it."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atlas_desktop.parsing.client import DocumentParser
from atlas_desktop.services.attachments import AttachmentService, PassageEmbedder
from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.clients import ClientService
from atlas_desktop.services.context import ContinuityService, EpochService
from atlas_desktop.services.documents.library import DocumentService, DocumentSummaries
from atlas_desktop.services.documents.search import ChunkEmbedder, DocumentSearchService
from atlas_desktop.services.forgetting import ForgettingService
from atlas_desktop.services.learning import LearningService
from atlas_desktop.services.memories import KnowledgeService, UpkeepService
from atlas_desktop.services.models import Model
from atlas_desktop.services.notes.folders import NoteFolders, NoteMirror
from atlas_desktop.services.notes.notebook import NoteBin, NoteService, NoteSuggestions
from atlas_desktop.services.organising import FilingService, OrganisingService, RelatedService
from atlas_desktop.services.personas import PersonaService
from atlas_desktop.services.projects import ProjectService
from atlas_desktop.services.provenance import ProvenanceService
from atlas_desktop.services.recall import QueryEmbedder, RecallService, WorkingEmbedder
from atlas_desktop.services.retention import RetentionService
from atlas_desktop.services.sessions import BranchService, SessionService
from atlas_desktop.services.skills import SkillDrafter, SkillFolders, SkillService
from atlas_desktop.services.summaries import SummaryService, Titler
from atlas_desktop.services.tasks.reporting import Wording
from atlas_desktop.services.tasks.service import TaskService
from atlas_desktop.services.tasks.teams import Research, Teams
from atlas_desktop.services.tuning import TuneJobs
from atlas_desktop.services.turns import TimingService, TurnParts, TurnService
from atlas_desktop.settings.schema import ContextSettings, Settings
from memory.clock import Clock
from memory.context.engine import ContextEngine
from memory.context.entities import Limits
from memory.context.library import Documents, LibraryContext
from memory.context.recalling import ContextRecall
from memory.context.skills import SkillContext
from memory.context.stateless import StatelessContext
from memory.jobs.foreground_gate import ForegroundGate, Power
from memory.memories.profile import ProfileMaker
from memory.recall.decay import PRESETS
from memory.storage.store import Store
from memory.summaries.compaction import Compactor, SummaryCompactor
from memory.summaries.model_summaries import ResultStore
from memory.summaries.summarise import Summariser
from memory.vectors.entities import VectorIndex

if TYPE_CHECKING:
    from atlas_desktop.services.tuning import TuningService
    from memory.storage.snapshots import SnapshotStore


@dataclass(slots=True)
class RoomServices:
    """An unlocked room and its services."""

    store: Store
    sessions: SessionService
    chat: TurnService
    background: BackgroundService
    epochs: EpochService
    summaries: SummaryService
    recall: RecallService
    why: ProvenanceService
    profile: ProfileMaker
    continuity: ContinuityService
    forgetting: ForgettingService
    retention: RetentionService
    knowledge: KnowledgeService
    upkeep: UpkeepService
    learning: LearningService
    projects: ProjectService
    organising: OrganisingService
    related: RelatedService
    attachments: AttachmentService
    documents: DocumentService
    notes: NoteService
    note_folders: NoteFolders
    note_mirror: NoteMirror
    personas: PersonaService
    skills: SkillService
    skill_folders: SkillFolders
    tasks: TaskService
    branches: BranchService
    clients: ClientService
    snapshots: "SnapshotStore | None" = None

    async def remember(self) -> None:
        """Queues the embedding of everything that has no vector yet."""
        await self.recall.remember()

    async def remove_skill(self, ref: str) -> None:
        """Deletes a skill with its versions, its text in prompts, and their model states."""
        await self.epochs.forget(await self.skills.remove(ref))

    async def remove_task(self, ref: str) -> None:
        """Deletes a task with its report, the report's text in prompts, and their model states."""
        await self.epochs.forget(await self.tasks.remove(ref))

    async def close(self) -> None:
        """Ends the room's work and closes it; if closing one part fails, the rest is still closed."""
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self.store.close)
            if self.snapshots is not None:
                stack.push_async_callback(self.snapshots.close)
            stack.push_async_callback(self.epochs.close)
            stack.push_async_callback(self.background.stop)
            stack.push_async_callback(self.recall.stop)
            stack.push_async_callback(self.documents.stop_following)
            stack.push_async_callback(self.note_mirror.stop_following)


@dataclass(frozen=True, slots=True)
class RoomFactory:
    """Builds rooms from their shared parts. `model` and `settings` are called for each use."""

    clock: Clock
    gate: ForegroundGate
    power: Power | None
    model: Callable[[], Model]
    settings: Callable[[], Settings]
    vector_index: Callable[[int], VectorIndex]
    tuning: Callable[[], "TuningService"] | None = None

    def room(self, store: Store, snapshots: "SnapshotStore | None") -> RoomServices:
        """Returns a room with all its services. Starts no model."""
        background = BackgroundService(store, self.clock, self.gate, self.settings().jobs, power=self.power)
        Titler(
            store,
            lambda: self.model().chat,
            background,
            wanted=lambda: self.settings().chat.automatic_titles,
        )
        if self.tuning is not None:
            TuneJobs(background, self.tuning)
        search = DocumentSearchService(store, lambda: self.model().embedder, self.vector_index)
        recall = RecallService(
            store,
            lambda: self.model().embedder,
            self.vector_index,
            self.clock,
            background,
            lambda: self.settings().memory,
            damaged=lambda: self.model().damaged,
            also=search.load_for_turns,
        )
        continuity = ContinuityService(
            store,
            self.clock,
            lambda: self.settings().sessions,
            embedder=lambda: self.model().embedder,
        )
        epochs = EpochService(
            store,
            lambda: room.chat.context,
            lambda: self.model().prefixes,
            background,
            snapshots=snapshots,
        )
        summaries = SummaryService(lambda: self.compactor(store, background), background)
        knowledge = KnowledgeService(store, self.clock, lambda: self.settings().memory, recall.remember)
        learning = LearningService(
            store, self.clock, background, lambda: self.settings().memory, self.model, recall.remember
        )
        TimingService(store, self.clock, background)
        FilingService(
            store,
            lambda: self.model().embedder,
            background,
            lambda: self.settings().sessions,
            recall.complete,
        )
        chunk_embedder = ChunkEmbedder(store.documents, lambda: self.model().embedder, background)
        documents = DocumentService(
            store,
            background,
            epochs,
            chunk_embedder,
            search,
            DocumentSummaries(store.documents, lambda: self.summariser(background), background),
            DocumentParser,
            None if self.settings().jobs.on_battery else self.power,
        )

        async def note_changed() -> None:
            await chunk_embedder.queue()
            await learning.notes_changed()

        suggestions = NoteSuggestions(store, lambda: self.model().embedder)
        notes = NoteService(store, self.clock, search, note_changed, documents.remove, suggestions)
        note_folders = NoteFolders(store, self.clock, notes, chunk_embedder.queue)
        NoteBin(store, self.clock, background, documents.erase, lambda: self.settings().retention)
        skills = SkillService(store)
        SkillDrafter(
            store,
            background,
            skills,
            QueryEmbedder(lambda: self.model().embedder),
            lambda: self.settings().memory,
        )
        room = RoomServices(
            store=store,
            sessions=SessionService(store),
            chat=self.chat(store, background, recall, continuity, epochs, search),
            background=background,
            epochs=epochs,
            summaries=summaries,
            recall=recall,
            why=ProvenanceService(store, recall, self.clock),
            profile=self.profile(store),
            continuity=continuity,
            forgetting=ForgettingService(
                store, background, epochs, summaries, lambda: self.compactor(store, background)
            ),
            retention=RetentionService(
                store, self.clock, background, epochs, lambda: self.settings().retention
            ),
            knowledge=knowledge,
            upkeep=UpkeepService(
                store,
                self.clock,
                background,
                self.settings,
                lambda: self.model().chat,
                recall.complete,
            ),
            learning=learning,
            projects=ProjectService(store, knowledge, self.clock),
            related=RelatedService(store, recall),
            organising=OrganisingService(
                store, background, epochs, remember=recall.remember, important=learning.important
            ),
            attachments=AttachmentService(store, epochs),
            documents=documents,
            notes=notes,
            note_folders=note_folders,
            note_mirror=NoteMirror(
                store,
                self.clock,
                notes,
                note_folders,
                None if self.settings().jobs.on_battery else self.power,
            ),
            skills=skills,
            skill_folders=SkillFolders(skills),
            tasks=self.tasks(store, background, recall, search, chunk_embedder.queue),
            branches=BranchService(store),
            clients=ClientService(store, self.clock),
            personas=PersonaService(store, lambda: self.settings().chat.system_prompt),
            snapshots=snapshots,
        )
        return room

    def chat(
        self,
        store: Store,
        background: BackgroundService,
        recall: RecallService,
        continuity: ContinuityService,
        epochs: EpochService,
        search: DocumentSearchService,
    ) -> TurnService:
        """Returns the turns of a room with the model in use."""
        model = self.model()
        context = ContextEngine(
            store,
            model.chat,
            model.counter,
            SummaryCompactor(store, self.compactor(store, background)),
            default_system=lambda: self.settings().chat.system_prompt,
            limits=lambda: limits_of(self.settings().context),
            recalling=ContextRecall(model.counter, self.clock, recall=recall),
            profile=self.profile(store),
            library=LibraryContext(store, model.counter, search),
            skills=SkillContext(store, model.counter, QueryEmbedder(lambda: self.model().embedder)),
            documents=Documents(store, model.counter, PassageEmbedder(lambda: self.model().embedder)),
        )
        return TurnService(TurnParts(store, model.chat, context, continuity, background, epochs.bring_back))

    def tasks(
        self,
        store: Store,
        background: BackgroundService,
        recall: RecallService,
        search: DocumentSearchService,
        embed: Callable[[], Awaitable[None]],
    ) -> TaskService:
        """Returns the tasks of a room with the model in use."""
        wording = Wording(lambda: self.model().chat, lambda: self.model().counter, background.gate.checkpoint)
        teams = Teams(store, Research(store, recall, search), wording, self.clock.now)
        return TaskService(store, teams, background, embed)

    def stateless(
        self, store: Store, recall: RecallService, search: DocumentSearchService
    ) -> StatelessContext:
        """Returns the service that makes prompts for other programs, with the model in use."""
        model = self.model()
        return StatelessContext(
            model.chat,
            model.counter,
            self.clock,
            limits=lambda: limits_of(self.settings().context),
            recalling=ContextRecall(model.counter, self.clock, recall=recall),
            profile=self.profile(store),
            library=LibraryContext(store, model.counter, search),
            erasures=lambda: store.erasures,
        )

    def profile(self, store: Store) -> ProfileMaker:
        """Returns the maker of the profile, the page about the user."""
        return ProfileMaker(
            store.memories,
            self.model().counter,
            self.clock,
            decay=lambda: PRESETS[self.settings().memory.decay],
            ask_first=lambda: self.settings().memory.ask_first,
            projects=store.projects,
        )

    def compactor(self, store: Store, background: BackgroundService) -> Compactor:
        """Returns the compactor that summarises the sessions of a room with the model in use."""
        return Compactor(store, self.summariser(background, store.jobs), self.model().counter)

    def summariser(self, background: BackgroundService, results: ResultStore | None = None) -> Summariser:
        """Returns the summariser that uses the current model. `results` keeps the model's answers."""
        model = self.model()
        return Summariser(
            model.chat,
            model.counter,
            None if model.embedder is None else WorkingEmbedder(model.embedder),
            results=results,
            checkpoint=background.gate.checkpoint,
        )


def limits_of(settings: ContextSettings) -> Limits:
    """Returns the settings as limits of the context."""
    return Limits(
        max_tokens=settings.max_tokens,
        summary_target=settings.summary_target,
        immediate_turns=settings.immediate_turns,
        recent_messages_min=settings.recent_messages_min,
        summary_turns=settings.summary_turns,
        max_summaries=settings.max_summaries,
        max_archived_in_view=settings.max_archived_in_view,
        relevance_decay=settings.relevance_decay,
        recall=settings.recall,
        recall_tokens=settings.recall_tokens,
        date_and_time=settings.date_and_time,
    )
