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
from atlas_desktop.settings.schema import (
    ContextSettings,
    MemorySettings,
    RetentionSettings,
    SessionSettings,
    Settings,
)
from memory.clock import Clock
from memory.context.engine import ContextEngine
from memory.context.entities import Limits
from memory.context.library import AttachmentContext, LibraryContext
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
    from models.ports import ChatModel, Embedder


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
        Titler(store, self._chat_model, background, wanted=lambda: self.settings().chat.automatic_titles)
        if self.tuning is not None:
            TuneJobs(background, self.tuning)
        search = DocumentSearchService(store, self._embedder, self.vector_index)
        recall = RecallService(
            store,
            self._embedder,
            self.vector_index,
            self.clock,
            background,
            self._memory_settings,
            damaged=lambda: self.model().damaged,
            also=search.load_for_turns,
        )
        continuity = ContinuityService(store, self.clock, self._session_settings, embedder=self._embedder)
        epochs = EpochService(
            store,
            lambda: room.chat.context,
            lambda: self.model().prefixes,
            background,
            snapshots=snapshots,
        )
        summaries = SummaryService(lambda: self.compactor(store, background), background)
        knowledge = KnowledgeService(store, self.clock, self._memory_settings, recall.remember)
        learning = LearningService(
            store, self.clock, background, self._memory_settings, self.model, recall.remember
        )
        TimingService(store, self.clock, background)
        FilingService(store, self._embedder, background, self._session_settings, recall.complete)
        chunk_embedder = ChunkEmbedder(store.documents, self._embedder, background)
        documents = self.documents(store, background, epochs, search, chunk_embedder)
        notes, note_folders, note_mirror = self.notes(
            store, background, search, documents, chunk_embedder, learning
        )
        skills = SkillService(store)
        SkillDrafter(store, background, skills, QueryEmbedder(self._embedder), self._memory_settings)
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
            retention=RetentionService(store, self.clock, background, epochs, self._retention_settings),
            knowledge=knowledge,
            upkeep=UpkeepService(
                store, self.clock, background, self.settings, self._chat_model, recall.complete
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
            note_mirror=note_mirror,
            skills=skills,
            skill_folders=SkillFolders(skills),
            tasks=self.tasks(store, background, recall, search, chunk_embedder.queue),
            branches=BranchService(store),
            clients=ClientService(store, self.clock),
            personas=PersonaService(store, lambda: self.settings().chat.system_prompt),
            snapshots=snapshots,
        )
        return room

    def _chat_model(self) -> "ChatModel":
        return self.model().chat

    def _embedder(self) -> "Embedder | None":
        return self.model().embedder

    def _memory_settings(self) -> MemorySettings:
        return self.settings().memory

    def _session_settings(self) -> SessionSettings:
        return self.settings().sessions

    def _retention_settings(self) -> RetentionSettings:
        return self.settings().retention

    def _power_for_files(self) -> "Power | None":
        """Returns the battery to spare when files are read; None if background work may use it."""
        return None if self.settings().jobs.on_battery else self.power

    def documents(
        self,
        store: Store,
        background: BackgroundService,
        epochs: EpochService,
        search: DocumentSearchService,
        chunk_embedder: ChunkEmbedder,
    ) -> DocumentService:
        """Returns the documents of a room."""
        return DocumentService(
            store,
            background,
            epochs,
            chunk_embedder,
            search,
            DocumentSummaries(store.documents, lambda: self.summariser(background), background),
            DocumentParser,
            self._power_for_files(),
        )

    def notes(
        self,
        store: Store,
        background: BackgroundService,
        search: DocumentSearchService,
        documents: DocumentService,
        chunk_embedder: ChunkEmbedder,
        learning: LearningService,
    ) -> tuple[NoteService, NoteFolders, NoteMirror]:
        """Returns the notes of a room, their import and export, and their mirror; empties their bin daily."""

        async def changed() -> None:
            await chunk_embedder.queue()
            await learning.notes_changed()

        suggestions = NoteSuggestions(store, self._embedder)
        notes = NoteService(store, self.clock, search, changed, documents.remove, suggestions)
        folders = NoteFolders(store, self.clock, notes, chunk_embedder.queue)
        NoteBin(store, self.clock, background, documents.erase, self._retention_settings)
        return notes, folders, NoteMirror(store, self.clock, notes, folders, self._power_for_files())

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
            skills=SkillContext(store, model.counter, QueryEmbedder(self._embedder)),
            documents=AttachmentContext(store, model.counter, PassageEmbedder(self._embedder)),
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
        wording = Wording(self._chat_model, lambda: self.model().counter, background.gate.checkpoint)
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
