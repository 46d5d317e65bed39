"""Changes conversations in the history browser: the marked one, or all that are selected."""

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from atlas_desktop.locale import N_, _, ngettext, number, plural
from atlas_desktop.phrases.rooms import losing_documents
from atlas_desktop.services.bulk import Bulk, Done
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.dialogs.messages import ConfirmScreen
from atlas_desktop.tui.history.filters import (
    REFUSED,
    TYPED,
    chosen_project,
    chosen_suggestion,
    chosen_tags,
    suggested_for,
)
from atlas_desktop.tui.history.rows import title_of
from memory.entities import RoomKind
from memory.organising.entities import MarksPatch

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp
    from atlas_desktop.tui.history.list import HistoryList
    from atlas_desktop.tui.widgets.change_bar import Undo
    from memory.search.entities import SessionHit
_DONE_COUNTS = {
    "tags": plural("Tagged.", "{count} tagged."),
    "star": plural("Starred.", "{count} starred."),
    "unstar": plural("Star removed.", "{count} stars removed."),
    "important": plural("Marked as important.", "{count} marked as important."),
    "unimportant": plural("No longer important.", "{count} no longer important."),
    "pin": plural("Pinned to the top.", "{count} pinned to the top."),
    "unpin": plural("Unpinned.", "{count} unpinned."),
    "archive": plural(
        "Archived. Hidden from lists, still found by search.",
        "{count} archived. Hidden from lists, still found by search.",
    ),
    "unarchive": plural("Unarchived.", "{count} unarchived."),
    "project": plural("Moved to “{name}”.", "{count} moved to “{name}”."),
    "no_project": plural("Removed from its project.", "{count} removed from their projects."),
    "delete": plural("Moved to the bin (B).", "{count} moved to the bin (B)."),
    "restore": plural("Restored.", "{count} restored."),
    "merge": plural("Merged.", "{count} conversations merged."),
    "erase": plural("Erased. Nothing is left of it.", "{count} erased. Nothing is left of them."),
    "erase_copies": plural(
        "Erased. The same text still exists in {where}.", "Erased. The same text still exists in {where}."
    ),
    "erase_left": plural(
        "Erased, but traces may remain. Run `atlas vault verify` to check.",
        "Erased, but traces may remain. Run `atlas vault verify` to check.",
    ),
    "private": plural("Moved to the private room.", "{count} moved to the private room."),
    "open": plural("Moved to the open room.", "{count} moved to the open room."),
    "refused": plural("#{tag} won't be suggested there again.", "#{tag} won't be suggested there again."),
}
_MOVE_COUNTS = {
    "title": plural("Move to the private room?", "Move to the private room?"),
    "title_open": plural("Move to the open room?", "Move to the open room?"),
    "private": plural(
        "It moves to the private room, with everything learned only from it. It is visible only "
        "while that room is open.",
        "{count} conversations move to the private room, with everything learned only from them. "
        "They are visible only while that room is open.",
    ),
    "open": plural(
        "It moves to the open room, with everything learned only from it. Anyone who opens Atlas can see it.",
        "{count} conversations move to the open room, with everything learned only from them. "
        "Anyone who opens Atlas can see them.",
    ),
    "agree": plural("Move", "Move"),
    "refuse": plural("No", "No"),
    "there": plural("Already there.", "Already there."),
}
_HISTORY_AGREE_TEXTS = {"move": N_("Move"), "merge": N_("Merge"), "erase": N_("Erase")}
_HISTORY_REFUSE_TEXTS = {
    "tag": N_("Never suggest #{tag} here"),
    "move": N_("No"),
    "merge": N_("No"),
    "erase": N_("Keep"),
}

GROUP = "history-change"


