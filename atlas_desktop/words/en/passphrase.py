"""The passphrase, asked for again."""

TEXTS = {
    "hint": "Enter opens · Esc leaves it closed",
    "cancel": "Cancel",
    "opening": "Opening…",
    "passphrase": "Your passphrase, as when you unlock Atlas",
    "wait": "Wait {seconds} s for the next attempt.",
}
