"""Backups and repairs, for `atlas vault`: backup, restore, verify, salvage, rekey and destroy."""

import argparse
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli.context import Context, ctrl_c_interrupts, read_secret
from atlas_desktop.error_table import explain
from atlas_desktop.errors import Declined, Exit, UsageError, size
from atlas_desktop.locale import N_, _, ngettext, number
from memory.kinds import RoomKind

if TYPE_CHECKING:
    from atlas_desktop.services.backup import Destroyed, Loss, RepairService, Rescued, Restoration
    from atlas_desktop.services.vault import VaultReport
    from memory.vault.upkeep import BackupMade, RoomContents
    from memory.vault.vault import Keys, Vaults


def add_authority(parser: argparse.ArgumentParser, *, keyring: bool = False) -> None:
    """Adds the alternatives to the passphrase for authorising key changes."""
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--recovery-key", action="store_true", help=_("ask for the recovery key instead"))
    ways.add_argument("--recovery-key-file", metavar="FILE", help=_("read the recovery key from FILE"))
    ways.add_argument("--recovery-key-fd", metavar="N", type=int, help=_("read it from file descriptor N"))
    if keyring:
        ways.add_argument("--use-keyring", action="store_true", help=_("unlock with the system keyring"))


def recovery_key(ctx: Context, args: argparse.Namespace) -> str | None:
    """The recovery key, if the user chose that way; otherwise None."""
    if args.recovery_key_file is not None:
        return read_secret(args.recovery_key_file)
    if args.recovery_key_fd is not None:
        return read_secret(args.recovery_key_fd)
    return ctx.type_secret(_("Recovery key:")) if args.recovery_key else None


def unlocking(ctx: Context, args: argparse.Namespace, prompt: str) -> "Callable[[Vaults], Keys]":
    """A function that unlocks vaults with the recovery key or the passphrase. Asks for either of them once,
    now."""
    key_text = recovery_key(ctx, args)
    if key_text is not None:
        return lambda vaults: vaults.unlock_with_recovery(key_text)
    passphrase = ctx.passphrase(prompt)
    return lambda vaults: vaults.unlock_both(passphrase)


async def present_keys(ctx: Context) -> "Keys":
    """The keys of the rooms: both rooms with a passphrase, only the open room with the keyring."""
    from memory.vault.vault import Keys

    if ctx.has_passphrase:
        await ctx.vault().status()
        with ctx.attempt():
            return await ctx.vault().unlock_both(ctx.passphrase())
    return Keys(await ctx.key())


DESTROY_WORD = "destroy"
_ROOMS = {"open": N_("open room"), "private": N_("private room")}
COPY_STATES = {
    "sound": N_("sound"),
    "missing": N_("missing"),
    "damaged": N_("damaged"),
    "stale": N_("stale"),
}


def register_repairs(add: Any) -> None:
    """`add(name, handler, text)` creates the parser of one command."""
    add("verify", verify, _("check every page, key, reference and index of every room; repairs only keys"))
    salvaging = add("salvage", salvage, _("create a new room from the readable data of a damaged one"))
    salvaging.add_argument("--room", choices=("open", "private"), help=_("only this room"))
    salvaging.add_argument(
        "--new-private",
        action="store_true",
        help=_("replace a lost private room with an empty one; asks first and keeps the old files"),
    )
    add("rekey", rekey, _("give every room a new key; needs the passphrase and shows a new recovery key"))
    destroying = add("destroy", destroy, _("overwrite the keys and permanently delete every room"))
    destroying.add_argument("--with-backups", action="store_true", help=_("also the dated backups"))


def _repairs(ctx: Context) -> "RepairService":
    from atlas_desktop.bootstrap import build_repairs

    return build_repairs(ctx.paths)


# --- verify ---------------------------------------------------------------------------------------


