"""Words for a room that is not as new as it was."""

from atlas_desktop.words.catalogue import texts, tr


def freshness_text(room: str, freshness: str) -> str:
    """Empty for a room that is as new as it was."""
    return tr(f"freshness.{freshness}", room=room) if freshness in texts("freshness") else ""
