"""Views of memories: `atlas memory list`, `why` and others, `atlas sessions related` and `timeline`."""

import argparse
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import output
from atlas_desktop.cli.context import Context
from atlas_desktop.errors import Exit, UsageError
from atlas_desktop.locale import N_, _, ngettext, number, quoted
from atlas_desktop.phrases import hidden_text, outcome_text, passage_place, used_skill_text
from atlas_desktop.services.cleaning import clean, clean_line

if TYPE_CHECKING:
    from atlas_desktop.services.memories import KnowledgeService
    from atlas_desktop.services.organising import Related, Timeline
    from atlas_desktop.services.provenance import Item, Why
    from atlas_desktop.services.room import RoomServices
    from memory.attachments import Document
    from memory.context.entities import RecallDecision
    from memory.entities import Session
    from memory.memories.entities import Memory, MemoryFilter
    from memory.organising import Backlink
    from memory.recall.entities import FoundItem, Hit


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


AddCommand = Callable[..., argparse.ArgumentParser]


def add_related(add: AddCommand) -> None:
    """Adds the subcommands of `sessions`; `add(name, handler, text)` creates a parser."""
    related = add("related", list_related, _("list sessions related to a session, and why"))
    related.add_argument("session", metavar="ID")
    related.add_argument("--limit", metavar="N", type=int, default=10, help=_("show at most N (default: 10)"))
    add("memories", list_of_session, _("list the memories learned in a session")).add_argument(
        "session", metavar="ID"
    )
    documents = add("documents", list_documents, _("list attached documents and their sessions"))
    documents.add_argument(
        "name", metavar="NAME", nargs="?", help=_("only this document, by name or attachment ID")
    )
    timeline = add("timeline", show_timeline, _("show messages about a topic by month"))
    timeline.add_argument("topic", metavar="TOPIC", nargs="+")
    timeline.add_argument("--project", metavar="P", help=_("only in this project"))


def register_memory(add: AddCommand) -> None:
    """Like `add_related`, for the subcommands of `memory`."""
    links = add("links", list_links, _("list the sessions where a memory was learned, used or mentioned"))
    links.add_argument("id", metavar="ID", help=_("a memory, or a message to list what was learned from it"))


