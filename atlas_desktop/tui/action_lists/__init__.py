"""Every action, once, by what it is about. Within one part of the interface the footer keeps this order."""

from atlas_desktop.tui.action import Action
from atlas_desktop.tui.action_lists import (
    conversation,
    history,
    insights,
    memories,
    messages,
    models,
    rooms,
    settings,
    tools,
    views,
)

ACTIONS: tuple[Action, ...] = (
    *conversation.ACTIONS,
    *messages.ACTIONS,
    *tools.ACTIONS,
    *history.ACTIONS,
    *insights.ACTIONS,
    *memories.ACTIONS,
    *rooms.ACTIONS,
    *models.ACTIONS,
    *settings.ACTIONS,
    *views.ACTIONS,
)
