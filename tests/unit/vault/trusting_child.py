"""The real keyring child, which here trusts this folder's keyrings."""

from memory.vault.keyring_child import main

NAMES = (
    "FileKeyring",
    "ForgetfulKeyring",
    "LockedKeyring",
    "BrokenKeyring",
    "HangingKeyring",
    "DyingKeyring",
)

if __name__ == "__main__":
    main(frozenset(f"tests.unit.vault.backends.{name}" for name in NAMES))
