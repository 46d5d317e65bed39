"""`atlas notes`: the commands for notes."""

import argparse
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from atlas_desktop.cli import output
from atlas_desktop.cli.ask import read_text
from atlas_desktop.cli.context import Context, command_group, counting, dumps, given_text, unchanged, whole
from atlas_desktop.errors import Exit, UsageError
from atlas_desktop.locale import _, ngettext, number
from atlas_desktop.phrases import import_line, reason_text
from memory.notes.markup import snippet

if TYPE_CHECKING:
    from atlas_desktop.services.notes.folders import MirrorReport
    from atlas_desktop.services.room import RoomServices
    from memory.entities import RoomKind
    from memory.notes.entities import Note

_MOST = 1000


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    add = command_group(subparsers, common, "notes", _("write notes and link them"))

    def note(parser: argparse.ArgumentParser, **rest: Any) -> None:
        parser.add_argument("note", metavar="ID", help=_("a note: its id, its path or its title"), **rest)

    parser = add("new", new, _("write a note"))
    parser.add_argument("title", metavar="TITLE", help=_("the title; links name it"))
    _add_text(parser)
    parser.add_argument("--project", metavar="P", help=_("project of the note"))

    parser = add("list", list_notes, _("list notes"))
    parser.add_argument("--project", metavar="P", help=_("only in this project"))
    parser.add_argument("--tag", metavar="TAG", help=_("only with this tag"))
    parser.add_argument("--bin", action="store_true", help=_("only those in the bin"))

    note(add("show", show, _("print a note with its links")))

    parser = add("edit", edit, _("replace the text of a note, or add to it"))
    note(parser)
    _add_text(parser)
    parser.add_argument("--append", metavar="TEXT", help=_("add a paragraph at the end"))
    parser.add_argument("--undo", action="store_true", help=_("bring the text before the last change back"))
    parser.add_argument("--to", metavar="N", type=int, help=_("bring this version back"))

    parser = add("rename", rename, _("give a note another title; links to it follow"))
    note(parser)
    parser.add_argument("title", metavar="TITLE", help=_("its new title"))

    parser = add("delete", delete, _("move notes to the bin, or delete them for good"))
    parser.add_argument("notes", metavar="ID", nargs="+", help=_("a note"))
    parser.add_argument("--forever", action="store_true", help=_("delete for good, with a receipt"))

    parser = add("restore", restore, _("take notes out of the bin"))
    parser.add_argument("notes", metavar="ID", nargs="+", help=_("a note"))

    note(add("versions", versions, _("list the earlier texts of a note")))
    note(add("links", links, _("list what a note links to")))

    parser = add("backlinks", backlinks, _("list the notes that link to something"))
    parser.add_argument(
        "item", metavar="ID", help=_("a note, or the id of a session, message, memory or document")
    )

    parser = add("mentions", mentions, _("list where a note is mentioned without a link"))
    note(parser)

    parser = add("suggest", suggest, _("suggest links from a note to others, with reasons"))
    parser.set_defaults(hand_over=unchanged)
    parser.add_argument("note", metavar="ID", nargs="?", help=_("a note: its id, its path or its title"))
    parser.add_argument(
        "-k", dest="k", metavar="N", type=int, default=10, help=_("at most N suggestions (default: 10)")
    )
    parser.add_argument("--stdin", action="store_true", help=_("read one note per line from standard input"))
    parser.add_argument("--jsonl", action="store_true", help=_("print one object per line"))

    parser = add("link", link, _("link a note to another, at its end"))
    note(parser)
    parser.add_argument("target", metavar="TARGET", help=_("the note to link to"))

    parser = add("search", search, _("search in notes by words and meaning"))
    parser.add_argument("query", metavar="QUERY", help=_("what to look for"))
    parser.add_argument(
        "-k", dest="k", metavar="N", type=int, default=10, help=_("at most N hits (default: 10)")
    )
    parser.add_argument("--project", metavar="P", help=_("only in this project"))

    parser = add("import", import_notes, _("import a folder of Markdown files as notes"))
    parser.add_argument("folder", metavar="DIR", help=_("the folder"))
    parser.add_argument("--project", metavar="P", help=_("project of the notes"))

    parser = add("export", export_notes, _("write all notes as Markdown files"))
    parser.add_argument("folder", metavar="DIR", help=_("the folder; files that have changed there stay"))

    parser = add("mirror", mirror, _("keep a folder of Markdown files and its notes in step, both ways"))
    parser.add_argument("folder", metavar="DIR", nargs="?", help=_("the folder; without it, all are updated"))
    parser.add_argument("--off", action="store_true", help=_("stop; notes and files stay"))
    parser.add_argument("--project", metavar="P", help=_("project of the notes"))

    parser = add("private", make_private, _("move notes to the private room; asks for the passphrase"))
    parser.add_argument("notes", metavar="ID", nargs="+", help=_("a note"))
    parser = add("open", make_open, _("move notes back to the open room; asks for the passphrase"))
    parser.add_argument("notes", metavar="ID", nargs="+", help=_("a note"))


