"""`atlas sync`: the same memory on several computers, through a folder that any file-copying tool can
synchronise."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import output
from atlas_desktop.cli.context import Context, command_group, given_text, read_secret
from atlas_desktop.errors import Exit
from atlas_desktop.locale import _, number

if TYPE_CHECKING:
    from atlas_desktop.services.sync import SyncService
    from memory.sync.entities import SyncReport


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    add = command_group(subparsers, common, "sync", _("keep the same memory on several computers"))

    parser = add("init", init, _("begin to sync through a folder, and print the code for other devices"))
    parser.add_argument("folder", metavar="FOLDER", help=_("a folder that Syncthing or another tool copies"))
    _named(parser)

    parser = add("join", join, _("join the devices of a folder"))
    parser.add_argument("folder", metavar="FOLDER", help=_("the folder, as it is on this computer"))
    parser.add_argument(
        "--code-file", metavar="FILE", help=_("read the code from FILE; `-` reads standard input")
    )
    _named(parser)

    add("now", now, _("sync now"))
    add("status", status, _("show the folder, the devices and what waits to be sent"))
    add("devices", devices, _("list the devices of the folder"))
    add("invite", invite, _("print a new code, valid for an hour, with which another device joins"))
    parser = add("remove-device", remove_device, _("remove a device, and change the keys"))
    parser.add_argument("device", metavar="DEVICE", help=_("the device: its id or its name"))
    add("pause", pause, _("sync only when you run `atlas sync now`"))
    add("resume", resume, _("sync by itself again"))
    add("leave", leave, _("end sync on this device; nothing is deleted"))


def _named(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", metavar="NAME", default="", help=_("what other devices call this one"))
    parser.add_argument(
        "--include-private", action="store_true", help=_("also sync the private room, with keys of its own")
    )


async def _service(ctx: Context, *, private: bool = False) -> "SyncService":
    """Unlocks the open room, and the private one if asked."""
    await ctx.unlock()
    if private:
        await ctx.enter_private()
    return ctx.desk.sync


async def init(ctx: Context, args: argparse.Namespace) -> int:
    service = await _service(ctx, private=args.include_private)
    begun = await service.init(Path(args.folder), name=args.name, private=args.include_private)
    await service.now()
    ctx.emit(
        {"device": begun.device, "code": begun.code},
        lambda: output.sync_code(begun.code),
    )
    return Exit.DONE


async def join(ctx: Context, args: argparse.Namespace) -> int:
    code = _code(ctx, args.code_file)
    service = await _service(ctx, private=args.include_private)
    device = await service.join(Path(args.folder), code, name=args.name, private=args.include_private)
    report = await _sync(ctx, service)
    ctx.emit({"device": device, **output.sync_report(report)}, lambda: _told(report))
    return Exit.DONE


def _code(ctx: Context, file: str | None) -> str:
    if file == "-":
        return given_text("-").strip()
    if file is not None:
        return read_secret(file).strip()
    return ctx.type_secret(_("Code from the other device:")).strip()


async def now(ctx: Context, _args: argparse.Namespace) -> int:
    report = await _sync(ctx, await _service(ctx))
    ctx.emit(output.sync_report(report), lambda: _told(report))
    return Exit.DONE


async def _sync(ctx: Context, service: "SyncService") -> "SyncReport":
    progress = ctx.progress(_("Sync"))
    try:
        return await service.now(lambda done, of: progress.update(f"{number(done)}/{number(of)}", 0, None))
    finally:
        progress.close()


def _told(report: "SyncReport") -> str:
    from atlas_desktop.phrases import report_text

    return report_text(report)


async def status(ctx: Context, _args: argparse.Namespace) -> int:
    from atlas_desktop.phrases import status_text

    found = await (await _service(ctx)).status()
    ctx.emit(output.sync_status(found), lambda: status_text(found))
    return Exit.DONE


async def devices(ctx: Context, _args: argparse.Namespace) -> int:
    from atlas_desktop.phrases import device_text

    found = await (await _service(ctx)).status()
    ctx.emit(
        output.sync_devices(found),
        lambda: "\n".join(device_text(one, found) for one in (found.device, *found.devices)),
    )
    return Exit.DONE


async def invite(ctx: Context, _args: argparse.Namespace) -> int:
    code = await (await _service(ctx)).invite()
    ctx.emit({"code": code}, lambda: output.sync_code(code))
    return Exit.DONE


async def remove_device(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.phrases import unheard_text

    service = await _service(ctx)
    device = await service.find_device(args.device)
    if count := (await service.status()).not_forgotten.get(device.id, 0):
        ctx.note(unheard_text(count))
    ctx.confirm(
        _("The device keeps what it has, but reads nothing new, and its changes no longer count. Remove it?")
    )
    removed = await service.remove_device(args.device)
    ctx.emit(
        {"removed": removed.id, "name": removed.name},
        lambda: _("{name} was removed. The other devices get new keys.", name=removed.name),
    )
    return Exit.DONE


async def pause(ctx: Context, _args: argparse.Namespace) -> int:
    await (await _service(ctx)).pause(paused=True)
    ctx.emit({"paused": True}, _("Sync is paused. `atlas sync resume` continues it."))
    return Exit.DONE


async def resume(ctx: Context, _args: argparse.Namespace) -> int:
    await (await _service(ctx)).pause(paused=False)
    ctx.emit({"paused": False}, _("Sync is on again."))
    return Exit.DONE


async def leave(ctx: Context, _args: argparse.Namespace) -> int:
    service = await _service(ctx)
    ctx.confirm(_("What is in this room stays, and so do the files in the folder. End sync on this device?"))
    await service.leave()
    ctx.emit({"left": True}, _("This device is not synced any more. Nothing was deleted."))
    return Exit.DONE
