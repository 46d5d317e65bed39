"""Words for a room that is not as new as it was, and for a clock that may be wrong."""

from typing import TYPE_CHECKING

from atlas_desktop.words.catalogue import texts, tr

if TYPE_CHECKING:
    from atlas_desktop.services.retention import HeldBack


def freshness_text(room: str, freshness: str) -> str:
    """Empty for a room that is as new as it was."""
    return tr(f"freshness.{freshness}", room=room) if freshness in texts("freshness") else ""


def held_back_text(held: "HeldBack") -> str:
    return tr(
        "freshness.held_back",
        sessions=tr("amounts.sessions", count=held.sessions),
        days=tr("amounts.days", count=max(held.ahead.days, 1)),
    )
