"""`atlas vault`: the keys, and the soundness of what they protect."""

import argparse
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import vault_backup, vault_repair
from atlas_desktop.cli.context import Context, read_secret
from atlas_desktop.errors import Exit

if TYPE_CHECKING:
    from datetime import datetime

    from memory.vault.status import SlotStatus, VaultStatus
    from memory.vault.vaults import Keys

WEAK_SCORE = 2

_RECOVERY_WORDS = """\
Your recovery key, shown this once:

    {key}

Write it down and keep it away from this computer. It opens the vault when the passphrase is lost;
without either, nobody can recover your data."""


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Adds the group. Each command's namespace has `handler`: `async (Context, Namespace) -> int`.

    All but `status` and `backup` are `exclusive`: they write keyslots or open rooms that must not be in use.
    """
    group = subparsers.add_parser("vault", parents=[common], help="keys, recovery, integrity")
    commands = group.add_subparsers(dest="vault_command", required=True, metavar="COMMAND")

    def add(name: str, handler: Any, text: str, *, exclusive: bool = True) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = commands.add_parser(
            name, parents=[common], help=text, description=f"{text[0].upper()}{text[1:]}."
        )
        parser.set_defaults(handler=handler, exclusive=exclusive)
        return parser

    add("create", create, "make the vault and print its recovery key")
    add("status", status, "show how the vault can be opened; needs no passphrase", exclusive=False)
    change = add("change-passphrase", change_passphrase, "set a new passphrase; your data stay as they are")
    _add_authority(change)
    change.add_argument("--new-passphrase-file", metavar="FILE", help="read the new passphrase from FILE")
    change.add_argument("--new-passphrase-fd", metavar="N", type=int, help="read it from descriptor N")
    recovery = add("recovery-key", new_recovery_key, "make a new recovery key; the old one stops working")
    _add_authority(recovery)
    keyring = add("keyring", keyring_switch, "let the system keyring open the vault, or stop it")
    keyring.add_argument("switch", choices=("on", "off"))
    vault_backup.register(add)
    vault_repair.register(add)


def _add_authority(parser: argparse.ArgumentParser) -> None:
    """Ways to show that one may change the keys, besides the passphrase."""
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--recovery-key", action="store_true", help="ask for the recovery key instead")
    ways.add_argument("--recovery-key-file", metavar="FILE", help="read the recovery key from FILE")
    ways.add_argument("--recovery-key-fd", metavar="N", type=int, help="read it from descriptor N")
    ways.add_argument("--use-keyring", action="store_true", help="let the system keyring open the vault")


async def create(ctx: Context, _args: argparse.Namespace) -> int:
    from memory.errors import VaultExists

    vault = ctx.vault()
    if await vault.exists():
        raise VaultExists
    passphrase = await _ask(ctx.passphrase, "New passphrase: ", confirm=True)
    strength = await vault.strength(passphrase)
    if strength.score < WEAK_SCORE:
        ctx.note(
            f"This passphrase is easy to guess (about {strength.crack_time_text}). {strength.warning}".strip()
        )
    async with vault.creating(passphrase) as created:
        ctx.show_key(
            {"created": True, "recovery_key": created.recovery_key},
            _RECOVERY_WORDS.format(key=created.recovery_key),
        )
    if not ctx.json:
        ctx.emit(None, "\nThe vault is ready.")
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
        lambda: _status_text(found) + _private_text(private, missing=missing) + _rollback_text(noticed),
    )
    return Exit.DONE


async def change_passphrase(ctx: Context, args: argparse.Namespace) -> int:
    keys = await _authorised(ctx, args)
    if args.new_passphrase_file is not None:
        new = read_secret(args.new_passphrase_file)
    elif args.new_passphrase_fd is not None:
        new = read_secret(args.new_passphrase_fd)
    else:
        new = await _ask(ctx.type_secret, "New passphrase: ", confirm=True)
    await ctx.vault().change_passphrase(keys, new)
    ctx.emit(
        {"changed": True, "rooms": _rooms(keys)},
        "The passphrase is changed. The recovery key stays the same." + _left_out(keys, "passphrase"),
    )
    return Exit.DONE


async def new_recovery_key(ctx: Context, args: argparse.Namespace) -> int:
    keys = await _authorised(ctx, args)
    async with ctx.vault().replacing_recovery_key(keys) as text:
        ctx.show_key({"recovery_key": text, "rooms": _rooms(keys)}, _RECOVERY_WORDS.format(key=text))
    if not ctx.json:
        ended = "\nThe old one opens nothing now." if keys.private else _left_out(keys, "recovery key")
        ctx.emit(None, ended)
    return Exit.DONE


def _rooms(keys: "Keys") -> list[str]:
    return ["open", "private"] if keys.private else ["open"]


def _left_out(keys: "Keys", what: str) -> str:
    if keys.private:
        return ""
    return f"\n\nThe private room keeps its old {what}: what you gave does not open it."


async def keyring_switch(ctx: Context, args: argparse.Namespace) -> int:
    vault = ctx.vault()
    if args.switch == "on":
        backend = await vault.keyring_on(await ctx.key())
        ctx.emit({"keyring": True, "backend": backend}, f"The vault now opens by itself through {backend}.")
        return Exit.DONE
    removed = await vault.keyring_off()
    ctx.emit(
        {"keyring": False, "entry_removed": removed},
        "The keyring no longer opens the vault."
        + ("" if removed else " Its own entry could not be removed; it opens nothing any more."),
    )
    return Exit.DONE


async def _authorised(ctx: Context, args: argparse.Namespace) -> "Keys":
    """The keys, from someone who knows a secret: the passphrase, even where the keyring opens the vault."""
    vault = ctx.vault()
    if args.use_keyring:
        from memory.vault.vaults import Keys

        return Keys(await vault.unlock_with_keyring())
    # Nobody should type a secret to learn that there is nothing to unlock.
    await vault.status()
    with ctx.attempt():
        if args.recovery_key_file is not None:
            return await vault.unlock_both_with_recovery(read_secret(args.recovery_key_file))
        if args.recovery_key_fd is not None:
            return await vault.unlock_both_with_recovery(read_secret(args.recovery_key_fd))
        if args.recovery_key:
            return await vault.unlock_both_with_recovery(await _ask(ctx.type_secret, "Recovery key: "))
        return await vault.unlock_both(await _ask(ctx.passphrase, "Present passphrase: "))


async def _ask(source: Any, prompt: str, *, confirm: bool = False) -> str:
    # Not in a thread: Ctrl-C would leave the thread waiting, with the terminal's echo off.
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
    from atlas_desktop.words.phrases import spoilt

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
    from atlas_desktop.words.phrases import spoilt

    if (said := spoilt(found)) is not None:
        return list(said)
    return [f"Database: {'present' if found.database_present else 'not there'}"]


def _status_text(found: "VaultStatus") -> str:
    lines = [
        f"Vault {found.vault_id}, made {found.created_at.date().isoformat()}",
        *_database_text(found),
        *(f"{name}: {state.value}" for name, state in found.copies.items()),
        "Opens with:",
    ]
    for slot in found.slots:
        line = f"  {slot.kind}, since {slot.created_at.date().isoformat()}"
        if slot.kdf is not None:
            line += f" (Argon2id, {slot.kdf.memory_kib // 1024} MiB, {slot.kdf.iterations} passes)"
        if slot.backend is not None:
            line += f" ({slot.backend})"
        lines.append(line)
    return "\n".join(lines)


def _rollback_text(noticed: "datetime | None") -> str:
    if noticed is None:
        return ""
    when = f"{noticed.astimezone():%Y-%m-%d %H:%M}"
    return f"\nOn {when} a room was found older than it had been, or its counter was gone."


def _private_text(found: "VaultStatus | None", *, missing: bool) -> str:
    from atlas_desktop.words.phrases import freshness_text, spoilt

    if missing and found is None:
        return "\n" + freshness_text("private", "missing")
    if found is None:
        return "\nThe private room is made at the next unlock by passphrase."
    if (said := spoilt(found)) is not None:
        return "\n" + "\n".join(said)
    if not found.recoverable:
        return "\nNo recovery key opens the private room yet: `atlas vault recovery-key` makes one for both."
    return "\nThe private room opens with the passphrase and the recovery key, never with the keyring."
