"""Session operations for the interfaces: list, open, rename, fork, search, and the tree of messages."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from atlas_desktop.services.cleaning import clean, clean_line
from memory.context.entities import Summary
from memory.entities import Message, MessagePatch, Node, SearchHit, Session, SessionPatch, TitleSource
from memory.errors import AmbiguousId, MessageNotFound
from memory.storage.store import Store
from memory.summaries.planning import TieredHistory, tiers
from models.messages import Role

_NUMBER = re.compile(r" \(([2-9]|[1-9][0-9]{1,2})\)$")


def number_of(title: str) -> str:
    """Returns the number suffix of a title, such as ` (2)`; empty if the title has none."""
    found = _NUMBER.search(title)
    return found.group() if found else ""


def without_number(title: str) -> str:
    return title.removesuffix(number_of(title))


def numbered(title: str, taken: Collection[str]) -> str:
    """Returns the title with the first number, from 2 on, that makes it differ from all `taken` titles."""
    base, number = without_number(title), 2
    while f"{base} ({number})" in taken:
        number += 1
    return f"{base} ({number})"


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session and the messages of its displayed branch, oldest first."""

    session: Session
    messages: tuple[Message, ...]


class SessionService:
    """The sessions of one room."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def recent(
        self,
        *,
        containing: str = "",
        binned: bool = False,
        archived: bool | None = False,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Session]:
        """Returns pinned sessions first, then the most recently used first. `archived` as in `Store`."""
        return await self._store.list_sessions(
            containing=containing, binned=binned, archived=archived, limit=limit, offset=offset
        )

    async def view(self, ref: str) -> SessionView:
        session = await self._store.get_session(ref)
        return SessionView(session, tuple(await self._store.branch(session.id)))

    async def rename(self, ref: str, title: str) -> Session:
        """Sets a title chosen by the user; the program never changes it.

        Raises ValueError when the title is empty.
        """
        line = clean_line(title)
        if not line:
            raise ValueError("a title needs at least one visible character")
        session = await self._store.get_session(ref)
        patch = SessionPatch(title=line[:200], title_source=TitleSource.PERSON)
        return await self._store.update_session(session.id, patch)

    async def fork(self, ref: str, *, message: str | None = None, title: str | None = None) -> Session:
        """Creates a session that begins with the messages of another, up to `message` or its end.

        `message` is an id or a prefix of one. Without `title` it gets the title of the original and a number.
        Raises `MessageNotFound`, `AmbiguousId`.
        """
        view = await self.view(ref)
        found = [m for m in view.messages if message is None or m.id.startswith(message.lower())]
        if not found or (message is not None and len(found) > 1):
            raise AmbiguousId(message or "", len(found)) if found else MessageNotFound(message or ref)
        name = clean_line(title or "")[:200] or None
        made = await self._store.fork_session(view.session.id, found[-1].id, name)
        if name is not None or not made.title:
            return made
        # The title's source is kept, because a title made by the program may still be replaced or forgotten.
        patch = SessionPatch(title=numbered(made.title, await self._titles_like(made.title)))
        return await self._store.update_session(made.id, patch)

    async def _titles_like(self, title: str) -> set[str]:
        words = without_number(title)
        listed = await self._store.list_sessions(containing=words, archived=None)
        binned = await self._store.list_sessions(containing=words, binned=True, archived=None)
        return {session.title for session in (*listed, *binned)}

    async def delete(self, ref: str) -> Session:
        """Moves a session to the bin."""
        session = await self._store.get_session(ref)
        return await self._store.bin_session(session.id)

    async def restore(self, ref: str) -> Session:
        session = await self._store.get_session(ref)
        return await self._store.restore_session(session.id)

    async def mark_important(
        self, ref: str, message: str | None = None, *, important: bool = True
    ) -> Session:
        """Marks a session, or one of its messages (an id, a prefix of one, or `last`: the user's newest).

        Marked messages are kept verbatim the longest. Raises `MessageNotFound`, `AmbiguousId`.
        """
        view = await self.view(ref)
        if message is None:
            return await self._store.update_session(view.session.id, SessionPatch(important=important))
        if message == "last":
            found = [m for m in view.messages if m.role is Role.USER][-1:]
        else:
            found = [m for m in view.messages if m.id.startswith(message.lower())]
        if len(found) != 1:
            raise AmbiguousId(message, len(found)) if found else MessageNotFound(message)
        await self._store.update_message(found[0].id, MessagePatch(important=important))
        return view.session

    async def summaries(self, ref: str) -> list[Summary]:
        """Returns all summaries of a session in every state, merged ones included, oldest first."""
        session = await self._store.get_session(ref)
        return await self._store.context.summaries(session.id)

    async def standing_summaries(self, ref: str) -> list[Summary]:
        """Returns the summaries that replace older messages of the displayed branch, oldest first."""
        view = await self.view(ref)
        found = await self._store.context.summaries(view.session.id)
        return list(tiers(view.messages, found).summaries)

    async def covered(self, summary: Summary) -> list[Message]:
        """Returns the messages that a summary covers, oldest first."""
        branch = await self._store.branch(summary.session_id, summary.covers[-1], since=summary.covers[:1])
        ids = set(summary.covers)
        return [m for m in branch if m.id in ids]

    async def history(self, ref: str, *, recent_messages_min: int, most_archived: int) -> TieredHistory:
        """Returns a session's verbatim messages, its summaries, and the newest messages that the summaries
        cover."""
        view = await self.view(ref)
        return tiers(
            view.messages,
            await self._store.context.summaries(view.session.id),
            recent_messages_min=recent_messages_min,
            max_archived_in_view=most_archived,
        )

    async def summary(self, ref: str) -> Summary:
        """Returns a summary by id or unique prefix. Raises `SummaryNotFound`."""
        return await self._store.context.summary(ref)

    async def edit_summary(self, ref: str, text: str) -> Summary:
        """Replaces a summary's text with the user's own. Raises ValueError when `text` is empty.

        The next prompt contains the new text, and no job overwrites it.
        """
        if not text.strip():
            raise ValueError("a summary needs at least one visible character")
        found = await self._store.context.summary(ref)
        made = await self._store.context.rewrite_summary(found.id, clean(text).strip(), edited=True)
        await self._store.context.drop_epochs(made.session_id)
        return made

    async def variants(self, message_id: str) -> list[Message]:
        """Returns a message and its variants, oldest first."""
        return await self._store.variants(message_id)

    async def show_variant(self, session_id: str, message_id: str) -> Session:
        """Makes a variant the head of the session: it is displayed, and the next turn continues from it."""
        return await self._store.set_head(session_id, message_id)

    async def search(self, query: str, *, limit: int = 20) -> list[SearchHit]:
        return await self._store.search(query, limit=limit)


EXCERPT = 500
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

    `nodes` are in storage order, parents first. Instructions are not counted, because they are not shown in a
    session.
    """
    found: dict[str, int] = {}
    for node in nodes:
        above = found.get(node.parent_id, 0) if node.parent_id is not None else 0
        found[node.id] = above + (node.role is not Role.SYSTEM)
    return found


@dataclass(frozen=True, slots=True)
class Stretch:
    """A run of messages without branches, and the runs that continue from its end.

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
    # Children are stored after their parents, so going backwards, they already exist. No recursion: a session
    # may be longer than the stack is deep.
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
    """The branches of one room's sessions. Raises what `Store` raises."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def open(self, ref: str, *, newest: int) -> Branch:
        """Returns the displayed branch; only its `newest` messages are read."""
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
