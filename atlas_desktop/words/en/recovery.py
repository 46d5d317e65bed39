"""The recovery key, shown once."""

TEXTS = {
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
