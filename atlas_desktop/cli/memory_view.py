"""`atlas memory list|show|search|inbox|fading|stats|changes`: view the memories of every open room."""

import argparse
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import output
from atlas_desktop.cli.context import Context
from atlas_desktop.errors import Exit, UsageError
from atlas_desktop.locale import N_, _, ngettext, number
from atlas_desktop.services.cleaning import clean_line

if TYPE_CHECKING:
    from atlas_desktop.services.memories import KnowledgeService
    from atlas_desktop.services.room import RoomServices
    from memory.memories.entities import Memory, MemoryFilter
    from memory.recall.entities import FoundItem


Known = tuple["RoomServices", "Memory"]
"""A memory and its room."""


async def opened(ctx: Context) -> "tuple[RoomServices, ...]":
    """The rooms that the command line unlocks: the open room and, with `--private`, the private room."""
    if not ctx.opened:
        await ctx.unlock()
    return ctx.opened


async def gather(ctx: Context, read: "Callable[[RoomServices], Awaitable[Iterable[Memory]]]") -> list[Known]:
    """The results of `read` for every room, in room order."""
    return [(room, memory) for room in await opened(ctx) for memory in await read(room)]


async def room_with(ctx: Context, ref: str) -> "RoomServices":
    """The unlocked room that holds a memory. Raises `MemoryNotFound`, `AmbiguousId`."""
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
    """Runs `act` in each room with the `refs` it holds. Changes nothing if any of them is missing."""
    where: dict[int, tuple[RoomServices, list[str]]] = {}
    for ref in refs:
        room = await room_with(ctx, ref)
        where.setdefault(id(room), (room, []))[1].append(ref)
    return [(room, one) for room, ids in where.values() for one in await act(room.knowledge, ids)]


async def as_json(known: Iterable[Known]) -> list[dict[str, Any]]:
    """The JSON shape of each memory, including its room."""
    made = []
    for room, memory in known:
        (view,) = await room.knowledge.views([memory])
        made.append({**output.memory(view), "room": room.store.room.value})
    return made


def lines(known: Sequence[Known]) -> str:
    """The memories as text; memories of the private room are marked."""
    told = (output.line(one, private=room.store.room == "private") for room, one in known)
    return "\n".join(told) or _("No matching memories.")


async def emit(ctx: Context, known: Sequence[Known]) -> None:
    """Prints a JSON array of memories, or one entry per memory as text."""
    ctx.emit(await as_json(known) if ctx.json else [], lambda: lines(known))


Add = Callable[[str, Any, str], argparse.ArgumentParser]


def register(add: Add) -> None:
    listing = add("list", list_memories, _("list memories, pinned ones first"))
    listing.add_argument(
        "--containing", metavar="WORDS", default="", help=_("only memories with these words")
    )
    listing.add_argument(
        "--kind", metavar="KIND,…", help=_("only these kinds: {kinds}", kinds=", ".join(output.KINDS))
    )
    listing.add_argument("--project", metavar="P", help=_("only memories of this project or no project"))
    listing.add_argument("--session", metavar="ID", help=_("only memories learned in this session"))
    listing.add_argument(
        "--state", metavar="STATE,…", default="inbox,kept", help=_("states, or `all` (default: inbox,kept)")
    )
    listing.add_argument(
        "--tier", metavar="TIER,…", help=_("only these tiers: {tiers}", tiers=", ".join(output.TIERS))
    )
    listing.add_argument("--pinned", action="store_true", help=_("only pinned memories"))
    listing.add_argument("--limit", metavar="N", type=int, help=_("show at most N"))
    show = add("show", show_memory, _("show a memory with its sources, versions, uses and changes"))
    show.add_argument("id", metavar="ID", help=_("its ID or the first characters of it"))
    inbox = add("inbox", inbox_of, _("list suggested memories that await your review"))
    inbox.add_argument("--accept-all", action="store_true", help=_("accept all of them"))
    inbox.add_argument("--limit", metavar="N", type=int, help=_("show at most N"))
    add("fading", fading, _("list memories that are fading, faint or about to expire"))
    add("stats", stats, _("show memory counts"))
    changes = add("changes", list_changes, _("list changes to memories, latest first"))
    changes.add_argument("--limit", metavar="N", type=int, default=50, help=_("show at most N (default: 50)"))


