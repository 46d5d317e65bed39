"""What is set, and how."""

TEXTS = {
    "settings.show.name": "Settings",
    "settings.show.help": "Everything that can be set, with its bounds; also the keys of every action.",
    "settings.change.name": "Change",
    "settings.change.label": "Change",
    "settings.change.help": "Switch it, choose another value, or type one.",
    "settings.reset.name": "Default",
    "settings.reset.label": "Default",
    "settings.reset.help": "Take the marked setting back to its default.",
    "settings.search.name": "Search",
    "settings.search.label": "Search",
    "settings.search.help": "Show only the settings that have these words in them.",
    "settings.sections.name": "To the sections",
    "settings.sections.help": "Go to the list of sections.",
    "settings.rows.name": "To the settings",
    "settings.rows.help": "Go to the settings of the section.",
    "settings.back.name": "Back",
    "settings.back.label": "Back",
    "settings.back.help": "Leave the field, the search, then the settings.",
}
