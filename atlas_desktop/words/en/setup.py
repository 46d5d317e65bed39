"""The first screens, the way in, and how the program ends or fails."""

# The first screen of all.
WELCOME = {
    "greeting": "Welcome. Choose a passphrase to begin.",
    "passphrase": "Passphrase",
    "again": "Once more",
    "making": "Making the keys…",
    "placeholder": "Four or five words only you connect",
    "keyring": "Also unlock with the system keyring",
    "needed": "A passphrase is needed.",
    "create": "Create the vault",
    "differ": "The two differ. Type the second one again.",
    "where": "Everything is kept, encrypted, in ",
    "claim": "Protects your saved conversations if someone copies your files or takes your locked "
    "or powered-off computer. Does not protect against software running as you while "
    "Atlas is unlocked, swap or hibernation, or a weak passphrase. If you lose your "
    "passphrase, keyring and recovery key, nobody can recover your data.",
    "strength.0": "very weak",
    "strength.1": "weak",
    "strength.2": "fair",
    "strength.3": "good",
    "strength.4": "strong",
    "keyring_of": "Also unlock with the system keyring ({name})",
    "guessed": "guessed in {time}",
    "keyring_refused": "{title}. {message} Your passphrase unlocks Atlas.",
}


# The way in.
UNLOCK = {
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


# The passphrase, asked for again.
PASSPHRASE = {
    "hint": "Enter opens · Esc leaves it closed",
    "cancel": "Cancel",
    "opening": "Opening…",
    "passphrase": "Your passphrase, as when you unlock Atlas",
    "wait": "Wait {seconds} s for the next attempt.",
}


# The recovery key, shown once.
RECOVERY = {
    "renewed": "The first recovery key was never confirmed. This is a new one; the first opens "
    "nothing any more.",
    "copy": "Copy",
    "title": "Your recovery key",
    "check": "To be sure that your note is right, type these two groups of it:",
    "go_on": "Go on",
    "compare": "Compare your note with the key above.",
    "copied": "Copied, if your terminal allows it. Other programs can read the clipboard: paste it "
    "where you keep it, then copy something else.",
    "about": "It opens your vault if you forget the passphrase. Write it down and keep it away "
    "from this computer. It is shown this once.",
    "differs": "Group {number} is not like that.",
    "group": "Group {number}",
}


# What stands in the place of a screen that cannot be shown.
FAILURE = {
    "kept": "Your conversations are saved, and so is what you were typing. A reply that was coming goes on.",
    "next": "Go on with a fresh screen; if it happens again, `atlas doctor` checks everything.",
    "go_on": "Go on",
    "again": "Try again",
    "tried.one": "Tried again: it is still open elsewhere.",
    "tried.other": "Tried again {count} times: it is still open elsewhere.",
    "quit": "Quit",
}


# The program itself: how it ends, what it remarks.
PROGRAM = {
    "loading_model": "loading the model",
    "off_record_ends": "This conversation is off the record: it is kept nowhere, and it ends here.",
    "stay": "Stay",
    "lock": "Lock",
    "lock_anyway": "Lock, and let it go",
    "quit": "Quit",
    "quit_anyway": "Quit, and let it go",
    "quit_hint": "{quit} quits. Ctrl+C copies what is marked.",
    "stop_hint": "{stop} stops the reply, {quit} quits. Ctrl+C copies what is marked.",
    "model_begin": "New model: {name}. You can begin.",
    "model_arrived": "New model: {name}. `/model {name}` makes it the one that answers.",
    "not_noted": "It could not be written down",
    "no_terminal": "The interface needs a terminal to be drawn in and to be typed into; there is none here.",
    "no_terminal_step": "Run `atlas` in a terminal. In scripts: `atlas ask`, `atlas chat --jsonl`.",
    "error_id": "Error id: {id}",
}