async def list_memories(ctx: Context, args: argparse.Namespace) -> int:
    _check_limit(args.limit)
    for given, known in ((args.kind, output.KINDS), (args.tier, output.TIERS), (args.state, output.STATES)):
        _among(given, known)
    await opened(ctx)
    session = None
    if args.session is not None:
        session = (await ctx.desk.rooms.find(args.session))[1].id
    wanted = _filter(args, session)
    found = await gather(ctx, lambda room: room.knowledge.select(wanted, limit=args.limit))
    found.sort(key=lambda known: (known[1].pinned, known[1].updated_at), reverse=True)
    await emit(ctx, found[: args.limit])
    return Exit.DONE


def _filter(args: argparse.Namespace, session: str | None) -> "MemoryFilter":
    from memory.memories.entities import MemoryFilter, MemoryKind, MemoryState, MemoryTier

    kinds, tiers = _among(args.kind, output.KINDS), _among(args.tier, output.TIERS)
    states = _among(args.state, output.STATES)
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
    """Splits a comma-separated list; None means all. Raises `UsageError` for words not in `known`."""
    if given is None or given == "all":
        return None
    wanted = [word.strip().replace("-", "_") for word in given.split(",")]
    unknown = [word for word in wanted if word not in known]
    if unknown:
        raise UsageError(
            _("Unknown value {word!r}.", word=unknown[0]), _("Choose from {words}.", words=", ".join(known))
        )
    return wanted


def _check_limit(limit: int | None) -> None:
    if limit is not None and limit < 1:
        raise UsageError(_("The limit is out of range."), _("Use 1 or more."))


async def show_memory(ctx: Context, args: argparse.Namespace) -> int:
    room = await room_with(ctx, args.id)
    found = await room.knowledge.details(args.id)
    ctx.emit({**output.details(found), "room": room.store.room}, lambda: output.described(found))
    return Exit.DONE


async def inbox_of(ctx: Context, args: argparse.Namespace) -> int:
    _check_limit(args.limit)
    if args.accept_all:
        found = await gather(ctx, lambda room: room.knowledge.accept_all())
        told = {"accepted": len(found), "memories": [one.id for _unused, one in found]}
        ctx.emit(told, ngettext("1 memory accepted.", "{count} memories accepted.", len(found)))
    else:
        found = await gather(ctx, lambda room: room.knowledge.inbox(limit=args.limit))
        await emit(ctx, found[: args.limit])
    return Exit.DONE


async def fading(ctx: Context, _args: argparse.Namespace) -> int:
    found = [(room, expiry) for room in await opened(ctx) for expiry in await room.upkeep.fading()]
    told = await as_json((room, expiry.memory) for room, expiry in found) if ctx.json else []
    ctx.emit(
        [{**one, "why": expiry.why} for one, (_unused, expiry) in zip(told, found, strict=False)],
        lambda: (
            "\n".join(
                f"{output.line(expiry.memory)}\n    ({output.WHY[expiry.why]})" for _unused, expiry in found
            )
            or _("No memories are fading.")
        ),
    )
    return Exit.DONE


async def stats(ctx: Context, _args: argparse.Namespace) -> int:
    counts = [await room.knowledge.counts() for room in await opened(ctx)]
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


_COUNTED = {
    "by_kind": (N_("By kind: {counts}."), output.KIND_WORDS),
    "by_tier": (N_("By tier: {counts}."), output.TIER_WORDS),
    "by_state": (N_("By state: {counts}."), output.STATE_WORDS),
}


