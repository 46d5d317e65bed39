"""An unlocked room with everything that can be done in it, put together from its parts."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atlas_desktop.services.attaching import AttachmentService
from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.branches import BranchService
from atlas_desktop.services.chat import ChatService
from atlas_desktop.services.continuity import ContinuityService
from atlas_desktop.services.documents import PassageEmbedder
from atlas_desktop.services.epochs import EpochService
from atlas_desktop.services.filing import FilingService
from atlas_desktop.services.forgetting import ForgettingService
from atlas_desktop.services.knowledge import KnowledgeService
from atlas_desktop.services.learning import LearningService
from atlas_desktop.services.organising import OrganisingService
from atlas_desktop.services.personas import PersonaService
from atlas_desktop.services.projects import ProjectService
from atlas_desktop.services.recall import RecallService, WorkingEmbedder
from atlas_desktop.services.related import RelatedService
from atlas_desktop.services.retention import RetentionService
from atlas_desktop.services.sessions import SessionService
from atlas_desktop.services.summaries import SummaryService
from atlas_desktop.services.timing import TimingService
from atlas_desktop.services.titles import Titler
from atlas_desktop.services.tuning import TuneJobs
from atlas_desktop.services.upkeep import UpkeepService
from atlas_desktop.services.why import WhyService
from atlas_desktop.setting_types import ContextSettings, Settings
from memory.context.budget import Limits
from memory.context.documents import Documents
from memory.context.engine import ContextEngine
from memory.context.recalling import Recalling
from memory.gate import ForegroundGate, Power
from memory.knowledge.profile import ProfileMaker
from memory.lifecycle.compaction import Compactor
from memory.lifecycle.folder import SummaryFolder
from memory.lifecycle.summarise import Summariser
from memory.ports import Clock, SessionStore
from memory.recall.temporal import PRESETS
from memory.vectors.ports import VectorIndex
from models.errors import ModelDamaged
from models.ports import ChatModel, Embedder, PrefixKeeper, TokenCounter

if TYPE_CHECKING:
    from atlas_desktop.services.tuning import TuningService
    from memory.context.snapshots import SnapshotStore


@dataclass(frozen=True, slots=True)
class Model:
    """A chat model with what goes with it, and how to let go of all of it.

    `prefixes` reads prompts ahead and keeps states, `embedder` turns text into vectors; either may be
    missing. `damaged` says that there is no embedder because its file is damaged.
    """

    chat: ChatModel
    counter: TokenCounter
    close: Callable[[], Awaitable[None]]
    prefixes: PrefixKeeper | None = None
    embedder: Embedder | None = None
    damaged: ModelDamaged | None = None


@dataclass(slots=True)
class OpenRoom:
    """An unlocked room and what can be done in it."""

    store: SessionStore
    sessions: SessionService
    chat: ChatService
    background: BackgroundService
    epochs: EpochService
    summaries: SummaryService
    recall: RecallService
    why: WhyService
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
    personas: PersonaService
    branches: BranchService
    snapshots: "SnapshotStore | None" = None

    async def remember(self) -> None:
        """Has everything embedded that has no vector yet."""
        await self.recall.remember()

    async def close(self) -> None:
        """Ends what goes on in it and closes it; what does not end well does not leave the rest open."""
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self.store.close)
            if self.snapshots is not None:
                stack.push_async_callback(self.snapshots.close)
            stack.push_async_callback(self.epochs.close)
            stack.push_async_callback(self.background.stop)
            stack.push_async_callback(self.recall.stop)


@dataclass(frozen=True, slots=True)
class RoomParts:
    """What every room of a program shares. `model` and `settings` are asked for each time they are needed."""

    clock: Clock
    gate: ForegroundGate
    power: Power | None
    model: Callable[[], Model]
    settings: Callable[[], Settings]
    vector_index: Callable[[int], VectorIndex]
    tuning: Callable[[], "TuningService"] | None = None

    def room(self, store: SessionStore, snapshots: "SnapshotStore | None") -> OpenRoom:
        """Everything that can be done in a room. No model is started by this."""
        background = BackgroundService(store, self.clock, self.gate, self.settings().jobs, power=self.power)
        Titler(
            store,
            lambda: self.model().chat,
            background,
            wanted=lambda: self.settings().chat.automatic_titles,
        )
        if self.tuning is not None:
            TuneJobs(background, self.tuning)
        recall = RecallService(
            store,
            lambda: self.model().embedder,
            self.vector_index,
            self.clock,
            background,
            lambda: self.settings().memory,
            damaged=lambda: self.model().damaged,
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
        room = OpenRoom(
            store=store,
            sessions=SessionService(store),
            chat=self.chat(store, background, recall, continuity, epochs),
            background=background,
            epochs=epochs,
            summaries=summaries,
            recall=recall,
            why=WhyService(store, recall, self.clock),
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
            branches=BranchService(store),
            personas=PersonaService(store, lambda: self.settings().chat.system_prompt),
            snapshots=snapshots,
        )
        return room

    def chat(
        self,
        store: SessionStore,
        background: BackgroundService,
        recall: RecallService,
        continuity: ContinuityService,
        epochs: EpochService,
    ) -> ChatService:
        """The turns of a room with the model in use."""
        model = self.model()
        context = ContextEngine(
            store,
            model.chat,
            model.counter,
            SummaryFolder(store, self.compactor(store, background)),
            default_system=lambda: self.settings().chat.system_prompt,
            limits=lambda: limits_of(self.settings().context),
            recalling=Recalling(model.counter, self.clock, recall=recall),
            profile=self.profile(store),
            documents=Documents(store, model.counter, PassageEmbedder(lambda: self.model().embedder)),
        )
        return ChatService(store, model.chat, context, continuity, epochs.bring_back)

    def profile(self, store: SessionStore) -> ProfileMaker:
        """The page of what is known of the person."""
        return ProfileMaker(
            store.memories,
            self.model().counter,
            self.clock,
            decay=lambda: PRESETS[self.settings().memory.decay],
            ask_first=lambda: self.settings().memory.ask_first,
        )

    def compactor(self, store: SessionStore, background: BackgroundService) -> Compactor:
        """What summarises the sessions of a room with the model in use."""
        model = self.model()
        summariser = Summariser(
            model.chat,
            model.counter,
            None if model.embedder is None else WorkingEmbedder(model.embedder),
            results=store.jobs,
            checkpoint=background.gate.checkpoint,
        )
        return Compactor(store, summariser, model.counter)


def limits_of(settings: ContextSettings) -> Limits:
    """The settings as the context's own values."""
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
