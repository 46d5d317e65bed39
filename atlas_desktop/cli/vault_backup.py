"""`atlas vault backup` and `atlas vault restore`."""

import argparse
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli.context import Context
from atlas_desktop.cli.vault_repair import add_authority, present_keys, unlocking
from atlas_desktop.errors import Exit, size
from atlas_desktop.words.catalogue import tr
from memory.kinds import RoomKind

if TYPE_CHECKING:
    from atlas_desktop.services.backup import Loss, Restoration
    from memory.vault.upkeep import BackupMade, RoomContents


def register(add: Any) -> None:
    """`add(name, handler, text, exclusive=True)` makes the parser of one command."""
    backing = add(
        "backup",
        backup,
        "make one encrypted, verified file of everything, also while Atlas runs",
        exclusive=False,
    )
    backing.add_argument(
        "--output", metavar="PATH", help="the file, or the folder for a dated one (default: backups)"
    )
    restoring = add("restore", restore, "put the rooms of a backup in place of the present ones")
    restoring.add_argument("file", metavar="FILE")
    restoring.add_argument("--dry-run", action="store_true", help="verify it, say what would be lost, end")
    add_authority(restoring)


async def backup(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.services.backup import by_room

    keys = await present_keys(ctx)
    service = ctx.desk.backups
    target = service.target(None if args.output is None else _path(args.output))
    if target.exists():
        ctx.confirm(f"{target.name} exists. Replace it?")
    made = await service.make(by_room(keys), target)
    # How much there is in a room that is closed is not told.
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


def _made_text(made: "BackupMade", amount: int, *, private: bool) -> str:
    held = size(amount) if private or RoomKind.PRIVATE not in made.rooms else f"Open room: {size(amount)}"
    verified = "read back and verified" if made.verified else "read back, but not complete"
    text = f"{made.path}\n{held}, encrypted, {verified}. Your passphrase opens it."
    for room in made.missing:
        text += (
            f"\nThe {room} room is not in it: its database or its key file is missing. Older backups that "
            "hold it stay in the folder; put one back with `atlas vault restore`."
        )
    if set(made.rooms) - set(made.checked):
        text += "\nThe private room is in it as encrypted bytes; only with the passphrase is it checked."
    return text


async def restore(ctx: Context, args: argparse.Namespace) -> int:
    service = ctx.desk.backups
    async with AsyncExitStack() as stack:
        with ctx.attempt():
            unlock = unlocking(ctx, args, "Passphrase of the backup: ")
            found = await stack.enter_async_context(
                service.restoring(_path(args.file), unlock, private=ctx.private)
            )
        if not args.dry_run:
            if found.replaces:
                ctx.confirm(f"{_question(found)} Put the backup in place?")
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
    }


def _loss_json(loss: "Loss | None") -> dict[str, int] | None:
    if loss is None:
        return None
    return {"sessions": loss.sessions, "messages": loss.messages, "memories": loss.memories}


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
    """What has to be known before anything is replaced."""
    made = f"{found.unpacked.made_at.astimezone():%Y-%m-%d %H:%M}"
    words = [f"The backup of {made} is sound.", _loss_text(found.loss, "open")]
    if found.kept:
        words.append("The private room is not in it; the present one stays.")
    elif found.private_loss is not None:
        words.append(_loss_text(found.private_loss, "private"))
    elif found.replaces and len(found.unpacked.rooms) > 1:
        words.append(
            "The private room is replaced with it; what would be lost there is counted with --private only."
        )
    return " ".join(words)


def _loss_text(loss: "Loss | None", room: str) -> str:
    if loss is None:
        return (
            "What is there now cannot be opened with what you gave, so what would be lost cannot be counted: "
            "it may be everything."
        )
    if not (loss.sessions or loss.messages or loss.memories):
        return f"Nothing would be lost of the {room} room: it holds nothing that the backup does not."
    from atlas_desktop.words.phrases import lost

    gone = lost(loss.sessions, loss.messages, loss.memories)
    return f"It does not hold {gone} of the present {room} room: they would be lost."


def _amount(contents: "RoomContents") -> str:
    from atlas_desktop.words.phrases import held

    return held(len(contents.sessions), len(contents.messages))


def _restored_text(found: "Restoration", *, done: bool) -> str:
    lines = [
        _question(found),
        f"It holds {_amount(found.contents)}.",
    ]
    if found.present is not None:
        now = found.present
        lines.append(tr("amounts.was" if done else "amounts.there", held=_amount(now)))
    lines.append("It is in place now." if done else "Nothing was changed.")
    return "\n".join(lines)
