"""Where a conversation is kept, and what memory does in it."""

from atlas_desktop.tui.action import Action, Where

ACTIONS: tuple[Action, ...] = (
    *(
        Action(f"room.{run}", name, text, Where.CHAT, run, key, slash=slash, priority=bool(key))
        for run, name, slash, key, text in (
            (
                "make_private",
                "Move to the private room",
                "/private",
                "",
                "With all that was learned from this conversation alone; the passphrase is asked for again.",
            ),
            (
                "make_open",
                "Move to the open room",
                "/open",
                "",
                "Out of the private room, with all that was learned from this conversation alone.",
            ),
            (
                "close_private",
                "Open or close the private room",
                "/close",
                "ctrl+g",
                "Open the private room to look into it, or close it: nothing shows then what is in it.",
            ),
            ("keep", "Keep this conversation", "/keep", "", "Save what was said off the record."),
            (
                "go_off_record",
                "Off the record",
                "/off",
                "",
                "Go on in memory alone: what was said so far stays saved, the rest ends with the program.",
            ),
            ("use_reads", "Memory: read only", "/reads", "", "Use memories and add none."),
            ("use_blank", "Memory: none", "/blank", "", "Neither use memories nor add any."),
            ("use_normal", "Memory: normal", "/normal", "", "Use memories, and learn."),
        )
    ),
)
