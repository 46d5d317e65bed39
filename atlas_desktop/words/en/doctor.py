"""What a check without a key says: of the vault, the home, the settings and the models."""

TEXTS = {
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
    "confined": "The model runs without access to your other files and to the network.",
    "unconfined.neither": "The model runs in a process of its own without keys, but this system offers no "
    "Landlock (other files) and a filter for system calls (network).",
    "unconfined.files": "The model runs in a process of its own without keys, but this system offers no "
    "Landlock (other files).",
    "unconfined.network": "The model runs in a process of its own without keys, but this system offers no a "
    "filter for system calls (network).",
    "landlock": "Linux from 5.13 with Landlock switched on offers it; everything works without, too.",
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
