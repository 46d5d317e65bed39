"""The real keyring child, which here trusts this folder's keyrings and lets them write.

It knows as little of the environment as the real one. `FileKeyring` keeps its entries where a person's
keyrings are configured.
"""

import os
from pathlib import Path

from memory.vault.system_keyring import main

NAMES = (
    "FileKeyring",
    "ForgetfulKeyring",
    "LockedKeyring",
    "BrokenKeyring",
    "HangingKeyring",
    "DyingKeyring",
)

if __name__ == "__main__":
    os.environ["ATLAS_TEST_KEYRING"] = str(Path(os.environ["XDG_CONFIG_HOME"]) / "entries.json")
    main(frozenset(f"tests.unit.vault.backends.{name}" for name in NAMES), confined=False)
