"""The seam between finding and a room."""

from collections.abc import Sequence
from typing import Protocol

from memory.search.entities import MessageHit, Order, Page, Query, SavedSearch, SessionHit


class FindStore(Protocol):
    """What can be found in one room. Raises as `memory.ports.SessionStore`.

    The question of a query is not looked at here: meaning is the business of recall. Awaiting a search can be
    cancelled: it then ends at once, and nothing waits for it.
    """

    async def sessions(
        self,
        query: Query,
        *,
        limit: int = 50,
        offset: int = 0,
        order: Order = Order.RECENT,
        binned: bool = False,
        snippets: bool = True,
        exhaustive: bool = False,
    ) -> Page[SessionHit]:
        """Sessions of which one message, or the title, fits. What is excluded must be in no message of them.

        Archived ones are left out only of a list without any condition; pinned ones come first there. Without
        `snippets` the hits tell no messages, which is faster. `exhaustive` is for whoever does something with
        all of them: none that fits is left out, the latest used come first, and no messages are told.
        """
        ...

    async def messages(
        self, query: Query, *, limit: int = 20, offset: int = 0, order: Order = Order.BEST
    ) -> Page[MessageHit]:
        """Finished messages that fit, of sessions that are not in the bin."""
        ...

    async def among(self, query: Query, message_ids: Sequence[str]) -> list[MessageHit]:
        """Those of these messages that fit, in the order given, with the score 0."""
        ...

    async def saved(self) -> list[SavedSearch]:
        """By name."""
        ...

    async def save(self, name: str, query: str) -> SavedSearch:
        """Keeps a query under a name; an older one of that name goes."""
        ...

    async def remove_saved(self, name: str) -> None:
        """Raises `SavedSearchNotFound`."""
        ...
