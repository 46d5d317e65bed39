"""Who may change keys: the ways to show it, and the keys that they open."""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from atlas_desktop.cli.context import Context, read_secret

if TYPE_CHECKING:
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
