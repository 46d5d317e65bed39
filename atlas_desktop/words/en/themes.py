"""The choice of colours."""

TEXTS = {
    "title": "Colours",
    "hint": "Enter keeps · Esc leaves them as they were",
    "from_environment": "ATLAS_UI_THEME sets the colours for this run: what is chosen here ends with it.",
    "dark": "Dark",
    "light": "Light",
    "contrast-dark": "Dark, high contrast",
    "contrast-light": "Light, high contrast",
    "terminal": "The terminal's own colours",
    "in_use": "in use",
}
