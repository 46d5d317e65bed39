"""`atlas memory list|show|inbox|fading|stats|changes`: look at what is remembered."""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import memory_shapes as shapes
from atlas_desktop.cli.context import Context
from atlas_desktop.explain import Exit, UsageError

if TYPE_CHECKING:
    from atlas_desktop.services.room import OpenRoom
    from memory.knowledge.entities import Memory, MemoryFilter

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
    room = await ctx.unlock()
    session = None if args.session is None else (await room.store.get_session(args.session)).id
    found = await room.knowledge.select(_filter(args, session), limit=args.limit)
    await emit(ctx, room, found)
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


async def emit(ctx: Context, room: "OpenRoom", found: "list[Memory]") -> None:
    """An array of memories, or their lines."""
    views = await room.knowledge.views(found) if ctx.json else []
    ctx.emit([shapes.memory(view) for view in views], lambda: shapes.lines(found))


async def show_memory(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    found = await room.knowledge.details(args.id)
    ctx.emit(shapes.details(found), lambda: shapes.described(found))
    return Exit.DONE


async def inbox_of(ctx: Context, args: argparse.Namespace) -> int:
    _check_limit(args.limit)
    room = await ctx.unlock()
    if args.accept_all:
        found = await room.knowledge.accept_all()
        told = {"accepted": len(found), "memories": [one.id for one in found]}
        ctx.emit(told, f"{len(found)} memories are kept.")
    else:
        await emit(ctx, room, await room.knowledge.inbox(limit=args.limit))
    return Exit.DONE


async def fading(ctx: Context, _args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    found = await room.upkeep.fading()
    views = await room.knowledge.views([fate.memory for fate in found])
    ctx.emit(
        [{**shapes.memory(view), "why": fate.why} for view, fate in zip(views, found, strict=True)],
        lambda: (
            "\n".join(f"{shapes.line(fate.memory)}\n    ({shapes.WHY[fate.why]})" for fate in found)
            or "Nothing is fading."
        ),
    )
    return Exit.DONE


async def stats(ctx: Context, _args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    counts = await room.knowledge.counts()
    going = await room.upkeep.fading()
    found = {
        "total": sum(counts.by_state.values()),
        "in_use": sum(counts.by_kind.values()),
        "inbox": counts.by_state.get("inbox", 0),
        "fading": len(going),
        "by_state": counts.by_state,
        "by_kind": counts.by_kind,
        "by_tier": counts.by_tier,
    }
    ctx.emit(found, lambda: _table(found))
    return Exit.DONE


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
    room = await ctx.unlock()
    found = await room.knowledge.changes(limit=args.limit)

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
