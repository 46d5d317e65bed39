"""The tree of a conversation's messages: the branch that is shown, page by page, and the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memory.entities import Message, MessagePatch, Node, Session
from memory.errors import MessageNotFound
from memory.storage.store import Store
from models.messages import Role

EXCERPT = 120
"""Characters of a message in the outline of its session."""


def branch_of(nodes: Sequence[Node], leaf: str | None) -> list[Node]:
    """From the root to `leaf`; nothing without one."""
    known = {node.id: node for node in nodes}
    path: list[Node] = []
    at = leaf
    while at is not None and at in known:
        path.append(known[at])
        at = known[at].parent_id
    return path[::-1]


def newest_leaf(nodes: Sequence[Node], start: str) -> str:
    """Where the branch ends that goes on from `start` by the newest message each time."""
    newest: dict[str, str] = {}
    for node in nodes:
        if node.parent_id is not None:
            newest[node.parent_id] = node.id
    at = start
    while at in newest:
        at = newest[at]
    return at


def siblings(nodes: Sequence[Node], message_id: str) -> list[str]:
    """A message and its variants: of the same role, in answer to the same message, oldest first."""
    own = next((node for node in nodes if node.id == message_id), None)
    if own is None:
        return []
    return [node.id for node in nodes if (node.parent_id, node.role) == (own.parent_id, own.role)]


def places(nodes: Sequence[Node]) -> dict[str, tuple[int, int]]:
    """Of each message that has variants, which of how many it is, counted from 1."""
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
    """Of each message, its place on the branch that it is on, counted from 1. `nodes` come as they were
    stored, parents first. Instructions are not counted: no conversation shows them."""
    found: dict[str, int] = {}
    for node in nodes:
        above = found.get(node.parent_id, 0) if node.parent_id is not None else 0
        found[node.id] = above + (node.role is not Role.SYSTEM)
    return found


@dataclass(frozen=True, slots=True)
class Stretch:
    """Messages that follow one another with no other way to go on between them, and what goes on from there.

    `shown` says that it is part of the branch that is shown.
    """

    nodes: tuple[Node, ...]
    ways: tuple["Stretch", ...]
    shown: bool

    @property
    def leaf(self) -> str:
        """Where its newest way ends."""
        return self.ways[-1].leaf if self.ways else self.nodes[-1].id


def stretches(nodes: Sequence[Node], head: str | None) -> list[Stretch]:
    """The tree of a session, with each run of messages in one piece."""
    below: dict[str | None, list[Node]] = {}
    for node in nodes:
        below.setdefault(node.parent_id, []).append(node)
    shown = {node.id for node in branch_of(nodes, head)}
    # Children are stored after their parents, so going backwards finds them made already. No recursion: a
    # conversation may be longer than the stack is deep.
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
    """A session, the ids of the messages of the branch that is shown, and the last of these messages.

    `places` tells of those that have variants which of how many they are, counted from 1.
    """

    session: Session
    ids: tuple[str, ...]
    newest: tuple[Message, ...]
    places: Mapping[str, tuple[int, int]] = field(default_factory=dict)


class BranchService:
    """Of one room. Raises as `Store`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def open(self, ref: str, *, newest: int) -> Branch:
        """The branch that is shown, of which only the `newest` messages are read."""
        session = await self._store.get_session(ref)
        nodes = await self._store.outline(session.id)
        ids = tuple(n.id for n in branch_of(nodes, session.head_id) if n.role is not Role.SYSTEM)
        last = await self._store.branch(session.id, newest=newest) if ids else []
        return Branch(session, ids, tuple(last), places(nodes))

    async def page(self, session_id: str, last: str, number: int) -> list[Message]:
        """The `number` messages that end with `last`, oldest first; fewer at the beginning."""
        found = await self._store.branch(session_id, last, newest=number)
        return [message for message in found if message.role is not Role.SYSTEM]

    async def nodes(self, session_id: str, *, excerpt: int = EXCERPT) -> list[Node]:
        return await self._store.outline(session_id, excerpt=excerpt)

    async def variants(self, message_id: str) -> list[Message]:
        """The message and its siblings, oldest first."""
        return await self._store.variants(message_id)

    async def go_to(self, session_id: str, message_id: str) -> Session:
        """Shows the branch that a message is on: its newest one, if the message is on several.

        Raises `MessageNotFound`.
        """
        nodes = await self._store.outline(session_id)
        if not any(node.id == message_id for node in nodes):
            raise MessageNotFound(message_id)
        return await self._store.set_head(session_id, newest_leaf(nodes, message_id))

    async def mark(self, message_id: str, *, important: bool) -> Message:
        """Marked messages stay word for word in the model's sight longest."""
        return await self._store.update_message(message_id, MessagePatch(important=important))
