"""A room that is older than when you last used it is told of, once it is open."""

from collections.abc import Callable

from memory.entities import Freshness
from tests.stores import InMemoryStore
from tests.tui.desk import Stage
from tests.tui.driving import settle

Make = Callable[..., Stage]


class OlderStore(InMemoryStore):
    @property
    def freshness(self) -> Freshness:
        return Freshness.ROLLED_BACK


async def test_an_older_room_is_told_of(make: Make) -> None:
    place = make(store=OlderStore())
    async with place.app.run_test() as pilot:
        await settle(pilot)
        told = [(note.severity, note.message) for note in place.app._notifications]
    assert [severity for severity, _ in told] == ["warning"]
    assert "older than when you last used it" in told[0][1]
