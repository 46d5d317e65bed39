"""What stands in the place of a screen that cannot be shown."""

TEXTS = {
    "kept": "Your conversations are saved, and so is what you were typing. A reply that was coming goes on.",
    "next": "Go on with a fresh screen; if it happens again, `atlas doctor` checks everything.",
    "go_on": "Go on",
    "again": "Try again",
    "tried.one": "Tried again: it is still open elsewhere.",
    "tried.other": "Tried again {count} times: it is still open elsewhere.",
    "quit": "Quit",
}
