"""`atlas memory`: the commands for memories, and recall of earlier messages."""

import argparse
import gc
from collections.abc import AsyncIterator, Awaitable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from atlas_desktop.cli import memory_view, output
from atlas_desktop.cli.context import Context, command_group, dumps, given_text, unchanged, whole
from atlas_desktop.errors import Exit, UsageError
from atlas_desktop.locale import N_, _, ngettext
from atlas_desktop.phrases import preview_text, receipt_text

if TYPE_CHECKING:
    from atlas_desktop.cli.memory_view import Add
    from atlas_desktop.services.room import RoomServices
    from memory.entities import Target
    from memory.memories.entities import Memory
    from memory.memories.lifetime import Expiry
    from memory.recall.entities import Hit, Recalled


_LAST = "last"


def add_forget(add: "Add") -> None:
    forget = add(
        "forget", forget_for_good, _("erase permanently, with everything derived, and print a receipt")
    )
    forget.add_argument(
        "ids",
        metavar="ID",
        nargs="*",
        help=_("anything with an ID; last: your latest message and its reply"),
    )
    forget.add_argument("--message", metavar="ID", action="append", help=_("a message and its variants"))
    forget.add_argument("--session", metavar="ID", action="append", help=_("a whole session"))
    forget.add_argument("--project", metavar="P", help=_("everything in a project"))
    forget.add_argument("--about", metavar="TEXT", help=_("everything with these words: a name, a topic"))
    forget.add_argument("--since", metavar="D", help=_("from this date or time on"))
    forget.add_argument("--before", metavar="D", help=_("before this date or time"))
    forget.add_argument(
        "--everything", action="store_true", help=_("all conversations, memories and documents here")
    )
    forget.add_argument("--dry-run", action="store_true", help=_("only show what would be erased"))


def add_receipts(add: "Add") -> None:
    receipts = add(
        "receipts",
        show_receipts,
        _("list what was forgotten: when, how much, and whether it is gone; nothing of what it was"),
    )
    receipts.add_argument("--limit", metavar="N", type=int, help=_("at most N, the latest"))


