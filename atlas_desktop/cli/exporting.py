"""`atlas export`: exports conversations and memories to a file, a folder or standard output."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli.context import Context, read_secret
from atlas_desktop.errors import Exit, UsageError
from atlas_desktop.locale import _, ngettext, number, plural

if TYPE_CHECKING:
    from atlas_desktop.exporting.redaction import Found, Redaction
    from atlas_desktop.exporting.service import Chosen, Order, Report, Seal, Target
    from memory.storage.store import Store

_FORMATS = ("md", "html", "txt", "pdf", "json", "jsonl", "csv")
_USUAL = "jsonl"
_ALL = "all"
_MOST = 10_000_000


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    parser = subparsers.add_parser(
        "export",
        parents=[common],
        help=_("export conversations"),
        description=_(
            "Export conversations to standard output, or to a file or folder of your choice. "
            "Unless you encrypt it with --encrypt, anyone who can read the file can read the conversations."
        ),
    )
    what = parser.add_argument_group(_("what"))
    what.add_argument("sessions", metavar="SESSION", nargs="*", help=_("session IDs, or last"))
    what.add_argument("--all", action="store_true", help=_("all sessions that are not in the bin"))
    what.add_argument("--query", metavar="Q", help=_("the sessions that match this query"))
    what.add_argument(
        "--include-private", action="store_true", help=_("include the private room; asks for the passphrase")
    )
    what.add_argument(
        "--memories",
        action="store_true",
        help=_("include their memories; on its own: all memories"),
    )
    how = parser.add_argument_group(_("how"))
    how.add_argument(
        "--format",
        choices=_FORMATS,
        help=_("default: the file extension of --output, otherwise {usual}", usual=_USUAL),
    )
    how.add_argument(
        "--output", metavar="PATH", type=Path, help=_("a new file or folder that only you can read")
    )
    many = how.add_mutually_exclusive_group()
    many.add_argument("--one-file", action="store_true", help=_("everything in one file (the default)"))
    many.add_argument("--each", action="store_true", help=_("one file per session, in the --output folder"))
    how.add_argument("--force", action="store_true", help=_("replace an existing file"))
    less = parser.add_argument_group(_("remove personal data"))
    less.add_argument(
        "--redact",
        metavar="KINDS",
        nargs="?",
        const=_ALL,
        help=_("remove names,emails,phones,addresses,cards,ids (all of them if you name none)"),
    )
    less.add_argument(
        "--redact-words",
        metavar="FILE|WORD",
        nargs="+",
        action="extend",
        help=_("also remove these words, or those in a file, one per line"),
    )
    less.add_argument(
        "--preview", action="store_true", help=_("only show what would be exported and what would be removed")
    )
    sealed = parser.add_argument_group(_("encrypt (age-encryption.org)"))
    to = sealed.add_mutually_exclusive_group()
    to.add_argument("--encrypt", action="store_true", help=_("with a passphrase; asks for it"))
    to.add_argument("--encrypt-to", metavar="RECIPIENT", help=_("to an age recipient or an SSH public key"))
    sealed.add_argument(
        "--encrypt-passphrase-file",
        metavar="FILE",
        help=_("read that passphrase from FILE (implies --encrypt)"),
    )
    parser.set_defaults(handler=export, exclusive=True)


async def export(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.errors import NothingToExport
    from atlas_desktop.exporting.service import ExportService, Order

    redaction = _redaction(args)
    order = Order(_format(args), each=args.each, memories=args.memories, redaction=redaction)
    _check(args, order)
    ctx.private = ctx.private or args.include_private
    await ctx.unlock()
    chosen = await _chosen(ctx, args)
    progress = ctx.progress(_("export"))
    service = ExportService(
        chosen,
        progress=lambda done, total: progress.update(
            ngettext("{done} of 1 conversation", "{done} of {count} conversations", total, done=number(done)),
            0,
            None,
        ),
    )
    if not service.total and not args.memories:
        if args.all and args.output is None:
            return Exit.DONE
        raise NothingToExport
    if args.preview:
        show(ctx, await service.preview(order), order, preview=True)
        return Exit.DONE
    seal = _seal(ctx, args)
    target = _target(args, order, seal)
    try:
        _say_what_leaves(ctx, args, chosen, sealed=seal is not None, redacted=redaction is not None)
    except BaseException:
        target.abandon()
        raise
    report = await service.write(order, target)
    progress.close()
    show(ctx, report, order, preview=False, output=args.output)
    return Exit.DONE


def _redaction(args: argparse.Namespace) -> "Redaction | None":
    from atlas_desktop.exporting.redaction import Redaction, kinds_of

    if args.redact is None and not args.redact_words:
        return None
    kinds = kinds_of(args.redact) if args.redact is not None else frozenset({"words"})
    if kinds is None:
        # `--redact` directly before a session id takes the id as its kinds.
        if "," in args.redact:
            raise UsageError(
                _("{words} is not a list of kinds.", words=args.redact),
                _("The kinds are names,emails,phones,addresses,cards,ids."),
            )
        args.sessions.append(args.redact)
        kinds = kinds_of(_ALL)
    assert kinds is not None
    return Redaction(kinds, tuple(_words(args.redact_words or [])))


def _words(given: list[str]) -> list[str]:
    words = []
    for one in given:
        path = Path(one)
        try:
            words += path.read_text(encoding="utf-8-sig").splitlines() if path.is_file() else [one]
        except (OSError, UnicodeDecodeError):
            raise UsageError(
                _("Cannot read {path} as a list of words.", path=one), _("Give a UTF-8 text file.")
            ) from None
    return [word for word in words if word.strip()]


def _format(args: argparse.Namespace) -> str:
    from atlas_desktop.exporting.formats import FORMATS, ending_of, format_of

    if args.format is not None:
        return str(args.format)
    if args.output is None:
        return _USUAL
    found, ending = format_of(args.output.name), ending_of(args.output.name)
    if found is None and ending[1:].isalpha() and not args.each:
        raise UsageError(
            _("No export format has the file extension {ending}.", ending=ending),
            _(
                "Use {endings}, or choose with --format.",
                endings=", ".join(one.suffix for one in FORMATS.values()),
            ),
        )
    return found or _USUAL


def _check(args: argparse.Namespace, order: "Order") -> None:
    from atlas_desktop.exporting.formats import FORMATS

    ways = [bool(args.sessions), args.all, args.query is not None]
    if sum(ways) != 1 and not (args.memories and not any(ways)):
        raise UsageError(
            _("It is not clear what to export."), _("Give session IDs, or use --all or --query.")
        )
    if args.preview:
        return
    if args.each and args.output is None:
        raise UsageError(_("The files need a folder."), _("Name one with --output."))
    if args.output is not None:
        return
    sealed = args.encrypt or args.encrypt_to or args.encrypt_passphrase_file
    if (sealed or FORMATS[order.format].binary) and sys.stdout.isatty():
        raise UsageError(_("A terminal cannot show this output."), _("Name a file with --output."))
    if FORMATS[order.format].apart and args.memories and any(ways):
        raise UsageError(
            _("In this format, memories need a separate file."), _("Name a file with --output, or use json.")
        )


async def _chosen(ctx: Context, args: argparse.Namespace) -> "list[Chosen]":
    """What to export of each unlocked room; sessions in the requested order."""
    from atlas_desktop.exporting.service import Chosen

    wanted: dict[int, list[str]] = {}
    rooms = list(ctx.desk.open_rooms)
    for place, room in enumerate(rooms):
        if args.all:
            wanted[place] = await room.store.transfer.all_ids()
        elif args.query is not None:
            wanted[place] = await _found_ids(room.store, args.query)
    for ref in args.sessions:
        room, session = await ctx.desk.rooms.find(ref)
        ids = wanted.setdefault(rooms.index(room), [])
        if session.id not in ids:
            ids.append(session.id)
    everything = args.all or not (args.sessions or args.query)
    return [
        Chosen(room.store, tuple(wanted.get(place, ())), everything=everything)
        for place, room in enumerate(rooms)
    ]


async def _found_ids(store: "Store", text: str) -> list[str]:
    """Ids of all sessions that match a query, least recently used first. Raises `QueryUnclear`."""
    from datetime import datetime

    from memory.clock import LocalZone
    from memory.search.language import parse

    query = parse(text, datetime.now(LocalZone()))
    if query.question:
        raise UsageError(
            _("A question (~) only finds similar conversations, so it cannot choose what to export."),
            _("Use words and conditions to choose the conversations."),
        )
    page = await store.find.sessions(query, limit=_MOST, snippets=False, exhaustive=True)
    return [hit.session.id for hit in page.hits][::-1]


def _seal(ctx: Context, args: argparse.Namespace) -> "Seal | None":
    from atlas_desktop.exporting.service import Seal

    if args.encrypt_to:
        seal = Seal(recipient=args.encrypt_to)
        seal.check()
        return seal
    if args.encrypt_passphrase_file:
        secret = read_secret(args.encrypt_passphrase_file)
    elif args.encrypt:
        secret = ctx.type_secret(_("Archive passphrase:"), confirm=True)
    else:
        return None
    if not secret:
        raise UsageError(_("The archive passphrase is empty."), _("Choose one that is hard to guess."))
    return Seal(passphrase=secret)


def _say_what_leaves(
    ctx: Context, args: argparse.Namespace, chosen: "list[Chosen]", *, sealed: bool, redacted: bool
) -> None:
    from atlas_desktop.phrases import leaving
    from memory.entities import RoomKind

    sessions = sum(len(one.ids) for one in chosen)
    private = sum(len(one.ids) for one in chosen if one.store.room is RoomKind.PRIVATE)
    where = _("standard output") if args.output is None else str(args.output)
    text = leaving(sessions, where, sealed=sealed, private=private, redacted=redacted)
    if args.output is not None and not sealed and not ctx.yes and sys.stdin.isatty():
        ctx.confirm(f"{text} {_('Continue?')}")
    else:
        ctx.note(text)


def _target(args: argparse.Namespace, order: "Order", seal: "Seal | None") -> "Target":
    from atlas_desktop.exporting.service import FileTarget, FolderTarget, SealedTarget, StreamTarget

    target: Target
    if args.output is None:
        target = StreamTarget(sys.stdout.buffer)
    elif order.each and seal is None:
        target = FolderTarget(args.output, force=args.force)
    else:
        target = FileTarget(args.output, force=args.force)
    return target if seal is None else SealedTarget(target, seal)


# --- the report --------------------------------------------------------------------------------------


def show(
    ctx: Context, report: "Report", order: "Order", *, preview: bool, output: Path | None = None
) -> None:
    """Prints the report; if the export itself went to standard output, notes go to standard error."""
    value: dict[str, Any] = {
        "sessions": report.sessions,
        "messages": report.messages,
        "memories": report.memories,
        "format": order.format,
        "redacted": report.redacted,
        "missing_glyphs": report.missing,
    }
    if preview:
        value |= {"preview": True, "replacements": [_found(one) for one in report.found]}
        ctx.emit(value, _preview(report, order))
        return
    lines = [_count(report)]
    if report.redacted:
        lines.append(_taken_out(report))
    if report.missing:
        lines.append(
            ngettext(
                "1 character has no glyph in the fonts here and appears as a box",
                "{count} characters have no glyph in the fonts here and appear as boxes",
                report.missing,
            )
        )
    if output is None:
        for line in lines if report.redacted or report.missing else ():
            ctx.note(line)
        return
    value |= {"path": str(output), "files": [str(path) for path in report.files]}
    lines[0] = _("{what} written to {path}", what=lines[0], path=output)
    ctx.emit(value, "\n".join(lines))


def _taken_out(report: "Report") -> str:
    parts = [ngettext(*_REDACTED[kind], count) for kind, count in report.redacted.items()]
    return _("removed: {what}", what=", ".join(parts))


_REDACTED = {
    "names": plural("1 name", "{count} names"),
    "emails": plural("1 email", "{count} emails"),
    "phones": plural("1 phone", "{count} phones"),
    "addresses": plural("1 address", "{count} addresses"),
    "cards": plural("1 card", "{count} cards"),
    "ids": plural("1 id", "{count} ids"),
    "words": plural("1 word", "{count} words"),
}


def _count(report: "Report") -> str:
    parts = [
        ngettext("1 conversation", "{count} conversations", report.sessions),
        ngettext("1 message", "{count} messages", report.messages),
    ]
    if report.memories:
        parts.append(ngettext("1 memory", "{count} memories", report.memories))
    return ", ".join(parts)


def _found(one: "Found") -> dict[str, Any]:
    return {"kind": one.kind, "text": one.text, "replacement": one.mark, "count": one.count}


def _preview(report: "Report", order: "Order") -> str:
    lines = [_("{what} would be exported", what=_count(report))]
    if order.redaction is None:
        return "\n".join([*lines, _("Nothing would be removed: --redact removes personal data.")])
    if not report.found:
        return "\n".join([*lines, _("Nothing found to remove.")])
    lines.append(_taken_out(report))
    width = max(len(one.mark) for one in report.found)
    lines += [
        f"  {one.mark:<{width}}  {one.count:>4} ×  {' '.join(one.text.split())}" for one in report.found
    ]
    return "\n".join(lines)
