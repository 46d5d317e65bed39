"""Texts about sync that both interfaces show."""

from typing import TYPE_CHECKING

from atlas_desktop.errors import size
from atlas_desktop.locale import N_, _, ngettext, number

if TYPE_CHECKING:
    from datetime import datetime

    from memory.sync.entities import Device, Problem, SyncReport, SyncStatus

_WHY = {
    "foreign": N_("not a file of sync, or a second copy that the copying tool made; it is ignored"),
    "incomplete": N_("not completely copied yet; it is read when the rest is there"),
    "damaged": N_("damaged; the device that wrote it writes it again"),
    "missing": N_("not copied yet; it is read when it is there"),
    "rolled_back": N_("an older copy of a file that was read already; it is ignored"),
    "newer": N_(
        "written by a newer version of Atlas; update Atlas on this computer to read it. Nothing is lost"
    ),
    "not_signed": N_("not written by the device that it is said to be of; it is ignored"),
    "key_unknown": N_("encrypted with a key that this device does not have (yet); it is left alone"),
    "removed": N_("of a device that was removed; it is ignored"),
}


def why_text(problem: "Problem") -> str:
    return _(_WHY[problem.why.value])


def problem_text(problem: "Problem") -> str:
    return _("{file}: {why}.", file=problem.file, why=why_text(problem))


def report_text(report: "SyncReport") -> str:
    """What a sync did, and what it left alone."""
    lines = [
        _(
            "Sent: {sent} ({sent_size}). Received: {received} ({received_size}).",
            sent=_changes(report.sent_changes),
            sent_size=size(report.sent_bytes),
            received=_changes(report.received_changes),
            received_size=size(report.received_bytes),
        )
    ]
    if report.joined:
        lines.append(_("New devices: {names}.", names=", ".join(report.joined)))
    if report.forgotten:
        lines.append(
            ngettext(
                "1 thing that was forgotten on another device was erased here, too.",
                "{count} things that were forgotten on another device were erased here, too.",
                report.forgotten,
            )
        )
    if report.new_identity:
        lines.append(
            _("This room was restored or copied, so it has become a device of its own. Nothing is lost.")
        )
    lines += [problem_text(one) for one in report.problems]
    return "\n".join(lines)


def _changes(count: int) -> str:
    return ngettext("1 change", "{count} changes", count)


def when_text(moment: "datetime | None") -> str:
    return _("never") if moment is None else f"{moment.astimezone():%Y-%m-%d %H:%M}"


def status_text(status: "SyncStatus") -> str:
    lines = [
        _("Folder: {folder}", folder=status.folder),
        _("Last sync: {when}", when=when_text(status.last_sync)),
        _("To be sent: {what}", what=_changes(status.pending_out)),
    ]
    if status.paused:
        lines.append(_("Sync is paused. `atlas sync resume` continues it."))
    if status.waiting:
        lines.append(
            ngettext(
                "1 change waits for something that has not been copied yet.",
                "{count} changes wait for something that has not been copied yet.",
                status.waiting,
            )
        )
    lines.append(_("Devices:"))
    lines += [device_text(one, status) for one in (status.device, *status.devices)]
    return "\n".join(lines)


def device_text(device: "Device", status: "SyncStatus") -> str:
    if device.id == status.device.id:
        return f"{device.id}  {device.name}  {_('this device')}"
    if device.removed_at is not None:
        return f"{device.id}  {device.name}  {_('removed')}"
    seen = _("last seen {when}", when=when_text(device.seen_at))
    left = status.not_forgotten.get(device.id, 0)
    if not left:
        return f"{device.id}  {device.name}  {seen}"
    told = ngettext(
        "has not heard yet that 1 thing was forgotten",
        "has not heard yet that {count} things were forgotten",
        left,
    )
    return f"{device.id}  {device.name}  {seen}, {told}"


def forgotten_text(status: "SyncStatus") -> str:
    """Which other devices have carried out all that was forgotten here; empty without other devices."""
    others = [one for one in status.devices if one.removed_at is None]
    if not others:
        return ""
    done = [one.name for one in others if not status.not_forgotten.get(one.id, 0)]
    left = [one.name for one in others if status.not_forgotten.get(one.id, 0)]
    lines = []
    if done:
        lines.append(_("Also forgotten on: {names}.", names=", ".join(done)))
    if left:
        lines.append(_("Not yet on: {names}. It follows when they sync.", names=", ".join(left)))
    return " ".join(lines)


def short_status(*, running: bool, paused: bool, pending: int, problem: bool) -> str:
    """For the status line."""
    if running:
        return _("syncing")
    if paused:
        return _("sync paused")
    if problem:
        return _("sync: folder missing")
    return _("sync: {count} to send", count=number(pending)) if pending else _("synced")
