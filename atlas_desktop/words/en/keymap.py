"""Why a key cannot be had."""

TEXTS = {
    "no_action": "there is no such action",
    "needs_one": "this action needs a key",
    "taken": "{key} is the key of {id} ({name})",
    "no_key": "there is no key {key}; examples: ctrl+k, alt+left, f7",
    "reserved": "{key} is needed for itself",
    "typed": "{key} is what is typed here; add ctrl or alt, or take a function key",
}