async def verify(ctx: Context, _args: argparse.Namespace) -> int:
    from atlas_desktop.services.backup import by_room

    vault = ctx.vault()
    missing = [room for room in ("private",) if await vault.private_missing()]
    rooms = [one.room for one in vault.rooms if one.room not in missing]
    before = {room: await vault.copies(room) for room in rooms}
    keys = await present_keys(ctx)
    reports = [await vault.verify(key, room) for room, key in by_room(keys).items() if room in rooms]
    # Unlocking repairs a damaged copy of the keyslots. Report that, because nobody would notice otherwise.
    after = {room: await vault.copies(room) for room in rooms}
    healed = [
        name
        for room, copies in before.items()
        for name, state in copies.items()
        if state != "sound" and after[room].get(name) == "sound"
    ]
    copies = {name: state for one in after.values() for name, state in one.items()}
    whole = not missing and all(state == "sound" for state in copies.values())
    sound = whole and all(report.sound for report in reports)
    ctx.emit(
        {**_report_json(reports, copies, healed), "missing": missing, "sound": sound},
        lambda: _report_text(reports, copies, healed, missing, sound=sound),
    )
    return Exit.DONE if sound else Exit.DAMAGED


def _report_json(reports: list["VaultReport"], copies: dict[str, str], healed: list[str]) -> dict[str, Any]:
    opened = reports[0]
    return {
        "room": opened.room.room.value,
        "sessions": opened.room.sessions,
        "messages": opened.room.messages,
        "schema_version": opened.room.schema_version,
        "problems": [problem for report in reports for problem in report.room.problems],
        "rooms": [
            {
                "room": report.room.room.value,
                "sound": report.sound,
                "schema_version": report.room.schema_version,
                "freshness": report.room.freshness.value,
                "problems": list(report.room.problems),
            }
            for report in reports
        ],
        "freshness": opened.room.freshness.value,
        "copies": copies,
        "healed": healed,
    }


def _report_text(
    reports: list["VaultReport"],
    copies: dict[str, str],
    healed: list[str],
    missing: list[str],
    *,
    sound: bool,
) -> str:
    from atlas_desktop.phrases import freshness_text, held

    opened = reports[0].room
    lines = [f"{held(opened.sessions, opened.messages)}."]
    lines += [_("{name} was damaged and was repaired from the other copy.", name=name) for name in healed]
    lines += [f"{name}: {_(COPY_STATES[state])}" for name, state in copies.items() if state != "sound"]
    for report in reports:
        lines += [f"{_(_ROOMS[report.room.room])}: {problem}" for problem in report.room.problems]
        if words := freshness_text(report.room.room, report.room.freshness):
            lines.append(words)
    lines += [freshness_text(room, "missing") for room in missing]
    if len(reports) == 1 and not missing:
        lines.append(_("The private room was not checked: that needs the passphrase."))
    if sound:
        lines.append(_("No problems found."))
    elif not missing or not all(report.sound for report in reports):
        lines.append(_("The vault is damaged. Run `atlas vault salvage`."))
    return "\n".join(lines)


# --- salvage --------------------------------------------------------------------------------------


