"""What is set, and how."""

from atlas_desktop.tui.action import Action, Where

ACTIONS: tuple[Action, ...] = (
    Action(
        "settings.show",
        "Settings",
        "Everything that can be set, with its bounds; also the keys of every action.",
        Where.EVERYWHERE,
        "show_settings",
        "f9",
        priority=True,
        slash="/settings",
    ),
    *(
        Action(f"settings.{run}", name, text, Where.SETTINGS, f"setting_{run}", key, label, in_palette=False)
        for run, name, key, label, text in (
            ("change", "Change", "enter,space", "Change", "Switch it, choose another value, or type one."),
            ("reset", "Default", "r,delete", "Default", "Take the marked setting back to its default."),
            ("search", "Search", "slash", "Search", "Show only the settings that have these words in them."),
            ("sections", "To the sections", "left", "", "Go to the list of sections."),
            ("rows", "To the settings", "right", "", "Go to the settings of the section."),
            ("back", "Back", "escape", "Back", "Leave the field, the search, then the settings."),
        )
    ),
)
