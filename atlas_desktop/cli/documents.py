"""`atlas docs`: the commands for documents."""

import argparse
import gc
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from atlas_desktop.cli import output
from atlas_desktop.cli.ask import (
    add_turn_options,
    answer,
    for_new_session,
    open_for,
    options_for,
    read_text,
    refuse_what_is_for_new_sessions,
)
from atlas_desktop.cli.context import Context, command_group, counting, dumps, given_text, whole
from atlas_desktop.errors import Exit, UsageError
from atlas_desktop.locale import _, ngettext, number
from atlas_desktop.phrases import import_line, place_text

if TYPE_CHECKING:
    from atlas_desktop.services.documents.library import AddReport
    from atlas_desktop.services.room import RoomServices
    from memory.documents.entities import Document, DocumentHit, DocumentQuery, WatchedFolder
    from memory.entities import RoomKind

_MOST = 1000
_STATES = ("queued", "indexed", "partial", "failed", "missing", "archived")
_GRAINS = ("chunk", "page", "document")


class _Line(msgspec.Struct, frozen=True):
    query: Annotated[str, msgspec.Meta(min_length=1)]
    k: int | None = None
    docs: list[str] | None = None
    project: str | None = None
    by: str | None = None


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    add = command_group(subparsers, common, "docs", _("manage documents and search in them"))

    parser = add("add", add_files, _("add files, or everything below a folder, once"))
    parser.add_argument("paths", metavar="PATH", nargs="+", help=_("a file or a folder"))
    parser.add_argument("--project", metavar="P", help=_("project of the documents"))
    parser.add_argument("--copy", action="store_true", help=_("also keep a copy of each file in the room"))

    parser = add("watch", watch, _("watch a folder and follow its changes"))
    parser.add_argument("folder", metavar="DIR", help=_("the folder"))
    parser.add_argument("--project", metavar="P", help=_("project of the documents"))
    parser.add_argument(
        "--include", metavar="GLOB", action="append", default=[], help=_("only files that match")
    )
    parser.add_argument(
        "--exclude", metavar="GLOB", action="append", default=[], help=_("no files that match")
    )
    parser.add_argument(
        "--on-missing",
        choices=("keep", "archive", "remove"),
        default="keep",
        help=_("what to do with a document whose file is gone (default: keep)"),
    )

    parser = add("unwatch", unwatch, _("stop watching a folder"))
    parser.add_argument("folder", metavar="DIR", help=_("the folder"))
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--keep", action="store_true", help=_("keep its documents (default)"))
    which.add_argument("--remove", action="store_true", help=_("also remove its documents"))

    parser = add("rescan", rescan, _("look for changed files"))
    parser.add_argument("folder", metavar="DIR", nargs="?", help=_("only in this watched folder"))

    add("status", status, _("show folders, counts and waiting work"))

    parser = add("list", list_documents, _("list documents"))
    parser.add_argument("--project", metavar="P", help=_("only in this project"))
    parser.add_argument("--state", choices=_STATES, help=_("only in this state"))
    parser.add_argument("--folder", metavar="DIR", help=_("only below this folder"))

    parser = add("show", show, _("show a document: where it comes from, its outline and summary"))
    parser.add_argument("document", metavar="ID", help=_("a document"))
    parser.add_argument("--chunks", action="store_true", help=_("also list its chunks"))

    parser = add("text", text, _("print the text of a document"))
    parser.add_argument("document", metavar="ID", help=_("a document"))
    parser.add_argument("--page", metavar="N", type=int, help=_("only this page"))

    parser = add("search", search, _("search in documents by words and meaning"))
    parser.set_defaults(hand_over=prepare_search)
    parser.add_argument("query", metavar="QUERY", nargs="?", help=_("what to look for"))
    parser.add_argument(
        "-k", dest="k", metavar="N", type=int, default=10, help=_("at most N hits (default: 10)")
    )
    parser.add_argument("--doc", metavar="ID", action="append", default=[], help=_("only in this document"))
    parser.add_argument("--project", metavar="P", help=_("only in this project"))
    parser.add_argument("--folder", metavar="DIR", help=_("only below this watched folder"))
    parser.add_argument(
        "--by", choices=_GRAINS, default="chunk", help=_("return each chunk, page or document once")
    )
    parser.add_argument("--stdin", action="store_true", help=_("read one query per line from standard input"))
    parser.add_argument("--jsonl", action="store_true", help=_("print one object per line"))

    parser = add("ask", ask, _("ask about one or more documents"))
    parser.add_argument(
        "documents", metavar="ID", nargs="+", help=_("a document; the last argument is the question")
    )
    add_turn_options(parser)

    parser = add("write", write, _("make a document from a conversation"))
    parser.add_argument("session", metavar="SESSION", help=_("a session"))

    parser = add("edit", edit, _("edit a document that was made from a conversation"))
    parser.add_argument("document", metavar="ID", help=_("a document"))
    parser.add_argument(
        "--text", metavar="FILE", required=True, help=_("take the text from FILE; `-` is standard input")
    )

    parser = add("summary", summary, _("print the summary of a document"))
    parser.add_argument("document", metavar="ID", help=_("a document"))
    parser.add_argument("--refresh", action="store_true", help=_("make it again"))

    parser = add("private", make_private, _("move documents to the private room; asks for the passphrase"))
    parser.add_argument("documents", metavar="ID", nargs="+", help=_("a document"))

    parser = add("open", make_open, _("move documents back to the open room; asks for the passphrase"))
    parser.add_argument("documents", metavar="ID", nargs="+", help=_("a document"))

    parser = add("remove", remove, _("remove documents and everything made from them"))
    parser.add_argument("documents", metavar="ID", nargs="+", help=_("a document"))


