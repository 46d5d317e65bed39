"""`atlas vault verify`, `salvage`, `rekey` and `destroy`, and who may change keys."""

import argparse
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli.context import Context, ctrl_c_interrupts, read_secret
from atlas_desktop.error_table import explain
from atlas_desktop.errors import Declined, Exit, UsageError, size
from atlas_desktop.words.catalogue import tr

if TYPE_CHECKING:
    from atlas_desktop.services.repairs import Destroyed, RepairService, Rescued
    from atlas_desktop.services.vault import VaultReport
    from memory.entities import RoomKind
    from memory.vault.vaults import Keys, Vaults


def add_authority(parser: argparse.ArgumentParser, *, keyring: bool = False) -> None:
    """Ways to show that one may change the keys, besides the passphrase."""
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--recovery-key", action="store_true", help="ask for the recovery key instead")
    ways.add_argument("--recovery-key-file", metavar="FILE", help="read the recovery key from FILE")
    ways.add_argument("--recovery-key-fd", metavar="N", type=int, help="read it from descriptor N")
    if keyring:
        ways.add_argument("--use-keyring", action="store_true", help="let the system keyring open the vault")


def recovery_key(ctx: Context, args: argparse.Namespace) -> str | None:
    """The recovery key, if the person chose to give that."""
    if args.recovery_key_file is not None:
        return read_secret(args.recovery_key_file)
    if args.recovery_key_fd is not None:
        return read_secret(args.recovery_key_fd)
    return ctx.type_secret("Recovery key: ") if args.recovery_key else None


def unlocking(ctx: Context, args: argparse.Namespace, prompt: str) -> "Callable[[Vaults], Keys]":
    """Opens vaults with the recovery key if one is given, else with the passphrase; asked for here, once."""
    key_text = recovery_key(ctx, args)
    if key_text is not None:
        return lambda vaults: vaults.unlock_with_recovery(key_text)
    passphrase = ctx.passphrase(prompt)
    return lambda vaults: vaults.unlock_both(passphrase)


async def present_keys(ctx: Context) -> "Keys":
    """The keys of the rooms: both when a passphrase is given, the open room's from the keyring."""
    from memory.vault.vaults import Keys

    if ctx.has_passphrase:
        await ctx.vault().status()
        with ctx.attempt():
            return await ctx.vault().unlock_both(ctx.passphrase())
    return Keys(await ctx.key())


DESTROY_WORD = "destroy"


def register(add: Any) -> None:
    """`add(name, handler, text)` makes the parser of one command."""
    add("verify", verify, "check every page, key, reference and index of every room; mends nothing but keys")
    salvaging = add("salvage", salvage, "make a new room of all that can be read of a damaged one")
    salvaging.add_argument("--room", choices=("open", "private"), help="only this room")
    salvaging.add_argument(
        "--new-private",
        action="store_true",
        help="put an empty private room in place of one that is lost; asks, and keeps the old files aside",
    )
    add("rekey", rekey, "give every room a new key; needs the passphrase and shows a new recovery key")
    destroying = add("destroy", destroy, "overwrite the keys and remove every room, for good")
    destroying.add_argument("--with-backups", action="store_true", help="the dated backups, too")


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
    # Unlocking mends a damaged copy of the keyslots; say so, or nobody would know that it happened.
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
    from atlas_desktop.words.phrases import freshness_text, held

    opened = reports[0].room
    lines = [f"{held(opened.sessions, opened.messages)}."]
    lines += [f"{name} was damaged and has been mended from the other copy." for name in healed]
    lines += [f"{name}: {state}" for name, state in copies.items() if state != "sound"]
    for report in reports:
        lines += [f"{report.room.room}: {problem}" for problem in report.room.problems]
        if words := freshness_text(report.room.room, report.room.freshness):
            lines.append(words)
    lines += [freshness_text(room, "missing") for room in missing]
    if len(reports) == 1 and not missing:
        lines.append("The private room was not looked into: that takes the passphrase.")
    if sound:
        lines.append("Everything is sound.")
    elif not missing or not all(report.sound for report in reports):
        lines.append("The vault is damaged; `atlas vault salvage` helps.")
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
        """How much there is in a room that is closed is not told, unless it is asked for."""
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
    ctx.confirm("This puts an empty private room in place of the one that is lost. Go on?")
    with ctx.attempt():
        kept = await _repairs(ctx).new_private_room(ctx.passphrase())
    ctx.emit(
        {"new_private": True, "kept": str(kept)},
        f"An empty private room is in place; what was there is in {kept.name}.\n"
        "Your recovery key does not open it yet: `atlas vault recovery-key` makes one for both rooms.",
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
    found = one.salvaged
    if not told:
        return (
            f"What can be read of the {room} room is in a new room; --private says how much that is. "
            f"The old files are in {one.kept.name}."
        )
    return (
        f"{found.bad_pages} of {found.pages} pages of the {room} room cannot be read.\n"
        f"{found.messages} of {found.expected} messages in {found.sessions} conversations are in a new room; "
        f"{found.placeholders} conversations lost their title.\n"
        f"Summaries and the memory by meaning are made anew. The old files are in {one.kept.name}."
    )


# --- rekey ----------------------------------------------------------------------------------------


async def rekey(ctx: Context, _args: argparse.Namespace) -> int:
    await ctx.vault().status()
    async with AsyncExitStack() as stack:
        with ctx.attempt():
            rekeying = _repairs(ctx).rekeying(ctx.passphrase("Passphrase: "))
            made = await stack.enter_async_context(rekeying)
        ctx.show_key(
            {
                "rekeyed": True,
                "rooms": list(made.rooms),
                "recovery_key": made.recovery_key,
                "keyring": made.keyring,
                "keyring_lost": made.keyring_lost,
            },
            f"Your new recovery key, shown this once:\n\n    {made.recovery_key}\n",
        )
    text = (
        "Every page is written anew under a new key; the old one, and the old recovery key, open nothing but "
        "older backups."
    )
    if made.keyring_lost:
        text += "\nThe system keyring did not take the new secret: `atlas vault keyring on` tries again."
    if len(made.rooms) == 1:
        text += "\nThe private room keeps its key: what you gave does not open it."
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
    """Has the word typed: a slip of the finger must not do this. Raises `Declined`, `UsageError`."""
    if ctx.yes:
        return
    also = f" and {tr('amounts.backups', count=backups)}" if backups else ""
    question = f"This destroys every conversation and memory of this home{also}, for good."
    if not sys.stdin.isatty():
        raise UsageError(f"{question} There is nobody to ask.", "Give --yes to agree beforehand.")
    print(f'{question} Type "{DESTROY_WORD}" to go on: ', end="", file=sys.stderr, flush=True)
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
        f"{gone.keys} key files are overwritten.",
        f"Every room is removed; of the open one {gone.files} files ({size(gone.bytes)}).",
        "Without the keys, what may be left of the rest on the disk can be read by nobody.",
    ]
    if done.keyring_entry_removed is False:
        lines.append("The system keyring did not let go of its entry; it opens nothing any more.")
    if done.backups_left:
        lines.append(tr("amounts.backups_left", count=len(done.backups_left)))
    return "\n".join(lines)
