"""Next steps of errors as keys: what the command line does with a command, the interface does with a key."""

from dataclasses import replace

from atlas_desktop.errors import Explained
from atlas_desktop.locale import N_, _
from atlas_desktop.tui.keymap import Keymap, how_to

_STEPS = {
    "no_model": ("models.show", N_("{key} shows what fits this computer, and downloads it.")),
    "unknown_model": ("models.show", N_("{key} shows the catalogue, and adds your own file.")),
    "model_not_installed": ("models.show", N_("{key} downloads it.")),
    "model_damaged": ("models.show", N_("{key} downloads or imports it again.")),
    "model_file_missing": ("models.show", N_("Check the path; {key} shows what is installed.")),
    "model_load_failed": ("models.show", N_("{key} checks the file. If it is intact, try another model.")),
    "not_enough_memory": ("models.show", N_("Choose a smaller model: {key} shows what fits.")),
    "message_too_long": (
        "models.show",
        N_("Send it in parts with /split, or choose a model with a longer context with {key}."),
    ),
    "prompt_too_long": (
        "models.show",
        N_("Start a new conversation, or choose a model with a longer context with {key}."),
    ),
    "session_not_found": ("history.show", N_("{key} lists all conversations, also those in the bin.")),
    "message_not_found": ("history.show", N_("{key} lists all conversations, also those in the bin.")),
    "memory_not_found": ("memory.show", N_("{key} lists all memories.")),
    "change_not_found": ("memory.show", N_("{key} shows the changes, in the tab “Timeline”.")),
    "document_not_found": ("documents.show", N_("{key} lists all documents.")),
    "note_not_found": ("notes.show", N_("{key} lists all notes.")),
    "task_not_found": ("tasks.show", N_("{key} lists all tasks.")),
    "sync_paused": ("sync.show", N_("{key} continues it.")),
    "session_binned": ("history.show", N_("Restore it first: {key}, then the bin.")),
    "summary_not_found": ("history.show", N_("{key} lists all conversations, also those in the bin.")),
    "skill_not_found": ("memory.show", N_("{key} lists all skills.")),
}
"""By the code of the error: the action that helps, and the text with its key."""


def with_keys(explained: Explained, keymap: Keymap) -> Explained:
    """Returns the error with a next step that names a key, if there is one for it."""
    step = _STEPS.get(explained.code)
    if step is None:
        return explained
    action, text = step
    return replace(explained, next_step=_(text, key=how_to(action, keymap)))
