"""What the model is given."""

TEXTS = {
    "close": "Close",
    "title": "What the model is given",
    "closes": "Esc closes",
    "own_words": "your own words",
    "cancel": "Cancel",
    "save": "Save",
    "summary": "Summary",
    "yours": "Yours to change: nothing is written over your words.",
    "stands_for": "What it stands for",
    "hint": "Ctrl+S saves · Esc leaves it as it is",
    "next": "The next prompt, before your next words",
    "summaries": "Summaries (Enter opens one)",
    "without_model": "without a model",
    "covers.one": "{count} message",
    "covers.other": "{count} messages",
}
