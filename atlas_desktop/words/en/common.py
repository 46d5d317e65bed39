"""What several screens say: amounts, days, questions, help, checks."""

# How much there is of something.
AMOUNTS = {
    "sessions.one": "1 conversation",
    "sessions.other": "{count} conversations",
    "messages.one": "1 message",
    "messages.other": "{count} messages",
    "held": "{sessions} with {messages}",
    "open_to_others.one": "Others may enter or read a file or folder of the home.",
    "open_to_others.other": "Others may enter or read {count} files or folders of the home.",
    "whole.one": "1 whole conversation",
    "whole.other": "{count} whole conversations",
    "memories.one": "1 memory",
    "memories.other": "{count} memories",
    "backups.one": "1 backup",
    "backups.other": "{count} backups",
    "backups_left.one": "1 backup is left: it opens with the passphrase still.",
    "backups_left.other": "{count} backups are left: they open with the passphrase still.",
    "days.one": "1 day",
    "days.other": "{count} days",
    "for_days.one": "for 1 day",
    "for_days.other": "for {count} days",
    "lost": "{messages}, {sessions} and {memories}",
    "there": "Here now: {held}.",
    "was": "Here before: {held}.",
    "bytes": "{amount} bytes",
}


# Days, as lists are grouped by them.
CALENDAR = {
    "starred": "★ Starred and pinned",
    "today": "Today",
    "yesterday": "Yesterday",
    "this_week": "This week",
    "older": "Older",
}


# A question.
CONFIRM = {
    "no": "No",
}


# Small windows: an error, a new title.
DIALOGS = {
    "close": "Close",
    "error": "Something went wrong",
    "cancel": "Cancel",
    "rename": "Rename the conversation",
    "rename_hint": "Enter saves · Esc leaves it as it is",
    "save": "Save",
    "goes_on": "Enter goes on · Esc leaves",
    "chooses": "Enter chooses · Esc leaves",
    "saves": "Ctrl+S saves · Esc leaves it as it is",
    "name": "Name",
    "name_and_text": "A name and a text are needed.",
}


# The help.
HELP = {
    "title": "Help",
    "find": "Type what you are looking for",
    "none": "No action is called so, or is about that.",
    "closes": "Esc closes",
    "by_name": "by name",
    "palette": "Every action is also in the command palette ({key}), by its name.",
}


# What a check without a key says: of the vault, the home, the settings and the models.
DOCTOR = {
    "sound": "The key files are sound and the rooms begin as they should; opens with {kinds}. "
    "What is inside was not checked: `atlas vault verify` does that, with the passphrase.",
    "copy": "One copy of a key file is damaged.",
    "unlock": "Unlock once: the damaged copy is mended from the other.",
    "absent": "The key file is there, the database is not ({file}).",
    "restore": "Put a backup back: `atlas vault restore`.",
    "lacking": "The newest backup does not hold the {room} room, which an older one holds.",
    "restore_older": "If you miss that room, put the older backup back: `atlas vault restore FILE`.",
    "empty": "The database is empty: {file} has no bytes in it.",
    "cut": "The database is damaged: {file} ends within a page.",
    "foreign": "The database is damaged: {file} does not begin as it was written, or belongs to other keys.",
    "salvage": "Put a backup back (`atlas vault restore`), "
    "or see what can still be read: `atlas vault salvage`.",
    "confined": "The processes that run models and read PDFs cannot read your other files, use the network, "
    "start programs or touch other processes.",
    "unconfined.neither": "This kernel has neither Landlock nor filters for system calls (seccomp). The "
    "processes that run models and read PDFs have no keys, but could read your files and use the network.",
    "unconfined.files": "This kernel has no Landlock. The processes that run models and read PDFs have no "
    "keys and cannot write, use the network or start programs, but could read your other files.",
    "unconfined.calls": "This kernel has no filters for system calls (seccomp). The processes that run "
    "models and read PDFs have no keys and cannot read your other files, but could use the network.",
    "unconfined.system": "The processes that run models and read PDFs have no keys, but this system does not "
    "confine them: they could read your files and use the network.",
    "landlock": "Use Linux 5.13 or later with Landlock and seccomp. Everything works without them, too.",
    "no_landlock": "Use only models and files that you trust. Linux confines these processes.",
    "no_home": "{home} does not exist yet.",
    "begin": "Run `atlas` for the guided start.",
    "free": "{size} are free.",
    "free_some": "Free some space: a full disk stops new words from being saved.",
    "profile": "The home is in your profile, which is yours alone.",
    "private": "Only you can read the home.",
    "variables": "`atlas config list --json` names the variable of every setting.",
    "settings": "config.toml is sound.",
    "defaults": "All defaults.",
    "no_vault": "There is no vault yet.",
    "model": "{model} ({size}) is ready.",
}
