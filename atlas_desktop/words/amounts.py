"""Numbers of things, in words."""

from atlas_desktop.words.catalogue import tr


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
