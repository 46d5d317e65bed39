"""How conversations are marked in the history browser, and the filters that are one key away."""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from textual.dom import DOMNode

from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.screens.history_asking import (
    REFUSED,
    TYPED,
    chosen_project,
    chosen_suggestion,
    chosen_tags,
    suggested_for,
)
from atlas_desktop.words.catalogue import tr
from memory.organising.entities import MarksPatch

if TYPE_CHECKING:
    from atlas_desktop.tui.app import AtlasApp
    from atlas_desktop.tui.widgets.history_list import HistoryList
    from memory.search.entities import SessionHit

GROUP = "history-change"


class MarkActions(DOMNode):
    """Mixed into the history browser."""

    atlas: "AtlasApp"

    if TYPE_CHECKING:

        @property
        def listing(self) -> "HistoryList": ...

        def filter(self, name: str) -> None: ...

        async def _apply(
            self, hits: "Sequence[SessionHit]", patch: MarksPatch, word: str, **facts: object
        ) -> None: ...

        def _offer(self, text: str, undo: Callable[[], Awaitable[object]] | None) -> None: ...

    @property
    def chosen(self) -> "list[SessionHit]":
        """What an action is about: everything selected, else what is under the cursor."""
        if self.listing.selected:
            return list(self.listing.selected.values())
        return [] if self.listing.marked is None else [self.listing.marked]

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        self.atlas.attempt(work, group=GROUP)

    # --- marks ------------------------------------------------------------------------------------

    def action_history_tag(self) -> None:
        self._do(self._tag())

    async def _tag(self) -> None:
        hits = self.chosen
        suggested = await suggested_for(self.atlas, hits)
        chosen = await chosen_suggestion(self.atlas, suggested) if suggested else TYPED
        if chosen == TYPED:
            patch = await chosen_tags(self.atlas, hits)
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
            await self.atlas.desk.at(hit.session.room).organising.reject(hit.session.id, [tag])
        self._offer(tr("history.done.refused", tag=clean_line(tag)), None)

    def action_history_star(self) -> None:
        on = not all(hit.session.starred for hit in self.chosen)
        self._do(self._apply(self.chosen, MarksPatch(starred=on), "star" if on else "unstar"))

    def action_history_important(self) -> None:
        on = not all(hit.session.important for hit in self.chosen)
        self._do(self._apply(self.chosen, MarksPatch(important=on), "important" if on else "unimportant"))

    def action_history_pin(self) -> None:
        on = not all(hit.session.pinned_at is not None for hit in self.chosen)
        self._do(self._apply(self.chosen, MarksPatch(pinned=on), "pin" if on else "unpin"))

    def action_history_archive(self) -> None:
        on = not all(hit.session.archived_at is not None for hit in self.chosen)
        self._do(self._apply(self.chosen, MarksPatch(archived=on), "archive" if on else "unarchive"))

    def action_history_project(self) -> None:
        self._do(self._project())

    async def _project(self) -> None:
        hits = self.chosen
        name = await chosen_project(self.atlas)
        if name is not None:
            word = "project" if name else "no_project"
            await self._apply(hits, MarksPatch(project=name), word, name=name)

    # --- filters ---------------------------------------------------------------------------------

    def action_history_only_starred(self) -> None:
        self.filter("starred")

    def action_history_only_important(self) -> None:
        self.filter("important")

    def action_history_only_pinned(self) -> None:
        self.filter("pinned")

    def action_history_only_archived(self) -> None:
        self.filter("archived")

    def action_history_only_week(self) -> None:
        self.filter("week")

    def action_history_only_code(self) -> None:
        self.filter("code")
