"""Where a conversation is kept, and what memory does in it."""

from atlas_desktop.tui.action import Action, Where

ACTIONS: tuple[Action, ...] = (
    Action("room.make_private", Where.CHAT, "make_private", slash="/private"),
    Action("room.make_open", Where.CHAT, "make_open", slash="/open"),
    Action("room.close_private", Where.CHAT, "close_private", "ctrl+g", priority=True, slash="/close"),
    Action("room.keep", Where.CHAT, "keep", slash="/keep"),
    Action("room.go_off_record", Where.CHAT, "go_off_record", slash="/off"),
    Action("room.use_reads", Where.CHAT, "use_reads", slash="/reads"),
    Action("room.use_blank", Where.CHAT, "use_blank", slash="/blank"),
    Action("room.use_normal", Where.CHAT, "use_normal", slash="/normal"),
)
