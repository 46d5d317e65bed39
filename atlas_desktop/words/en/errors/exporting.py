"""What can keep an export from leaving."""

TEXTS = {
    "target_exists.title": "Something is there already",
    "target_exists.what": "{path} exists. Nothing was written, and it is as it was.",
    "target_exists.next": "Choose another name; --force replaces what is there.",
    "target_refused.title": "It cannot be written there",
    "target_refused.what": "{path} cannot be made: {reason}. Nothing was written.",
    "target_refused.next": "Choose another place, or look at its permissions and free space.",
    "bad_recipient.title": "That is no recipient that age knows",
    "bad_recipient.what": "A recipient begins with `age1`, or is an SSH public key (ssh-ed25519 or ssh-rsa). "
    "Nothing was written.",
    "bad_recipient.next": "`age-keygen` makes a key and shows its recipient.",
    "nothing_to_export.title": "There is nothing to export",
    "nothing_to_export.what": "No conversation fits what you asked for. Nothing was written.",
    "nothing_to_export.next": "`atlas sessions list` shows what there is; those of the private room need "
    "--include-private.",
    "target_refused.folder": "it is a folder",
    "target_refused.file": "it is a file",
}
