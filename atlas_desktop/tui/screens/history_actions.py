"""What is done in the history browser: to the conversation under the cursor, or to all that are selected."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from atlas_desktop.services.bulk import Bulk, Done
from atlas_desktop.tui.history_rows import title_of
from atlas_desktop.tui.origins import Chosen
from atlas_desktop.tui.screens.confirm import ConfirmScreen
from atlas_desktop.tui.screens.history_asking import chosen_filter
from atlas_desktop.tui.screens.history_moving import MoveActions
from atlas_desktop.tui.widgets.change_bar import ChangeBar
from atlas_desktop.tui.widgets.filter_chips import BIN
from atlas_desktop.words.catalogue import tr
from memory.organising.entities import MarksPatch

if TYPE_CHECKING:
    from textual.widgets import Input

    from memory.entities import RoomKind
    from memory.search.entities import SessionHit

_TYPED = ("open", "back", "save", "undo", "room")
"""What can be done while the field has the focus; all other keys are typed there."""
_IN_BIN = ("restore",)
_NOT_IN_BIN = ("tag", "star", "important", "pin", "archive", "project", "private", "merge", "export")


class HistoryActions(MoveActions):
    """Mixed into the history browser."""

    binned: bool

    if TYPE_CHECKING:

        @property
        def field(self) -> "Input": ...

        @property
        def text(self) -> str: ...

        def leave(self, chosen: Chosen | None) -> None: ...

        def reload(self, *, keep: bool = True) -> None: ...

        def seek(self) -> None: ...

        def tell(self) -> None: ...

        def put(self, text: str) -> None: ...

        def change_order(self) -> None: ...

        async def all_found(self) -> "list[SessionHit]": ...

    # --- going about ------------------------------------------------------------------------------

    def action_history_open(self) -> None:
        hit = self.listing.marked
        if hit is None:
            return
        if self.binned:
            self.atlas.say(tr("history.in_bin"))
            return
        self.leave(Chosen(hit.session.id, None if hit.message is None else hit.message.id))

    def action_history_back(self) -> None:
        """Takes back the selection, then the query, then the bin; then it leaves."""
        if self.listing.selected:
            self.listing.clear_selection()
            self.tell()
        elif self.text:
            self.put("")
            self.field.focus()
        elif self.binned:
            self.filter(BIN)
        else:
            self.leave(None)

    def action_history_search(self) -> None:
        self.field.focus()

    def action_history_order(self) -> None:
        self.change_order()

    def action_history_bin(self) -> None:
        self.filter(BIN)

    def action_history_filters(self) -> None:
        self._do(self._filters())

    async def _filters(self) -> None:
        term = await chosen_filter(self.atlas)
        if term:
            self.put(f"{term} {self.text}".strip() if term.startswith("@") else f"{self.text} {term}".strip())

    def action_history_save(self) -> None:
        self._do(self._saved())

    async def _saved(self) -> None:
        from atlas_desktop.tui.screens.saved_searches import SavedScreen

        room = self.atlas.desk.open_rooms[0]
        found = await self.atlas.push_screen_wait(SavedScreen(self.atlas, room, self.text))
        if found is not None:
            self.put(found.query)

    # --- selecting --------------------------------------------------------------------------------

    def action_history_select(self) -> None:
        hit = self.listing.marked
        if hit is not None:
            self.listing.select([hit], selected=hit.session.id not in self.listing.selected)
            self.tell()

    def action_history_extend_up(self) -> None:
        self._extend(-1)

    def action_history_extend_down(self) -> None:
        self._extend(+1)

    def _extend(self, by: int) -> None:
        before = self.listing.marked
        self.listing.go(self.listing.cursor + by)
        self.listing.select([hit for hit in (before, self.listing.marked) if hit is not None])
        self.tell()

    def action_history_all(self) -> None:
        self._do(self._all())

    async def _all(self) -> None:
        found = await self.all_found()
        if len(self.listing.selected) == len(found):
            self.listing.clear_selection()
        else:
            self.listing.select(found)
        self.tell()

    async def _apply(
        self, hits: "Sequence[SessionHit]", patch: MarksPatch, word: str, **facts: object
    ) -> None:
        bulk = Bulk(self.atlas.desk)
        done: Done = await bulk.apply_to([hit.session for hit in hits], patch)

        async def undo() -> None:
            await bulk.put_back(done)
            await self._changed([one.session_id for one in done.all])

        await self._changed([one.session_id for one in done.all])
        self._offer(tr(f"history.done.{word}", count=len(hits), **facts), undo)

    async def _changed(self, ids: Sequence[str], *, content: bool = False) -> None:
        self.listing.clear_selection()
        if (chat := self.atlas.chat) is not None:
            await chat.sessions_changed(ids, content=content)
        self.reload()

    def _offer(self, text: str, undo: Callable[[], Awaitable[object]] | None) -> None:
        self.query_one(ChangeBar).offer(text, undo)
        self.tell()

    # --- what takes more ---------------------------------------------------------------------------

    def _busy(self, hits: "Sequence[SessionHit]") -> bool:
        active = {one.id for one in self.atlas.turns.active}
        if any(hit.session.id in active for hit in hits):
            self.atlas.say(tr("history.busy"))
            return True
        return False

    def action_history_delete(self) -> None:
        """Into the bin; out of the bin for good."""
        if not self.chosen:
            return
        if self.binned:
            self._do(self._erase(self.chosen))
            return
        going = {hit.session.id for hit in self.chosen}
        for conversation in [one for one in self.atlas.turns.active if one.id in going]:
            self.atlas.turns.stop(conversation)
        self._do(self._apply(self.chosen, MarksPatch(binned=True), "delete"))

    def action_history_restore(self) -> None:
        self._do(self._restore([(hit.session.room, hit.session.id) for hit in self.chosen]))

    async def _restore(self, found: "Sequence[tuple[RoomKind, str]]") -> None:
        for room, session_id in found:
            await self.atlas.desk.at(room).sessions.restore(session_id)
        await self._changed([one for _, one in found], content=True)
        self._offer(tr("history.done.restore", count=len(found)), None)

    async def _erase(self, hits: "Sequence[SessionHit]") -> None:
        text = tr("history.erase.text", count=len(hits), title=title_of(hits[0].session))
        if not await self._agreed("erase", tr("history.erase.title"), text):
            return
        receipts = []
        for hit in hits:
            room = self.atlas.desk.at(hit.session.room)
            receipts.append(await room.forgetting.erase_session(hit.session.id))
        await self._changed([])
        gone = {hit.session.id for hit in hits}
        copies = {one.session_id: one for receipt in receipts for one in receipt.erased.copies}
        left = [one for one in copies.values() if one.session_id not in gone]
        if not all(receipt.verified for receipt in receipts):
            self._offer(tr("history.done.erase_left"), None)
        elif left:
            from atlas_desktop.services.forgetting_in_rooms import where

            self._offer(tr("history.done.erase_copies", where=where(left)), None)
        else:
            self._offer(tr("history.done.erase", count=len(hits)), None)

    def action_history_export(self) -> None:
        from atlas_desktop.tui.screens.exporting import ExportDialog

        self.atlas.push_screen(ExportDialog([hit.session.id for hit in self.chosen]))

    def action_history_merge(self) -> None:
        if len(self.chosen) < 2:
            self.atlas.say(tr("history.merge.few"))
        elif not self._busy(self.chosen):
            self._do(self._merge(self.chosen))

    async def _merge(self, hits: "Sequence[SessionHit]") -> None:
        first, *others = sorted((hit.session for hit in hits), key=lambda one: (one.created_at, one.id))
        title = tr("history.merge.title", count=len(hits))
        if not await self._agreed("merge", title, tr("history.merge.text", title=title_of(first))):
            return
        _, merged = await Bulk(self.atlas.desk).merge(first.id, [one.id for one in others])
        room = first.room

        async def undo() -> None:
            await self._restore([(room, source) for source in merged.sources])

        await self._changed([first.id, *merged.sources], content=True)
        self._offer(tr("history.done.merge", count=len(hits)), undo)

    async def _agreed(self, word: str, title: str, text: str) -> bool:
        question = ConfirmScreen(
            title, text, agree=tr(f"history.{word}.agree"), refuse=tr(f"history.{word}.refuse")
        )
        agreed: bool = await self.atlas.push_screen_wait(question)
        return agreed

    # --- undoing, and the filters -------------------------------------------------------------------

    def on_change_bar_undone(self) -> None:
        self.action_history_undo()

    def action_history_undo(self) -> None:
        if (undo := self.query_one(ChangeBar).take()) is not None:
            self._do(self._undo(undo))

    async def _undo(self, undo: Callable[[], Awaitable[object]]) -> None:
        await undo()
        self._offer(tr("history.undone"), None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        deed = action.removeprefix("history_")
        if deed == action:
            return super().check_action(action, parameters)
        if deed == "room":
            return self.atlas.chat is not None and self.atlas.chat.check_action("close_private", ())
        if deed == "list":
            return self.field.has_focus and bool(self.listing.total)
        if self.field.has_focus and deed not in _TYPED:
            return False
        if deed == "undo":
            return self.query_one(ChangeBar).offered is not None
        if deed in _IN_BIN:
            return self.binned and bool(self.chosen)
        if deed in _NOT_IN_BIN:
            return not self.binned and bool(self.chosen)
        if deed == "delete":
            return bool(self.chosen)
        return deed not in ("select", "all", "extend_up", "extend_down") or bool(self.listing.total)