async def salvage(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.services.backup import by_room
    from memory.errors import KeyslotsMissing, NothingReadable, NothingToSalvage

    if args.new_private:
        return await _new_private(ctx)
    keys = {room: key for room, key in by_room(await present_keys(ctx)).items() if args.room in (None, room)}
    repairs = _repairs(ctx)
    done: dict[RoomKind, Rescued] = {}
    lost: list[NothingReadable] = []
    for room, key in keys.items():
        if await repairs.damaged(room, key):
            try:
                done[room] = await repairs.salvage(room, key)
            except NothingReadable as error:
                lost.append(error)
    if not done and not lost and args.room != "open" and await ctx.vault().private_missing():
        raise KeyslotsMissing("private")
    if not done:
        raise lost[0] if lost else NothingToSalvage

    def told(room: "RoomKind") -> bool:
        """Whether to show the amounts of a room: hidden for a locked room, unless it was requested."""
        return room == "open" or ctx.private or args.room == room

    ctx.emit(
        {
            "salvaged": [_rescued_json(room, one, told=told(room)) for room, one in done.items()],
            "unreadable": [one.room for one in lost],
        },
        lambda: "\n".join(_rescued_text(room, one, told=told(room)) for room, one in done.items()),
    )
    for one in lost:
        words = explain(one)
        ctx.note(f"{words.title}: {words.message}\n{words.next_step}")
    return Exit.DAMAGED if lost else Exit.DONE


async def _new_private(ctx: Context) -> int:
    await ctx.vault().status()
    ctx.confirm(_("This replaces the lost private room with an empty one. Continue?"))
    with ctx.attempt():
        kept = await _repairs(ctx).new_private_room(ctx.passphrase())
    ctx.emit(
        {"new_private": True, "kept": str(kept)},
        "\n".join(
            [
                _("Created an empty private room. The old files are in {name}.", name=kept.name),
                _(
                    "Your recovery key does not unlock it yet: `atlas vault recovery-key` creates one for "
                    "both rooms."
                ),
            ]
        ),
    )
    return Exit.DONE


def _rescued_json(room: "RoomKind", one: "Rescued", *, told: bool) -> dict[str, Any]:
    found = one.salvaged
    if not told:
        return {"room": room.value, "kept": str(one.kept)}
    return {
        "room": room.value,
        "pages": found.pages,
        "bad_pages": found.bad_pages,
        "sessions": found.sessions,
        "messages": found.messages,
        "expected_messages": found.expected,
        "placeholders": found.placeholders,
        "rows": found.rows,
        "kept": str(one.kept),
    }


def _rescued_text(room: "RoomKind", one: "Rescued", *, told: bool) -> str:
    found, name = one.salvaged, one.kept.name
    if not told:
        return (
            _(
                "The readable data of the open room is in a new room; --private shows how much. The old "
                "files are in {name}.",
                name=name,
            )
            if room == "open"
            else _(
                "The readable data of the private room is in a new room; --private shows how much. The old "
                "files are in {name}.",
                name=name,
            )
        )
    pages = {"bad": number(found.bad_pages), "pages": number(found.pages)}
    saved = _(
        "{messages} of {expected} messages in {conversations} are in a new room.",
        messages=number(found.messages),
        expected=number(found.expected),
        conversations=ngettext("1 conversation", "{count} conversations", found.sessions),
    )
    untitled = ngettext(
        "1 conversation lost its title.", "{count} conversations lost their title.", found.placeholders
    )
    return "\n".join(
        [
            _("{bad} of {pages} pages of the open room are unreadable.", **pages)
            if room == "open"
            else _("{bad} of {pages} pages of the private room are unreadable.", **pages),
            f"{saved} {untitled}",
            _("Summaries and the semantic index will be rebuilt. The old files are in {name}.", name=name),
        ]
    )


# --- rekey ----------------------------------------------------------------------------------------


async def rekey(ctx: Context, _args: argparse.Namespace) -> int:
    await ctx.vault().status()
    async with AsyncExitStack() as stack:
        with ctx.attempt():
            rekeying = _repairs(ctx).rekeying(ctx.passphrase())
            made = await stack.enter_async_context(rekeying)
        ctx.show_key(
            {
                "rekeyed": True,
                "rooms": list(made.rooms),
                "recovery_key": made.recovery_key,
                "keyring": made.keyring,
                "keyring_lost": made.keyring_lost,
            },
            f"{_('Your new recovery key, shown only once:')}\n\n    {made.recovery_key}\n",
        )
    text = _(
        "Every page is re-encrypted with a new key. The old key and the old recovery key unlock only "
        "older backups."
    )
    if made.keyring_lost:
        retry = _("The system keyring did not accept the new secret. To retry: `atlas vault keyring on`.")
        text += f"\n{retry}"
    if len(made.rooms) == 1:
        text += f"\n{_('The private room keeps its key: your passphrase did not unlock it.')}"
    if not ctx.json:
        ctx.emit(None, text)
    return Exit.DONE


# --- destroy --------------------------------------------------------------------------------------


async def destroy(ctx: Context, args: argparse.Namespace) -> int:
    backups = tuple(ctx.desk.backups.kept())
    _confirm(ctx, len(backups) if args.with_backups else 0)
    done = await _repairs(ctx).destroy(backups, with_backups=args.with_backups)
    ctx.emit(_destroyed_json(done), lambda: _destroyed_text(done))
    return Exit.DONE


def _confirm(ctx: Context, backups: int) -> None:
    """Asks the user to type a word, so that a slip cannot confirm this. Raises `Declined`, `UsageError`."""
    if ctx.yes:
        return
    question = (
        ngettext(
            "This permanently destroys every conversation and memory in this home folder and 1 backup.",
            "This permanently destroys every conversation and memory in this home folder and "
            "{count} backups.",
            backups,
        )
        if backups
        else _("This permanently destroys every conversation and memory in this home folder.")
    )
    if not sys.stdin.isatty():
        raise UsageError(
            f"{question} {_('Cannot ask without a terminal.')}", _("Use --yes to agree in advance.")
        )
    how = _('Type "{word}" to continue:', word=DESTROY_WORD)
    print(f"{question} {how} ", end="", file=sys.stderr, flush=True)
    with ctrl_c_interrupts():
        answer = sys.stdin.readline()
    if answer.strip() != DESTROY_WORD:
        raise Declined


def _destroyed_json(done: "Destroyed") -> dict[str, Any]:
    return {
        "destroyed": {
            "files": done.shredded.files,
            "bytes": done.shredded.bytes,
            "key_files": done.shredded.keys,
            "backups": done.backups_destroyed,
        },
        "keyring_entry_removed": done.keyring_entry_removed,
        "backups_left": [str(path) for path in done.backups_left],
        "verified": done.verified,
    }


def _destroyed_text(done: "Destroyed") -> str:
    gone = done.shredded
    lines = [
        ngettext("1 key file overwritten.", "{count} key files overwritten.", gone.keys),
        ngettext(
            "Every room deleted; from the open room, 1 file ({size}).",
            "Every room deleted; from the open room, {count} files ({size}).",
            gone.files,
            size=size(gone.bytes),
        ),
        _("Without the keys, nobody can read any data that may be left on the disk."),
    ]
    if done.keyring_entry_removed is False:
        lines.append(_("The system keyring entry could not be removed, but it no longer unlocks anything."))
    if done.backups_left:
        lines.append(
            ngettext(
                "1 backup is left. The passphrase still opens it.",
                "{count} backups are left. The passphrase still opens them.",
                len(done.backups_left),
            )
        )
    return "\n".join(lines)


def register_backup(add: Any) -> None:
    """`add(name, handler, text, exclusive=True)` creates the parser of one command."""
    backing = add(
        "backup",
        backup,
        _("create an encrypted, verified backup of everything, even while Atlas runs"),
        exclusive=False,
    )
    backing.add_argument(
        "--output", metavar="PATH", help=_("the file, or the folder for a dated file (default: backups)")
    )
    restoring = add("restore", restore, _("replace the current rooms with those of a backup"))
    restoring.add_argument("file", metavar="FILE")
    restoring.add_argument(
        "--dry-run", action="store_true", help=_("only verify it and show what would be lost")
    )
    add_authority(restoring)


async def backup(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.services.backup import by_room

    service = ctx.desk.backups
    # A wrong path is reported before a passphrase is asked for.
    target = service.target(None if args.output is None else _path(args.output))
    keys = await present_keys(ctx)
    if target.exists():
        ctx.confirm(_("{name} already exists. Replace it?", name=target.name))
    made = await service.make(by_room(keys), target)
    # Do not reveal the size of a room that is locked.
    amount = made.bytes if ctx.private else made.sizes[RoomKind.OPEN]
    ctx.emit(_made_json(made, amount), lambda: _made_text(made, private=ctx.private))
    return Exit.DONE if made.verified else Exit.DAMAGED


def _path(given: str) -> Path:
    return Path(given).expanduser().absolute()


def _made_json(made: "BackupMade", amount: int) -> dict[str, Any]:
    return {
        "path": str(made.path),
        "bytes": amount,
        "made_at": made.made_at.isoformat(),
        "rooms": list(made.rooms),
        "checked": list(made.checked),
        "missing": list(made.missing),
        "verified": made.verified,
    }


def _made_text(made: "BackupMade", *, private: bool) -> str:
    from atlas_desktop.phrases import backup_text

    text = backup_text(made, private=private)
    return f"{text}\n{_('Restore one with `atlas vault restore`.')}" if made.missing else text


async def restore(ctx: Context, args: argparse.Namespace) -> int:
    service = ctx.desk.backups
    async with AsyncExitStack() as stack:
        with ctx.attempt():
            unlock = unlocking(ctx, args, _("Passphrase of the backup:"))
            found = await stack.enter_async_context(
                service.restoring(_path(args.file), unlock, private=ctx.private)
            )
        if not args.dry_run:
            if found.replaces:
                ctx.confirm(f"{_question(found)} {_('Restore the backup?')}")
            await found.put_in_place()
        ctx.emit(
            _restored_json(found, done=not args.dry_run), lambda: _restored_text(found, done=not args.dry_run)
        )
    return Exit.DONE


def _counts(contents: "RoomContents | None") -> dict[str, int] | None:
    if contents is None:
        return None
    return {
        "sessions": len(contents.sessions),
        "messages": len(contents.messages),
        "memories": len(contents.memories),
        "documents": len(contents.documents),
    }


def _loss_json(loss: "Loss | None") -> dict[str, int] | None:
    if loss is None:
        return None
    return {
        "sessions": loss.sessions,
        "messages": loss.messages,
        "memories": loss.memories,
        "documents": loss.documents,
        "forgotten": loss.forgotten,
        **loss.others,
    }


def _restored_json(found: "Restoration", *, done: bool) -> dict[str, Any]:
    return {
        "restored": done,
        "verified": True,
        "backup": {
            "made_at": found.unpacked.made_at.isoformat(),
            "program": found.unpacked.program,
            "rooms": list(found.unpacked.rooms),
            **(_counts(found.contents) or {}),
        },
        "present": _counts(found.present),
        "replaces": found.replaces,
        "lost": _loss_json(found.loss),
        "lost_private": _loss_json(found.private_loss),
        "kept_rooms": list(found.kept),
    }


def _question(found: "Restoration") -> str:
    """What the user needs to know before anything is replaced."""
    made = f"{found.unpacked.made_at.astimezone():%Y-%m-%d %H:%M}"
    words = [_("The backup of {made} is intact.", made=made), _loss_text(found.loss, "open")]
    if forgotten := sum(loss.forgotten for loss in (found.loss, found.private_loss) if loss is not None):
        words.append(
            ngettext(
                "What you forgot since then, once, may come back.",
                "What you forgot since then, {count} times, may come back.",
                forgotten,
            )
        )
    if found.kept:
        words.append(_("It does not include the private room; the current one stays."))
    elif found.private_loss is not None:
        words.append(_loss_text(found.private_loss, "private"))
    elif found.replaces and len(found.unpacked.rooms) > 1:
        words.append(_("The private room is replaced too; only --private shows what would be lost there."))
    return " ".join(words)


def _loss_text(loss: "Loss | None", room: str) -> str:
    if loss is None:
        return _(
            "The current data could not be unlocked with your input, so the loss cannot be counted. "
            "You may lose everything."
        )
    if not loss:
        return (
            _("Nothing would be lost from the open room: the backup contains all of it, as it was then.")
            if room == "open"
            else _(
                "Nothing would be lost from the private room: the backup contains all of it, as it was then."
            )
        )
    from atlas_desktop.phrases import lost

    gone = lost(loss.sessions, loss.messages, loss.memories, loss.documents, loss.others)
    return (
        _("It does not contain {what} from the current open room. They would be lost.", what=gone)
        if room == "open"
        else _("It does not contain {what} from the current private room. They would be lost.", what=gone)
    )


def _amount(contents: "RoomContents") -> str:
    from atlas_desktop.phrases import held

    return held(len(contents.sessions), len(contents.messages))


def _restored_text(found: "Restoration", *, done: bool) -> str:
    lines = [
        _question(found),
        _("It contains {what}.", what=_amount(found.contents)),
    ]
    if found.present is not None:
        now = found.present
        lines.append(
            _("Before: {what}.", what=_amount(now)) if done else _("Now: {what}.", what=_amount(now))
        )
    lines.append(_("Backup restored.") if done else _("No changes were made."))
    return "\n".join(lines)
