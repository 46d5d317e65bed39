"""`atlas memory list|show|inbox|fading|stats|changes`: look at what is remembered."""

import argparse
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import memory_rooms as rooms
from atlas_desktop.cli import memory_shapes as shapes
from atlas_desktop.cli.context import Context
from atlas_desktop.explain import Exit, UsageError

if TYPE_CHECKING:
    from memory.knowledge.entities import MemoryFilter

Add = Callable[[str, Any, str], argparse.ArgumentParser]


def register(add: Add) -> None:
    listing = add("list", list_memories, "list what is remembered, pinned memories first")
    listing.add_argument("--containing", metavar="WORDS", default="", help="only those with these words")
    listing.add_argument("--kind", metavar="KIND,…", help=f"only these kinds: {', '.join(shapes.KINDS)}")
    listing.add_argument("--project", metavar="P", help="only this project's, and those of none")
    listing.add_argument("--session", metavar="ID", help="only those learned in this session")
    listing.add_argument(
        "--state", metavar="STATE,…", default="inbox,kept", help="states, or `all` (inbox,kept)"
    )
    listing.add_argument("--tier", metavar="TIER,…", help=f"only these tiers: {', '.join(shapes.TIERS)}")
    listing.add_argument("--pinned", action="store_true", help="only pinned ones")
    listing.add_argument("--limit", metavar="N", type=int, help="at most N")
    show = add("show", show_memory, "show a memory with its sources, versions, uses and changes")
    show.add_argument("id", metavar="ID", help="its id, or the beginning of it")
    inbox = add("inbox", inbox_of, "list what was learned and not looked at yet")
    inbox.add_argument("--accept-all", action="store_true", help="keep all of it")
    inbox.add_argument("--limit", metavar="N", type=int, help="at most N")
    add("fading", fading, "list what goes out of use before long, and what has become faint")
    add("stats", stats, "count what is remembered")
    changes = add("changes", list_changes, "list what was done to memories, the latest first")
    changes.add_argument("--limit", metavar="N", type=int, default=50, help="at most N (50)")


async def list_memories(ctx: Context, args: argparse.Namespace) -> int:
    _check_limit(args.limit)
    for given, known in ((args.kind, shapes.KINDS), (args.tier, shapes.TIERS), (args.state, shapes.STATES)):
        _among(given, known)
    await rooms.opened(ctx)
    session = None
    if args.session is not None:
        session = (await ctx.desk.rooms.find(args.session))[1].id
    wanted = _filter(args, session)
    found = await rooms.gather(ctx, lambda room: room.knowledge.select(wanted, limit=args.limit))
    found.sort(key=lambda known: (known[1].pinned, known[1].updated_at), reverse=True)
    await rooms.emit(ctx, found[: args.limit])
    return Exit.DONE


def _filter(args: argparse.Namespace, session: str | None) -> "MemoryFilter":
    from memory.knowledge.entities import MemoryFilter, MemoryKind, MemoryState, MemoryTier

    kinds, tiers = _among(args.kind, shapes.KINDS), _among(args.tier, shapes.TIERS)
    states = _among(args.state, shapes.STATES)
    return MemoryFilter(
        states=None if states is None else frozenset(map(MemoryState, states)),
        kinds=None if kinds is None else frozenset(map(MemoryKind, kinds)),
        tiers=None if tiers is None else frozenset(map(MemoryTier, tiers)),
        project=args.project,
        session=session,
        pinned=True if args.pinned else None,
        containing=args.containing,
    )


def _among(given: str | None, known: tuple[str, ...]) -> list[str] | None:
    """The words of a list with commas; None stands for all. Raises `UsageError` for others than `known`."""
    if given is None or given == "all":
        return None
    wanted = [word.strip().replace("-", "_") for word in given.split(",")]
    unknown = [word for word in wanted if word not in known]
    if unknown:
        raise UsageError(f"There is no {unknown[0]!r} here.", f"Choose among {', '.join(known)}.")
    return wanted