# --- adding -----------------------------------------------------------------------------------------


async def add_files(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    with closing(ctx.progress(_("Reading"))) as progress:
        report = await room.documents.add(
            args.paths, project=args.project, copy=args.copy, progress=counting(progress)
        )
    return _tell(ctx, report)


async def watch(ctx: Context, args: argparse.Namespace) -> int:
    from memory.documents.entities import OnMissing

    room = await ctx.unlock()
    with closing(ctx.progress(_("Reading"))) as progress:
        report = await room.documents.watch(
            args.folder,
            project=args.project,
            include=args.include,
            exclude=args.exclude,
            on_missing=OnMissing(args.on_missing),
            progress=counting(progress),
        )
    return _tell(ctx, report)


async def unwatch(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    folder = await room.documents.folder(args.folder)
    if not args.remove:
        await room.documents.unwatch(folder)
        ctx.emit({"unwatched": folder.id}, _("No longer watched; its documents are kept."))
        return Exit.DONE
    held = await room.store.documents.list(folder=folder.id)
    ctx.confirm(
        ngettext(
            "Remove {count} document and everything made from it? The file itself is kept.",
            "Remove {count} documents and everything made from them? The files themselves are kept.",
            len(held),
        )
    )
    erased = await room.documents.remove([one.id for one in held])
    await room.documents.unwatch(folder)
    ctx.emit({"unwatched": folder.id, **output.erased_documents(erased)}, _removed(erased.documents))
    return Exit.DONE


async def rescan(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    with closing(ctx.progress(_("Reading"))) as progress:
        report = await room.documents.rescan(args.folder, progress=counting(progress))
    return _tell(ctx, report)


def _tell(ctx: Context, report: "AddReport") -> int:
    value = {
        "added": report.added,
        "updated": report.updated,
        "unchanged": report.unchanged,
        "missing": report.missing,
        "skipped": [{"where": one.where, "why": one.why} for one in report.skipped],
        "documents": list(report.documents),
    }
    lines = [import_line(report.added, report.updated, report.unchanged, report.missing)]
    lines += [f"{one.where}: {one.why}" for one in report.skipped]
    ctx.emit(value, "\n".join(lines))
    return Exit.DONE


async def status(ctx: Context, _args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    found = await room.documents.status()
    value = {
        "documents": found.counts,
        "chunks": found.chunks,
        "waiting": {"vectors": found.unembedded, "summaries": found.unsummarised},
        "folders": [_folder(one) for one in found.folders],
    }
    total, chunks = number(sum(found.counts.values())), number(found.chunks)
    vectors, summaries = number(found.unembedded), number(found.unsummarised)
    lines = [
        _("{count} documents, {chunks} chunks.", count=total, chunks=chunks),
        *(f"  {state}: {count}" for state, count in found.counts.items()),
        _("Waiting: {vectors} vectors, {summaries} summaries.", vectors=vectors, summaries=summaries),
        *(f"{one.path} ({one.on_missing})" for one in found.folders),
    ]
    ctx.emit(value, "\n".join(lines))
    return Exit.DONE


def _folder(folder: "WatchedFolder") -> dict[str, Any]:
    return {
        "id": folder.id,
        "path": folder.path,
        "project": folder.project,
        "include": list(folder.include),
        "exclude": list(folder.exclude),
        "on_missing": folder.on_missing,
        "added_at": output.at(folder.added_at),
        "scanned_at": output.at(folder.scanned_at),
        "skipped": [{"where": where, "why": why} for where, why in folder.skipped],
    }


# --- looking ----------------------------------------------------------------------------------------


async def list_documents(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.services.documents.library import absolute
    from memory.documents.entities import DocumentState

    await ctx.unlock()
    state = None if args.state is None else DocumentState(args.state)
    below = None if args.folder is None else absolute(args.folder)
    found = [
        (room, one)
        for room in ctx.opened
        for one in await room.documents.list(project=args.project, state=state, below=below)
    ]
    ids = output.short_ids([one.id for _room, one in found])
    value = [output.library_document(one, room.store.room) for room, one in found]
    lines = [f"{ids[one.id]}  {one.state:8}  {one.path or one.title}" for _room, one in found]
    ctx.emit(value, "\n".join(lines) or _("No documents. `atlas docs add` adds some."))
    return Exit.DONE


async def show(ctx: Context, args: argparse.Namespace) -> int:
    room, document = await _find(ctx, args.document)
    value = output.library_document(document, room.store.room)
    value["outline"] = [{"level": one.level, "text": one.text, "at": one.begin} for one in document.headings]
    if args.chunks:
        value["chunk_list"] = [output.chunk(one) for one in await room.store.documents.chunks(document.id)]
    lines = [document.title, document.path, f"{document.media_type}, {document.state}"]
    if document.error is not None:
        lines.append(value["error"]["message"])
    lines += [f"{'  ' * (one.level - 1)}{one.text}" for one in document.headings]
    if document.summary is not None:
        lines += ["", document.summary.text]
    ctx.emit(value, "\n".join(filter(None, lines)))
    return Exit.DONE


async def text(ctx: Context, args: argparse.Namespace) -> int:
    room, document = await _find(ctx, args.document)
    found = await room.store.documents.text(document.id, args.page)
    if found is None:
        raise UsageError(
            _("This document has no page {page}.", page=args.page),
            ngettext("It has {count} page.", "It has {count} pages.", document.pages or 0)
            if document.pages
            else _("It has no pages."),
        )
    ctx.emit({"document": document.id, "page": args.page, "text": found}, found)
    return Exit.DONE


async def _find(ctx: Context, ref: str) -> "tuple[RoomServices, Document]":
    """Returns the document in any of the opened rooms. Raises `DocumentNotFound`, `AmbiguousId`."""
    from memory.errors import DocumentNotFound

    await ctx.unlock()
    for room in ctx.opened:
        try:
            return room, await room.documents.get(ref)
        except DocumentNotFound:
            continue
    raise DocumentNotFound(ref)


# --- searching --------------------------------------------------------------------------------------


def prepare_search(args: argparse.Namespace) -> bool:
    """Makes paths in the arguments mean the same in another process."""

    def whole_path(given: str) -> str:
        return str(Path(given).absolute()) if Path(given).exists() else given

    args.doc = [whole_path(one) for one in args.doc]
    args.folder = None if args.folder is None else whole_path(args.folder)
    return True


async def search(ctx: Context, args: argparse.Namespace) -> int:
    if args.stdin == (args.query is not None):
        raise UsageError(_("It is not clear what to look for."), _("Give either a QUERY or --stdin."))
    room = await ctx.unlock()
    ctx.tell_damage(room)
    folder = None if args.folder is None else (await room.documents.folder(args.folder)).id
    await room.documents.search.load()
    if args.stdin and not ctx.shared:
        # The loaded room data stays, so the garbage collector need not scan it between queries.
        gc.freeze()
    async for line, query in _queries(ctx, args, folder):
        found = await room.documents.search.answer(await _resolved(room, query, line))
        value = {
            "query": query.text,
            "took_ms": round(found.took_ms, 3),
            "hits": [output.document_hit(hit) for hit in found.hits],
        }
        if args.jsonl or args.stdin:
            ctx.write(dumps(value))
        else:
            ctx.emit(value, "\n\n".join(map(_described, found.hits)) or _("No matches."))
    return Exit.DONE


async def _queries(
    ctx: Context, args: argparse.Namespace, folder: str | None
) -> "AsyncIterator[tuple[int, DocumentQuery]]":
    from memory.documents.entities import DocumentQuery, Grain

    usual = DocumentQuery(
        args.query or "", args.k, tuple(args.doc) or None, args.project, folder, Grain(args.by)
    )
    if not args.stdin:
        yield 0, _checked(usual)
        return
    at = 0
    async for line in ctx.lines():
        at += 1
        if line.strip():
            yield at, _checked(_read_line(whole(line, line=at), usual, at))


def _read_line(line: str, usual: "DocumentQuery", at: int) -> "DocumentQuery":
    from memory.documents.entities import Grain

    text_ = line.strip()
    if not text_.startswith("{"):
        return replace(usual, text=text_)
    try:
        given = msgspec.json.decode(text_, type=_Line)
        grain = usual.grain if given.by is None else Grain(given.by)
    except (msgspec.DecodeError, UnicodeError, ValueError):
        raise UsageError(
            _("Line {number} is not a valid query.", number=at),
            _('Give plain text, or {"query": …, "k": …, "docs": […], "project": …, "by": …}.'),
        ) from None
    return replace(
        usual,
        text=given.query,
        k=usual.k if given.k is None else given.k,
        documents=usual.documents if given.docs is None else tuple(given.docs),
        project=usual.project if given.project is None else given.project,
        grain=grain,
    )


def _checked(query: "DocumentQuery") -> "DocumentQuery":
    if not 1 <= query.k <= _MOST:
        raise UsageError(
            _("{k} is not a valid number of hits.", k=query.k), _("Choose 1 to {most}.", most=_MOST)
        )
    return query


async def _resolved(room: "RoomServices", query: "DocumentQuery", _line: int) -> "DocumentQuery":
    """Returns the query with the ids of the documents that it names by id, prefix or path."""
    if query.documents is None:
        return query
    found = [(await room.documents.get(ref)).id for ref in query.documents]
    return replace(query, documents=tuple(found))


def _described(hit: "DocumentHit") -> str:
    chunk = hit.chunk
    place = " › ".join([hit.title, *chunk.heading])
    return f"{hit.score:.2f}  {place} ({place_text(chunk.page, chunk.lines)})\n{chunk.text}"


# --- asking -----------------------------------------------------------------------------------------


async def ask(ctx: Context, args: argparse.Namespace) -> int:
    *refs, question = args.documents
    question = given_text(question)
    if not refs or not question.strip():
        raise UsageError(
            _("A document and a question are needed."), _("Give one or more documents, then the question.")
        )
    refuse_what_is_for_new_sessions(args)
    if args.memory == "off":
        raise UsageError(
            _("Documents cannot be asked off the record."), _("Use --memory blank to use no memories.")
        )
    room = await open_for(ctx, args)
    documents = tuple([(await room.documents.get(ref)).id for ref in refs])
    session = None if args.session == "new" else args.session
    await room.documents.search.load()
    options = await for_new_session(ctx, room, options_for(ctx, args), args)
    options = replace(options, documents=documents)
    return await answer(ctx, room, [question], session, options)


async def write(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock_for(args.session)
    made = await room.documents.from_session((await room.store.get_session(args.session)).id)
    ctx.emit(output.library_document(made, room.store.room), _("Made the document {id}.", id=made.id))
    return Exit.DONE


async def edit(ctx: Context, args: argparse.Namespace) -> int:
    room, document = await _find(ctx, args.document)
    new = given_text("-") if args.text == "-" else read_text(args.text)
    changed = await room.documents.edit(document.id, new)
    ctx.emit(output.library_document(changed, room.store.room), _("Saved."))
    return Exit.DONE


async def summary(ctx: Context, args: argparse.Namespace) -> int:
    room, document = await _find(ctx, args.document)
    made = await room.documents.summary(document.id, refresh=args.refresh)
    value = {
        "document": document.id,
        "summary": {"text": made.text, "fallback": made.fallback, "model": made.model},
    }
    note = f"\n{_('(Made of its own sentences, without a model.)')}" if made.fallback else ""
    ctx.emit(value, f"{made.text}{note}")
    return Exit.DONE


# --- rooms ------------------------------------------------------------------------------------------


async def make_private(ctx: Context, args: argparse.Namespace) -> int:
    from memory.entities import RoomKind

    moved = await _move(ctx, args.documents, RoomKind.PRIVATE)
    lines = output.moved([one.title for one in moved], RoomKind.PRIVATE)
    ctx.emit([output.library_document(one, RoomKind.PRIVATE) for one in moved], "\n".join(lines))
    return Exit.DONE


async def make_open(ctx: Context, args: argparse.Namespace) -> int:
    from memory.entities import RoomKind

    moved = await _move(ctx, args.documents, RoomKind.OPEN)
    lines = output.moved([one.title for one in moved], RoomKind.OPEN)
    ctx.emit([output.library_document(one, RoomKind.OPEN) for one in moved], "\n".join(lines))
    return Exit.DONE


async def _move(ctx: Context, refs: Sequence[str], destination: "RoomKind") -> "list[Document]":
    """Moves documents once all of them are found. Raises `DocumentNotFound`, `AmbiguousId`."""
    ctx.private = True
    await ctx.unlock()
    rooms = ctx.desk.rooms
    found = [(await rooms.find_document(ref))[1].id for ref in refs]
    return [await rooms.move_document(one, destination) for one in dict.fromkeys(found)]


# --- removing ---------------------------------------------------------------------------------------


async def remove(ctx: Context, args: argparse.Namespace) -> int:
    found = [await _find(ctx, ref) for ref in dict.fromkeys(args.documents)]
    ctx.confirm(
        ngettext(
            "Remove {count} document and everything made from it? The file itself is kept.",
            "Remove {count} documents and everything made from them? The files themselves are kept.",
            len(found),
        )
    )
    results = []
    for room in ctx.opened:
        own = [document.id for owner, document in found if owner is room]
        if own:
            results.append(await room.documents.remove(own, for_good=True))
    value = output.erased_documents(*results)
    ctx.emit(value, _removed(sum(one.documents for one in results)))
    return Exit.DONE if value["verified"] else Exit.FAILED


def _removed(count: int) -> str:
    return ngettext("Removed {count} document.", "Removed {count} documents.", count)
