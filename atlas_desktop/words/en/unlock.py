"""The way in."""

TEXTS = {
    "passphrase": "Passphrase",
    "recovery_key": "Recovery key",
    "ready": "Enter unlocks",
    "other_way": "Passphrase or recovery key",
    "keyring": "System keyring",
    "asking_keyring": "Asking the system keyring…",
    "unlocking": "Unlocking…",
    "locked": "Locked",
    "other_key": "Try again, or use your recovery key: Ctrl+R.",
    "wait": "Wait {seconds} s for the next attempt",
}
