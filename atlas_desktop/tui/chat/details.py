"""The context of a conversation: the details pane, and inspecting, summarising and splitting it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from atlas_desktop.locale import N_, _, formats, ngettext
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.calendar import long
from atlas_desktop.tui.chat.conversation_view import ConversationView
from atlas_desktop.tui.documents.rows import title_text
from atlas_desktop.tui.keymap import Keymap, how_to
from memory.errors import RoomClosed, SessionNotFound
from models.errors import ModelsError
from models.messages import Role

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp
    from memory.context.epochs import Compaction
    from memory.entities import Message, Session


WARM = "warm"
_NEAR_THE_END = 8


class ContextController:
    """Shows and changes what the model reads."""

    def __init__(self, app: "BaseApp", view: ConversationView) -> None:
        self._app = app
        self._view = view

    def show(self) -> None:
        self._app.attempt(self._show_context, group="context", exclusive=True)

    async def _show_context(self) -> None:
        from atlas_desktop.tui.provenance.screen import InspectorScreen

        room, session_id = self._view.room, self._view.current.id
        assert session_id is not None
        reply = self._app.desk.turn_options().params.max_tokens
        view = await room.chat.context.view(session_id, reply=reply)
        if view is not None:
            standing = await room.sessions.standing_summaries(session_id)
            await self._app.push_screen(InspectorScreen(self._app, view, standing))

    def summarise(self) -> None:
        self._app.attempt(self._summarise, group="context", exclusive=True)

    async def _summarise(self) -> None:
        assert self._view.current.id is not None
        made = await self._view.room.epochs.summarise_now(self._view.current.id)
        if made is not None and made.after < made.before:
            await self.compacted(made)
        else:
            self._app.say(_("Nothing to summarise yet: the latest messages stay word for word."))

    def split(self, words: str = "") -> None:
        """Sends a text in parts that fit; without a text, the newest message, which was too long."""
        self._app.attempt(self._split(words), group="split", exclusive=True)

    async def _split(self, words: str) -> None:
        shown = self._view.current
        whole = None if words else await self._newest_said()
        if not words and whole is None:
            self._app.say(_("No messages from you yet."))
            return
        parts = await self._app.turns.in_parts(shown, words if whole is None else whole.content)
        if whole is not None and len(parts) < 2:
            self._app.say(_("Your latest message fits as it is. Type /split followed by a long text."))
        elif shown is self._view.current and not shown.busy:
            # The first part replaces the message that did not fit.
            self._app.turns.send_parts(shown, parts, edits=whole.id if whole else None)
            self._view.refresh()

    async def _newest_said(self) -> "Message | None":
        """Returns the user's newest message."""
        if self._view.current.id is None:
            return None
        branch = await self._view.room.branches.open(self._view.current.id, newest=_NEAR_THE_END)
        return next((m for m in reversed(branch.newest) if m.role is Role.USER), None)

    async def compacted(self, made: "Compaction") -> None:
        """Adds one line that says how many tokens a summary has saved."""
        if made.session_id == self._view.current.id and not self._app.leaving:
            number = formats().number
            text = _(
                "Older messages summarised: {before} → {after} tokens. {key} shows the summaries.",
                before=number(made.before),
                after=number(made.after),
                key=how_to("context.show", self._app.keys),
            )
            await self._view.note(text)

    async def resumed(self, session: "Session") -> None:
        """Reminds the user what a resumed session was about, and lets the model read it in advance."""
        room = self._app.desk.at(session.room)
        try:
            found = await room.continuity.reminder(session)
        except (SessionNotFound, RoomClosed):
            return  # It was moved or forgotten meanwhile.
        if found is not None and self._view.current.id == session.id:
            when = long(found.last, self._app.now())
            about = clean_line(found.text)
            await self._view.note(_("Last time ({when}): {about}", when=when, about=about))
        self._app.attempt(self._warm(room, session.id), group=WARM, exclusive=True)

    async def _warm(self, room: "RoomServices", session_id: str) -> None:
        try:
            await room.epochs.warm(session_id)
        except (ModelsError, SessionNotFound, RoomClosed):
            # The next turn fails the same way and reports it after it has stored the message. Or the
            # conversation was moved or forgotten meanwhile.
            return


_BAR = 30
_LEARNED = 30


@dataclass(frozen=True, slots=True)
class Details:
    """The contents of the details pane.

    Tokens `used` of `limit` (0: unknown) and those of each tier by name. The memories that the model was
    given (`told`) for the newest reply, and the number of other passages. Those that were `learned` in the
    conversation. The titles of the `documents` that the conversation is about, and of the `notes` that link
    to it.
    """

    used: int = 0
    limit: int = 0
    tiers: tuple[tuple[str, int], ...] = ()
    told: tuple[str, ...] = ()
    passages: int = 0
    learned: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class DetailsPane(VerticalScroll, can_focus=False):
    """The pane on the right of the conversation; on a narrow terminal it covers the conversation."""

    DEFAULT_CSS = """
    DetailsPane {
        display: none;
        width: 36;
        background: $surface;
        padding: 1 1 0 2;
        scrollbar-size-vertical: 1;
        & > Static { height: auto; }
    }
    """

    known = Details()

    def compose(self) -> ComposeResult:
        yield Static("", markup=False)

    def tell(self, known: Details) -> None:
        self.known = known
        self.query_one(Static).update(words_of(known, getattr(self.app, "keys", {})))


