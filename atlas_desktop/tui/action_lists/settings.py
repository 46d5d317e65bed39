"""What is set, and how."""

from atlas_desktop.tui.action import Action, Where

ACTIONS: tuple[Action, ...] = (
    Action("settings.show", Where.EVERYWHERE, "show_settings", "f9", priority=True, slash="/settings"),
    Action("settings.change", Where.SETTINGS, "setting_change", "enter,space", in_palette=False),
    Action("settings.reset", Where.SETTINGS, "setting_reset", "r,delete", in_palette=False),
    Action("settings.search", Where.SETTINGS, "setting_search", "slash", in_palette=False),
    Action("settings.sections", Where.SETTINGS, "setting_sections", "left", in_palette=False),
    Action("settings.rows", Where.SETTINGS, "setting_rows", "right", in_palette=False),
    Action("settings.back", Where.SETTINGS, "setting_back", "escape", in_palette=False),
)
