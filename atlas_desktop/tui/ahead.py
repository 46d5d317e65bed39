"""What is done while nobody waits for it, so that nobody waits for it later."""

import gc
from importlib import import_module

AHEAD = (
    # What the key is derived with comes first: a person may be quick.
    "argon2.low_level",
    "cryptography.hazmat.primitives.ciphers.aead",
    "cryptography.hazmat.primitives.kdf.hkdf",
    "memory.storage.room",
    "atlas_desktop.tui.screens.chat",
    "atlas_desktop.services.room",
    "atlas_desktop.services.desk",
    "memory.learning.digests",
    "memory.vault.upkeep",
    "memory.storage.snapshots",
    "memory.storage.backup",
    "memory.storage.files",
    "atlas_desktop.services.backup",
    "atlas_desktop.services.backup",
    "atlas_desktop.tui.shelf",
    "atlas_desktop.tui.drafts",
    "atlas_desktop.tui.screens.confirm",
    "atlas_desktop.tui.screens.dialogs",
    "models.host",
    "models.tuning.results",
    "models.library.watching",
    "models.library.download",
    "models.library.discovery",
    "atlas_desktop.services.models",
    "watchdog.observers",
    "atlas_desktop.words.en.program",
    "psutil",
    "numpy",
    # Behind a key of the conversation: no key waits for an import.
    "atlas_desktop.tui.screens.history",
    "atlas_desktop.tui.screens.memory",
    "atlas_desktop.tui.screens.insights",
    "atlas_desktop.tui.screens.help",
    "atlas_desktop.tui.screens.inspector",
    "textual.command",
)
"""What the way from the passphrase to the conversation imports, in the order in which it is needed, and
what is a key away from there."""


def load_conversation() -> None:
    """Imports what the conversation needs."""
    for name in AHEAD:
        import_module(name)


def load_highlighter() -> None:
    """Imports what colours code, and colours a little of it."""
    from atlas_desktop.tui.widgets.markdown import load_highlighter

    load_highlighter()


def release_the_collector() -> None:
    """Lets it work again. What the first screen is made of stays for as long as the program runs."""
    gc.freeze()
    gc.enable()


def calm_the_collector() -> None:
    """Keeps the cyclic garbage collector out of the way of drawing.

    By default it goes through everything that is alive again and again while widgets are made, a tenth of a
    second each time. What is there by now stays, so it is left out; the rest is looked at less often, and all
    of it when nobody types (`atlas_desktop.tui.sweeping`).
    """
    gc.freeze()
    gc.set_threshold(5_000, 5, 400)
    gc.enable()
