"""Imports modules and prepares the garbage collector while the user is busy with something else."""

import gc
from importlib import import_module

AHEAD = (
    # The modules for deriving the key come first: the user may type fast.
    "argon2.low_level",
    "cryptography.hazmat.primitives.ciphers.aead",
    "cryptography.hazmat.primitives.kdf.hkdf",
    "memory.storage.room",
    "atlas_desktop.tui.chat.screen",
    "atlas_desktop.services.room",
    "atlas_desktop.services.desk",
    "memory.learning.digests",
    "memory.vault.upkeep",
    "memory.storage.snapshots",
    "memory.storage.backup",
    "memory.storage.files",
    "atlas_desktop.services.backup",
    "atlas_desktop.tui.models.onboarding",
    "atlas_desktop.tui.chat.drafts",
    "atlas_desktop.tui.dialogs.messages",
    "models.host",
    "models.tuning.results",
    "models.library.discovery",
    "models.library.download",
    "atlas_desktop.services.models",
    "watchdog.observers",
    "psutil",
    "numpy",
    # Screens that are one key away from the conversation: no key waits for an import.
    "atlas_desktop.tui.history.screen",
    "atlas_desktop.tui.memories.screen",
    "atlas_desktop.tui.insights.screen",
    "atlas_desktop.tui.documents.screen",
    "atlas_desktop.tui.notes.screen",
    "atlas_desktop.tui.help",
    "atlas_desktop.tui.provenance.inspector",
    "textual.command",
)
"""Modules needed between the passphrase and the conversation, in the order in which they are needed, and
those of screens that are one key away from it."""


def load_conversation() -> None:
    """Imports what the conversation needs."""
    for name in AHEAD:
        import_module(name)


def load_highlighter() -> None:
    """Imports the syntax highlighter and warms it up."""
    from atlas_desktop.tui.chat.markdown import load_highlighter

    load_highlighter()


def release_the_collector() -> None:
    """Turns the garbage collector on. Objects of the first screen are exempt: they live as long as the
    program."""
    gc.freeze()
    gc.enable()


def calm_the_collector() -> None:
    """Keeps the cyclic garbage collector out of the way of drawing.

    By default it scans all live objects repeatedly while widgets are created, a tenth of a second each time.
    Objects that exist now are exempt. The others are scanned less often, and completely when the user is not
    typing (`atlas_desktop.tui.textual_workarounds`).
    """
    gc.freeze()
    gc.set_threshold(5_000, 5, 400)
    gc.enable()
