"""What is done in the history browser."""

from atlas_desktop.tui.action import Action, Where

ACTIONS: tuple[Action, ...] = (
    Action(
        "history.show",
        "History",
        "Everything that was said: searched as you type (`/search WORDS` begins with them), looked at, and "
        "put in order, many conversations at once.",
        Where.CHAT,
        "show_history",
        "f2",
        "History",
        priority=True,
        slash="/search",
        words=True,
    ),
    Action(
        "project.choose",
        "Projects",
        "Choose the project of this conversation, make, rename, archive them; `/project NAME` puts it there "
        "(`none`: out of it).",
        Where.CHAT,
        "project",
        slash="/project",
        words=True,
    ),
    *(
        Action(f"history.{run}", name, text, Where.HISTORY, f"history_{run}", key, label, in_palette=False)
        for run, name, key, label, text in (
            ("open", "Open", "enter", "Open", "Open the conversation, at the message that was found."),
            ("select", "Select", "space", "Select", "Select it, to do something to several at once."),
            ("extend_up", "Select upwards", "shift+up", "", "Select this one and the one above."),
            ("extend_down", "Select downwards", "shift+down", "", "Select this one and the one below."),
            ("all", "Select all", "ctrl+a", "", "Select everything that was found; again: nothing."),
            ("tag", "Tag", "t", "Tag", "Give tags, or those that are suggested; `-word` takes one away."),
            ("star", "Star", "s", "Star", "Star what is selected; again: take the stars away."),
            ("important", "Important", "i", "Important", "Mark as important, or no longer."),
            ("pin", "Pin", "p", "", "Keep at the top of the lists, or no longer."),
            (
                "archive",
                "Archive",
                "a",
                "",
                "Out of the lists; searches still find it. Again: back into them.",
            ),
            ("project", "Project", "g", "", "Put into a project, or take out of it."),
            (
                "private",
                "Private or open",
                "v",
                "Private",
                "Move to the private room; what is there goes to the open one.",
            ),
            (
                "room",
                "Open or close the private room",
                "ctrl+g",
                "",
                "List what is in it too, once the passphrase is given; or close it.",
            ),
            ("merge", "Merge", "m", "", "Make one conversation of those that are selected."),
            ("export", "Export", "x", "Export", "Write what is selected to files."),
            (
                "delete",
                "Delete",
                "delete,d",
                "Delete",
                "Move to the bin; in the bin: erase for good, after a question.",
            ),
            ("restore", "Restore", "r", "Restore", "In the bin: bring back."),
            ("undo", "Undo", "u,ctrl+z", "", "Take back what was done last (for ten seconds)."),
            ("bin", "Bin", "b", "", "Show what was deleted, or go back."),
            ("order", "Order", "o", "", "Newest first, or what fits best first."),
            ("filters", "Filters", "f", "", "Choose a tag, a project or a saved search."),
            (
                "save",
                "Saved searches",
                "ctrl+s",
                "",
                "Save what is typed under a name, or use what was saved.",
            ),
            ("search", "Search", "slash", "", "Go to the field: what is typed is found at once."),
            ("only_starred", "Starred ones", "1", "", "Only what is starred; again: everything."),
            ("only_important", "Important ones", "2", "", "Only what is important; again: everything."),
            ("only_pinned", "Pinned ones", "3", "", "Only what is pinned; again: everything."),
            ("only_archived", "Archived ones", "4", "", "Only what is archived; again: everything."),
            ("only_week", "Of this week", "5", "", "Only the last seven days; again: everything."),
            ("only_code", "With code", "6", "", "Only what has code in it; again: everything."),
            (
                "back",
                "Back",
                "escape,f2",
                "Back",
                "Leave the selection, the search, the bin, then the history.",
            ),
        )
    ),
)
