"""Remembering and forgetting: the same preview, question and receipt on every screen."""

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from atlas_desktop.locale import _
from atlas_desktop.phrases import forgotten_text, preview_text, receipt_text, stored_text
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.calendar import long
from atlas_desktop.tui.chat.conversation_view import ConversationView
from atlas_desktop.tui.dialogs.forms import FieldsScreen
from atlas_desktop.tui.dialogs.questions import ConfirmScreen
from atlas_desktop.tui.widgets import Window
from memory.entities import MemoryMode, StoredReceipt, Target, counts
from memory.errors import MemoryFault

if TYPE_CHECKING:
    from datetime import datetime

    from atlas_desktop.services.forgetting import Receipt
    from atlas_desktop.services.forgetting_in_rooms import ForgettingPlan
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp
    from atlas_desktop.tui.chat.sessions import SessionsController


class MemoriesController:
    """Adds, pins and forgets memories."""

    def __init__(self, app: "BaseApp", view: ConversationView, sessions: "SessionsController") -> None:
        self._app = app
        self._view = view
        self._sessions = sessions

    def remember(self, words: str = "") -> None:
        """Remembers a statement."""
        session = self._view.current.session
        mode = session.memory_mode if session is not None else self._view.current.mode
        if not words:
            self._app.say(_("Type /remember followed by what to remember."))
        elif mode not in (None, MemoryMode.NORMAL):
            self._app.say(_("This conversation does not add memories."))
        else:
            self._app.attempt(self._remember(words), group="remember")

    async def _remember(self, words: str) -> None:
        session = self._view.current.session
        project = None if session is None else session.project
        made = await self._view.room.learning.remember(
            words, project=project, session_id=None if session is None else session.id
        )
        text = _("Remembered: {text}", text=clean_line(made.text))
        if self._view.current.id is None:
            # The page of a new conversation covers remarks.
            self._app.say(text)
        else:
            await self._view.note(text)

    def pin(self, ref: str = "") -> None:
        """Pins a memory; without an id the one learned last."""
        self._app.attempt(self._pin(ref), group="remember")

    async def _pin(self, ref: str) -> None:
        made = await self._view.room.knowledge.pin_latest(ref)
        if made is None:
            self._app.say(_("No memories yet."))
        else:
            await self._view.note(_("Pinned: {text}", text=clean_line(made.text)))

    def forget(self, words: str = "") -> None:
        """Forgets `last` (the default), `this`, the item with an id, or everything with some words."""
        alone = words in ("", "last", "this")
        if self._view.current.busy if alone else self._app.replying:
            self._app.say_stop_first()
        else:
            self._app.attempt(self.forget_now(words or "last"), group="forget", exclusive=True)

    def forget_words(self) -> None:
        """Asks for words and forgets everything that has them."""
        if self._app.replying:
            self._app.say_stop_first()
        else:
            self._app.attempt(self._forget_words(), group="forget", exclusive=True)

    async def _forget_words(self) -> None:

        await self._forgotten(await forget_words(self._app))

    def show_receipts(self) -> None:
        """Shows what was forgotten so far."""

        self._app.attempt(show_receipts(self._app), group="forget", exclusive=True)

    async def forget_now(self, words: str) -> None:

        target = await self._meant(self._view.room, words)
        if target is None:
            self._app.say(_("No messages from you yet."))
        else:
            await self._forgotten(await forget(self._app, target))

    async def _forgotten(self, done: "tuple[ForgettingPlan, Receipt] | None") -> None:
        """Shows the conversation without what was forgotten, and the receipt."""
        if done is None:
            return
        plan, receipt = done
        session_id = self._view.current.id
        if session_id is not None:
            # The size of the next prompt is known only with the next turn.
            self._view.current.measured.clear()
            gone = session_id in {one.id for one in plan.affected.sessions}
            await (self._sessions.show_new() if gone else self._sessions.open(session_id, again=True))
        self._view.refresh_list()
        told = await told_receipt(self._app, receipt)
        if self._view.current.id is None:
            # The page of a new conversation covers remarks.
            self._app.say(told)
        else:
            await self._view.note(told)

    async def _meant(self, room: "RoomServices", word: str) -> "Target | None":
        from atlas_desktop.services.forgetting_in_rooms import newest_words, target_of
        from memory.entities import Target

        if word not in {"last", "this"}:
            return await target_of(self._app.desk.rooms.forgetting, word)
        if self._view.current.id is None:
            return None
        if word == "this":
            return Target(sessions=(self._view.current.id,))
        said = await newest_words(room, self._view.current.id)
        return Target(messages=said) if said else None