async def list_related(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock_for(args.session)
    session = (await ctx.desk.rooms.find(args.session))[1]
    ctx.tell_damage(room)
    await room.recall.load()
    found = await room.related.related(session.id, limit=args.limit)
    ctx.emit(
        {"session": session.id, "related": [shape(one) for one in found]},
        lambda: "\n".join(map(_told, found)) or _("No related sessions."),
    )
    return Exit.DONE


def shape(value: "Related") -> dict[str, Any]:
    return {
        "id": value.session.id,
        "title": value.session.title,
        "room": value.session.room,
        "updated_at": value.session.updated_at.isoformat(),
        "score": round(value.score, 4),
        "why": {
            "parts": dict(value.parts),
            "words": list(value.words),
            "memories": [{"id": one.memory_id, "text": one.text} for one in value.memories],
            "tags": list(value.tags),
        },
    }


def _told(value: "Related") -> str:
    why = []
    if value.parts["meaning"] >= 0.3:
        why.append(_("similar meaning ({score:.2f})", score=value.parts["meaning"]))
    if value.words:
        why.append(_("words: {words}", words=", ".join(value.words)))
    if value.memories:
        why.append(_("shared memories: {count}", count=len(value.memories)))
    if value.tags:
        why.append(_("tags: {tags}", tags=", ".join(value.tags)))
    return f"{value.score:.2f}  {value.session.id}  {clean_line(value.session.title)}\n    {'; '.join(why)}"


async def list_of_session(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.cli import output

    room = await ctx.unlock_for(args.session)
    found = await room.knowledge.views(await room.knowledge.learned_in(args.session))
    ctx.emit(
        [output.memory(one) for one in found],
        lambda: (
            "\n".join(f"{one.memory.id}  {_kind(one.memory.kind):<10}  {one.memory.text}" for one in found)
            or _("No memories were learned in it.")
        ),
    )
    return Exit.DONE


async def list_documents(ctx: Context, args: argparse.Namespace) -> int:
    await ctx.unlock()
    found = []
    for room in ctx.desk.open_rooms:
        for one in await room.store.attachments.documents():
            if (
                args.name is None
                or one.name == args.name
                or any(args.name == own for _unused, own in one.places)
            ):
                sessions = [(await room.store.get_session(session), own) for session, own in one.places]
                found.append(_document(one, sessions))
    ctx.emit(found, lambda: "\n".join(map(_document_text, found)) or _("No matching documents."))
    return Exit.DONE


def _document(value: "Document", sessions: "Sequence[tuple[Session, str]]") -> dict[str, Any]:
    return {
        "name": value.name,
        "media_type": value.media_type,
        "bytes": value.size,
        "characters": value.characters,
        "sessions": [
            {"id": one.id, "title": one.title, "room": one.room.value, "attachment": own}
            for one, own in sessions
        ],
    }


def _document_text(shape: dict[str, Any]) -> str:
    length = ngettext("1 character", "{count} characters", shape["characters"])
    head = f"{clean_line(shape['name'])}  {shape['media_type']}, {length}"
    return "\n".join([head, *(f"    {one['id']}  {clean_line(one['title'])}" for one in shape["sessions"])])


async def list_links(ctx: Context, args: argparse.Namespace) -> int:
    from memory.errors import MemoryNotFound

    for room in await opened(ctx):
        await room.recall.load()
        try:
            why = await room.why.why(args.id)
        except MemoryNotFound:
            continue
        found = await room.why.links(why)
        ctx.emit({**links_shape(why, found), "room": room.store.room.value}, links_text(why, found))
        return Exit.DONE
    raise MemoryNotFound(args.id)


def links_shape(why: "Why", found: "Sequence[Backlink]") -> dict[str, Any]:
    return {
        "id": why.id,
        "kind": why.kind,
        "text": why.text,
        "sessions": [
            {
                "id": one.session_id,
                "title": one.title,
                "how": one.how,
                "message": one.message_id,
                "at": one.at.isoformat(),
                "count": one.count,
            }
            for one in found
        ],
        "memories": [
            {"id": one.id, "kind": one.kind, "text": one.text, "state": one.state} for one in why.memories
        ],
    }


def links_text(why: "Why", found: "Sequence[Backlink]") -> str:
    lines = [f"{one.id}  {_kind(one.kind):<10}  {clean_line(one.text)}" for one in why.memories]
    lines += [
        f"{one.session_id}  {one.at.astimezone():%Y-%m-%d}  {output.word(_HOW, one.how):<9}  "
        f"{clean_line(one.title)}"
        for one in found
    ]
    return "\n".join(lines) or _("No links found.")


def _kind(kind: str) -> str:
    return output.word(output.KIND_WORDS, kind)


async def show_timeline(ctx: Context, args: argparse.Namespace) -> int:
    topic = " ".join(args.topic).strip()
    if not topic:
        raise UsageError(_("No topic given."), _("Give one or more words."))
    ctx.tell_damage(await ctx.unlock())
    each = []
    for room in ctx.desk.open_rooms:
        await room.recall.load()
        each.append(await room.related.timeline(topic, project=args.project))
    ctx.emit(timeline_shape(topic, each), lambda: timeline_text(each))
    return Exit.DONE


def timeline_shape(topic: str, each: "list[Timeline]") -> dict[str, Any]:
    """The months of several rooms, merged."""
    months: dict[str, dict[str, Any]] = {}
    for found in each:
        for one in found.months:
            here = months.setdefault(
                one.month, {"month": one.month, "messages": 0, "sessions": [], "hits": []}
            )
            here["messages"] += one.messages
            here["sessions"] += [
                {"id": session, "title": found.titles.get(session, ""), "messages": count}
                for session, count in one.sessions.items()
            ]
            here["hits"] += [output.recalled(hit) for hit in one.hits]
    return {
        "topic": topic,
        "messages": sum(one["messages"] for one in months.values()),
        "months": [months[month] for month in sorted(months)],
        "more": any(one.more for one in each),
    }


def timeline_text(each: "list[Timeline]") -> str:
    rows: list[tuple[str, str]] = []
    for found in each:
        most = max((one.messages for one in found.months), default=1)
        for one in found.months:
            bar = "█" * max(round(20 * one.messages / most), 1)
            lines = [f"{one.month}  {bar} {one.messages}"]
            lines += [f"    {count:>3}  {found.titles.get(own, '')}" for own, count in one.sessions.items()]
            rows.append((one.month, "\n".join(lines)))
    return "\n".join(text for _unused, text in sorted(rows)) or _("No messages about this topic.")


_HOW = {
    "learned": N_("learned"),
    "recalled": N_("recalled"),
    "cited": N_("cited"),
    "confirmed": N_("confirmed"),
    "opened": N_("opened"),
}
_HEADS = {
    "memory": N_("Memory {id}"),
    "message": N_("Message {id}"),
    "reply": N_("Reply {id}"),
    "summary": N_("Summary {id}"),
}
_SHORT = 200
_LEAST = 0.01


def register_provenance(add: Add) -> None:
    why = add("why", why_of, _("show where a memory, message or reply comes from, and what was left out"))
    why.add_argument(
        "id",
        metavar="ID",
        help=_("a memory, message or reply ID, or its first characters; last: the latest reply"),
    )
    profile = add("profile", profile_of, _("print your profile page"))
    profile.add_argument("--project", metavar="P", help=_("include memories of this project"))


async def why_of(ctx: Context, args: argparse.Namespace) -> int:
    from memory.errors import MemoryNotFound

    rooms = await opened(ctx)
    if args.id == "last":
        room, session = await ctx.desk.rooms.find(args.id)
        await room.recall.load()
        found = await room.why.of_last_reply(session.id)
        ctx.emit({**why_as_json(found), "room": room.store.room.value}, described(found))
        return Exit.DONE
    for room in rooms:
        await room.recall.load()
        try:
            found = await room.why.why(args.id)
        except MemoryNotFound:
            continue
        ctx.emit({**why_as_json(found), "room": room.store.room.value}, described(found))
        return Exit.DONE
    raise MemoryNotFound(args.id)


async def profile_of(ctx: Context, args: argparse.Namespace) -> int:
    told: list[dict[str, Any]] = []
    lines: list[str] = []
    for room in await opened(ctx):
        page = await room.profile.page(None, project=args.project)
        told += await as_json((room, one) for one in page.memories)
        lines += page.lines
    ctx.emit({"memories": told}, clean("\n".join(lines)) or _("Your profile is empty."))
    return Exit.DONE


def why_as_json(why: "Why") -> dict[str, Any]:
    """Scripts rely on these names: only add new ones."""
    memory, message = why.memory, why.message
    found: dict[str, Any] = {"id": why.id, "kind": why.kind, "text": why.text, "hidden": why.hidden or None}
    if memory is not None:
        found |= {
            "state": memory.state,
            "superseded_by": memory.superseded_by,
            "sources": [
                {
                    "session": source.session_id,
                    "message": source.message_id,
                    "external_id": None if said is None else said.external_id,
                    "quote": source.quote,
                    "created_at": None if said is None else said.created_at.isoformat(),
                }
                for source, said in why.sources
            ],
            "uses": [{"reply": use.reply_id, "session": use.session_id, "how": use.how} for use in why.uses],
        }
    if message is not None:
        found |= {
            "session": message.session_id,
            "speaker": message.speaker,
            "created_at": message.created_at.isoformat(),
            "memories": [
                {"id": one.id, "kind": one.kind, "text": one.text, "state": one.state} for one in why.memories
            ],
        }
    if why.kind == "reply":
        found |= {
            "recalled": [_item(item) for item in why.told],
            "considered": [_item(item) for item in why.left_out],
            "profile": [{"id": one.id, "kind": one.kind, "text": one.text} for one in why.profile],
            "skills": [output.used_skill(one) for one in why.skills],
            "passages": [
                {
                    "marker": one.marker,
                    "kind": one.kind,
                    "document": one.document,
                    "title": one.title,
                    "page": one.page,
                    "text": one.text,
                }
                for one in why.passages
            ],
            "shown": why.shown,
        }
    return found | {
        "mentions": [output.recalled(hit) for hit in why.mentions],
        "looked_at_for": [{"reply": one.reply, **_considered(one.considered)} for one in why.looked],
    }


def _item(item: "Item") -> dict[str, Any]:
    one = item.considered
    return {"id": one.id, "kind": one.kind, "text": item.text, **_considered(one)}


def _considered(one: "RecallDecision") -> dict[str, Any]:
    return {
        "fate": one.outcome,
        "score": round(one.score, 6),
        "parts": {name: round(part, 6) for name, part in one.parts.items()},
    }


def described(why: "Why") -> str:
    """The same information as text."""
    lines = [_(_HEADS[why.kind], id=why.id), f"    {_cleaned(why.text)}"]
    if why.hidden:
        how = _("Accept it with `atlas memory accept`.") if why.hidden == "unapproved" else ""
        lines.append(f"{hidden_text(why.hidden)} {how}".rstrip())
    if why.kind == "memory":
        quotes = [f"{quoted(_cleaned(source.quote))}  {source.message_id}" for source, _unused in why.sources]
        lines += _part(_("Learned from"), quotes)
        uses = [_("{how} in {reply}", how=output.word(_HOW, use.how), reply=use.reply_id) for use in why.uses]
        lines += _part(_("Used"), uses)
    learned = [
        f"{_cleaned(one.text)}  {one.id} ({output.word(output.STATE_WORDS, one.state)})"
        for one in why.memories
    ]
    lines += _part(_("Learned from this"), learned)
    if why.kind == "reply":
        lines += _part(_("From your profile"), [f"{_cleaned(one.text)}  {one.id}" for one in why.profile])
        lines += _part(_("Used skill"), [f"{used_skill_text(one)}  {one.skill}" for one in why.skills])
        lines += _part(
            _("From documents and notes"),
            [f"{passage_place(one)}  {one.document}\n        {_cleaned(one.text)}" for one in why.passages],
        )
        lines += _part(_("Recalled for this reply"), list(map(_profile_told, why.told)))
        lines += _part(_("Considered but left out"), list(map(_profile_told, why.left_out)))
        lines.append(
            ngettext(
                "1 earlier message was in the prompt verbatim.",
                "{count} earlier messages were in the prompt verbatim.",
                why.shown,
            )
        )
    lines += _part(
        _("Considered for"), [f"{one.reply}: {outcome_text(one.considered.outcome)}" for one in why.looked]
    )
    lines += _part(_("Also mentioned in"), list(map(_mention, why.mentions)))
    return "\n".join(lines)


def _part(heading: str, lines: list[str]) -> list[str]:
    return [f"{heading}:", *(f"    {line}" for line in lines)] if lines else []


def _profile_told(item: "Item") -> str:
    one = item.considered
    reasons = output.reasons(one.parts, _LEAST)
    return (
        f"{one.score:.2f}  {_cleaned(item.text)}  {one.id}\n        {outcome_text(one.outcome)} ({reasons})"
    )


def _mention(hit: "Hit") -> str:
    when = f"{hit.source.created_at.astimezone():%Y-%m-%d}"
    return f"{when}  {_cleaned(hit.passage)}  ({_('session {id}', id=hit.source.session)})"


def _cleaned(text: str) -> str:
    line = clean_line(text)
    return line if len(line) <= _SHORT else line[:_SHORT].rpartition(" ")[0] + " …"