def words_of(known: Details, keymap: Keymap) -> Content:
    """Returns the details as text."""
    number = formats().number
    parts: list[str | Content | tuple[str, str]] = [(_("Context"), "bold $accent"), "\n"]
    if known.limit:
        share = known.used / known.limit
        filled = min(_BAR, max(round(_BAR * share), known.used > 0))
        used = _(
            "{used} of {limit} tokens ({share:.0%})",
            used=number(known.used),
            limit=number(known.limit),
            share=share,
        )
        parts += [("█" * filled, "$primary"), ("░" * (_BAR - filled), "$quiet"), f"\n{used}\n"]
        parts += [(f"{name:<20}{number(tokens):>10}\n", "$quiet") for name, tokens in known.tiers]
    else:
        parts += [(f"{_('No messages yet.')}\n", "$quiet")]
    if known.documents:
        parts += _listed(N_("Documents"), known.documents)
    if known.notes:
        parts += _listed(N_("Notes"), known.notes)
    told = list(known.told)
    if known.passages:
        told.append(
            ngettext(
                "{count} passage from earlier messages",
                "{count} passages from earlier messages",
                known.passages,
            )
        )
    parts += _listed(N_("Used for the latest reply"), told)
    parts += _listed(N_("Learned in this conversation"), known.learned)
    hint = _(
        "{memories} shows all memories, {context} the exact prompt.",
        memories=how_to("memory.show", keymap),
        context=how_to("context.show", keymap),
    )
    parts += ["\n", (hint, "$quiet")]
    return Content.assemble(*parts)


def _listed(heading: str, texts: Sequence[str]) -> list[str | Content | tuple[str, str]]:
    said = "".join(f"• {clean_line(text)}\n" for text in texts)
    nothing = (f"{_('Nothing.')}\n", "$quiet")
    return ["\n", (_(heading), "bold $accent"), "\n", said or nothing]


class DetailsController:
    """Fills the details pane while it is shown."""

    def __init__(self, app: "BaseApp", view: ConversationView, pane: DetailsPane) -> None:
        self._app = app
        self._view = view
        self._pane = pane

    def toggle(self) -> None:
        self._pane.toggle_class("-shown")
        self.refresh()

    def clear(self) -> None:
        """Clears everything about the conversation that the user leaves, even while hidden, because its room
        may close."""
        self._pane.tell(Details())

    def refresh(self) -> None:
        if self._pane.has_class("-shown") and not self._app.leaving:
            self._app.attempt(self._read, group="details", exclusive=True)

    async def _read(self) -> None:
        shown = self._view.current
        if shown.session is None:
            self._pane.tell(Details())
            return
        try:
            found = await self._details_of(self._app.room_of(shown), shown.session.id)
        except SessionNotFound:
            return  # It was moved or forgotten meanwhile: what is shown next is read again.
        except RoomClosed:
            if shown is self._view.current and not self._app.leaving:
                raise
            return
        if shown is self._view.current:
            self._pane.tell(found)

    async def _details_of(self, room: "RoomServices", session_id: str) -> Details:
        from atlas_desktop.services.context import tier_name
        from memory.context.entities import Outcome
        from memory.memories.entities import MemoryFilter

        learned = await room.knowledge.select(MemoryFilter(session=session_id), limit=_LEARNED)
        head = (await room.store.get_session(session_id)).head_id
        looked = [] if head is None else await room.store.context.considered(head)
        told = [one for one in looked if one.outcome is Outcome.TOLD]
        memories = await room.store.memories.get_many([one.id for one in told if one.kind == "memory"])
        used = limit = 0
        tiers: tuple[tuple[str, int], ...] = ()
        try:
            reply = self._app.desk.turn_options().params.max_tokens
            view = await room.chat.context.view(session_id, reply=reply)
        except ModelsError:
            # There is no context to measure without a model. The next turn reports the missing model.
            view = None
        if view is not None:
            used, limit = view.tokens, view.budget.limit
            tiers = tuple((tier_name(tier), tier.tokens) for tier in view.tiers if tier.tokens)
        return Details(
            used,
            limit,
            tiers,
            tuple(one.text for one in memories),
            sum(one.kind != "memory" for one in told),
            tuple(one.text for one in learned),
            tuple(title_text(one) for one in await room.store.documents.bound(session_id)),
            tuple(one.title for one in await room.store.notes.backlinks(session_id)),
        )
