"""`atlas vault backup` and `atlas vault restore`."""

import argparse
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli.context import Context
from atlas_desktop.cli.vault_repair import add_authority, present_keys, unlocking
from atlas_desktop.errors import Exit, size
from atlas_desktop.locale import N_, _
from memory.kinds import RoomKind

if TYPE_CHECKING:
    from atlas_desktop.services.backup import Loss, Restoration
    from memory.vault.upkeep import BackupMade, RoomContents


def register(add: Any) -> None:
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
