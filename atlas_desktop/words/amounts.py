"""Numbers of things, in words."""

from atlas_desktop.words.catalogue import tr


def held(sessions: int, messages: int) -> str:
    """As in: 1 conversation with 4 messages."""
    return tr(
        "amounts.held",
        sessions=tr("amounts.sessions", count=sessions),
        messages=tr("amounts.messages", count=messages),
    )