def _check_limit(limit: int | None) -> None:
    if limit is not None and limit < 1:
        raise UsageError("The limit is out of range.", "Give a number from 1 on.")


async def show_memory(ctx: Context, args: argparse.Namespace) -> int:
    room = await rooms.room_with(ctx, args.id)
    found = await room.knowledge.details(args.id)
    ctx.emit({**shapes.details(found), "room": room.store.room}, lambda: shapes.described(found))
    return Exit.DONE


async def inbox_of(ctx: Context, args: argparse.Namespace) -> int:
    _check_limit(args.limit)
    if args.accept_all:
        found = await rooms.gather(ctx, lambda room: room.knowledge.accept_all())
        told = {"accepted": len(found), "memories": [one.id for _, one in found]}
        ctx.emit(told, f"{len(found)} {'memory is' if len(found) == 1 else 'memories are'} kept.")
    else:
        found = await rooms.gather(ctx, lambda room: room.knowledge.inbox(limit=args.limit))
        await rooms.emit(ctx, found[: args.limit])
    return Exit.DONE


async def fading(ctx: Context, _args: argparse.Namespace) -> int:
    found = [(room, fate) for room in await rooms.opened(ctx) for fate in await room.upkeep.fading()]
    told = await rooms.as_json((room, fate.memory) for room, fate in found) if ctx.json else []
    ctx.emit(
        [{**one, "why": fate.why} for one, (_, fate) in zip(told, found, strict=False)],
        lambda: (
            "\n".join(f"{shapes.line(fate.memory)}\n    ({shapes.WHY[fate.why]})" for _, fate in found)
            or "Nothing is fading."
        ),
    )
    return Exit.DONE


async def stats(ctx: Context, _args: argparse.Namespace) -> int:
    counts = [await room.knowledge.counts() for room in await rooms.opened(ctx)]
    going = [len(await room.upkeep.fading()) for room in ctx.opened]
    by_state = _sum(one.by_state for one in counts)
    by_kind = _sum(one.by_kind for one in counts)
    found = {
        "total": sum(by_state.values()),
        "in_use": sum(by_kind.values()),
        "inbox": by_state.get("inbox", 0),
        "fading": sum(going),
        "by_state": by_state,
        "by_kind": by_kind,
        "by_tier": _sum(one.by_tier for one in counts),
    }
    ctx.emit(found, lambda: _table(found))
    return Exit.DONE


def _sum(counts: "Iterable[dict[str, int]]") -> dict[str, int]:
    whole: Counter[str] = Counter()
    for one in counts:
        whole.update(one)
    return dict(sorted(whole.items()))


def _table(found: dict[str, Any]) -> str:
    rows = [f"{found['in_use']} memories in use, {found['inbox']} in the inbox, {found['fading']} fading."]
    for title in ("by_kind", "by_tier", "by_state"):
        counted = {name: count for name, count in found[title].items() if count}
        if counted:
            parts = (f"{name.replace('_', '-')} {count}" for name, count in sorted(counted.items()))
            rows.append(f"{title.replace('_', ' ').capitalize()}: {', '.join(parts)}.")
    return "\n".join(rows)


async def list_changes(ctx: Context, args: argparse.Namespace) -> int:
    _check_limit(args.limit)
    each = [await room.knowledge.changes(limit=args.limit) for room in await rooms.opened(ctx)]
    found = sorted(chain.from_iterable(each), key=lambda one: (one.created_at, one.id), reverse=True)
    found = found[: args.limit]

    def text() -> str:
        rows = []
        for one in found:
            by = " by itself" if one.automatic else ""
            undone = ", undone" if one.undone_at else ""
            many = f"{len(one.memory_ids)} {'memory' if len(one.memory_ids) == 1 else 'memories'}"
            when = shapes.local(one.created_at)
            rows.append(f"{one.id}  {when}  {one.action.replace('_', ' ')}{by}, {many}{undone}")
        return "\n".join(rows) or "Nothing was changed yet."

    ctx.emit([shapes.change(one) for one in found], text)
    return Exit.DONE
