"""`atlas vault`: creates the vault, shows how it is unlocked, and changes its keys."""

import argparse
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli.backup import (
    COPY_STATES,
    add_authority,
    recovery_key,
    register_backup,
    register_repairs,
)
from atlas_desktop.cli.context import Context, command_group, read_secret
from atlas_desktop.errors import Exit
from atlas_desktop.locale import N_, _, ngettext

if TYPE_CHECKING:
    from datetime import datetime

    from memory.vault.status import SlotStatus, VaultStatus
    from memory.vault.vault import Keys


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
    add = command_group(subparsers, common, "vault", _("manage keys, recovery, integrity"))

    add("create", create, _("create the vault and print its recovery key"))
    add("status", status, _("show how the vault can be unlocked; needs no passphrase"), exclusive=False)
    change = add("change-passphrase", change_passphrase, _("set a new passphrase; your data does not change"))
    add_authority(change, keyring=True)
    change.add_argument("--new-passphrase-file", metavar="FILE", help=_("read the new passphrase from FILE"))
    change.add_argument(
        "--new-passphrase-fd", metavar="N", type=int, help=_("read it from file descriptor N")
    )
    recovery = add(
        "recovery-key", new_recovery_key, _("create a new recovery key; the old one stops working")
    )
    add_authority(recovery, keyring=True)
    keyring = add("keyring", keyring_switch, _("let the system keyring unlock the vault, or stop it"))
    keyring.add_argument("switch", choices=("on", "off"))
    register_backup(add)
    register_repairs(add)


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
    """The keys, unlocked with a secret. Asks for the passphrase even if the keyring unlocks the vault."""
    vault = ctx.vault()
    if args.use_keyring:
        from memory.vault.vault import Keys

        return Keys(await vault.unlock_with_keyring())
    # Fail before asking for a secret if there is no vault.
    await vault.status()
    with ctx.attempt():
        if (text := recovery_key(ctx, args)) is not None:
            return await vault.unlock_both_with_recovery(text)
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
    from atlas_desktop.phrases import spoilt

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
    from atlas_desktop.phrases import spoilt

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
        *(f"{name}: {_(COPY_STATES[state.value])}" for name, state in found.copies.items()),
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
    from atlas_desktop.phrases import freshness_text, spoilt

    if missing and found is None:
        return freshness_text("private", "missing")
    if found is None:
        return _("The private room is created at the next unlock by passphrase.")
    if (said := spoilt(found)) is not None:
        return "\n".join(said)
    if not found.recoverable:
        return _("The private room has no recovery key yet: `atlas vault recovery-key` creates one for both.")
    return _("The private room unlocks with the passphrase or the recovery key, never with the keyring.")
