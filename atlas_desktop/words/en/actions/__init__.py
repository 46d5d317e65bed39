"""Every action's name, its word in the footer if it has one there, and what it does."""

from atlas_desktop.words.en.actions import (
    conversation,
    history,
    insights,
    memories,
    messages,
    models,
    places,
    rooms,
    settings,
    tools,
    views,
)

TEXTS = {
    **conversation.TEXTS,
    **messages.TEXTS,
    **tools.TEXTS,
    **history.TEXTS,
    **insights.TEXTS,
    **memories.TEXTS,
    **rooms.TEXTS,
    **models.TEXTS,
    **settings.TEXTS,
    **views.TEXTS,
    **places.TEXTS,
}