_SHOWN = 1000
"""Items of each kind that a preview lists: as many as it knows."""


async def forget_words(app: "BaseApp", words: str = "") -> "tuple[ForgettingPlan, Receipt] | None":
    """Asks for words if there are none, and forgets everything that has all of them; None if nothing was."""
    if not words:
        field = _("Words")
        given = await app.push_screen_wait(
            FieldsScreen(
                _("Forget by words"),
                [field],
                hint=_(
                    "Everything with all of these words: conversations, messages, summaries, memories, "
                    "documents and notes of the open rooms. `word*` also finds longer words."
                ),
            )
        )
        words = "" if given is None else given[field].strip()
    return await forget(app, Target(about=words)) if words else None


async def forget(app: "BaseApp", target: Target) -> "tuple[ForgettingPlan, Receipt] | None":
    """Shows what would be forgotten, asks, and forgets it; None if nothing was."""
    forgetting = app.desk.rooms.forgetting
    # The command itself, with the words, may still be stored as a draft. On a full disk one can forget, too:
    # drafts that were not stored are tried again later, and told of then.
    with suppress(MemoryFault, OSError):
        await app.drafts.keep_all()
    plan = await forgetting.preview(target)
    erased = plan.affected.erased
    if not any(counts(erased).values()) and not erased.places:
        app.say(preview_text(plan.affected, **plan.elsewhere))
        return None
    asked = ConfirmScreen(
        _("Forget permanently?"),
        preview_text(plan.affected, shown=_SHOWN, ids=False, **plan.elsewhere),
        agree=_("Forget"),
        refuse=_("Keep"),
    )
    if not await app.push_screen_wait(asked):
        return None
    return plan, await forgetting.forget(plan)


async def told_receipt(app: "BaseApp", receipt: "Receipt") -> str:
    """Returns the receipt, with the other devices that still have it, if the room is synced."""
    elsewhere = forgotten_text(await app.desk.sync.status()) if await app.desk.is_synced() else ""
    return f"{receipt_text(receipt)} {elsewhere}".strip()


class ReceiptsScreen(Window[None]):
    """What was forgotten, latest first: when, how much, and whether it is gone."""

    DEFAULT_CSS = """
    ReceiptsScreen {
        .box { width: 84; max-width: 94%; max-height: 90%; }
        VerticalScroll { height: auto; max-height: 30; scrollbar-size-vertical: 1; }
        VerticalScroll:focus { background-tint: transparent; }
        .receipts { height: auto; }
        .hint { color: $quiet; height: auto; margin-bottom: 1; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,enter", "close", _("Close"))]

    def __init__(self, receipts: Sequence[StoredReceipt], now: "datetime") -> None:
        super().__init__()
        self._receipts = receipts
        self._now = now

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = _("Receipts")
            box.border_subtitle = _("Esc closes")
            hint = _(
                "Receipts of what was forgotten in the open rooms: counts, but no content. Notes and "
                "documents went with their whole text. A private room that was locked at the time was not "
                "searched."
            )
            yield Static(hint, classes="hint", markup=False)
            with VerticalScroll():
                yield Static(self._text(), classes="receipts", markup=False)

    def _text(self) -> Content:
        if not self._receipts:
            return Content(_("Nothing was forgotten yet."))
        lines = [
            Content.assemble((long(one.forgotten_at, self._now), "bold"), "\n", stored_text(one))
            for one in self._receipts
        ]
        return Content("\n\n").join(lines)

    def action_close(self) -> None:
        self.dismiss(None)


async def show_receipts(app: "BaseApp") -> None:
    """Shows the receipts of all open rooms."""
    each: list[Sequence[StoredReceipt]] = await app.desk.of_each(lambda room: room.forgetting.receipts(), ())
    found = [one for of_room in each for one in of_room]
    found.sort(key=lambda one: one.forgotten_at, reverse=True)
    app.push_screen(ReceiptsScreen(found, app.now()))
