"""`atlas vault`: keys, and the integrity of the data they protect."""

import argparse
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import vault_repair
from atlas_desktop.cli.context import Context, read_secret
from atlas_desktop.cli.vault_repair import add_authority, present_keys, unlocking
from atlas_desktop.errors import Exit, size
from atlas_desktop.locale import N_, _, ngettext
from memory.kinds import RoomKind

if TYPE_CHECKING:
    from datetime import datetime

    from atlas_desktop.services.backup import Loss, Restoration
    from memory.vault.status import SlotStatus, VaultStatus
    from memory.vault.upkeep import BackupMade, RoomContents
    from memory.vault.vaults import Keys


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

    keys = await present_keys(ctx)
    service = ctx.desk.backups
    target = service.target(None if args.output is None else _path(args.output))
    if target.exists():
        ctx.confirm(_("{name} already exists. Replace it?", name=target.name))
    made = await service.make(by_room(keys), target)
    # Do not reveal the size of a room that is locked.
    amount = made.bytes if ctx.private else made.sizes[RoomKind.OPEN]
    ctx.emit(_made_json(made, amount), lambda: _made_text(made, amount, private=ctx.private))
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


_MISSING = {
    "open": N_(
        "The open room is not included: its database or key file is missing. Older backups that "
        "contain it stay in the folder. Restore one with `atlas vault restore`."
    ),
    "private": N_(
        "The private room is not included: its database or key file is missing. Older backups that "
        "contain it stay in the folder. Restore one with `atlas vault restore`."
    ),
}


def _made_text(made: "BackupMade", amount: int, *, private: bool) -> str:
    held = (
        size(amount)
        if private or RoomKind.PRIVATE not in made.rooms
        else _("Open room: {size}", size=size(amount))
    )
    lines = [
        str(made.path),
        _("{size}, encrypted, read back and verified. Your passphrase unlocks it.", size=held)
        if made.verified
        else _("{size}, encrypted, read back, but incomplete. Your passphrase unlocks it.", size=held),
    ]
    lines += [_(_MISSING[room]) for room in made.missing]
    if set(made.rooms) - set(made.checked):
        lines.append(_("The private room is included in encrypted form. Checking it needs the passphrase."))
    return "\n".join(lines)


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
            _("Nothing would be lost from the open room: the backup contains all of it.")
            if room == "open"
            else _("Nothing would be lost from the private room: the backup contains all of it.")
        )
    from atlas_desktop.phrases.rooms import lost

    gone = lost(loss.sessions, loss.messages, loss.memories, loss.documents)
    return (
        _("It does not contain {what} from the current open room. They would be lost.", what=gone)
        if room == "open"
        else _("It does not contain {what} from the current private room. They would be lost.", what=gone)
    )


def _amount(contents: "RoomContents") -> str:
    from atlas_desktop.phrases.rooms import held

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


WEAK_SCORE = 2

