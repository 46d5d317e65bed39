"""What is done with one message: the selected one, else the newest that it can be done with."""

from atlas_desktop.tui.action import Action, Where

ACTIONS: tuple[Action, ...] = (
    Action("messages.select", Where.CHAT, "select_message", "alt+up", priority=True, slash="/messages"),
    Action("message.edit", Where.MESSAGES, "message_edit", "e", slash="/edit"),
    Action("message.continue", Where.MESSAGES, "message_continue", "c", slash="/continue"),
    Action("message.fork", Where.MESSAGES, "message_fork", "f", slash="/fork"),
    Action("message.copy", Where.MESSAGES, "message_copy", "y", slash="/copy"),
    Action("message.whole", Where.MESSAGES, "message_whole", "o", slash="/whole"),
    Action("message.copy_code", Where.MESSAGES, "message_copy_code", "Y", slash="/code"),
    Action("message.important", Where.MESSAGES, "message_important", "i", slash="/important"),
    Action("message.why", Where.MESSAGES, "message_why", "w", slash="/why"),
    Action("message.branches", Where.MESSAGES, "message_branches", "b", slash="/branches"),
    Action("message.forget", Where.MESSAGES, "message_forget", "delete"),
    Action("message.earlier", Where.MESSAGES, "message_earlier", "left"),
    Action("message.later", Where.MESSAGES, "message_later", "right"),
    Action("message.previous", Where.MESSAGES, "message_previous", "up,k", in_palette=False),
    Action("message.next", Where.MESSAGES, "message_next", "down,j", in_palette=False),
    Action("message.first", Where.MESSAGES, "message_first", "home", in_palette=False),
    Action("message.last", Where.MESSAGES, "message_last", "end", in_palette=False),
    Action("message.back", Where.MESSAGES, "message_back", "escape,tab", in_palette=False),
)
