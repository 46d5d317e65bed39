"""Memories of all rooms that are open: listed together, and each found where it is."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import memory_shapes as shapes
from atlas_desktop.cli.context import Context

if TYPE_CHECKING:
    from atlas_desktop.services.knowledge import KnowledgeService
    from atlas_desktop.services.room import OpenRoom
    from memory.knowledge.entities import Memory

Known = tuple["OpenRoom", "Memory"]
"""A memory and the room that it is in."""


async def opened(ctx: Context) -> "tuple[OpenRoom, ...]":
    """The rooms that the command line opens: the open one, with `--private` the private one too."""
    if not ctx.opened:
        await ctx.unlock()
    return ctx.opened


async def gather(ctx: Context, read: "Callable[[OpenRoom], Awaitable[Iterable[Memory]]]") -> list[Known]:
    """What `read` finds in each room, room by room."""
    return [(room, memory) for room in await opened(ctx) for memory in await read(room)]


async def room_with(ctx: Context, ref: str) -> "OpenRoom":
    """The open room that a memory is in. Raises `MemoryNotFound`, `AmbiguousId`."""
    from memory.errors import MemoryNotFound

    for room in await opened(ctx):
        try:
            await room.store.memories.get(ref)
        except MemoryNotFound:
            continue
        return room
    raise MemoryNotFound(ref)


async def change(
    ctx: Context, refs: Sequence[str], act: "Callable[[KnowledgeService, list[str]], Awaitable[list[Memory]]]"
) -> list[Known]:
    """Does `act` with those of `refs` that are in a room, room by room; with none if one cannot be found."""
    where: dict[int, tuple[OpenRoom, list[str]]] = {}
    for ref in refs:
        room = await room_with(ctx, ref)
        where.setdefault(id(room), (room, []))[1].append(ref)
    return [(room, one) for room, ids in where.values() for one in await act(room.knowledge, ids)]


async def as_json(known: Iterable[Known]) -> list[dict[str, Any]]:
    """The JSON of each, which names its room."""
    made = []
    for room, memory in known:
        (view,) = await room.knowledge.views([memory])
        made.append({**shapes.memory(view), "room": room.store.room.value})
    return made


def lines(known: Sequence[Known]) -> str:
    """As `shapes.lines`; a memory of the private room says so."""
    told = (shapes.line(one, private=room.store.room == "private") for room, one in known)
    return "\n".join(told) or "Nothing is remembered that fits."


async def emit(ctx: Context, known: Sequence[Known]) -> None:
    """An array of memories, or their lines."""
    ctx.emit(await as_json(known) if ctx.json else [], lambda: lines(known))
