"""The parts of the interface that answer to actions."""

TEXTS = {
    "where.chat": "Conversation",
    "where.views": "Views",
    "where.sessions": "List of conversations",
    "where.messages": "Messages",
    "where.memories": "Memories",
    "where.history": "History",
    "where.insights": "Insights",
    "where.settings": "Settings",
    "where.models": "Models",
    "where.everywhere": "Everywhere",
}
