"""The tree of a session's messages: the displayed branch, page by page, and the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memory.entities import Message, MessagePatch, Node, Session
from memory.errors import MessageNotFound
from memory.storage.store import Store
from models.messages import Role

EXCERPT = 120
"""Characters of each message in the outline of its session."""


def branch_of(nodes: Sequence[Node], leaf: str | None) -> list[Node]:
    """Returns the nodes from the root to `leaf`; empty without one."""
    known = {node.id: node for node in nodes}
    path: list[Node] = []
    at = leaf
    while at is not None and at in known:
        path.append(known[at])
        at = known[at].parent_id
    return path[::-1]


def newest_leaf(nodes: Sequence[Node], start: str) -> str:
    """Returns the end of the branch that continues from `start` with the newest message each time."""
    newest: dict[str, str] = {}
    for node in nodes:
        if node.parent_id is not None:
            newest[node.parent_id] = node.id
    at = start
    while at in newest:
        at = newest[at]
    return at


def siblings(nodes: Sequence[Node], message_id: str) -> list[str]:
    """Returns a message and its variants (same role, in answer to the same message), oldest first."""
    own = next((node for node in nodes if node.id == message_id), None)
    if own is None:
        return []
    return [node.id for node in nodes if (node.parent_id, node.role) == (own.parent_id, own.role)]


def places(nodes: Sequence[Node]) -> dict[str, tuple[int, int]]:
    """Returns, for each message that has variants, its position counted from 1 and their number."""
    families: dict[tuple[str | None, Role], list[str]] = {}
    for node in nodes:
        families.setdefault((node.parent_id, node.role), []).append(node.id)
    return {
        one: (number, len(family))
        for family in families.values()
        if len(family) > 1
        for number, one in enumerate(family, 1)
    }


def numbers(nodes: Sequence[Node]) -> dict[str, int]:
    """Returns the position of each message on its branch, counted from 1.

    `nodes` are in storage order, parents first. Instructions are not counted, because no session shows them.
    """
    found: dict[str, int] = {}
    for node in nodes:
        above = found.get(node.parent_id, 0) if node.parent_id is not None else 0
        found[node.id] = above + (node.role is not Role.SYSTEM)
    return found


@dataclass(frozen=True, slots=True)
class Stretch:
    """A run of messages without branching, and the runs that continue from its end.

    `shown`: it is part of the displayed branch.
    """

    nodes: tuple[Node, ...]
    ways: tuple["Stretch", ...]
    shown: bool

    @property
    def leaf(self) -> str:
        """The id of the message at which its newest continuation ends."""
        return self.ways[-1].leaf if self.ways else self.nodes[-1].id


def stretches(nodes: Sequence[Node], head: str | None) -> list[Stretch]:
    """Returns the tree of a session, with each run of messages in one piece."""
    below: dict[str | None, list[Node]] = {}
    for node in nodes:
        below.setdefault(node.parent_id, []).append(node)
    shown = {node.id for node in branch_of(nodes, head)}
    # Children are stored after their parents, so going backwards finds them already made. No recursion: a
    # session may be longer than the stack is deep.
    runs: dict[str, tuple[list[Node], tuple[Stretch, ...]]] = {}

    def whole(start: Node) -> Stretch:
        run, ways = runs.pop(start.id)
        return Stretch(tuple(reversed(run)), ways, start.id in shown)

    for node in reversed(nodes):
        children = below.get(node.id, [])
        run, ways = runs.pop(children[0].id) if len(children) == 1 else ([], tuple(map(whole, children)))
        run.append(node)
        runs[node.id] = run, ways
    return [whole(node) for node in below.get(None, [])]


@dataclass(frozen=True, slots=True)
class Branch:
    """A session, the message ids of its displayed branch, and the newest of these messages.

    `places` gives the position, counted from 1, and the number of variants for each message that has any.
    """

    session: Session
    ids: tuple[str, ...]
    newest: tuple[Message, ...]
    places: Mapping[str, tuple[int, int]] = field(default_factory=dict)


class BranchService:
    """The branches of one room's sessions. Raises as `Store`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def open(self, ref: str, *, newest: int) -> Branch:
        """Returns the displayed branch, of which only the `newest` messages are read."""
        session = await self._store.get_session(ref)
        nodes = await self._store.outline(session.id)
        ids = tuple(n.id for n in branch_of(nodes, session.head_id) if n.role is not Role.SYSTEM)
        last = await self._store.branch(session.id, newest=newest) if ids else []
        return Branch(session, ids, tuple(last), places(nodes))

    async def page(self, session_id: str, last: str, number: int) -> list[Message]:
        """Returns the `number` messages that end with `last`, oldest first; fewer at the beginning."""
        found = await self._store.branch(session_id, last, newest=number)
        return [message for message in found if message.role is not Role.SYSTEM]

    async def nodes(self, session_id: str, *, excerpt: int = EXCERPT) -> list[Node]:
        return await self._store.outline(session_id, excerpt=excerpt)

    async def variants(self, message_id: str) -> list[Message]:
        """Returns the message and its siblings, oldest first."""
        return await self._store.variants(message_id)

    async def go_to(self, session_id: str, message_id: str) -> Session:
        """Displays the branch that a message is on; the newest one, if it is on several.

        Raises `MessageNotFound`.
        """
        nodes = await self._store.outline(session_id)
        if not any(node.id == message_id for node in nodes):
            raise MessageNotFound(message_id)
        return await self._store.set_head(session_id, newest_leaf(nodes, message_id))

    async def mark(self, message_id: str, *, important: bool) -> Message:
        """Marks a message as important or not. Marked messages stay verbatim in the context the longest."""
        return await self._store.update_message(message_id, MessagePatch(important=important))
