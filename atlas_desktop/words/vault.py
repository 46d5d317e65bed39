"""Words for what can be seen of a vault without a key."""

from atlas_desktop.words.catalogue import tr
from memory.vault.status import VaultStatus


def spoilt(room: VaultStatus) -> tuple[str, str] | None:
    """What is wrong with a room's file at first sight, and what to do. One that was never made is made at the
    next unlock: nothing is wrong with it."""
    name = f"{room.room.value}.db"
    if not room.database_present:
        return (tr("doctor.absent", file=name), tr("doctor.restore")) if room.room_made else None
    if room.flaw is None:
        return None
    return tr(f"doctor.{room.flaw.value}", file=name), tr("doctor.salvage")
