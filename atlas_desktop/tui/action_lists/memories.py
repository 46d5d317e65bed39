"""What is done with memories."""

from atlas_desktop.tui.action import Action, Where

ACTIONS: tuple[Action, ...] = (
    Action(
        "memory.show",
        "Memories",
        "Show what Atlas remembers: the inbox, what it knows by kind, what fades, and the summaries.",
        Where.CHAT,
        "show_memories",
        "f3",
        "Memory",
        priority=True,
        slash="/memories",
    ),
    Action(
        "memory.remember",
        "Remember something",
        "`/remember` and what is to be remembered: it is kept at once, in your words.",
        Where.CHAT,
        "remember",
        in_palette=False,
        slash="/remember",
        words=True,
    ),
    Action(
        "memory.forget",
        "Forget",
        "Erase your newest words (or `/forget this`, `/forget ID`) for good; first you see what goes.",
        Where.CHAT,
        "forget",
        slash="/forget",
        words=True,
    ),
    Action(
        "memory.pin_latest",
        "Pin the newest memory",
        "The memory that was learned last (or `/pin ID`) is always told to the model.",
        Where.CHAT,
        "pin_memory",
        slash="/pin",
        words=True,
    ),
    *(
        Action(f"memories.{run}", name, text, Where.MEMORIES, f"memory_{run}", key, label, in_palette=False)
        for run, name, key, label, text in (
            ("accept", "Accept", "a", "Accept", "Keep the marked memory of the inbox."),
            ("edit", "Edit", "e", "Edit", "Correct its words; the earlier ones are kept among its versions."),
            ("reject", "Reject", "r", "Reject", "Never use it, nor learn it again from the same words."),
            ("accept_all", "Accept all", "A", "All", "Keep everything in the inbox."),
            ("rescue", "Rescue", "s", "Rescue", "Keep for good what is fading."),
            (
                "pin",
                "Pin",
                "p",
                "Pin",
                "Always tell it to the model; it does not fade then. Again: unpin.",
            ),
            ("forget", "Forget", "delete", "Forget", "Erase it for good, after a question."),
            ("undo", "Undo", "u", "", "Take back what was done to memories last, by you or by itself."),
            ("search", "Search", "slash", "Search", "Show only what holds these words."),
            ("open", "Open", "enter", "", "Open the conversation that it comes from, at the message."),
            (
                "why",
                "Why?",
                "w",
                "Why",
                "Show the words it was learned from, the replies it served in, and what else speaks of it.",
            ),
            ("next", "Next tab", "right", "", "Go to the next kind of memories."),
            ("previous", "Tab before", "left", "", "Go to the kind of memories before."),
            ("back", "Back", "escape,f3", "Back", "Leave the search, then the memories."),
        )
    ),
)
