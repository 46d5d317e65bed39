"""Queries that are kept under a name."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from atlas_desktop.error_table import unclear
from atlas_desktop.services.search import FindingService
from atlas_desktop.tui.screens.kept import KeptScreen
from atlas_desktop.tui.screens.text_edit import NamedLineScreen
from atlas_desktop.words.catalogue import tr
from memory.errors import QueryUnclear
from memory.search.entities import SavedSearch

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.app import AtlasApp


class SavedScreen(KeptScreen[SavedSearch]):
    """`query` is what is typed now, and what a new one begins with."""

    heading = tr("history.saved.title")
    hint = tr("history.saved.hint")
    none = tr("history.saved.none")

    def __init__(self, app: "AtlasApp", room: "RoomServices", query: str) -> None:
        super().__init__(app, room)
        self._query = query
        self._finding = FindingService(app.desk)

    async def things(self) -> Sequence[SavedSearch]:
        return await self._finding.saved()

    def described(self, one: SavedSearch) -> str:
        return one.query

    async def edited(self, old: SavedSearch | None) -> SavedSearch | None:
        title = tr("history.saved.new" if old is None else "history.saved.change")
        name, query = ("", self._query) if old is None else (old.name, old.query)
        window = NamedLineScreen(
            title, name, query, label=tr("history.saved.query"), missing=tr("history.saved.empty")
        )
        given = await self.atlas.push_screen_wait(window)
        if given is None:
            return None
        try:
            made = await self._finding.save(given[0], given[1], self.room)
        except QueryUnclear as fault:
            self.atlas.say(unclear(fault))
            return None
        except ValueError:
            self.atlas.say(tr("history.saved.empty"))
            return None
        if old is not None and old.name != made.name:
            await self._finding.remove(old.name)
        return made

    async def removed(self, one: SavedSearch) -> None:
        await self._finding.remove(one.name)
