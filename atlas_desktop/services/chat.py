"""Turns of the sessions of a room: where they are stored, and what their prompts are made of."""

from collections.abc import Awaitable, Callable

from atlas_desktop.services.cleaning import clean
from atlas_desktop.services.continuity import ContinuityService
from atlas_desktop.services.events import Accepted, Notice
from atlas_desktop.services.parts import labelled
from atlas_desktop.services.titles import first_words
from atlas_desktop.services.turn import Turn, TurnOptions
from atlas_desktop.words.catalogue import tr
from memory.context.assembly import Prompt
from memory.context.engine import ContextEngine
from memory.context.prepared import Prepared
from memory.entities import (
    MemoryMode,
    Message,
    MessagePatch,
    MessageStatus,
    NewMessage,
    NewSession,
    Session,
    SessionPatch,
)
from memory.errors import MessageNotFound, NothingToAnswer
from memory.ports import SessionStore
from models.messages import ChatMessage, Completion, GenerationParams, Role
from models.ports import ChatModel, Generation

_NEAR_THE_END = 8
_NEW = 2
"""Messages of a session that has just begun."""


class ChatService:
    """Turns of any session of one room."""

    def __init__(
        self,
        store: SessionStore,
        model: ChatModel,
        context: ContextEngine,
        continuity: ContinuityService | None = None,
        bring_back: Callable[[str], Awaitable[object]] | None = None,
    ) -> None:
        """`bring_back` gives the model what it held of a session when it was last talked in."""
        self._bring_back = bring_back
        self.context = context
        self._continuity = continuity
        self._store = store
        self._model = model
        self._told_of: set[str] = set()

    def turn(self, text: str, *, session: str | None = None, options: TurnOptions | None = None) -> Turn:
        """Says `text` in `session` (an id, a prefix, `last`), or in a new session. Iterate to run it."""
        return Turn(self, options or TurnOptions(), text=clean(text), session=session)

    def regenerate(self, session: str, *, options: TurnOptions | None = None) -> Turn:
        """Answers the person's newest message once more; the earlier answers stay as variants."""
        return Turn(self, options or TurnOptions(), text=None, session=session)

    def edit(self, session: str, message_id: str, text: str, *, options: TurnOptions | None = None) -> Turn:
        """Says `text` in the place of one of the person's messages; what followed stays, as a variant."""
        return Turn(self, options or TurnOptions(), text=clean(text), session=session, edits=message_id)

    def go_on(self, session: str, reply_id: str, *, options: TurnOptions | None = None) -> Turn:
        """Goes on with the newest reply, which was stopped or cut, from its last word."""
        return Turn(self, options or TurnOptions(), text=None, session=session, continues=reply_id)

    async def in_parts(self, text: str, *, session: str | None, options: TurnOptions) -> list[str]:
        """What to say, one turn after another, when `text` is too long for one; else the text alone.

        Each part says which it is; all but the last ask for no more than a word. Say them with
        `atlas_desktop.services.parts.part_options`.
        """
        system = options.system
        if session is not None:
            system = (await self._store.get_session(session)).system_prompt
        return labelled(
            await self.context.in_parts(clean(text), system=system, reply=options.params.max_tokens)
        )

    async def accept(self, turn: Turn) -> Accepted:
        """Stores what the person said and the empty row that the reply will grow in, in one step."""
        empty = NewMessage(Role.ASSISTANT, "", status=MessageStatus.STREAMING)
        if turn.continues is not None:
            return await self._accept_further(turn.session or "last", turn.continues)
        if turn.text is None:
            return await self._accept_again(turn.session or "last", empty)
        said = NewMessage(Role.USER, turn.text)
        if turn.session is None:
            new = NewSession(
                title=first_words(turn.text),
                memory_mode=turn.options.memory_mode or MemoryMode.NORMAL,
                project=turn.options.project,
                system_prompt=turn.options.system,
            )
            return Accepted(*await self._store.begin_turn(None, new, said, empty))
        session = turn.before = await self._store.get_session(turn.session)
        if turn.edits is not None:
            branch = await self._store.branch(session.id)
            if not any(m.id == turn.edits and m.role is Role.USER for m in branch):
                raise MessageNotFound(turn.edits)
            await self._store.edit_message(turn.edits, turn.text)
            return await self._accept_again(session.id, empty)
        automatic = self._continuity is not None and self._continuity.automatic and not turn.options.goes_on
        if self._continuity is not None and automatic and session.deleted_at is None:
            turn.boundary = await self._continuity.boundary(session, turn.text)
            if turn.boundary is not None:
                new = NewSession(
                    title=first_words(turn.text),
                    memory_mode=turn.options.memory_mode or session.memory_mode,
                    project=session.project,
                    system_prompt=session.system_prompt,
                )
                return Accepted(*await self._store.begin_turn(None, new, said, empty))
        if turn.options.memory_mode not in (None, session.memory_mode):
            patch = SessionPatch(memory_mode=turn.options.memory_mode)
            session = await self._store.update_session(session.id, patch)
        return Accepted(*await self._store.begin_turn(session.id, None, said, empty))

    async def attach(self, turn: Turn, accepted: Accepted) -> None:
        """Attaches the files of a turn to its session."""
        for attachment in turn.options.attachments:
            await self._store.attachments.attach(accepted.session.id, attachment)

    async def _accept_again(self, ref: str, empty: NewMessage) -> Accepted:
        session = await self._store.get_session(ref)
        # The newest message is among the last ones, however long the session is.
        branch = await self._store.branch(session.id, newest=_NEAR_THE_END)
        if not any(m.role is Role.USER for m in branch):
            branch = await self._store.branch(session.id)
        message = next((m for m in reversed(branch) if m.role is Role.USER), None)
        if message is None or not message.content.strip():
            raise NothingToAnswer
        reply = await self._store.append_message(session.id, empty, parent_id=message.id)
        return Accepted(await self._store.get_session(session.id), message, reply)

    async def _accept_further(self, ref: str, reply_id: str) -> Accepted:
        """The reply stays as it is stored until more of it comes."""
        session = await self._store.get_session(ref)
        last = await self._store.branch(session.id, newest=2)
        if [m.role for m in last] != [Role.USER, Role.ASSISTANT] or last[-1].id != reply_id:
            raise MessageNotFound(reply_id)
        return Accepted(session, last[0], last[1])

    async def something_new(self, turn: Turn) -> Notice | None:
        """What to tell when the words of a turn, which are stored, begin something new."""
        if turn.boundary is not None:
            return Notice("new_session", tr(f"turn.new_session.{turn.boundary.value}"))
        if self._continuity is None or turn.before is None or turn.text is None:
            return None
        if turn.options.goes_on or turn.edits is not None:
            return None
        found = await self._continuity.boundary(turn.before, turn.text)
        if found is None:
            return None
        return Notice("boundary", tr(f"turn.something_new.{found.value}"))

    async def prepare(self, session: Session, said_id: str, params: GenerationParams) -> Prepared:
        """The prompt for the branch that ends with the person's message `said_id`, and how it was made."""
        if self._bring_back is not None and session.message_count > _NEW:
            await self._bring_back(session.id)
        # The row that the reply will grow in is the head by now.
        return await self.context.prepare(session, said_id, reply=params.max_tokens, reply_id=session.head_id)

    async def ended(self, prepared: Prepared, reply: Message, completion: Completion) -> bool:
        """Keeps what the reply's prompt was made of; returns whether the session's next epoch is due."""
        return await self.context.record(prepared, reply, completion)

    def about_model(self, prepared: Prepared) -> Notice | None:
        """What a person should know of the model in use, once while the program runs."""
        info = prepared.info
        if info.prefix_stable or info.fingerprint in self._told_of:
            return None
        self._told_of.add(info.fingerprint)
        return Notice("not_append_only", tr("turn.not_append_only"))

    def generate(self, prompt: Prompt, params: GenerationParams) -> Generation:
        return self._model.generate(prompt.messages, params)

    async def save(self, message_id: str, patch: MessagePatch) -> Message:
        return await self._store.update_message(message_id, patch)

    async def replayed(self, reply_id: str) -> tuple[ChatMessage, ...]:
        """The exact messages that a reply answered; nothing when its epoch has ended."""
        try:
            return await self.context.replay(reply_id)
        except MessageNotFound:
            return ()

    async def session(self, session_id: str) -> Session:
        return await self._store.get_session(session_id)