class HistoryActions:
    """Marks, moves, merges and deletes conversations, and informs the conversation screen.

    `reload` reads the list again after a change; `offer` shows what was done, with a function to undo it.
    """

    def __init__(
        self,
        app: "BaseApp",
        listing: "HistoryList",
        *,
        reload: Callable[[], None],
        offer: Callable[[str, "Undo | None"], None],
    ) -> None:
        self._app = app
        self._listing = listing
        self._reload = reload
        self._offer = offer

    @property
    def chosen(self) -> "list[SessionHit]":
        """The conversations that an action applies to: the selected ones, or else the marked one."""
        if self._listing.selected:
            return list(self._listing.selected.values())
        return [] if self._listing.marked is None else [self._listing.marked]

    def do(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs a change in the background."""
        self._app.attempt(work, group=GROUP)

    # --- marks -----------------------------------------------------------------------------------

    def tag(self) -> None:
        self.do(self._tag())

    async def _tag(self) -> None:
        hits = self.chosen
        suggested = await suggested_for(self._app, hits)
        chosen = await chosen_suggestion(self._app, suggested) if suggested else TYPED
        if chosen == TYPED:
            patch = await chosen_tags(self._app, hits)
            if patch is not None:
                await self._apply(hits, patch, "tags")
        elif chosen is not None:
            tag = chosen[1:]
            fitting = [hit for hit in hits if hit.session.id in suggested[tag]]
            if chosen.startswith(REFUSED):
                await self._refuse(fitting, tag)
            else:
                await self._apply(fitting, MarksPatch(add_tags=(tag,)), "tags")

    async def _refuse(self, hits: "Sequence[SessionHit]", tag: str) -> None:
        for hit in hits:
            await self._app.desk.at(hit.session.room).organising.reject(hit.session.id, [tag])
        self._offer(_("#{tag} won't be suggested there again.", tag=clean_line(tag)), None)

    def star(self) -> None:
        on = not all(hit.session.starred for hit in self.chosen)
        self.do(self._apply(self.chosen, MarksPatch(starred=on), "star" if on else "unstar"))

    def important(self) -> None:
        on = not all(hit.session.important for hit in self.chosen)
        self.do(self._apply(self.chosen, MarksPatch(important=on), "important" if on else "unimportant"))

    def pin(self) -> None:
        on = not all(hit.session.pinned_at is not None for hit in self.chosen)
        self.do(self._apply(self.chosen, MarksPatch(pinned=on), "pin" if on else "unpin"))

    def archive(self) -> None:
        on = not all(hit.session.archived_at is not None for hit in self.chosen)
        self.do(self._apply(self.chosen, MarksPatch(archived=on), "archive" if on else "unarchive"))

    def put_into_project(self) -> None:
        self.do(self._project())

    async def _project(self) -> None:
        hits = self.chosen
        name = await chosen_project(self._app)
        if name is not None:
            word = "project" if name else "no_project"
            await self._apply(hits, MarksPatch(project=name), word, name=name)

    async def _apply(
        self, hits: "Sequence[SessionHit]", patch: MarksPatch, word: str, **facts: object
    ) -> None:
        bulk = Bulk(self._app.desk)
        done: Done = await bulk.apply_to([hit.session for hit in hits], patch)

        async def undo() -> None:
            await bulk.put_back(done)
            await self._changed([one.session_id for one in done.all])

        stay = None if patch.binned or patch.archived is not None else patch
        await self._changed([one.session_id for one in done.all], patch=stay)
        self._offer(ngettext(*_DONE_COUNTS[word], len(hits), **facts), undo)

    async def _changed(
        self, ids: Sequence[str], *, content: bool = False, patch: MarksPatch | None = None
    ) -> None:
        """Shows a change. With a `patch`, the conversations stay where they are, and selected."""
        if patch is None:
            self._listing.clear_selection()
        else:
            self._listing.mark_selected(ids, patch)
        if (chat := self._app.chat) is not None:
            await chat.sessions_changed(ids, content=content)
        self._reload()

    # --- deleting and restoring ------------------------------------------------------------------

    def delete(self) -> None:
        """Moves conversations to the bin; stops replies that are under way."""
        going = {hit.session.id for hit in self.chosen}
        for conversation in [one for one in self._app.turns.active if one.id in going]:
            self._app.turns.stop(conversation)
        self.do(self._apply(self.chosen, MarksPatch(binned=True), "delete"))

    def restore(self) -> None:
        """Restores conversations from the bin."""
        self.do(self._restore([(hit.session.room, hit.session.id) for hit in self.chosen]))

    async def _restore(self, found: "Sequence[tuple[RoomKind, str]]") -> None:
        for room, session_id in found:
            await self._app.desk.at(room).sessions.restore(session_id)
        await self._changed([one for _unused, one in found], content=True)
        self._offer(ngettext("Restored.", "{count} restored.", len(found)), None)

    def erase(self) -> None:
        """Permanently deletes conversations in the bin, if the user confirms."""
        self.do(self._erase(self.chosen))

    async def _erase(self, hits: "Sequence[SessionHit]") -> None:
        text = ngettext(
            "“{title}” and everything derived from it. This cannot be undone.",
            "{count} conversations and everything derived from them. This cannot be undone.",
            len(hits),
            title=title_of(hits[0].session),
        )
        if not await self._agreed("erase", _("Erase permanently?"), text):
            return
        receipts = []
        for hit in hits:
            room = self._app.desk.at(hit.session.room)
            receipts.append(await room.forgetting.erase_session(hit.session.id))
        await self._changed([])
        gone = {hit.session.id for hit in hits}
        copies = {one.session_id: one for receipt in receipts for one in receipt.erased.copies}
        left = [one for one in copies.values() if one.session_id not in gone]
        if not all(receipt.verified for receipt in receipts):
            self._offer(_("Erased, but traces may remain. Run `atlas vault verify` to check."), None)
        elif left:
            from atlas_desktop.phrases.forgetting import where

            self._offer(_("Erased. The same text still exists in {where}.", where=where(left)), None)
        else:
            self._offer(
                ngettext(
                    "Erased. Nothing is left of it.", "{count} erased. Nothing is left of them.", len(hits)
                ),
                None,
            )

    # --- moving, merging, exporting --------------------------------------------------------------

    def move(self) -> None:
        """Moves conversations to the private room, or from the private room to the open one."""
        if not self._busy(self.chosen):
            self.do(self._move(self.chosen))

    async def _move(self, hits: "Sequence[SessionHit]") -> None:
        back = all(hit.session.room is RoomKind.PRIVATE for hit in hits)
        to = RoomKind.OPEN if back else RoomKind.PRIVATE
        word = "open" if back else "private"
        text = ngettext(*_MOVE_COUNTS[word], len(hits))
        rooms = self._app.desk.rooms
        if lost := await rooms.documents_lost([hit.session.id for hit in hits], to):
            text += " " + losing_documents(lost, RoomKind.PRIVATE if back else RoomKind.OPEN)
        heading = _("Move to the open room?") if back else _("Move to the private room?")
        chat = self._app.chat
        if to is RoomKind.PRIVATE and rooms.private is None:
            if chat is None or not await chat.open_private(text):
                return
        elif not await self._agreed("move", heading, text):
            return
        moving = [hit.session for hit in hits if hit.session.room is not to]
        for session in moving:
            await rooms.move(session.id, to)

        async def undo() -> None:
            for session in moving:
                await rooms.move(session.id, session.room)
            await self._changed([one.id for one in moving], content=True)

        await self._changed([one.id for one in moving], content=True)
        self._offer(ngettext(*_DONE_COUNTS[word], len(moving)), undo)

    def merge(self) -> None:
        """Joins the selected conversations into one."""
        if len(self.chosen) < 2:
            self._app.say(_("Select two or more conversations (Space), then merge."))
        elif not self._busy(self.chosen):
            self.do(self._merge(self.chosen))

    async def _merge(self, hits: "Sequence[SessionHit]") -> None:
        first, *others = sorted((hit.session for hit in hits), key=lambda one: (one.created_at, one.id))
        title = _("Merge {count} conversations?", count=number(len(hits)))
        if not await self._agreed(
            "merge",
            title,
            _(
                "All messages move into “{title}”, the oldest one. The others go to the bin. Restoring "
                "one takes its messages out again.",
                title=title_of(first),
            ),
        ):
            return
        _unused, merged = await Bulk(self._app.desk).merge(first.id, [one.id for one in others])
        room = first.room

        async def undo() -> None:
            await self._restore([(room, source) for source in merged.sources])

        await self._changed([first.id, *merged.sources], content=True)
        self._offer(ngettext("Merged.", "{count} conversations merged.", len(hits)), undo)

    def export(self) -> None:
        """Opens the window for exporting them."""
        from atlas_desktop.tui.exporting import ExportDialog

        self._app.push_screen(ExportDialog([hit.session.id for hit in self.chosen]))

    def take_back(self, undo: "Undo") -> None:
        """Undoes a change."""
        self.do(self._take_back(undo))

    async def _take_back(self, undo: "Undo") -> None:
        await undo()
        self._offer(_("Undone."), None)

    def _busy(self, hits: "Sequence[SessionHit]") -> bool:
        active = {one.id for one in self._app.turns.active}
        if any(hit.session.id in active for hit in hits):
            self._app.say(_("A reply is in progress in one of them. Wait, or stop it."))
            return True
        return False

    async def _agreed(self, word: str, title: str, text: str) -> bool:
        question = ConfirmScreen(
            title, text, agree=_(_HISTORY_AGREE_TEXTS[word]), refuse=_(_HISTORY_REFUSE_TEXTS[word])
        )
        agreed: bool = await self._app.push_screen_wait(question)
        return agreed