def _table(found: dict[str, Any]) -> str:
    rows = [
        ngettext(
            "1 memory in use, {inbox} in the inbox, {fading} fading.",
            "{count} memories in use, {inbox} in the inbox, {fading} fading.",
            found["in_use"],
            inbox=number(found["inbox"]),
            fading=number(found["fading"]),
        )
    ]
    for name, (text, words) in _COUNTED.items():
        counts = [
            f"{output.word(words, each)} {count}" for each, count in sorted(found[name].items()) if count
        ]
        if counts:
            rows.append(_(text, counts=", ".join(counts)))
    return "\n".join(rows)


async def list_changes(ctx: Context, args: argparse.Namespace) -> int:
    _check_limit(args.limit)
    each = [await room.knowledge.changes(limit=args.limit) for room in await opened(ctx)]
    found = sorted(chain.from_iterable(each), key=lambda one: (one.created_at, one.id), reverse=True)
    found = found[: args.limit]

    def text() -> str:
        rows = []
        for one in found:
            action = output.word(output.ACTION_WORDS, one.action)
            told = [
                _("{action} (automatic)", action=action) if one.automatic else action,
                ngettext("1 memory", "{count} memories", len(one.memory_ids)),
                *([_("undone")] if one.undone_at else []),
            ]
            rows.append(f"{one.id}  {output.local(one.created_at)}  {', '.join(told)}")
        return "\n".join(rows) or _("No changes yet.")

    ctx.emit([output.change(one) for one in found], text)
    return Exit.DONE


KINDS = ("message", "memory", "summary")


def add_search(add: Any) -> None:
    search = add("search", search_words, _("find messages, memories and summaries by words only"))
    search.add_argument("query", metavar="WORDS", help=_('words, "phrases" and prefixes*'))
    search.add_argument(
        "--kinds", metavar="KIND,…", default=",".join(KINDS), help=_("kinds of results (default: all)")
    )
    search.add_argument("--limit", metavar="N", type=int, default=20, help=_("show at most N (default: 20)"))


async def search_words(ctx: Context, args: argparse.Namespace) -> int:
    kinds = frozenset(args.kinds.split(","))
    if not kinds <= set(KINDS):
        raise UsageError(_("Unknown kind of result."), _("Choose from {words}.", words=", ".join(KINDS)))
    room = await ctx.unlock()
    told: list[tuple[dict[str, Any], str]] = []
    if "message" in kinds:
        said = await room.sessions.search(args.query, limit=args.limit)
        best = max((hit.score for hit in said), default=0.0)
        told += [
            (_scaled(output.hit(hit), best), f"{hit.message.id}  {hit.session_title}\n    {hit.snippet}")
            for hit in said
        ]
    if notes := kinds - {"message"}:
        found = await room.store.evidence.items_matching(args.query, kinds=notes, limit=args.limit)
        best = max((one.score for one in found), default=0.0)
        told += [(_scaled(_shape(one), best), _line(one)) for one in found]
    # Messages and notes have separate score scales, so each score is relative to the best of its own.
    told = sorted(told, key=lambda one: -one[0]["score"])[: max(args.limit, 0)]
    ctx.emit(
        {"hits": [shape for shape, _unused in told]},
        lambda: "\n".join(line for _unused, line in told) or _("No matches."),
    )
    return Exit.DONE


def _scaled(shape: dict[str, Any], best: float) -> dict[str, Any]:
    return {**shape, "score": round(shape["parts"]["lexical"] / best, 6) if best > 0 else 1.0}


def _shape(found: "FoundItem") -> dict[str, Any]:
    note = found.item
    return {
        "id": note.id,
        "kind": note.kind,
        "text": note.text,
        "snippet": note.text,
        "parts": output.of_words(found.score),
        "source": {
            "session": note.sessions[0] if note.sessions else None,
            "message": note.messages[0] if note.messages else None,
            "external_id": None,
            "document": None,
            "created_at": note.created.isoformat(),
            "speaker": "",
        },
    }


def _line(found: "FoundItem") -> str:
    kind = output.word(output.NOTE_WORDS, found.item.kind)
    return f"{found.item.id}  {kind}\n    {clean_line(found.item.text)}"
