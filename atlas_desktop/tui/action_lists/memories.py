"""What is done with memories."""

from atlas_desktop.tui.action import Action, Where

ACTIONS: tuple[Action, ...] = (
    Action("memory.show", Where.VIEWS, "show_memories", "f3", priority=True, slash="/memories"),
    Action("memory.remember", Where.CHAT, "remember", in_palette=False, slash="/remember", words=True),
    Action("memory.forget", Where.CHAT, "forget", slash="/forget", words=True),
    Action("memory.pin_latest", Where.CHAT, "pin_memory", slash="/pin", words=True),
    Action("memories.accept", Where.MEMORIES, "memory_accept", "a", in_palette=False),
    Action("memories.edit", Where.MEMORIES, "memory_edit", "e", in_palette=False),
    Action("memories.reject", Where.MEMORIES, "memory_reject", "r", in_palette=False),
    Action("memories.accept_all", Where.MEMORIES, "memory_accept_all", "A", in_palette=False),
    Action("memories.rescue", Where.MEMORIES, "memory_rescue", "s", in_palette=False),
    Action("memories.pin", Where.MEMORIES, "memory_pin", "p", in_palette=False),
    Action("memories.forget", Where.MEMORIES, "memory_forget", "delete", in_palette=False),
    Action("memories.undo", Where.MEMORIES, "memory_undo", "u", in_palette=False),
    Action("memories.search", Where.MEMORIES, "memory_search", "slash", in_palette=False),
    Action("memories.open", Where.MEMORIES, "memory_open", "enter", in_palette=False),
    Action("memories.why", Where.MEMORIES, "memory_why", "w", in_palette=False),
    Action("memories.next", Where.MEMORIES, "memory_next", "right", in_palette=False),
    Action("memories.previous", Where.MEMORIES, "memory_previous", "left", in_palette=False),
    Action("memories.back", Where.MEMORIES, "memory_back", "escape", in_palette=False),
)
