"""What is shown, and the program itself."""

from atlas_desktop.tui.action import Action, Where

ACTIONS: tuple[Action, ...] = (
    Action("view.sidebar", Where.CHAT, "toggle_sidebar", "ctrl+b", priority=True),
    Action("view.aside", Where.CHAT, "toggle_aside", "alt+m", priority=True, slash="/here"),
    Action("view.up", Where.CHAT, "page_up", "pageup,ctrl+up", priority=True, in_palette=False),
    Action("view.down", Where.CHAT, "page_down", "pagedown,ctrl+down", priority=True, in_palette=False),
    Action("view.end", Where.CHAT, "follow", "ctrl+end", priority=True),
    Action("view.theme", Where.EVERYWHERE, "choose_theme", "f8", priority=True, slash="/theme"),
    Action("app.palette", Where.EVERYWHERE, "command_palette", "ctrl+p", priority=True, in_palette=False),
    Action("app.help", Where.EVERYWHERE, "help", "f1", priority=True, slash="/help"),
    Action("app.demo", Where.EVERYWHERE, "demo", "f10", slash="/demo"),
    Action("app.lock", Where.EVERYWHERE, "lock", "ctrl+l", priority=True, slash="/lock"),
    Action("app.quit", Where.EVERYWHERE, "quit", "ctrl+q", priority=True),
)
