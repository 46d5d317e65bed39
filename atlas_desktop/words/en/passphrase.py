"""The passphrase, asked for again."""

TEXTS = {
    "hint": "Enter opens · Esc leaves it closed",
    "cancel": "Cancel",
    "opening": "Opening…",
    "passphrase": "Passphrase",
    "wait": "Wait {seconds} s for the next attempt.",
}