async def show_receipts(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.phrases import stored_text

    if args.limit is not None and args.limit < 1:
        raise UsageError(_("The number is out of range."), _("Give a number from 1 on."))
    found = [
        (room.store.room, one)
        for room in await memory_view.opened(ctx)
        for one in await room.forgetting.receipts(limit=args.limit)
    ]
    found.sort(key=lambda pair: pair[1].forgotten_at, reverse=True)
    found = found[: args.limit]
    ctx.emit(
        [output.stored_receipt(one, room) for room, one in found],
        lambda: (
            "\n".join(f"{output.local(one.forgotten_at)}  {stored_text(one)}" for _room, one in found)
            or _("Nothing was forgotten yet.")
        ),
    )
    return Exit.DONE


async def forget_for_good(ctx: Context, args: argparse.Namespace) -> int:
    target = _target(args)
    await ctx.unlock()
    forgetting = ctx.desk.rooms.forgetting
    plan = await forgetting.preview(await _named(ctx, target))
    affected = plan.affected
    if args.dry_run:
        ctx.emit(output.forget_preview(affected), lambda: preview_text(affected, **plan.elsewhere))
        return Exit.DONE
    if not ctx.yes:
        ctx.note(preview_text(affected, **plan.elsewhere))
        ctx.confirm(_("Erase this permanently?"))
    receipt = await forgetting.forget(plan)
    ctx.emit(output.receipt(receipt), lambda: receipt_text(receipt))
    if await ctx.desk.is_synced():
        from atlas_desktop.phrases import forgotten_text

        ctx.note(forgotten_text(await ctx.desk.sync.status()))
    return Exit.DONE if receipt.verified else Exit.FAILED


def _target(args: argparse.Namespace) -> "Target":
    from memory.entities import Target

    target = Target(
        ids=tuple(args.ids),
        messages=tuple(args.message or ()),
        sessions=tuple(args.session or ()),
        project=args.project,
        about=args.about or "",
        since=_moment(args.since),
        before=_moment(args.before),
        everything=args.everything,
    )
    if target.empty:
        raise UsageError(
            _("You did not say what to forget."),
            _("Give an ID, --message, --session, --project, --about, --since, --before or --everything."),
        )
    return target


async def _named(ctx: Context, target: "Target") -> "Target":
    """Replaces `last`: as a session the one last used, otherwise its latest message and reply."""
    from atlas_desktop.services.forgetting_in_rooms import newest_words

    refs = (*target.ids, *target.messages, *target.sessions)
    if _LAST not in refs:
        return target
    room, session = await ctx.desk.rooms.find(_LAST)
    said = await newest_words(room, session.id) if _LAST in (*target.ids, *target.messages) else ()
    return replace(
        target,
        ids=_but_last(target.ids),
        messages=(*_but_last(target.messages), *said),
        sessions=tuple(session.id if ref == _LAST else ref for ref in target.sessions),
    )


def _but_last(refs: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(ref for ref in refs if ref != _LAST)


def _moment(text: str | None) -> datetime | None:
    """A day starts at local midnight; a time without an offset is local time. Raises `UsageError`."""
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise UsageError(
            _("Invalid date or time."), _("Write 2026-03-12 or 2026-03-12T15:30+01:00.")
        ) from None


# --- upkeep ----------------------------------------------------------------------------------------


_DRY = _("only show what would be done")


def add_upkeep(add: "Add") -> None:
    add(
        "consolidate", consolidate, _("merge near-duplicate memories; the originals are archived")
    ).add_argument("--dry-run", action="store_true", help=_DRY)
    add("gc", collect, _("archive expired or faded memories; this can be undone")).add_argument(
        "--dry-run", action="store_true", help=_DRY
    )
    add(
        "promote",
        promote,
        _("make memories long-term if they are often used, important or on a lasting topic"),
    )


async def consolidate(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    found = await room.upkeep.consolidate(dry_run=args.dry_run)
    merged = []
    for one in found if ctx.json else ():
        made = None if one.made is None else output.memory((await room.knowledge.views([one.made]))[0])
        parts = [{"id": part.id, "text": part.text} for part in one.cluster.members]
        merged.append({"text": one.cluster.text, "memory": made, "parts": parts})

    def text() -> str:
        rows = []
        for one in found:
            rows.append(one.cluster.text)
            rows += [f"    {_('from {id}', id=part.id)}  {part.text}" for part in one.cluster.members]
        count = sum(len(one.cluster.members) for one in found)
        if not count:
            rows.append(_("No duplicate memories."))
        elif args.dry_run:
            rows.append(ngettext("1 memory would be merged.", "{count} memories would be merged.", count))
        else:
            rows.append(
                ngettext(
                    "1 memory was merged; `atlas memory undo` undoes it.",
                    "{count} memories were merged; `atlas memory undo` undoes it.",
                    count,
                )
            )
        return "\n".join(rows)

    ctx.emit({"dry_run": args.dry_run, "merged": merged}, text)
    return Exit.DONE


_COLLECTED = {"archive": N_("Archived:"), "prolong": N_("Kept longer:"), "erase": N_("Erased:")}
_TO_COLLECT = {
    "archive": N_("Would be archived:"),
    "prolong": N_("Would be kept longer:"),
    "erase": N_("Would be erased:"),
}


async def collect(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    found = await room.upkeep.collect(dry_run=args.dry_run)
    parts = {"archive": found.archive, "prolong": found.prolong, "erase": found.erase}
    told: dict[str, Any] = {"dry_run": args.dry_run}
    if ctx.json:
        told |= {name: await _expiries(room, expiries) for name, expiries in parts.items()}

    def text() -> str:
        said = _TO_COLLECT if args.dry_run else _COLLECTED
        rows = [
            f"{_(said[name])} {output.line(expiry.memory)}\n    ({output.WHY[expiry.why]})"
            for name, expiries in parts.items()
            for expiry in expiries
        ]
        return "\n".join(rows) or _("No expired or faded memories.")

    ctx.emit(told, text)
    return Exit.DONE


async def _expiries(room: "RoomServices", expiries: "tuple[Expiry, ...]") -> list[dict[str, Any]]:
    views = await room.knowledge.views([expiry.memory for expiry in expiries])
    return [{**output.memory(view), "why": expiry.why} for view, expiry in zip(views, expiries, strict=True)]


async def promote(ctx: Context, _args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    found = await room.upkeep.promote()
    views = await room.knowledge.views([one.memory for one in found]) if ctx.json else []
    ctx.emit(
        [{**output.memory(view), "ground": one.ground} for view, one in zip(views, found, strict=False)],
        lambda: "\n".join(output.line(one.memory) for one in found) or _("No memories to promote."),
    )
    return Exit.DONE


def register_changes(add: "Add") -> None:
    new = add("add", add_memory, _("add a memory in your own words"))
    new.add_argument("text", metavar="TEXT", help=_("what to remember; `-` reads it from standard input"))
    _fields(new)
    new.add_argument("--project", metavar="P", help=_("the project it belongs to"))
    new.add_argument("--pin", action="store_true", help=_("always give it to the model"))
    edit = add("edit", edit_memory, _("correct a memory; its earlier versions are kept"))
    edit.add_argument("id", metavar="ID", help=_("its ID, or its first characters"))
    edit.add_argument("--text", metavar="TEXT", help=_("its new text"))
    edit.add_argument("--confidence", metavar="N", type=float, help=_("how certain it is, 0 to 1"))
    _fields(edit)
    for name, handler, text in (
        ("accept", accept, _("accept memories from the inbox or the archive")),
        ("reject", reject, _("never use these memories or learn them again from the same text")),
        ("pin", pin, _("always give the model these memories; they never fade or expire")),
        ("unpin", unpin, _("let these memories rank and fade like others")),
        ("rescue", rescue, _("keep fading or archived memories until you delete them")),
    ):
        add(name, handler, text).add_argument(
            "ids", metavar="ID", nargs="+", help=_("IDs, or their first characters")
        )
    undo = add("undo", undo_change, _("undo a change to memories"))
    undo.add_argument(
        "id", metavar="CHANGE", nargs="?", default="last", help=_("its ID, or `last` (the latest)")
    )


def _fields(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kind", choices=output.KINDS, help=_("its kind"))
    parser.add_argument("--subject", metavar="TEXT", help=_("what it is about"))
    parser.add_argument("--tier", choices=output.TIERS, help=_("how long to keep it"))
    parser.add_argument("--importance", metavar="N", type=float, help=_("how important it is, 0 to 1"))
    parser.add_argument("--expires", metavar="WHEN", help=_("when it expires: a date or time, or `never`"))
    parser.add_argument("--valid-from", metavar="WHEN", help=_("when it becomes true"))
    parser.add_argument("--valid-until", metavar="WHEN", help=_("when it stops being true"))


async def add_memory(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.services.memories import Wish
    from memory.memories.entities import MemoryKind, MemoryTier

    wish = Wish(
        kind=None if args.kind is None else MemoryKind(args.kind),
        subject=args.subject,
        tier=None if args.tier is None else MemoryTier(args.tier),
        project=args.project or None,
        importance=0.7 if args.importance is None else _share(args.importance),
        pinned=args.pin,
        expires_at=_when(args.expires),
        valid_from=_when(args.valid_from),
        valid_until=_when(args.valid_until),
    )
    text = given_text(args.text)
    room = await ctx.unlock()
    if wish == Wish(project=wish.project):
        # Only a text: learning it also retires memories that it contradicts, and avoids duplicates.
        made = await _worded(room.learning.remember(text, project=wish.project))
    else:
        made = await _worded(room.knowledge.add(text, wish))
    await _emit(ctx, [(room, made)], _("Remembered:"))
    return Exit.DONE


async def edit_memory(ctx: Context, args: argparse.Namespace) -> int:
    from memory.memories.entities import MemoryKind, MemoryPatch, MemoryTier

    given: dict[str, Any] = {}
    if args.text is not None:
        given["text"] = args.text
    if args.subject is not None:
        given["subject"] = args.subject
    if args.kind is not None:
        given["kind"] = MemoryKind(args.kind)
    if args.tier is not None:
        given["tier"] = MemoryTier(args.tier)
    for name in ("importance", "confidence"):
        if (value := getattr(args, name)) is not None:
            given[name] = _share(value)
    for option, name in (
        ("expires", "expires_at"),
        ("valid_from", "valid_from"),
        ("valid_until", "valid_until"),
    ):
        if (value := getattr(args, option)) is not None:
            given[name] = _when(value)
    if not given:
        raise UsageError(
            _("You did not say what to change."), _("Give --text, --kind, --tier or another option.")
        )
    room = await memory_view.room_with(ctx, args.id)
    made = await _worded(room.knowledge.edit(args.id, MemoryPatch(**given)))
    await _emit(ctx, [(room, made)], _("Changed:"))
    return Exit.DONE


async def accept(ctx: Context, args: argparse.Namespace) -> int:
    made = await memory_view.change(ctx, args.ids, lambda known, ids: known.accept(ids))
    await _emit(ctx, made, _("Accepted:"))
    return Exit.DONE


async def reject(ctx: Context, args: argparse.Namespace) -> int:
    made = await memory_view.change(ctx, args.ids, lambda known, ids: known.reject(ids))
    await _emit(ctx, made, _("Rejected:"))
    return Exit.DONE


async def pin(ctx: Context, args: argparse.Namespace) -> int:
    made = await memory_view.change(ctx, args.ids, lambda known, ids: known.pin(ids))
    await _emit(ctx, made, _("Pinned:"))
    return Exit.DONE


async def unpin(ctx: Context, args: argparse.Namespace) -> int:
    made = await memory_view.change(ctx, args.ids, lambda known, ids: known.pin(ids, pinned=False))
    await _emit(ctx, made, _("Unpinned:"))
    return Exit.DONE


async def rescue(ctx: Context, args: argparse.Namespace) -> int:
    made = await memory_view.change(ctx, args.ids, lambda known, ids: known.rescue(ids))
    await _emit(ctx, made, _("Rescued:"))
    return Exit.DONE


async def undo_change(ctx: Context, args: argparse.Namespace) -> int:
    from memory.errors import ChangeNotFound

    for room in (await memory_view.opened(ctx))[::-1]:
        try:
            undone = await room.knowledge.undo(args.id)
        except ChangeNotFound:
            continue
        ctx.emit(
            output.change(undone),
            ngettext(
                "Undone ({change}): 1 memory reverted.",
                "Undone ({change}): {count} memories reverted.",
                len(undone.memory_ids),
                change=output.word(output.ACTION_WORDS, undone.action),
            ),
        )
        return Exit.DONE
    raise ChangeNotFound(args.id)


async def _emit(ctx: Context, made: "list[memory_view.Known]", done: str) -> None:
    """Prints one memory as an object, several as an array."""
    told = await memory_view.as_json(made) if ctx.json else []
    ctx.emit(
        told[0] if len(told) == 1 else told,
        lambda: "\n".join(f"{done} {output.line(one)}" for _unused, one in made),
    )


async def _worded(work: "Awaitable[Memory]") -> "Memory":
    from memory.memories.entities import TimesOutOfOrder

    try:
        return await work
    except TimesOutOfOrder:
        raise UsageError(_("It ends before it begins."), _("Give the times in order, or `never`.")) from None
    except ValueError as error:
        raise UsageError(
            _("Cannot save this memory: {error}.", error=error), _("Use a sentence or two.")
        ) from None


def _share(value: float) -> float:
    if not 0 <= value <= 1:
        raise UsageError(_("The number is out of range."), _("Give a number from 0 to 1."))
    return value


def _when(text: str | None) -> datetime | None:
    """A time without an offset is local time; `never` is None. Raises `UsageError`."""
    if text is None or text == "never":
        return None
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise UsageError(
            _("Invalid date or time."), _("Write 2026-03-12 or 2026-03-12T15:30+01:00.")
        ) from None


class Question(msgspec.Struct, frozen=True):
    """What to look for, and where. `kinds` is a comma-separated list."""

    query: str
    k: int
    kinds: str
    project: str | None
    session: str | None


class _Line(msgspec.Struct, frozen=True):
    query: Annotated[str, msgspec.Meta(min_length=1)]
    k: int | None = None
    kinds: str | None = None
    project: str | None = None
    session: str | None = None


def read_question(line: str, usual: Question, number: int) -> Question:
    """Reads one line; missing fields come from `usual`. Raises `UsageError`, which names the line."""
    text = line.strip()
    if not text.startswith("{"):
        return msgspec.structs.replace(usual, query=text)
    try:
        given = msgspec.json.decode(text, type=_Line)
    except (msgspec.DecodeError, UnicodeError):
        raise UsageError(
            _("Line {number} is not a valid query.", number=number),
            _('Give plain text, or {"query": …, "project": …, "k": …}.'),
        ) from None
    return Question(
        given.query,
        usual.k if given.k is None else given.k,
        usual.kinds if given.kinds is None else given.kinds,
        usual.project if given.project is None else given.project,
        usual.session if given.session is None else given.session,
    )


_MOST = 1000


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    add = command_group(subparsers, common, "memory", _("manage memories"))

    recall = add(
        "recall", recall_hits, _("find messages by words, meaning and time, and show why they match")
    )
    recall.add_argument("query", metavar="QUERY", nargs="?", help=_("what to look for"))
    recall.add_argument(
        "-k", dest="k", metavar="N", type=int, default=10, help=_("at most N hits (default: 10)")
    )
    recall.add_argument(
        "--kinds", metavar="KIND,…", default="message", help=_("kinds of hits (default: message)")
    )
    recall.add_argument("--project", metavar="P", help=_("only in this project"))
    recall.add_argument("--session", metavar="ID", help=_("only in this session"))
    recall.add_argument("--stdin", action="store_true", help=_("read one query per line from standard input"))
    recall.set_defaults(hand_over=unchanged)
    recall.add_argument("--jsonl", action="store_true", help=_("print one object per line"))
    memory_view.register(add)
    register_changes(add)
    add_upkeep(add)
    memory_view.add_search(add)
    add_forget(add)
    add_receipts(add)
    memory_view.register_provenance(add)
    memory_view.register_memory(add)


async def recall_hits(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.cli import output

    if args.stdin == (args.query is not None):
        raise UsageError(_("It is not clear what to look for."), _("Give either a QUERY or --stdin."))
    _check(args.k, args.kinds)
    room = await ctx.unlock()
    ctx.tell_damage(room)
    await room.recall.load()
    if args.stdin:
        await room.recall.warm_questions()
        await room.recall.warm_wordings()
        if not ctx.shared:
            # The loaded room data stays, so the garbage collector need not scan it between queries.
            gc.freeze()
    spelt: dict[str, str] = {}
    async for question in _questions(ctx, args):
        found = await _ask(room, question, spelt)
        answer = {
            "query": question.query,
            "took_ms": round(found.took_ms, 3),
            "hits": [output.recalled(hit) for hit in found.hits],
        }
        if args.jsonl or args.stdin:
            ctx.write(dumps(answer))
        else:
            ctx.emit(answer, "\n".join(map(_described, found.hits)) or _("No matches."))
    return Exit.DONE


async def _questions(ctx: Context, args: argparse.Namespace) -> "AsyncIterator[Question]":

    usual = Question(args.query or "", args.k, args.kinds, args.project, args.session)
    if not args.stdin:
        yield usual
        return
    number = 0
    async for line in ctx.lines():
        number += 1
        if line.strip():
            question = read_question(whole(line, line=number), usual, number)
            _check(question.k, question.kinds)
            yield question


def _check(k: int, kinds: str) -> None:
    if not 1 <= k <= _MOST:
        raise UsageError(
            _("The number of hits is out of range."), _("Give a number from 1 to {most}.", most=_MOST)
        )
    unknown = set(kinds.split(",")) - {"message", "memory", "summary", "chunk"}
    if unknown:
        raise UsageError(_("Unknown kind of hit."), _("The kinds are message, memory, summary and chunk."))


async def _ask(room: "RoomServices", question: "Question", spelt: dict[str, str]) -> "Recalled":
    """`spelt` caches the stored spelling of the project names in the queries."""
    from memory.recall.entities import RecallQuery

    session = None
    if question.session is not None:
        session = (await room.store.get_session(question.session)).id
    project = question.project
    if project is not None:
        if project not in spelt:
            spelt[project] = await room.projects.spelt(project) or project
        project = spelt[project]
    return await room.recall.answer(
        RecallQuery(
            question.query, k=question.k, kinds=question.kinds.split(","), project=project, session=session
        )
    )


def _described(hit: "Hit") -> str:
    from atlas_desktop.cli.output import reasons

    who = f", {hit.source.speaker}" if hit.source.speaker else ""
    when = f"{hit.source.created_at.astimezone():%Y-%m-%d %H:%M}"
    passage, why = " ".join(hit.passage.split()), reasons(hit.parts, 0.01)
    return f"{hit.score:.2f}  {hit.id}  {when}{who}\n    {passage}\n    ({why})"
