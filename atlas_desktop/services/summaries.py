"""Background jobs that title sessions and remake summaries whose sources or model changed."""

import hashlib
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from atlas_desktop.locale import _
from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.services.events import Replied
from atlas_desktop.services.sessions import number_of
from memory.entities import Message, MessageStatus, SessionPatch, TitleSource
from memory.jobs.queue import Job, Priority
from memory.jobs.runner import Duty
from memory.storage.store import Store
from memory.summaries.compaction import IMPROVE, Compactor
from memory.summaries.evidence import Evidence
from models.errors import ModelsError
from models.messages import ChatMessage, Completion, GenerationParams, Lane, Role
from models.ports import ChatModel

DAILY = timedelta(days=1)
_ALL = "all"


class SummaryService:
    """The summaries of one room. `compactor` is called for each use, because the model can change."""

    def __init__(self, compactor: Callable[[], Compactor], background: BackgroundService) -> None:
        self._compactor = compactor
        self._background = background
        self._replied_by: set[str] = set()
        background.register(IMPROVE, self._improve)
        background.register_hook(self._after_reply)
        background.register_duty(Duty("improve summaries", DAILY, IMPROVE))

    async def refresh(self, session_id: str) -> None:
        """Queues a session's stale summaries to be remade soon, after an edit or a deletion in it."""
        await self._background.add(IMPROVE, session_id, session_id=session_id, priority=Priority.HIGH)

    async def improve(self) -> None:
        """After a change of model, queues all fallback summaries that the current model was not asked for."""
        await self._background.add(IMPROVE, _ALL, priority=Priority.LOW)

    async def catch_up(self) -> None:
        """Calls `improve` if a summary failed with another model and was not tried with this one."""
        with suppress(ModelsError):
            # The chat reports a missing or broken model. The summaries wait for another one.
            if await self._compactor().left_by_another():
                await self.improve()

    async def _after_reply(self, replied: Replied) -> None:
        """Retries summaries that another model failed at: the model may have been replaced while the room was
        closed."""
        model = replied.message.token_model
        if model is None or model in self._replied_by:
            return
        self._replied_by.add(model)
        if await self._compactor().left_by_another(model):
            await self.improve()

    async def _improve(self, job: Job) -> None:
        compactor = self._compactor()
        if job.session_id is not None:
            await compactor.refresh(job.session_id)
        elif job.key == _ALL:
            await compactor.improve(limit=None)
        else:
            await compactor.improve()


KIND = "title"
MAX_LENGTH = 60
_AT_ONCE = 3
_SHOWN = 600
_TITLE_TOKENS = 16
_ASK = (
    "Name the topic of this message in two to six words. Answer with the words only, no quotes.\n\n"
    "Message: {text}\n\nTopic:"
)


def first_words(text: str) -> str:
    """Returns a title made from the beginning of a text, cut at a word, at most 60 characters."""
    line = clean_line(text.lstrip()[:_SHOWN])
    if len(line) <= MAX_LENGTH:
        return line or _("New conversation")
    cut = line[: MAX_LENGTH - 1]
    head, space, _unused = cut.rpartition(" ")
    return (head if space and len(head) > MAX_LENGTH // 2 else cut).rstrip(" ,.;:") + "…"


def tidy(answer: str) -> str | None:
    """Returns a usable title from a model's answer, or None if it contains none."""
    lines = [clean_line(line) for line in answer.splitlines()]
    line = next((line for line in lines if line), "")
    line = re.sub(r"^(title|topic|subject)\s*:\s*", "", line, flags=re.IGNORECASE)
    line = line.strip(" \"'“”‘’*_#`.").strip()
    words = line.split()
    if not 1 <= len(words) <= 10 or len(line) > MAX_LENGTH or not any(c.isalpha() for c in line):
        return None
    return line[0].upper() + line[1:]


class Titler:
    """Background job that gives a model-made title to sessions still titled by their first words."""

    def __init__(
        self,
        store: Store,
        model: Callable[[], ChatModel],
        background: BackgroundService,
        *,
        wanted: Callable[[], bool],
    ) -> None:
        """`model` returns the model in use, `wanted` whether titles are to be made."""
        self._store = store
        self._model = model
        self._background = background
        self._wanted = wanted
        self._queued: set[str] = set()
        background.register(KIND, self.name)
        background.register_hook(self.after_reply)

    async def after_reply(self, replied: Replied) -> None:
        """Queues sessions that have a complete reply and no title, each once per run of the program."""
        if not self._wanted() or replied.message.status is not MessageStatus.COMPLETE:
            return
        untitled = await self._store.sessions_to_title(limit=_AT_ONCE + len(self._queued))
        for session_id in [found for found in untitled if found not in self._queued][:_AT_ONCE]:
            self._queued.add(session_id)
            await self._background.add(
                KIND,
                session_id,
                session_id=session_id,
                payload={"session": session_id},
                priority=Priority.HIGH,
            )

    async def name(self, job: Job) -> None:
        """Runs a title job. Without a usable title from the model, the first words stay."""
        session = await self._store.get_session(job.payload["session"])
        if session.title_source is not TitleSource.FIRST_WORDS or session.deleted_at is not None:
            return
        branch = await self._store.branch(session.id)
        first = next((message for message in branch if message.role is Role.USER), None)
        title = await self._idea(first) if first is not None else ""
        # The user may have renamed the session in the meantime.
        session = await self._store.get_session(session.id)
        if title and session.title_source is TitleSource.FIRST_WORDS:
            # A fork gets the same title as its original, and keeps its number.
            named = title + number_of(session.title)
            patch = SessionPatch(title=named, title_source=TitleSource.MODEL)
            await self._store.update_session(session.id, patch)

    async def _idea(self, first: Message) -> str:
        """Returns the model's title for a message; empty if it has none. A model is asked once per text."""
        model = self._model()
        ask = _ASK.format(text=first.content[:_SHOWN])
        fingerprint = (await model.info()).fingerprint
        digest = hashlib.sha256(f"{fingerprint}\0{ask}".encode()).digest()
        known = await self._store.jobs.result(KIND, digest)
        if known is not None:
            return known
        title = tidy(await _answer(model, ask)) or ""
        if Evidence(first.content).unknown_numbers(title):
            # A title that answers the question would be read as the answer.
            title = ""
        await self._store.jobs.keep_result(KIND, digest, title, first.session_id)
        return title


async def _answer(model: ChatModel, ask: str) -> str:
    params = GenerationParams(max_tokens=_TITLE_TOKENS, temperature=0.0, seed=1)
    async for event in model.generate([ChatMessage(Role.USER, ask)], params, Lane.TASK):
        if isinstance(event, Completion):
            return event.text
    return ""
