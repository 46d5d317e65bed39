"""What the history browser reads beside the page that is in sight."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from memory.search.entities import Page, SessionHit

if TYPE_CHECKING:
    from atlas_desktop.services.branches import BranchService
    from memory.entities import Message

SHOWN = 6
_MANY = 1000


async def around(branches: "BranchService", hit: SessionHit) -> "list[Message]":
    """The message that fits and what follows it; else the end of the conversation."""
    branch = await branches.open(hit.session.id, newest=SHOWN)
    if hit.message is None:
        return list(branch.newest)
    if hit.message.id not in branch.ids:
        # It is on another branch than the one that is shown.
        return [hit.message]
    place = branch.ids.index(hit.message.id)
    shown = branch.ids[place : place + SHOWN]
    return await branches.page(hit.session.id, shown[-1], len(shown))


async def every(fetch: Callable[[int, int], Awaitable[Page[SessionHit]]]) -> list[SessionHit]:
    """All pages in one; `fetch` is given where a page begins, and how many rows it is to have."""
    found: list[SessionHit] = []
    first: int | None = 0
    while first is not None:
        page = await fetch(first, _MANY)
        found += page.hits
        first = page.next_offset
    return found
