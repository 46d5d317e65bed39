"""Short phrases that both interfaces use."""

from typing import TYPE_CHECKING

from atlas_desktop.words.catalogue import texts, tr
from memory.vault.status import VaultStatus

if TYPE_CHECKING:
    from atlas_desktop.services.retention import HeldBack


def held(sessions: int, messages: int) -> str:
    """As in: 1 conversation with 4 messages."""
    return tr(
        "amounts.held",
        sessions=tr("amounts.sessions", count=sessions),
        messages=tr("amounts.messages", count=messages),
    )


def lost(sessions: int, messages: int, memories: int) -> str:
    """As in: 4 messages, 1 whole conversation and 2 memories."""
    return tr(
        "amounts.lost",
        messages=tr("amounts.messages", count=messages),
        sessions=tr("amounts.whole", count=sessions),
        memories=tr("amounts.memories", count=memories),
    )


def freshness_text(room: str, freshness: str) -> str:
    """Empty for a room that is as new as it was."""
    return tr(f"freshness.{freshness}", room=room) if freshness in texts("freshness") else ""


def held_back_text(held: "HeldBack") -> str:
    return tr(
        "freshness.held_back",
        sessions=tr("amounts.sessions", count=held.sessions),
        days=tr("amounts.days", count=max(held.ahead.days, 1)),
    )


def unknown_variable(name: str, near: str) -> str:
    """Of a variable that looks like a setting's and is none's; `near` is one that is, if any is like it."""
    if near:
        return tr("settings.unknown_variable.meant", name=name, near=near)
    return tr("settings.unknown_variable", name=name)


def spoilt(room: VaultStatus) -> tuple[str, str] | None:
    """What is wrong with a room's file at first sight, and what to do. One that was never made is made at the
    next unlock: nothing is wrong with it."""
    name = f"{room.room.value}.db"
    if not room.database_present:
        return (tr("doctor.absent", file=name), tr("doctor.restore")) if room.room_made else None
    if room.flaw is None:
        return None
    return tr(f"doctor.{room.flaw.value}", file=name), tr("doctor.salvage")
