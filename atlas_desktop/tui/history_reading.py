"""What the history browser reads beside the page that is in sight."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atlas_desktop.services.branches import BranchService
    from memory.entities import Message
    from memory.search.entities import SessionHit

SHOWN = 6


async def around(branches: "BranchService", hit: "SessionHit") -> "list[Message]":
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
