"""What is done with a conversation, its messages, and the list of conversations."""

from atlas_desktop.tui.action import Action, Where

ACTIONS: tuple[Action, ...] = (
    Action("chat.send", Where.CHAT, "send", "enter", in_palette=False),
    Action("chat.stop", Where.CHAT, "stop", "escape"),
    Action("chat.back", Where.CHAT, "back", "escape", in_palette=False),
    Action("session.new", Where.CHAT, "new_session", "ctrl+n", priority=True, slash="/new"),
    Action("session.list", Where.CHAT, "focus_sessions", "ctrl+o", priority=True),
    Action("chat.regenerate", Where.CHAT, "regenerate", "ctrl+r", priority=True, slash="/regenerate"),
    Action("session.rename", Where.CHAT, "rename", "ctrl+t", priority=True, slash="/rename", words=True),
    Action("session.delete", Where.CHAT, "delete"),
    Action("session.export", Where.CHAT, "export", slash="/export"),
    Action("session.import", Where.CHAT, "import_conversations", slash="/import", words=True),
    Action("session.delete_marked", Where.SESSIONS, "delete_marked", "delete,d", in_palette=False),
    Action("session.undo", Where.CHAT, "undo", "ctrl+z", priority=True),
    Action("session.undo_in_list", Where.SESSIONS, "undo", "u", in_palette=False),
    Action("context.show", Where.CHAT, "show_context", "f5", priority=True, slash="/context"),
    Action("context.summarise", Where.CHAT, "summarise", slash="/summarise"),
    Action("chat.split", Where.CHAT, "split", slash="/split", words=True),
    Action("chat.earlier_variant", Where.CHAT, "earlier_variant", "alt+left", priority=True),
    Action("chat.later_variant", Where.CHAT, "later_variant", "alt+right", priority=True),
)