def _add_text(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--text", metavar="TEXT", help=_("the text; `-` reads standard input"))
    which.add_argument("--file", metavar="FILE", help=_("take the text from FILE"))


def _text(args: argparse.Namespace) -> str | None:
    if args.file is not None:
        return given_text("-") if args.file == "-" else read_text(args.file)
    return None if args.text is None else given_text(args.text)


# --- writing ----------------------------------------------------------------------------------------


async def new(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    made = await room.notes.new(args.title, _text(args) or "", project=args.project)
    await room.note_mirror.step_all()
    ctx.emit(output.note(made, room.store.room), _("Saved the note {id}.", id=made.id))
    return Exit.DONE


async def edit(ctx: Context, args: argparse.Namespace) -> int:
    text = _text(args)
    wanted = [text is not None, args.append is not None, args.undo, args.to is not None]
    if sum(wanted) != 1:
        raise UsageError(
            _("It is not clear what to change."),
            _("Give one of --text, --file, --append, --undo and --to."),
        )
    room, note = await _find(ctx, args.note)
    if text is not None:
        changed = await room.notes.edit(note.id, text, keep_version=True)
    elif args.append is not None:
        changed = await room.notes.extend(note.id, given_text(args.append))
    else:
        changed = await room.notes.revert(note.id, args.to)
    await room.note_mirror.step_all()
    ctx.emit(output.note(changed, room.store.room), _("Saved."))
    return Exit.DONE


async def rename(ctx: Context, args: argparse.Namespace) -> int:
    room, note = await _find(ctx, args.note)
    changed = await room.notes.rename(note.id, args.title)
    await room.note_mirror.step_all()
    ctx.emit(output.note(changed, room.store.room), _("Renamed to “{title}”.", title=changed.title))
    return Exit.DONE


# --- looking ----------------------------------------------------------------------------------------


async def list_notes(ctx: Context, args: argparse.Namespace) -> int:
    await ctx.unlock()
    value: list[dict[str, Any]] = []
    lines: list[str] = []
    for room in ctx.opened:
        entries = await room.notes.list(project=args.project, tag=args.tag, binned=args.bin)
        if ctx.json:
            notes = await room.store.notes.get_many([one.id for one in entries])
            value += [output.note(one, room.store.room) for one in notes]
        ids = output.short_ids([one.id for one in entries])
        lines += [
            "  ".join(filter(None, [ids[one.id], one.title, " ".join(f"#{tag}" for tag in one.tags)]))
            for one in entries
        ]
    ctx.emit(value, "\n".join(lines) or _("No notes. `atlas notes new TITLE` writes one."))
    return Exit.DONE


async def show(ctx: Context, args: argparse.Namespace) -> int:
    room, note = await _find(ctx, args.note)
    lines = [note.title, "", note.text]
    if note.backlinks:
        lines += ["", _("Linked from:"), *(f"- {one.title}: {one.snippet}" for one in note.backlinks)]
    ctx.emit(output.note(note, room.store.room), "\n".join(lines))
    return Exit.DONE


async def versions(ctx: Context, args: argparse.Namespace) -> int:
    room, note = await _find(ctx, args.note)
    kept = await room.notes.versions(note.id)
    value = [
        {
            "version": one.version,
            "title": one.title,
            "text": one.text,
            "written_at": output.at(one.written_at),
        }
        for one in kept
    ]
    lines = [f"{one.version}  {output.at(one.written_at)}  {one.title}" for one in kept]
    ctx.emit(value, "\n".join(lines) or _("No earlier versions."))
    return Exit.DONE


async def links(ctx: Context, args: argparse.Namespace) -> int:
    _room, note = await _find(ctx, args.note)
    lines = [
        f"{one.title or one.text}  ({one.kind})" if one.to else _("{text}  (nothing here)", text=one.text)
        for one in note.links
    ]
    ctx.emit([output.note_link(one) for one in note.links], "\n".join(lines) or _("No links."))
    return Exit.DONE


async def backlinks(ctx: Context, args: argparse.Namespace) -> int:
    from memory.errors import NoteNotFound

    await ctx.unlock()
    try:
        _room, note = await _find(ctx, args.item)
        found = list(note.backlinks)
    except NoteNotFound:
        item = args.item.strip().lower()
        found = [one for room in ctx.opened for one in await room.store.notes.backlinks(item)]
    lines = [f"{one.title}: {one.snippet}" for one in found]
    ctx.emit([output.backlink(one) for one in found], "\n".join(lines) or _("No note links to this."))
    return Exit.DONE


async def mentions(ctx: Context, args: argparse.Namespace) -> int:
    room, note = await _find(ctx, args.note)
    found = await room.notes.mentions(note.id)
    others = {one.id: one for one in await room.store.notes.get_many([one.note for one in found])}
    value = [
        {
            "note": one.note,
            "title": others[one.note].title,
            "at": list(one.at),
            "snippet": snippet(others[one.note].text, *one.at),
        }
        for one in found
        if one.note in others
    ]
    ctx.emit(
        value, "\n".join(f"{one['title']}: {one['snippet']}" for one in value) or _("No unlinked mentions.")
    )
    return Exit.DONE


async def suggest(ctx: Context, args: argparse.Namespace) -> int:
    if args.stdin == (args.note is not None):
        raise UsageError(_("It is not clear which note is meant."), _("Give either an ID or --stdin."))
    await ctx.unlock()
    if args.stdin:
        at = 0
        async for line in ctx.lines():
            at += 1
            if line.strip():
                ref, k = _suggest_line(whole(line, line=at).strip(), args.k, at)
                ctx.write(dumps((await _suggestions(ctx, ref, k))[0]))
        return Exit.DONE
    value, lines = await _suggestions(ctx, args.note, args.k)
    ctx.emit(value, "\n".join(lines) or _("No suggestions."))
    return Exit.DONE


class _Line(msgspec.Struct, frozen=True):
    note: Annotated[str, msgspec.Meta(min_length=1)]
    k: int | None = None


def _suggest_line(line: str, k: int, at: int) -> tuple[str, int]:
    """Returns the note and the number of suggestions that a line asks for."""
    if not line.startswith("{"):
        return line, k
    try:
        given = msgspec.json.decode(line, type=_Line)
    except (msgspec.DecodeError, UnicodeError):
        raise UsageError(
            _("Line {number} names no note.", number=at), _('Give an id, a path, or {"note": …, "k": …}.')
        ) from None
    return given.note, k if given.k is None else given.k


async def _suggestions(ctx: Context, ref: str, k: int) -> tuple[dict[str, Any], list[str]]:
    """Returns the suggestions for a note as JSON, and as lines for people."""
    if not 1 <= k <= _MOST:
        raise UsageError(_("{k} is not a valid number of hits.", k=k), _("Choose 1 to {most}.", most=_MOST))
    room, note = await _find(ctx, ref)
    found = await room.notes.suggest(note.id, k)
    ids = [*(one.note for one in found), *(other for one in found for other in one.reason.notes)]
    others = {one.id: one for one in await room.store.notes.get_many(list(dict.fromkeys(ids)))}
    titles = {one.id: one.title for one in others.values()}
    suggestions = [
        {
            "note": one.note,
            "external_id": others[one.note].external_id or None,
            "title": titles[one.note],
            "score": round(one.score, 6),
            "parts": {name: round(part, 6) for name, part in one.parts.items()},
            "reason": reason_text(one.reason, titles),
        }
        for one in found
        if one.note in others
    ]
    lines = [f"{one['score']:.2f}  {one['title']}: {one['reason']}" for one in suggestions]
    return {"note": note.id, "suggestions": suggestions}, lines


async def link(ctx: Context, args: argparse.Namespace) -> int:
    room, note = await _find(ctx, args.note)
    changed = await room.notes.link(note.id, (await room.notes.get(args.target)).id)
    await room.note_mirror.step_all()
    ctx.emit(output.note(changed, room.store.room), _("Saved."))
    return Exit.DONE


async def search(ctx: Context, args: argparse.Namespace) -> int:
    if not 1 <= args.k <= _MOST:
        raise UsageError(
            _("{k} is not a valid number of hits.", k=args.k), _("Choose 1 to {most}.", most=_MOST)
        )
    room = await ctx.unlock()
    found = await room.notes.search(args.query, args.k, project=args.project)
    value = {
        "query": args.query,
        "took_ms": round(found.took_ms, 3),
        "hits": [output.document_hit(hit) for hit in found.hits],
    }
    lines = [
        f"{hit.score:.2f}  {' › '.join([hit.title, *hit.chunk.heading])}\n{hit.chunk.text}"
        for hit in found.hits
    ]
    ctx.emit(value, "\n\n".join(lines) or _("No matches."))
    return Exit.DONE


async def _find(ctx: Context, ref: str) -> "tuple[RoomServices, Note]":
    """Returns the note in any of the opened rooms. Raises `NoteNotFound`, `AmbiguousId`."""
    from memory.errors import NoteNotFound

    await ctx.unlock()
    for room in ctx.opened:
        try:
            return room, await room.notes.get(ref)
        except NoteNotFound:
            continue
    raise NoteNotFound(ref)


# --- removing ---------------------------------------------------------------------------------------


async def delete(ctx: Context, args: argparse.Namespace) -> int:
    found = [await _find(ctx, ref) for ref in dict.fromkeys(args.notes)]
    ctx.confirm(
        ngettext(
            "Delete {count} note for good, with everything made from it?",
            "Delete {count} notes for good, with everything made from them?",
            len(found),
        )
        if args.forever
        else ngettext("Move {count} note to the bin?", "Move {count} notes to the bin?", len(found))
    )
    by_room = [(room, [note.id for owner, note in found if owner is room]) for room in ctx.opened]
    if not args.forever:
        count = sum([await room.notes.delete(ids) for room, ids in by_room])
        for room, _ids in by_room:
            await room.note_mirror.step_all()
        ctx.emit(
            {"deleted": count, "notes": [note.id for _room, note in found]},
            ngettext("Moved {count} note to the bin.", "Moved {count} notes to the bin.", count),
        )
        return Exit.DONE
    value = output.erased_notes(*[await room.notes.forget(ids) for room, ids in by_room if ids])
    count = value["forgotten"]["notes"]
    ctx.emit(value, ngettext("Deleted {count} note for good.", "Deleted {count} notes for good.", count))
    return Exit.DONE if value["verified"] else Exit.FAILED


async def restore(ctx: Context, args: argparse.Namespace) -> int:
    found = [await _find(ctx, ref) for ref in dict.fromkeys(args.notes)]
    for room in ctx.opened:
        await room.notes.restore([note.id for owner, note in found if owner is room])
        await room.note_mirror.step_all()
    ctx.emit(
        {"restored": [note.id for _room, note in found]},
        ngettext("Restored {count} note.", "Restored {count} notes.", len(found)),
    )
    return Exit.DONE


# --- folders ----------------------------------------------------------------------------------------


async def import_notes(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    with closing(ctx.progress(_("Importing"))) as progress:
        report = await room.note_folders.take(args.folder, project=args.project, progress=counting(progress))
    value = {
        "notes": report.notes,
        "links": report.links,
        "unresolved": report.unresolved,
        "skipped": [{"where": one.where, "why": one.why} for one in report.skipped],
        "added": report.added,
        "updated": report.updated,
        "unchanged": report.unchanged,
        "missing": report.missing,
        "files": report.files,
        "conflicts": list(report.conflicts),
    }
    lines = [
        import_line(report.added, report.updated, report.unchanged, report.missing),
        _(
            "{notes} notes with {links} links, of which {unresolved} lead nowhere.",
            notes=number(report.notes),
            links=number(report.links),
            unresolved=number(report.unresolved),
        ),
        *(_("{path}: changed here and on disk; now two notes", path=path) for path in report.conflicts),
        *(f"{one.where}: {one.why}" for one in report.skipped),
    ]
    ctx.emit(value, "\n".join(lines))
    return Exit.DONE


async def export_notes(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    with closing(ctx.progress(_("Writing files"))) as progress:
        report = await room.note_folders.write(args.folder, progress=counting(progress))
    value = {
        "written": report.written,
        "unchanged": report.unchanged,
        "conflicts": list(report.conflicts),
        "skipped": [{"where": one.where, "why": one.why} for one in report.skipped],
    }
    lines = [
        _(
            "Wrote {written} files; {unchanged} were there already.",
            written=number(report.written),
            unchanged=number(report.unchanged),
        ),
        *(_("{path}: written beside a file that has changed", path=path) for path in report.conflicts),
        *(f"{one.where}: {one.why}" for one in report.skipped),
    ]
    ctx.emit(value, "\n".join(lines))
    return Exit.FAILED if report.skipped else Exit.DONE


async def mirror(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    if args.folder is None:
        if args.off:
            raise UsageError(_("It is not clear which folder is meant."), _("Give DIR with --off."))
        reports = await room.note_mirror.step_all()
    elif args.off:
        ended = await room.note_mirror.end(args.folder)
        ctx.emit({"folder": ended.path, "in_step": False}, _("No longer in step: {path}", path=ended.path))
        return Exit.DONE
    else:
        with closing(ctx.progress(_("Importing"))) as progress:
            began = await room.note_mirror.begin(
                args.folder, project=args.project, progress=counting(progress)
            )
        reports = [began]
    value = [
        {
            "added": one.taken.added,
            "updated": one.taken.updated,
            "conflicts": list(one.taken.conflicts),
            "written": one.written,
            "removed": one.removed,
            "deleted": one.binned,
            "held_back": one.held_back,
            "problems": list(one.problems),
        }
        for one in reports
    ]
    ctx.emit(
        value, "\n".join(line for one in reports for line in _mirrored(one)) or _("No folder is in step.")
    )
    return Exit.FAILED if any(one.problems for one in reports) else Exit.DONE


def _mirrored(report: "MirrorReport") -> list[str]:
    lines = [
        _(
            "Read {read} files, wrote {written}, removed {removed}; {deleted} notes went to the bin.",
            read=number(report.taken.added + report.taken.updated),
            written=number(report.written),
            removed=number(report.removed),
            deleted=number(report.binned),
        )
    ]
    if report.held_back:
        lines.append(
            _(
                "{count} files are missing at once: their notes stay. Delete the notes if that is right.",
                count=number(report.held_back),
            )
        )
    lines += [
        _("{path}: changed here and on disk; both are kept", path=one) for one in report.taken.conflicts
    ]
    return lines + [_("{path}: cannot be reached", path=one) for one in report.problems]


# --- rooms ------------------------------------------------------------------------------------------


async def make_private(ctx: Context, args: argparse.Namespace) -> int:
    from memory.entities import RoomKind

    moved = await _move(ctx, args.notes, RoomKind.PRIVATE)
    lines = output.moved([one.title for one in moved], RoomKind.PRIVATE)
    ctx.emit([output.note(one, RoomKind.PRIVATE) for one in moved], "\n".join(lines))
    return Exit.DONE


async def make_open(ctx: Context, args: argparse.Namespace) -> int:
    from memory.entities import RoomKind

    moved = await _move(ctx, args.notes, RoomKind.OPEN)
    lines = output.moved([one.title for one in moved], RoomKind.OPEN)
    ctx.emit([output.note(one, RoomKind.OPEN) for one in moved], "\n".join(lines))
    return Exit.DONE


async def _move(ctx: Context, refs: Sequence[str], destination: "RoomKind") -> "list[Note]":
    """Moves notes once all of them are found. Raises `NoteNotFound`, `AmbiguousId`."""
    ctx.private = True
    await ctx.unlock()
    found = [(await _find(ctx, ref))[1].id for ref in refs]
    for one in dict.fromkeys(found):
        await ctx.desk.rooms.move_document(one, destination)
    return [(await _find(ctx, one))[1] for one in dict.fromkeys(found)]
