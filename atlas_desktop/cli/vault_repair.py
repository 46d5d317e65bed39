"""`atlas vault verify`, `salvage`, `rekey` and `destroy`, and ways to authorise key changes."""

import argparse
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli.context import Context, ctrl_c_interrupts, read_secret
from atlas_desktop.error_table import explain
from atlas_desktop.errors import Declined, Exit, UsageError, size
from atlas_desktop.locale import N_, _, ngettext, number

if TYPE_CHECKING:
    from atlas_desktop.services.repairs import Destroyed, RepairService, Rescued
    from atlas_desktop.services.vault import VaultReport
    from memory.entities import RoomKind
    from memory.vault.vaults import Keys, Vaults


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
    """A function that unlocks vaults with the recovery key or the passphrase. Asks for either once, here."""
    key_text = recovery_key(ctx, args)
    if key_text is not None:
        return lambda vaults: vaults.unlock_with_recovery(key_text)
    passphrase = ctx.passphrase(prompt)
    return lambda vaults: vaults.unlock_both(passphrase)


async def present_keys(ctx: Context) -> "Keys":
    """The keys of the rooms: both rooms with a passphrase, only the open room with the keyring."""
    from memory.vault.vaults import Keys

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


def register(add: Any) -> None:
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
    # Unlocking repairs a damaged copy of the keyslots. Report that, or nobody would notice.
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
    from atlas_desktop.phrases.rooms import freshness_text, held

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
        """Whether to show the amounts of a room: hidden for a locked room, unless it was asked for."""
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
