"""Keyrings that go wrong, and one that keeps its entries in the file named by ATLAS_TEST_KEYRING.

They are loaded by the keyring library in the child process, through PYTHON_KEYRING_BACKEND.
"""

import json
import os
import signal
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked


class FileKeyring(KeyringBackend):
    priority = 1.0

    @property
    def _path(self) -> Path:
        return Path(os.environ["ATLAS_TEST_KEYRING"])

    def _entries(self) -> dict[str, str]:
        return dict(json.loads(self._path.read_text())) if self._path.exists() else {}

    def get_password(self, service: str, username: str) -> str | None:
        print("chatter on standard output")
        return self._entries().get(f"{service}/{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        self._path.write_text(json.dumps(self._entries() | {f"{service}/{username}": password}))

    def delete_password(self, service: str, username: str) -> None:
        entries = self._entries()
        del entries[f"{service}/{username}"]
        self._path.write_text(json.dumps(entries))


class ForgetfulKeyring(FileKeyring):
    def set_password(self, service: str, username: str, password: str) -> None:
        """Says yes and keeps nothing."""


class LockedKeyring(FileKeyring):
    def get_password(self, service: str, username: str) -> str | None:
        raise KeyringLocked("the collection is locked")


class BrokenKeyring(FileKeyring):
    def get_password(self, service: str, username: str) -> str | None:
        raise ZeroDivisionError


class HangingKeyring(FileKeyring):
    def get_password(self, service: str, username: str) -> str | None:
        signal.pause()
        return None


class DyingKeyring(FileKeyring):
    def get_password(self, service: str, username: str) -> str | None:
        os._exit(3)


class Plaintext(KeyringBackend):
    """Stands for `keyrings.alt.file.PlaintextKeyring`: works, and must not be used."""

    priority = 5.0

    def get_password(self, service: str, username: str) -> str | None:
        raise AssertionError("an untrusted keyring was asked for a secret")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise AssertionError("an untrusted keyring was given a secret")