_RECOVERY_WORDS = N_("""\
Your recovery key, shown only once:

    {key}

Write it down and keep it away from this computer. It unlocks the vault if you lose the passphrase.
Without either, nobody can recover your data.""")


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Adds the group. Each command's namespace has `handler`: `async (Context, Namespace) -> int`.

    All but `status` and `backup` are `exclusive`: they write keyslots or open rooms that must not be in use.
    """
    group = subparsers.add_parser("vault", parents=[common], help=_("manage keys, recovery, integrity"))
    commands = group.add_subparsers(dest="vault_command", required=True, metavar="COMMAND")

    def add(name: str, handler: Any, text: str, *, exclusive: bool = True) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = commands.add_parser(
            name, parents=[common], help=text, description=f"{text[0].upper()}{text[1:]}."
        )
        parser.set_defaults(handler=handler, exclusive=exclusive)
        return parser

    add("create", create, _("create the vault and print its recovery key"))
    add("status", status, _("show how the vault can be unlocked; needs no passphrase"), exclusive=False)
    change = add("change-passphrase", change_passphrase, _("set a new passphrase; your data does not change"))
    _add_authority(change)
    change.add_argument("--new-passphrase-file", metavar="FILE", help=_("read the new passphrase from FILE"))
    change.add_argument(
        "--new-passphrase-fd", metavar="N", type=int, help=_("read it from file descriptor N")
    )
    recovery = add(
        "recovery-key", new_recovery_key, _("create a new recovery key; the old one stops working")
    )
    _add_authority(recovery)
    keyring = add("keyring", keyring_switch, _("let the system keyring unlock the vault, or stop it"))
    keyring.add_argument("switch", choices=("on", "off"))
    register_backup(add)
    vault_repair.register(add)


def _add_authority(parser: argparse.ArgumentParser) -> None:
    """Adds the alternatives to the passphrase for authorising key changes."""
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--recovery-key", action="store_true", help=_("ask for the recovery key instead"))
    ways.add_argument("--recovery-key-file", metavar="FILE", help=_("read the recovery key from FILE"))
    ways.add_argument("--recovery-key-fd", metavar="N", type=int, help=_("read it from file descriptor N"))
    ways.add_argument("--use-keyring", action="store_true", help=_("unlock with the system keyring"))


async def create(ctx: Context, _args: argparse.Namespace) -> int:
    from memory.errors import VaultExists

    vault = ctx.vault()
    if await vault.exists():
        raise VaultExists
    passphrase = await _ask(ctx.passphrase, _("New passphrase:"), confirm=True)
    strength = await vault.strength(passphrase)
    if strength.score < WEAK_SCORE:
        weak = _("This passphrase is easy to guess (about {time}).", time=strength.crack_time_text)
        ctx.note(f"{weak} {strength.warning}".strip())
    async with vault.creating(passphrase) as created:
        ctx.show_key(
            {"created": True, "recovery_key": created.recovery_key},
            _(_RECOVERY_WORDS, key=created.recovery_key),
        )
    if not ctx.json:
        ctx.emit(None, f"\n{_('The vault is ready.')}")
    return Exit.DONE


async def status(ctx: Context, _args: argparse.Namespace) -> int:
    found = await ctx.vault().status()
    private = await ctx.vault().private_status()
    missing = await ctx.vault().private_missing()
    noticed = await ctx.vault().rollback_noticed_at()
    ctx.emit(
        {
            **_status_json(found),
            "rollback_noticed_at": None if noticed is None else noticed.isoformat(),
            "private": None if private is None else _status_json(private),
            "private_missing": missing,
        },
        lambda: "\n".join(
            [_status_text(found), _private_text(private, missing=missing), *_rollback_text(noticed)]
        ),
    )
    return Exit.DONE


async def change_passphrase(ctx: Context, args: argparse.Namespace) -> int:
    keys = await _authorised(ctx, args)
    if args.new_passphrase_file is not None:
        new = read_secret(args.new_passphrase_file)
    elif args.new_passphrase_fd is not None:
        new = read_secret(args.new_passphrase_fd)
    else:
        new = await _ask(ctx.type_secret, _("New passphrase:"), confirm=True)
    await ctx.vault().change_passphrase(keys, new)
    ctx.emit(
        {"changed": True, "rooms": _rooms(keys)},
        _("Passphrase changed. The recovery key stays the same.")
        if keys.private
        else _("Passphrase changed. The recovery key stays the same.")
        + "\n\n"
        + _("The private room keeps its old passphrase: your input did not unlock it."),
    )
    return Exit.DONE


async def new_recovery_key(ctx: Context, args: argparse.Namespace) -> int:
    keys = await _authorised(ctx, args)
    async with ctx.vault().replacing_recovery_key(keys) as text:
        ctx.show_key({"recovery_key": text, "rooms": _rooms(keys)}, _(_RECOVERY_WORDS, key=text))
    if not ctx.json:
        if keys.private:
            ctx.emit(None, f"\n{_('The old one no longer works.')}")
        else:
            kept = _("The private room keeps its old recovery key: your input did not unlock it.")
            ctx.emit(None, f"\n\n{kept}")
    return Exit.DONE


def _rooms(keys: "Keys") -> list[str]:
    return ["open", "private"] if keys.private else ["open"]


async def keyring_switch(ctx: Context, args: argparse.Namespace) -> int:
    vault = ctx.vault()
    if args.switch == "on":
        backend = await vault.keyring_on(await ctx.key())
        ctx.emit(
            {"keyring": True, "backend": backend},
            _("{backend} now unlocks the vault automatically.", backend=backend),
        )
        return Exit.DONE
    removed = await vault.keyring_off()
    ctx.emit(
        {"keyring": False, "entry_removed": removed},
        _("The keyring no longer unlocks the vault.")
        if removed
        else _(
            "The keyring no longer unlocks the vault. Its entry could not be removed, but it no longer "
            "unlocks anything."
        ),
    )
    return Exit.DONE


async def _authorised(ctx: Context, args: argparse.Namespace) -> "Keys":
    """The keys, unlocked with a secret. Asks for the passphrase even where the keyring unlocks the vault."""
    vault = ctx.vault()
    if args.use_keyring:
        from memory.vault.vaults import Keys

        return Keys(await vault.unlock_with_keyring())
    # Fail before asking for a secret if there is no vault.
    await vault.status()
    with ctx.attempt():
        if args.recovery_key_file is not None:
            return await vault.unlock_both_with_recovery(read_secret(args.recovery_key_file))
        if args.recovery_key_fd is not None:
            return await vault.unlock_both_with_recovery(read_secret(args.recovery_key_fd))
        if args.recovery_key:
            return await vault.unlock_both_with_recovery(await _ask(ctx.type_secret, _("Recovery key:")))
        return await vault.unlock_both(await _ask(ctx.passphrase, _("Current passphrase:")))


async def _ask(source: Any, prompt: str, *, confirm: bool = False) -> str:
    # Not in a thread: after Ctrl-C the thread would keep waiting, with the terminal's echo off.
    answer: str = source(prompt, confirm=confirm)
    return answer


def _slot_json(slot: "SlotStatus") -> dict[str, Any]:
    kdf = slot.kdf
    return {
        "id": slot.id,
        "kind": slot.kind,
        "created_at": slot.created_at.isoformat(),
        "kdf": None
        if kdf is None
        else {
            "algorithm": "argon2id",
            "memory_kib": kdf.memory_kib,
            "iterations": kdf.iterations,
            "lanes": kdf.lanes,
        },
        "backend": slot.backend,
    }


def _status_json(found: "VaultStatus") -> dict[str, Any]:
    from atlas_desktop.phrases.rooms import spoilt

    said = spoilt(found)
    return {
        "room": found.room.value,
        "vault_id": found.vault_id,
        "created_at": found.created_at.isoformat(),
        "generation": found.generation,
        "database_present": found.database_present,
        "flaw": None if said is None else {"message": said[0], "next_step": said[1]},
        "copies": {name: state.value for name, state in found.copies.items()},
        "copies_sound": found.copies_sound,
        "keyring": found.keyring_backend,
        "slots": [_slot_json(slot) for slot in found.slots],
    }


def _database_text(found: "VaultStatus") -> list[str]:
    from atlas_desktop.phrases.rooms import spoilt

    if (said := spoilt(found)) is not None:
        return list(said)
    return [_("Database: present") if found.database_present else _("Database: missing")]


_SLOTS = {
    "passphrase": N_("passphrase, since {day}"),
    "recovery": N_("recovery key, since {day}"),
    "keyring": N_("keyring, since {day}"),
}


def _status_text(found: "VaultStatus") -> str:
    lines = [
        _(
            "Vault {id}, created {day}",
            id=found.vault_id,
            day=found.created_at.date().isoformat(),
        ),
        *_database_text(found),
        *(f"{name}: {_(vault_repair.COPY_STATES[state.value])}" for name, state in found.copies.items()),
        _("Unlocks with:"),
    ]
    for slot in found.slots:
        line = f"  {_(_SLOTS[slot.kind], day=slot.created_at.date().isoformat())}"
        if slot.kdf is not None:
            cost = ngettext(
                "Argon2id, {memory} MiB, 1 pass",
                "Argon2id, {memory} MiB, {count} passes",
                slot.kdf.iterations,
                memory=slot.kdf.memory_kib // 1024,
            )
            line += f" ({cost})"
        if slot.backend is not None:
            line += f" ({slot.backend})"
        lines.append(line)
    return "\n".join(lines)


def _rollback_text(noticed: "datetime | None") -> list[str]:
    if noticed is None:
        return []
    when = f"{noticed.astimezone():%Y-%m-%d %H:%M}"
    return [_("On {when}, a room was older than expected, or its counter was missing.", when=when)]


def _private_text(found: "VaultStatus | None", *, missing: bool) -> str:
    from atlas_desktop.phrases.rooms import freshness_text, spoilt

    if missing and found is None:
        return freshness_text("private", "missing")
    if found is None:
        return _("The private room is created at the next unlock by passphrase.")
    if (said := spoilt(found)) is not None:
        return "\n".join(said)
    if not found.recoverable:
        return _("The private room has no recovery key yet: `atlas vault recovery-key` creates one for both.")
    return _("The private room unlocks with the passphrase or the recovery key, never with the keyring.")
